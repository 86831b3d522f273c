"""Copies that ``rack.aware.assignment.tags`` is to keep apart, and that share a value when a plan ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.plan import COPIES_TOGETHER


def tags_not_spread(group: Group, final: Sequence[Holding], config: AssignmentConfig) -> tuple[Note, ...]:
    """Warn, by tag, of stateful tasks whose copies lie on fewer values of it than there are copies, or on none.

    ``final`` is what consumers of ``group`` hold at the end. A task with no standby has nothing to keep apart.
    """
    if not config.num_standby_replicas:
        return ()
    holders: dict[int, set[int]] = defaultdict(set)
    for consumer, holding in enumerate(final):
        for task in (*holding.active, *holding.standby):
            if group.tasks[task].stateful:
                holders[task].add(group.instance_of[consumer])
    instances_by_task = {task: instances for task, instances in sorted(holders.items()) if len(instances) > 1}
    notes = (_note(group, instances_by_task, tag) for tag in config.rack_aware_assignment_tags)
    return tuple(note for note in notes if note is not None)


def _note(group: Group, instances_by_task: dict[int, set[int]], tag: str) -> Note | None:
    tag_values = [dict(instance.client_tags).get(tag) for instance in group.instances]
    spread = {
        task: {tag_values[instance] for instance in instances} - {None} for task, instances in instances_by_task.items()
    }
    sharing_tasks = [task for task, instances in instances_by_task.items() if len(spread[task]) < len(instances)]
    if not sharing_tasks:
        return None
    ids = tuple(str(group.tasks[task].task_id) for task in sharing_tasks)
    worst = min(sharing_tasks, key=lambda task: len(spread[task]))
    value_count = len(
        {tag_values[instance] for instances in instances_by_task.values() for instance in instances} - {None}
    )
    reason = (
        f"instances have {value_count:,} {'value' if value_count == 1 else 'values'} of this tag"
        if value_count
        else "no instance has this tag"
    )
    least = len(spread[worst])
    message = (
        f"rack.aware.assignment.tags={tag} does not keep the copies of {len(ids):,} of {len(instances_by_task):,} "
        f"tasks apart: {len(instances_by_task[worst]):,} copies of {ids[sharing_tasks.index(worst)]} share {least:,} "
        f"{'value' if least == 1 else 'values'}, and {reason}"
    )
    return Note(COPIES_TOGETHER, message, ids)
