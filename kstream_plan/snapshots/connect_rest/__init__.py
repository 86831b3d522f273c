"""From an answer of Connect's REST interface, live or saved, to a row that is exact in its counts only."""
