"""Simulations and drains as people read them."""
