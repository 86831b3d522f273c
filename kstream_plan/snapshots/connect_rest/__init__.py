"""What Connect's REST interface says of a group, asked for or saved → a row that is exact in its counts only."""
