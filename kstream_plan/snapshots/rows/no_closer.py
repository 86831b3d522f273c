"""Copies that a history of lags saw come no closer, though plans count on them to catch up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.coverage import COMES_NO_CLOSER
from kstream_plan.model.note import name_list
from kstream_plan.model.times import duration
from kstream_plan.snapshots.rows.lag_history import StoreHistory, by_seat

#: For so long a lag has to be looked at for that to mean anything.
LONG_ENOUGH_MS = 60_000


class Course(NamedTuple):
    """How far a copy was behind, how far it is now, and how long lies between."""

    before: int
    now: int
    elapsed_ms: int

    def stands(self, ready_lag: int) -> bool:
        """Tell whether it is behind, and came no closer for long enough to say so."""
        return self.now > ready_lag and self.now >= self.before and self.elapsed_ms >= LONG_ENOUGH_MS


def no_closer(
    stores: Sequence[StoreHistory], group: Group, holdings: Sequence[Holding], ready_lag: int, most_intervals: int
) -> dict[tuple[int, int], Course]:
    """Return, by task and instance, the standbys and warm-ups that are behind, and no less than some intervals before.

    Those of a task it runs itself do not count, nor those that count as caught up (lag at most ``ready_lag``).
    """
    instance_of = group.instance_of
    runs = {(task, instance_of[consumer]) for consumer, held in enumerate(holdings) for task in held.active}
    assigned = {
        (task, instance_of[consumer])
        for consumer, held in enumerate(holdings)
        for task in (*held.standby, *held.warmup)
    }
    courses: dict[tuple[int, int], Course] = {}
    for (task, instance), of_copy in by_seat(stores, group).items():
        if (task, instance) in assigned - runs:
            course = _course(of_copy, most_intervals)
            if course is not None and course.stands(ready_lag):
                courses[task, instance] = course
    return courses


def notes_of(group: Group, courses: Mapping[tuple[int, int], Course]) -> list[Note]:
    """Return a warning of each instance, by its copies that came no closer: by task and instance."""
    found: dict[int, dict[int, Course]] = defaultdict(dict)
    for (task, instance), course in sorted(courses.items()):
        found[instance][task] = course
    return [_note(group, instance, tasks) for instance, tasks in sorted(found.items())]


def _course(stores: Sequence[StoreHistory], most_intervals: int) -> Course | None:
    """Return how far a copy was behind before and is now, in all its stores, and how long lies between."""
    before = now = elapsed_ms = 0
    for store in stores:
        known = [of for of in store.intervals if of.behind_before is not None and of.behind is not None]
        known = known[-most_intervals:]
        if not known:
            continue
        before += known[0].behind_before or 0
        now += known[-1].behind or 0
        elapsed_ms = max(elapsed_ms, sum(of.elapsed_ms for of in known))
    return Course(before, now, elapsed_ms) if elapsed_ms else None


def _note(group: Group, instance: int, tasks: Mapping[int, Course]) -> Note:
    of = group.instances[instance]
    ids = tuple(str(group.tasks[task].task_id) for task in tasks)
    before, now, _ = next(iter(tasks.values()))
    elapsed_ms = min(course.elapsed_ms for course in tasks.values())
    seat, lasts = f"{name_list(ids)} on {of.host or of.process_id}", duration(elapsed_ms)
    lag, has, it, counts = (
        ("lag of the copy", "has", "the copy catches", "it is")
        if len(ids) == 1
        else ("lags of the copies", "have", "the copies catch", "they are")
    )
    message = (
        f"the {lag} of {seat} {has} not fallen in the last {lasts} of lag rows ({ids[0]}: {before:,} records behind, "
        f"then {now:,}): whether {it} up at all is unknown, and "
        f"where the rate is unknown, {counts} assumed to be caught up at a probe"
    )
    return Note(COMES_NO_CLOSER, message, ids)
