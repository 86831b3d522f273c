"""Copies that come no closer, from one lag row to the next or from one generation to another.

Plans count on them to catch up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Copy, Group, Holding, Note, Snapshot
from kstream_plan.model.note import name_list
from kstream_plan.model.snapshot import COMES_NO_CLOSER
from kstream_plan.model.times import duration

if TYPE_CHECKING:
    from kstream_plan.snapshots.rows.lag_history import StoreHistory

#: The shortest time over which a lag that does not fall means anything.
LONG_ENOUGH_MS = 60_000

#: Process id and task id.
_Seat = tuple[str, str]


class Course(NamedTuple):
    """How far a copy was behind, how far it is now, and how long lies between."""

    lag_before: int
    lag_now: int
    elapsed_ms: int

    def stands(self, ready_lag: int) -> bool:
        """Tell whether it is behind, and came no closer for long enough to say so."""
        return self.lag_now > ready_lag and self.lag_now >= self.lag_before and self.elapsed_ms >= LONG_ENOUGH_MS


def no_closer(
    stores: Sequence[StoreHistory], group: Group, holdings: Sequence[Holding], ready_lag: int, most_intervals: int
) -> dict[tuple[int, int], Course]:
    """Return, by task and instance, the standbys and warm-ups that are behind, and no less than some intervals before.

    Copies of a task that the instance itself runs do not count, nor caught-up ones (lag at most ``ready_lag``).
    """
    from kstream_plan.snapshots.rows.lag_history import by_seat  # noqa: PLC0415 - not without lag rows

    instance_of = group.instance_of
    active_seats = {
        (task, instance_of[consumer]) for consumer, holding in enumerate(holdings) for task in holding.active
    }
    assigned_seats = {
        (task, instance_of[consumer])
        for consumer, holding in enumerate(holdings)
        for task in (*holding.standby, *holding.warmup)
    }
    courses: dict[tuple[int, int], Course] = {}
    for (task, instance), copy_stores in by_seat(stores, group).items():
        if (task, instance) in assigned_seats - active_seats:
            course = _course(copy_stores, most_intervals)
            if course is not None and course.stands(ready_lag):
                courses[task, instance] = course
    return courses


def notes_of(group: Group, courses: Mapping[tuple[int, int], Course]) -> list[Note]:
    """Return one warning for each instance that has copies which came no closer."""
    courses_by_instance: dict[int, dict[int, Course]] = defaultdict(dict)
    for (task, instance), course in sorted(courses.items()):
        courses_by_instance[instance][task] = course
    return [_note(group, instance, tasks) for instance, tasks in sorted(courses_by_instance.items())]


def _course(stores: Sequence[StoreHistory], most_intervals: int) -> Course | None:
    """Return how far a copy was behind before and is now, in all its stores, and how long lies between."""
    lag_before = lag_now = elapsed_ms = 0
    for store in stores:
        intervals = [interval for interval in store.intervals if None not in (interval.lag_before, interval.lag)]
        intervals = intervals[-most_intervals:]
        if not intervals:
            continue
        lag_before += intervals[0].lag_before or 0
        lag_now += intervals[-1].lag or 0
        elapsed_ms = max(elapsed_ms, sum(interval.elapsed_ms for interval in intervals))
    return Course(lag_before, lag_now, elapsed_ms) if elapsed_ms else None


def _note(group: Group, instance: int, tasks: Mapping[int, Course]) -> Note:
    holder = group.instances[instance]
    ids = tuple(str(group.tasks[task].task_id) for task in tasks)
    lag_before, lag_now, _ = next(iter(tasks.values()))
    elapsed_ms = min(course.elapsed_ms for course in tasks.values())
    seat, lasts = f"{name_list(ids)} on {holder.host or holder.process_id}", duration(elapsed_ms)
    lag, has, copies_catch, counts = (
        ("lag of the copy", "has", "the copy catches", "it is")
        if len(ids) == 1
        else ("lags of the copies", "have", "the copies catch", "they are")
    )
    message = (
        f"the {lag} of {seat} {has} not fallen in the last {lasts} of lag rows ({ids[0]}: {lag_before:,} records "
        f"behind, then {lag_now:,}): whether {copies_catch} up at all is unknown, and where the rate is unknown, "
        f"{counts} assumed to be caught up at a probe"
    )
    return Note(COMES_NO_CLOSER, message, ids)


def copies_behind(snapshot: Snapshot) -> bool:
    """Tell whether any standby or warm-up that a group goes on with was reported as behind."""
    return any(True for _ in _lagging_copies(snapshot))


def with_no_closer(snapshot: Snapshot, earlier: Sequence[Snapshot]) -> Snapshot:
    """Return a snapshot that knows, and warns, of its copies that come no closer; arguments as below."""
    still = no_closer_since(snapshot, earlier)
    return replace(
        snapshot,
        warnings=(*snapshot.warnings, *notes_of(snapshot.state.group, still)),
        no_closer_ms=MappingProxyType({seat: course.elapsed_ms for seat, course in still.items()}),
    )


def no_closer_since(snapshot: Snapshot, earlier: Sequence[Snapshot]) -> dict[tuple[int, int], Course]:
    """Return, by task and instance, the standbys and warm-ups that are behind, and no less than they were.

    A copy is compared with the latest earlier snapshot whose report is at least a minute older, and in which it was
    assigned or by whose decision it was: a copy that was new then, without a report, had everything to restore.

    Args:
        snapshot: the newest.
        earlier: some before it, the latest first.
    """
    earlier_places = [(previous, _places(previous)) for previous in earlier]
    courses: dict[tuple[int, int], Course] = {}
    for seat, place, lag_now in _lagging_copies(snapshot):
        for previous, places in earlier_places:
            course = _course_since(snapshot, place, lag_now, previous, places.get(seat))
            if course is not None and course.elapsed_ms >= LONG_ENOUGH_MS:
                if course.stands(snapshot.config.acceptable_recovery_lag):
                    courses[place] = course
                break
    return courses


def _lagging_copies(snapshot: Snapshot) -> Iterator[tuple[_Seat, tuple[int, int], int]]:
    """Yield the reported standbys and warm-ups that are not caught up: seat, place in the group, and lag."""
    group, ready_lag = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    kept_copies = _assigned_copies(snapshot, by_decision=True)
    for task, copies in enumerate(snapshot.state.copies):
        for copy in copies:
            waits = copy.consumer is not None and not copy.active and (task, copy.instance) in kept_copies
            if waits and copy.lag is not None and copy.lag > ready_lag:
                seat = group.instances[copy.instance].process_id, str(group.tasks[task].task_id)
                yield seat, (task, copy.instance), snapshot.told_lags.get((task, copy.instance), copy.lag)


def _places(snapshot: Snapshot) -> Mapping[_Seat, tuple[int, int]]:
    """Return the places of a snapshot's standbys and warm-ups in its group, those of its decision too."""
    group = snapshot.state.group
    assigned_copies = _assigned_copies(snapshot, by_decision=False) | _assigned_copies(snapshot, by_decision=True)
    return {
        (group.instances[instance].process_id, str(group.tasks[task].task_id)): (task, instance)
        for task, instance in assigned_copies
    }


def _assigned_copies(snapshot: Snapshot, *, by_decision: bool) -> set[tuple[int, int]]:
    """Return the standbys and warm-ups, as (task, instance): as held, or by the decision if it is known."""
    decision, instance_of = snapshot.decision, snapshot.state.group.instance_of
    holdings = snapshot.state.holdings
    if by_decision and decision is not None and decision.consumers is not None:
        holdings = decision.consumers
    return {
        (task, instance_of[consumer])
        for consumer, holding in enumerate(holdings)
        for task in (*holding.standby, *holding.warmup, *holding.temporary)
    }


def _course_since(
    snapshot: Snapshot, place: tuple[int, int], lag_now: int, earlier: Snapshot, earlier_place: tuple[int, int] | None
) -> Course | None:
    """Return the course of a copy since an earlier snapshot; ``None``: unknown."""
    first_ms, last_ms = earlier.captured_at_ms, snapshot.captured_at_ms
    if earlier_place is None or first_ms is None or last_ms is None:
        return None
    task, instance = earlier_place
    copy = next((copy for copy in earlier.state.copies[task] if copy.instance == instance), Copy(instance, None))
    reported_lag = earlier.told_lags.get(earlier_place, copy.lag)
    lag_before = earlier.state.group.tasks[task].end_offset_sum if reported_lag is None else reported_lag
    if lag_before < 0 or copy.active:
        return None
    earlier_ms = first_ms + earlier.reported_ms.get(earlier_place, 0)
    return Course(lag_before, lag_now, last_ms + snapshot.reported_ms.get(place, 0) - earlier_ms)
