"""Running groups over time: polls of a source, and what is asked of each of them."""
