"""Rack-aware placement (KIP-925)."""
