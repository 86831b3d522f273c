"""Where tasks run in groups without recorded rebalances: streams groups, and Connect by its REST interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kstream_plan.comparison.decisions import decision_by_member, differences, recorded_decision
from kstream_plan.comparison.newcomers import names_of_newcomers
from kstream_plan.comparison.prediction import Recorded, TaskDifference
from kstream_plan.model import Snapshot, WorkId
from kstream_plan.plans import Plan


class MovedTask(NamedTuple):
    """A task that runs elsewhere than at the previous poll.

    task_id: the task.
    source: process id of the instance that ran it; ``None``: none did.
    destination: process id of the instance that runs it; ``None``: none does.
    """

    task_id: WorkId
    source: str | None
    destination: str | None


def moved_tasks(previous: Snapshot, snapshot: Snapshot) -> Iterator[MovedTask]:
    """Yield the tasks that run elsewhere than before, in task order."""
    owners, owners_before = _owners(snapshot), _owners(previous)
    for task_id in sorted(owners.keys() | owners_before.keys(), key=lambda work_id: work_id.sort_key):
        if owners.get(task_id) != owners_before.get(task_id):
            yield MovedTask(task_id, owners_before.get(task_id), owners.get(task_id))


def _owners(snapshot: Snapshot) -> dict[WorkId, str]:
    group = snapshot.state.group
    return {
        group.tasks[task].task_id: group.instances[group.instance_of[consumer]].process_id
        for consumer, holding in enumerate(snapshot.state.holdings)
        for task in holding.active
    }


def differs_from_beginning(plan: Plan, snapshot: Snapshot) -> bool:
    """Tell whether anything has happened to a group since its plan was made: its members, tasks or epoch changed."""
    group, holdings = plan.group, plan.initial
    owners = {
        group.tasks[task].task_id: group.instances[group.instance_of[consumer]].process_id
        for consumer, holding in enumerate(holdings)
        for task in holding.active
    }
    is_later = snapshot.group_protocol == "streams" and snapshot.state.generation > plan.generation
    return is_later or {*plan.first_members} != {*snapshot.state.group.instance_index} or owners != _owners(snapshot)


def differs_from_end(plan: Plan, snapshot: Snapshot) -> tuple[TaskDifference, ...] | None:
    """Return the tasks that run elsewhere than at the end of a plan; ``None``: the members differ."""
    recorded = Recorded.from_holdings(snapshot, at_ms=0)
    names = names_of_newcomers(plan, [recorded])
    members = {names.get(process_id, process_id) for process_id in snapshot.state.group.instance_index}
    if members != {name for name, _ in plan.members}:
        return None
    final_decision = decision_by_member(plan.group, plan.final, sorted(members))
    misplaced_tasks = differences(plan.group, final_decision, recorded_decision(recorded, names))
    return tuple(task for task in misplaced_tasks if task.said.active != task.seen.active)
