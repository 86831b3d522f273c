"""Copies that ``rack.aware.assignment.tags`` is to keep apart, and that are not where a plan ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.plan import COPIES_TOGETHER


def copies_together(group: Group, final: Sequence[Holding], config: AssignmentConfig) -> tuple[Note, ...]:
    """Warn, by tag, of stateful tasks whose copies lie on fewer values of it than there are copies, or on none.

    ``final`` is what consumers of ``group`` hold at the end. A task with no standby has nothing to keep apart.
    """
    if not config.num_standby_replicas:
        return ()
    holders: dict[int, set[int]] = defaultdict(set)
    for consumer, held in enumerate(final):
        for task in (*held.active, *held.standby):
            if group.tasks[task].stateful:
                holders[task].add(group.instance_of[consumer])
    several = {task: of for task, of in sorted(holders.items()) if len(of) > 1}
    found = (_note(group, several, tag) for tag in config.rack_aware_assignment_tags)
    return tuple(note for note in found if note is not None)


def _note(group: Group, several: dict[int, set[int]], tag: str) -> Note | None:
    value = [dict(instance.client_tags).get(tag) for instance in group.instances]
    spread = {task: {value[instance] for instance in of} - {None} for task, of in several.items()}
    together = [task for task, of in several.items() if len(spread[task]) < len(of)]
    if not together:
        return None
    ids = tuple(str(group.tasks[task].task_id) for task in together)
    worst = min(together, key=lambda task: len(spread[task]))
    there = len({value[instance] for of in several.values() for instance in of} - {None})
    why = (
        f"instances have {there:,} {'value' if there == 1 else 'values'} of this tag"
        if there
        else "no instance has this tag"
    )
    least = len(spread[worst])
    message = (
        f"rack.aware.assignment.tags={tag} does not keep the copies of {len(ids):,} of {len(several):,} tasks apart: "
        f"{len(several[worst]):,} copies of {ids[together.index(worst)]} share {least:,} "
        f"{'value' if least == 1 else 'values'}, and {why}"
    )
    return Note(COPIES_TOGETHER, message, ids)
