"""Snapshots: what a group is, read from files; and plans, read back.

``read`` is the whole of it: files in, :class:`~kstream_plan.model.Snapshot` out. Importing this package loads nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kstream_plan.snapshots.reading import Outcome as Outcome
    from kstream_plan.snapshots.reading import read as read

__all__ = ["Outcome", "read"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kstream_plan.snapshots import reading  # noqa: PLC0415 - loads much

    return getattr(reading, name)
