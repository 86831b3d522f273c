"""Snapshots: what a group is, read from files; and plans, read back.

``read`` is the whole of it: files in, :class:`~kstream_plan.model.Snapshot` out. Importing this package does not load
Spark.
"""

from kstream_plan.snapshots.reading import Outcome, read

__all__ = ["Outcome", "read"]
