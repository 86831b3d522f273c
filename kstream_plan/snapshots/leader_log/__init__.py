"""The leader's log as a source of snapshots: what it knew, and what it decided."""
