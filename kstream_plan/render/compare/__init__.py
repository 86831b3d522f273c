"""Alternatives beside each other, as people and programs read them."""
