"""The snapshot of one generation of a history, with the evidence of earlier ones about its copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.snapshots.files.newest_rows import MOST_ROWS
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from kstream_plan.snapshots.rows.stalled_copies import LONG_ENOUGH_MS, copies_behind, with_no_closer

if TYPE_CHECKING:
    from kstream_plan.documents.history import HistoryEntry


def snapshot_at(entries: Sequence[HistoryEntry], place: int, *, lags_as_reported: bool) -> Snapshot:
    """Read the row at a place of a history in time, and which of its copies come no closer.

    Raises:
        SnapshotError: it breaks the contract.
    """
    entry = entries[place]
    snapshot = snapshot_from_row(entry.row, entry.location, lags_as_reported=lags_as_reported)
    return with_no_closer(snapshot, _earlier(entries, place) if copies_behind(snapshot) else ())


def _earlier(entries: Sequence[HistoryEntry], place: int) -> list[Snapshot]:
    """Read the latest row before a place that is a minute or more older; what cannot be read does not matter."""
    at_ms = entries[place].at_ms
    for entry in reversed(entries[max(0, place - MOST_ROWS + 1) : place]):
        if at_ms is None or entry.at_ms is None or at_ms - entry.at_ms < LONG_ENOUGH_MS:
            continue
        try:
            return [snapshot_from_row(entry.row, entry.location, lags_as_reported=True)]
        except SnapshotError:
            continue
    return []
