"""What rows of several generations say together: rates, and whether state outlives a restart."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kstream_plan.model import LATEST, Note
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.snapshots.rows.fields import Row, parse_time
from kstream_plan.snapshots.rows.measured_rates import (
    RECENT_INTERVALS,
    SHORTEST_INTERVAL_MS,
    Progress,
    Restored,
    produce_rate,
    progress,
    rate_fields,
    restore_rate,
    restored_by,
)

#: (process id, task id)
_Place = tuple[str, str]

#: How many restarts have to agree: a single new process id may be one lost disk.
_RESTARTS = 2


def with_rates(rows: Sequence[Row], source: str) -> list[dict[str, Any]]:
    """Return snapshot rows with the ``rates`` that the generations up to each of them give.

    * Restore rate of an instance: the median, over intervals between generations, of what all copies on it restored
      that were assigned meanwhile: by how much their lags fell, plus what was written. A copy that had just been
      placed starts from the whole sum. An interval in which one of them became ready (its lag at most
      ``acceptable_recovery_lag``) is a lower bound, for then the instance may have had time left.
    * Produce rate of a task: the median growth of its end offset sum, 0 where it was idle. The first growth from
      nothing is left out: it is the application catching up with what its source topics hold already.

    Intervals below ten seconds measure their own edges: for restoring they are left out, for producing put together.

    Args:
        rows: rows of one application in order of time (page ``snapshots``). A lag's time is its ``reported_at``,
            else the row's. Rows without a time are passed over.
        source: where the rows are from.
    """
    meter = _Meter(source)
    rows_with_rates = []
    for row in rows:
        meter.see(row)
        rates = meter.rates()
        rows_with_rates.append({**row, "rates": rates} if rates else dict(row))
    return rows_with_rates


class _Generation(NamedTuple):
    """The figures of one generation.

    ``reported_at_ms`` is when the members reported their lags, ``at_ms`` the time of the rest. ``lags`` has the copies
    that reported a number, ``ready`` those that reported to be running, ``unknown`` those without a known lag;
    ``assigned_copies`` has the copies that were assigned until then, active tasks included.
    """

    at_ms: int
    reported_at_ms: int
    ends: Mapping[str, int]
    lags: Mapping[_Place, int]
    ready: frozenset[_Place]
    unknown: frozenset[_Place]
    assigned_copies: frozenset[_Place]
    processes: frozenset[str]
    ready_lag: int


class _Point(NamedTuple):
    """How long a task's changelogs were, and when."""

    at_ms: int
    end: int


def _recent() -> deque[Any]:
    return deque(maxlen=RECENT_INTERVALS)


@dataclass(slots=True)
class _Meter:
    """Measures rates over generations; private to one call."""

    source: str
    previous: _Generation | None = None
    last_points: dict[str, _Point] = field(default_factory=dict)
    produce_rates: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(_recent))
    restore_rates: dict[str, deque[Restored]] = field(default_factory=lambda: defaultdict(_recent))

    def see(self, row: Row) -> None:
        generation = _generation(row)
        if generation is None:
            return
        for task_id, end in generation.ends.items():
            self._see_end(task_id, _Point(generation.at_ms, end))
        if (
            self.previous is not None
            and generation.reported_at_ms - self.previous.reported_at_ms >= SHORTEST_INTERVAL_MS
        ):
            for process_id, rate in _restore_rates(self.previous, generation):
                self.restore_rates[process_id].append(rate)
        self.previous = generation

    def _see_end(self, task_id: str, now: _Point) -> None:
        earlier_point = self.last_points.setdefault(task_id, now)
        elapsed_ms = now.at_ms - earlier_point.at_ms
        if now.end < earlier_point.end:
            self.last_points[task_id] = now
        elif elapsed_ms >= SHORTEST_INTERVAL_MS:
            if earlier_point.end > 0 or now.end == 0:
                self.produce_rates[task_id].append((now.end - earlier_point.end) * 1000 / elapsed_ms)
            self.last_points[task_id] = now

    def rates(self) -> dict[str, Any]:
        """Return the ``rates`` of a row, without what is not known."""
        produce = [
            {"task_id": task_id, **rate_fields(rate, self.source)}
            for task_id, intervals in sorted(self.produce_rates.items())
            if (rate := produce_rate(intervals)) is not None
        ]
        restore = [
            {"process_id": process_id, **rate_fields(rate, self.source)}
            for process_id, intervals in sorted(self.restore_rates.items())
            if (rate := restore_rate(intervals)) is not None
        ]
        return {name: rates for name, rates in (("produce", produce), ("restore", restore)) if rates}


def _generation(row: Row) -> _Generation | None:
    if row.get("captured_at") is None:
        return None
    at_ms = parse_time(row["captured_at"])
    ends = {task["task_id"]: task["end_offset_sum"] for task in row["tasks"] if task.get("end_offset_sum") is not None}
    lags: dict[_Place, int] = {}
    ready: set[_Place] = set()
    unknown: set[_Place] = set()
    for lag in row["lags"]:
        place, records = (lag["process_id"], lag["task_id"]), _records_behind(lag, ends)
        if records is not None:
            lags[place] = records
        else:
            (ready if LATEST in (lag.get("lag"), lag.get("offset")) else unknown).add(place)
    assigned_copies = {
        (instance["process_id"], task_id)
        for instance in row["instances"]
        for consumer in instance["consumers"]
        for role in ("active", "standby", "warmup")
        for task_id in consumer.get(role) or ()
    }
    return _Generation(
        at_ms=at_ms,
        reported_at_ms=max(
            (parse_time(reported_at) for lag in row["lags"] if (reported_at := lag.get("reported_at"))), default=at_ms
        ),
        ends=ends,
        lags=lags,
        ready=frozenset(ready),
        unknown=frozenset(unknown),
        assigned_copies=frozenset(assigned_copies),
        processes=frozenset(instance["process_id"] for instance in row["instances"]),
        ready_lag=(row.get("config") or {}).get("acceptable_recovery_lag", AssignmentConfig().acceptable_recovery_lag),
    )


def _records_behind(lag: Row, ends: Mapping[str, int]) -> int | None:
    """Return how far a copy is behind; ``None`` for Kafka's markers and what cannot be known."""
    if lag.get("lag") is not None:
        return lag["lag"] if lag["lag"] >= 0 else None
    offset, end = lag.get("offset"), ends.get(lag["task_id"])
    return None if offset is None or end is None or offset < 0 else max(end - offset, 0)


def _restore_rates(previous: _Generation, generation: _Generation) -> Iterator[tuple[str, Restored]]:
    """Yield the restore rate of every instance that restored between two generations."""
    elapsed_ms = generation.reported_at_ms - previous.reported_at_ms
    by_process: dict[str, list[Progress]] = defaultdict(list)
    for place in sorted(generation.assigned_copies):
        copy_progress = _progress(previous, generation, place) if place[0] in previous.processes else None
        if copy_progress is not None:
            by_process[place[0]].append(copy_progress)
    for process_id, copies in by_process.items():
        rate = restored_by(copies, elapsed_ms)
        if rate is not None:
            yield process_id, rate


def _progress(previous: _Generation, generation: _Generation, place: _Place) -> Progress | None:
    lag_before = _behind_at_the_beginning(previous, generation, place)
    lag_after = 0 if place in generation.ready else generation.lags.get(place)
    if lag_before is None:
        return None
    if lag_after is None:
        return Progress(0, ended=True, goes_on=False)  # no report: it may be ready
    written_records = max(generation.ends.get(place[1], 0) - previous.ends.get(place[1], 0), 0)
    return progress(lag_before, lag_after, written_records, previous.ready_lag)


def _behind_at_the_beginning(previous: _Generation, generation: _Generation, place: _Place) -> int | None:
    """Return how far a copy was behind when it began to restore; ``None``: it had nothing to restore, or unknown."""
    if place in previous.lags:
        return previous.lags[place]
    has_report = place in previous.ready or place in previous.unknown
    return None if has_report or place in generation.ready else previous.ends.get(place[1])


def with_stores_by_restarts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return snapshot rows with ``stores``: ``in-memory`` where every restart up to a row had a new process id.

    ``StateDirectory.initializeProcessId`` keeps the id in the state directory, unless all stores are in memory: an
    instance that returns with another one has no state, for one of the two reasons. Instances are told apart by their
    hosts; a host that runs several does not count.

    Args:
        rows: rows of one application in order of time (page ``snapshots``). A row's own ``stores`` stay.
    """
    last: dict[str, tuple[str, frozenset[str]]] = {}
    kept_ids = new_ids = 0
    rows_with_stores = []
    for row in rows:
        for host, (process_id, consumers) in _by_host(row).items():
            id_before, consumers_before = last.get(host, (process_id, consumers))
            new_ids += process_id != id_before
            kept_ids += process_id == id_before and consumers.isdisjoint(consumers_before)
            last[host] = (process_id, consumers)
        is_lost = new_ids >= _RESTARTS and not kept_ids
        rows_with_stores.append({"stores": "in-memory", **row} if is_lost else dict(row))
    return rows_with_stores


def lost_state_notes(rows: Sequence[Row]) -> list[Note]:
    """Return the warning if the newest of such rows has state that no restart kept."""
    if not rows or rows[-1].get("stores") != "in-memory":
        return []
    message = (
        "every restart seen on a host had a new process id: stores are in memory, or disks are lost at a restart. "
        "Either way nothing is left after one, unless --set stores says otherwise"
    )
    return [Note("state-lost-at-restarts", message)]


def _by_host(row: Row) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the process id and the consumers of each host that runs one instance."""
    instances = [instance for instance in row["instances"] if instance.get("host")]
    number = Counter(instance["host"] for instance in instances)
    return {
        instance["host"]: (
            instance["process_id"],
            frozenset(consumer["consumer_id"] for consumer in instance["consumers"]),
        )
        for instance in instances
        if number[instance["host"]] == 1
    }
