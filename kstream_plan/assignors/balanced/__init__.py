"""KIP-441 as it is written, with the least state to restore."""
