"""Snapshots: what a group is, read from files."""
