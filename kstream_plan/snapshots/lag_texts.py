"""Lag rows as Spark collected them → what they say about one application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.rows.document_kind import refuse_written
from kstream_plan.snapshots.rows.fields import FieldError, printable
from kstream_plan.snapshots.rows.json_text import parse_row
from kstream_plan.snapshots.rows.lag_history import HistoryRow, LagHistory, StoreHistory, StoreInterval
from kstream_plan.snapshots.rows.snapshot_row import snapshot_error
from kstream_plan.snapshots.rows.times import format_time

if TYPE_CHECKING:
    from kstream_plan.snapshots.spark.newest_lags import LagText


def nameless_lag_row(text: LagText) -> SnapshotError:
    """Return what is wrong with a row that names no application."""
    try:
        refuse_written(parse_row(text.text, text.file))
    except SnapshotError as error:
        return error
    except FieldError as error:
        return snapshot_error(error, text.file)
    return SnapshotError("a lag row has no application_id", where=printable(text.file), fix="give it")


def lag_history(texts: Sequence[LagText], earliest_us: int | None) -> LagHistory:
    """Return the newest rows of one application and the last intervals of its stores.

    Args:
        texts: the rows.
        earliest_us: if there is none of them, the earliest time of a row beyond the limit (microseconds since 1970).

    Raises:
        SnapshotError: a row is no JSON object.
    """
    rows = [HistoryRow(parse_row(text.text, text.file), text.file, text.twice) for text in texts]
    stores = [
        StoreHistory(
            text.process_id or "",
            text.task_id or "",
            text.store,
            tuple(sorted(StoreInterval(**interval) for interval in text.intervals)),
        )
        for text in texts
    ]
    earliest = None if earliest_us is None else format_time(earliest_us // 1000)
    return LagHistory(sorted(rows, key=repr), sorted(stores, key=repr), earliest)
