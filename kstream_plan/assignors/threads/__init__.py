"""The split of an instance's tasks over its consumers."""
