"""What differs between two sides as people read it."""
