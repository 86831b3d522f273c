"""A plan as people read it."""
