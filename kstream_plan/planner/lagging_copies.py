"""The copies that have to be restored yet when the first decision of a plan comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model import Group, GroupState, Holding
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans.plan import CopyBehind


def copies_behind(group: Group, initial: Sequence[Holding], first: GroupState, limit: int) -> Iterator[CopyBehind]:
    """Yield the copies that are assigned before a plan and do not count as caught up, by consumer, then task.

    Args:
        group: all members that ever take part.
        initial: what is held before the plan, by consumer of ``group``.
        first: the group as the first decision finds it.
        limit: ``acceptable.recovery.lag``.
    """
    copies = {
        (task, first.group.instances[copy.instance].process_id): copy
        for task, of_task in enumerate(first.copies)
        for copy in of_task
    }
    for consumer, holding in enumerate(initial):
        process_id = group.instances[group.instance_of[consumer]].process_id
        for task in sorted({*holding.active, *holding.standby, *holding.warmup, *holding.temporary}):
            copy = copies.get((task, process_id))
            if copy is not None and (copy.lag is None or not is_caught_up(copy.lag, limit)):
                yield CopyBehind(group.tasks[task].task_id, process_id, copy.remaining)
