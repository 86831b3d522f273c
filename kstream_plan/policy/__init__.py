"""Limits, the rules that measure plans against them, and what came out."""
