"""Copies that a history of lags saw come no closer, though plans count on them to catch up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.note import name_list
from kstream_plan.model.snapshot import COMES_NO_CLOSER
from kstream_plan.model.times import duration
from kstream_plan.snapshots.rows.lag_history import StoreHistory, by_seat

#: The shortest time over which a lag that does not fall means anything.
LONG_ENOUGH_MS = 60_000


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
