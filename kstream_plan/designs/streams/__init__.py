"""Streams groups (KIP-1071): the broker decides, and every member is brought to its target at its own heartbeats."""
