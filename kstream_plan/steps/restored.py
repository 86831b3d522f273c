"""Which steps restore something that no step before them did."""

from __future__ import annotations

from kstream_plan.model import Group
from kstream_plan.steps.kinds import HandOver, Place, Promote


def restores_anew(step: Place | HandOver | Promote, group: Group) -> bool:
    """Tell whether a step is a new copy, or a start that is cold or has no copy to start from.

    What a copy lacks that is caught up was counted when the copy was placed.
    """
    if isinstance(step, Place):
        return step.from_ is None
    if isinstance(step, HandOver) and step.caught_up:
        whole = group.tasks[group.task_index[step.task_id]].end_offset_sum
        return step.restore_records == whole > 0
    return not step.caught_up
