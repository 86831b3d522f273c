"""Java's collections, where their order decides."""
