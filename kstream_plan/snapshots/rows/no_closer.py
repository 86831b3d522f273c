"""Copies that a history of lags saw come no closer, though plans count on them to catch up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.coverage import COMES_NO_CLOSER
from kstream_plan.snapshots.rows.lag_history import StoreHistory, by_seat

#: For so long a lag has to be looked at for that to mean anything.
_LONG_ENOUGH_MS = 60_000
_MOST_NAMED = 3

#: A task and an instance, by their places.
_Seat = tuple[int, int]


def no_closer(
    stores: Sequence[StoreHistory], group: Group, holdings: Sequence[Holding], ready_lag: int, most_intervals: int
) -> list[Note]:
    """Warn of each instance whose standbys or warm-ups are behind, and no less than some intervals before.

    Those of a task it runs itself do not count, nor those that count as caught up (lag at most ``ready_lag``).
    """
    instance_of = group.instance_of
    runs = {(task, instance_of[consumer]) for consumer, held in enumerate(holdings) for task in held.active}
    assigned = {
        (task, instance_of[consumer])
        for consumer, held in enumerate(holdings)
        for task in (*held.standby, *held.warmup)
    }
    found: dict[int, dict[int, tuple[int, int, int]]] = defaultdict(dict)
    for (task, instance), of_copy in by_seat(stores, group).items():
        if (task, instance) in assigned - runs:
            course = _course(of_copy, most_intervals)
            if course is not None and course[1] > ready_lag and course[1] >= course[0]:
                found[instance][task] = course
    return [_note(group, instance, tasks) for instance, tasks in sorted(found.items())]


def _course(stores: Sequence[StoreHistory], most_intervals: int) -> tuple[int, int, int] | None:
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
    return (before, now, elapsed_ms) if elapsed_ms >= _LONG_ENOUGH_MS else None


def _note(group: Group, instance: int, tasks: Mapping[int, tuple[int, int, int]]) -> Note:
    of = group.instances[instance]
    ids = tuple(str(group.tasks[task].task_id) for task in tasks)
    named = ", ".join(ids[:_MOST_NAMED]) + (f" and {len(ids) - _MOST_NAMED:,} more" if len(ids) > _MOST_NAMED else "")
    before, now, _ = next(iter(tasks.values()))
    elapsed_ms = min(elapsed_ms for _, _, elapsed_ms in tasks.values())
    copy, has, it, counts = (
        ("copy", "has", "it catches", "it is") if len(ids) == 1 else ("copies", "have", "they catch", "they are")
    )
    message = (
        f"the {copy} of {named} on {of.host or of.process_id} {has} come no closer in the last "
        f"{elapsed_ms // 1000:,} s that were looked at ({ids[0]}: {before:,} records behind, then {now:,}): "
        f"nobody knows that {it} up at all, and where no rate is known plans count as if {counts} ready at a probe"
    )
    return Note(COMES_NO_CLOSER, message, ids)
