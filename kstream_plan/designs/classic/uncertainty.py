"""Where a plan stops being exact: what in a real group is left to chance, and whether this plan hangs on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import Assignment, Copy, Group, GroupState, Note, Rates
from kstream_plan.model.note import name_list
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans import HandOver, KeepTemporary, Place, Promote, Step, Withhold
from kstream_plan.plans.design import LATE_FOLLOW_UP, LEFT_OVER_CLEANUP
from kstream_plan.plans.plan import READY_AT_FOLLOW_UP

#: The steps by which an instance may take up left-over state again; a tuple, not a union, made anew for every step.
_TAKE_UP = (Place, HandOver, Promote, KeepTemporary, Withhold)


class TakenUp(NamedTuple):
    """A step by which an instance takes up left-over state again: with its task, and the copy that is left over."""

    step: Step
    task: int
    copy: Copy


def taken_back(state: GroupState, found: Iterable[TakenUp]) -> set[int]:
    """Return the tasks whose left-over state an instance of several threads takes up again.

    Which of its threads had reported that state, and so gets the task, is decided by a race between them.
    """
    capacities = state.group.capacities
    return {
        task
        for step, task, copy in found
        if copy.reporters and capacities[copy.instance] > 1 and not isinstance(step, Promote)
    }


def cleaned_up(
    before: GroupState, after: GroupState, by_ms: int, decision: Assignment, limit: int, cleaner: StateCleaner
) -> set[int]:
    """Return the tasks still under way of which caught-up left-over state counts as deleted ``by_ms``, perhaps wrongly.

    ``limit`` is ``acceptable_recovery_lag``.
    """
    return {
        task
        for task in before.unsettled.intersection(after.changed_since(before))
        if any(
            not cleaner.is_sure(before.group, copy, by_ms)
            for copy in _lost_caught_up(before.copies[task], after.copies[task], limit)
        )
        and task in decision.movements.tasks
    }


def ready_if_late(state: GroupState, steps: Iterable[Step], limit: int, rates: Rates, late_ms: int) -> set[int]:
    """Return the tasks with a copy placed just now that has caught up if the follow-up comes so late.

    Typically it comes before the copy is even created. ``limit`` is ``acceptable_recovery_lag``.
    """
    tasks = set()
    for step in steps:
        if isinstance(step, Place):
            rate, records = rates.restore_rate(state.group.instance_index[step.to.process_id]), step.restore_records
            if rate is not None and (records is None or limit < records <= limit + rate * late_ms / 1000):
                tasks.add(state.group.task_index[step.task_id])
    return tasks


def ready_at_follow_up(before: GroupState, after: GroupState, limit: int, rates: Rates) -> set[int]:
    """Return the tasks with a copy that counts as caught up at a follow-up, though its restore rate is unknown.

    One that was made just now does if it is active. ``limit`` is ``acceptable_recovery_lag``.
    """
    tasks = set()
    for task in after.changed_since(before):
        to_restore = {(copy.instance, copy.made_at_ms): copy.remaining for copy in before.copies[task]}
        whole = before.group.end_offset_sums[task]
        for copy in after.copies[task]:
            behind = to_restore.get((copy.instance, copy.made_at_ms), whole)  # one that is made anew is empty
            if copy.remaining <= limit < behind and rates.restore_rate(copy.instance) is None:
                tasks.add(task)
    return tasks


def perhaps_deleted(state: GroupState, found: Iterable[TakenUp], at_ms: int, cleaner: StateCleaner) -> set[int]:
    """Return the tasks of which an instance takes up left-over state again that may have been deleted before."""
    return {task for _, task, copy in found if not cleaner.is_sure(state.group, copy, at_ms)}


def taken_up(state: GroupState, steps: Iterable[Step]) -> Iterator[TakenUp]:
    """Yield the steps that take up left-over state again."""
    group, unsettled = state.group, state.unsettled
    for step in steps:
        if isinstance(step, _TAKE_UP):
            task = group.task_index[step.task_id]
            if task in unsettled:
                instance = group.instance_index[step.to.process_id]
                for copy in state.copies[task]:
                    if copy.instance == instance and copy.consumer is None:
                        yield TakenUp(step, task, copy)


def _lost_caught_up(before: tuple[Copy, ...], after: tuple[Copy, ...], limit: int) -> list[Copy]:
    still = {copy.instance for copy in after}
    return [
        copy
        for copy in before
        if copy.consumer is None
        and copy.lag is not None
        and copy.instance not in still
        and is_caught_up(copy.lag, limit)
    ]


def notes(state: GroupState, races: set[int], deletions: set[int], late: set[int], ready: set[int]) -> tuple[Note, ...]:
    """Put what was found over a whole plan into words."""
    found = []
    if races:
        found.append(
            Note(
                "threads-race",
                "Tasks return to instances that still have their left-over state: which thread of the instance gets "
                "a task is random",
                _names(state.group, races),
            )
        )
    if late:
        found.append(
            Note(
                LATE_FOLLOW_UP,
                "Threads race to rejoin: a follow-up that comes after 1.3s instead of 0.1s finds copies caught up "
                "that were placed just before, and tasks cut over at follow-ups without waiting for probes",
                _names(state.group, late),
            )
        )
    if ready:
        found.append(
            Note(
                READY_AT_FOLLOW_UP,
                "The restore rate is unknown. These copies are assumed to be caught up at follow-ups, within seconds; "
                "it takes longer if they are caught up only at probes (--restore-rate would tell)",
                _names(state.group, ready),
            )
        )
    if deletions:
        tasks = _names(state.group, deletions)
        found.append(
            Note(
                LEFT_OVER_CLEANUP,
                "Closed tasks leave their state on disk, and after state.cleanup.delay.ms instances delete it: "
                f"whether it is still there is unknown. If it is gone, {name_list(tasks, 5)} may go to "
                f"{'another instance' if len(tasks) == 1 else 'other instances'}",
                tasks,
            )
        )
    return tuple(found)


def _names(group: Group, tasks: set[int]) -> tuple[str, ...]:
    return tuple(str(group.tasks[task].task_id) for task in sorted(tasks))
