"""The running group as a source of snapshots: what the broker holds of it."""
