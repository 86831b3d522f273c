"""Rates from generation to generation: how fast copies restored and how fast tasks were written to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.snapshots.rows.fields import Row
from kstream_plan.snapshots.rows.lag_history import StoreGrowth, produce_rate, restore_rate
from kstream_plan.snapshots.rows.times import parse_time


class _Lag(NamedTuple):
    """How far a copy is behind, and when it said so."""

    records: int
    at_ms: int


class _Seen(NamedTuple):
    """The figures of one generation."""

    at_ms: int
    ends: Mapping[str, int]
    lags: Mapping[tuple[str, str], _Lag]
    reported: frozenset[tuple[str, str]]
    assigned: frozenset[tuple[str, str]]
    ready_lag: int


def with_rates(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return snapshot rows with the ``rates`` that the generations up to each of them give.

    * Produce rate of a task: the growth of its end offset sum over the time between generations.
    * Restore rate of a copy: by how much its lag fell between generations, plus what was produced meanwhile. A copy
      that had just been placed starts from the whole sum. An interval at whose end the copy is ready (its lag at most
      ``acceptable_recovery_lag``) says nothing but "at least so fast" and is left out.

    Args:
        rows: rows of one application in order of time (README, input contract). A lag's time is its ``reported_at``,
            else the row's. Rows without a time are passed over.
    """
    growth: dict[tuple[str, str], list[StoreGrowth]] = defaultdict(list)
    before: _Seen | None = None
    found = []
    for row in rows:
        seen = _seen(row)
        if before is not None and seen is not None:
            for change in (*_produced(before, seen), *_restored(before, seen)):
                growth[change.process_id, change.task_id].append(change)
        before = seen or before
        rates = _rates(growth)
        found.append({**row, "rates": rates} if rates else dict(row))
    return found


def _seen(row: Row) -> _Seen | None:
    if row.get("captured_at") is None:
        return None
    at_ms = parse_time(row["captured_at"])
    ends = {task["task_id"]: task["end_offset_sum"] for task in row["tasks"] if task.get("end_offset_sum") is not None}
    lags = {}
    for lag in row["lags"]:
        records = _records_behind(lag, ends)
        if records is not None:
            reported_at = lag.get("reported_at")
            lags[lag["process_id"], lag["task_id"]] = _Lag(records, parse_time(reported_at) if reported_at else at_ms)
    assigned = {
        (instance["process_id"], task_id)
        for instance in row["instances"]
        for consumer in instance["consumers"]
        for role in ("standby", "warmup")
        for task_id in consumer.get(role) or ()
    }
    reported = frozenset((lag["process_id"], lag["task_id"]) for lag in row["lags"])
    ready_lag = (row.get("config") or {}).get("acceptable_recovery_lag", AssignmentConfig().acceptable_recovery_lag)
    return _Seen(at_ms, ends, lags, reported, frozenset(assigned), ready_lag)


def _records_behind(lag: Row, ends: Mapping[str, int]) -> int | None:
    """Return how far a copy is behind; ``None`` for Kafka's markers and what cannot be known."""
    if lag.get("lag") is not None:
        return lag["lag"] if lag["lag"] >= 0 else None
    offset, end = lag.get("offset"), ends.get(lag["task_id"])
    return None if offset is None or end is None or offset < 0 else max(end - offset, 0)


def _produced(before: _Seen, seen: _Seen) -> list[StoreGrowth]:
    elapsed_ms = seen.at_ms - before.at_ms
    return [
        StoreGrowth("", task_id, None, produced_records=end - before.ends[task_id], produced_ms=elapsed_ms)
        for task_id, end in seen.ends.items()
        if elapsed_ms > 0 and end >= before.ends.get(task_id, end + 1)
    ]


def _restored(before: _Seen, seen: _Seen) -> list[StoreGrowth]:
    changes = []
    for copy, now in seen.lags.items():
        earlier = before.lags.get(copy)
        if earlier is None and copy in seen.assigned and copy not in before.reported and copy[1] in before.ends:
            earlier = _Lag(before.ends[copy[1]], before.at_ms)
        if earlier is None or not seen.ready_lag < now.records < earlier.records or now.at_ms <= earlier.at_ms:
            continue
        produced = max(seen.ends.get(copy[1], 0) - before.ends.get(copy[1], 0), 0) if copy[1] in before.ends else 0
        restored = earlier.records - now.records + produced
        changes.append(StoreGrowth(*copy, None, restored_records=restored, restored_ms=now.at_ms - earlier.at_ms))
    return changes


def _rates(growth: Mapping[tuple[str, str], Sequence[StoreGrowth]]) -> dict[str, Any]:
    produce, restore = [], []
    for (process_id, task_id), changes in sorted(growth.items()):
        total = _total(changes)
        if process_id:
            rate = restore_rate([total])
            if rate:
                restore.append({"process_id": process_id, "task_id": task_id, "records_per_second": rate})
        else:
            rate = produce_rate([total])
            if rate is not None:
                produce.append({"task_id": task_id, "records_per_second": rate})
    return {name: rates for name, rates in (("produce", produce), ("restore", restore)) if rates}


def _total(changes: Sequence[StoreGrowth]) -> StoreGrowth:
    return changes[0]._replace(
        restored_records=sum(change.restored_records for change in changes),
        restored_ms=sum(change.restored_ms for change in changes),
        produced_records=sum(change.produced_records for change in changes),
        produced_ms=sum(change.produced_ms for change in changes),
    )
