"""Where a plan stops being exact: what a real group leaves to chance, and whether this plan depends on it."""

from __future__ import annotations

from collections.abc import Iterable

from kstream_plan.model import Group, GroupState, Note, Rates
from kstream_plan.model.note import name_list
from kstream_plan.plans import Place, Step
from kstream_plan.plans.note_codes import LATE_FOLLOW_UP, LEFT_OVER_CLEANUP
from kstream_plan.plans.plan import READY_AT_FOLLOW_UP


def caught_up_if_late(state: GroupState, steps: Iterable[Step], limit: int, rates: Rates, late_ms: int) -> set[int]:
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


def notes(state: GroupState, races: set[int], deletions: set[int], late: set[int], ready: set[int]) -> tuple[Note, ...]:
    """Return notes on what a whole plan leaves to chance."""
    uncertainties = []
    if races:
        uncertainties.append(
            Note(
                "threads-race",
                "Tasks return to instances that still have their left-over state: which thread of the instance gets "
                "a task is random",
                _names(state.group, races),
            )
        )
    if late:
        uncertainties.append(
            Note(
                LATE_FOLLOW_UP,
                "Threads race to rejoin: a follow-up that comes after 1.3s instead of 0.1s finds copies caught up "
                "that were placed just before, and tasks cut over at follow-ups without waiting for probes",
                _names(state.group, late),
            )
        )
    if ready:
        uncertainties.append(
            Note(
                READY_AT_FOLLOW_UP,
                "The restore rate is unknown. These copies are assumed to be caught up at follow-ups, within seconds; "
                "it takes longer if they are caught up only at probes (--restore-rate would tell)",
                _names(state.group, ready),
            )
        )
    if deletions:
        tasks = _names(state.group, deletions)
        uncertainties.append(
            Note(
                LEFT_OVER_CLEANUP,
                "Closed tasks leave their state on disk, and after state.cleanup.delay.ms instances delete it: "
                f"whether it is still there is unknown. If it is gone, {name_list(tasks, 5)} may go to "
                f"{'another instance' if len(tasks) == 1 else 'other instances'}",
                tasks,
            )
        )
    return tuple(uncertainties)


def _names(group: Group, tasks: set[int]) -> tuple[str, ...]:
    return tuple(str(group.tasks[task].task_id) for task in sorted(tasks))
