"""What the steps of a plan tell of single tasks, by the indices of its group, be these steps objects or rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kstream_plan.model import Group
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.row_blocks import Block, blocks, instances_in
from kstream_plan.plans.step_rows import DROP, KINDS, NO_SEAT, NOT_KNOWN, ROLES, anew, are
from kstream_plan.plans.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    Place,
    Promote,
    Step,
    ThreadMove,
    restores_anew,
)

#: The steps that tell what starts, moves and is copied, and those that do where a warm-up begins or ends.
TOLD = (HandOver, Promote, ThreadMove, Place, Drop, Demote, KeepTemporary)
_KINDS = tuple(map(KINDS.index, TOLD))


class Told(NamedTuple):
    """What happens to a task: the number of the kind of step, and by index the task and the ``instance``.

    ``role`` is the number of the role that it has there then, or of the one that ends (:data:`DROP`). ``is_new``: there
    is no former seat. Of a step that may have records to restore it is told whether it starts from a copy that is
    ``caught_up``, how many ``records``, and if ``is_anew`` (:func:`~kstream_plan.plans.steps.restores_anew`).
    """

    kind: int
    task: int
    instance: int
    role: int
    is_new: bool
    caught_up: bool
    records: int | None
    is_anew: bool


def told(plan: Plan, *, apart: bool) -> Iterator[list[Told]]:
    """Yield what each round of a plan tells; ``apart``: without the stateless tasks, if these are numbers."""
    for block in blocks(plan.rounds):
        if block.group is not None and all(apart or rnd.stateless is None for rnd in block.rounds):
            yield from _in_rows(plan.group, block)
        else:
            for rnd in block.rounds:
                yield list(_of_steps(plan.group, rnd.single_steps if apart else rnd.steps))


def _of_steps(group: Group, steps: Sequence[Step]) -> Iterator[Told]:
    for step in steps:
        if not isinstance(step, TOLD):
            continue
        seat, is_new = (step.from_, False) if isinstance(step, Drop) else (step.to, step.from_ is None)
        yield Told(
            KINDS.index(type(step)),
            group.task_index[step.task_id],
            group.instance_index[seat.process_id],
            ROLES.index(seat.role),
            is_new,
            isinstance(step, HandOver | Promote) and step.caught_up,
            *_restored(group, step),
        )


def _restored(group: Group, step: Step) -> tuple[int | None, bool]:
    if isinstance(step, Place | HandOver | Promote):
        return step.restore_records, restores_anew(step, group)
    return 0, False


def _in_rows(everyone: Group, block: Block) -> Iterator[list[Told]]:
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    assert block.group is not None
    (rows, number), instance_of = block.rows(), instances_in(everyone, block.group)
    which = are(rows["kind"], *_KINDS)
    rows, number = rows[which], number[which]
    from_, to, is_drop = rows["from_consumer"], rows["to_consumer"], rows["kind"] == DROP
    columns = (
        rows["kind"],
        rows["task"],
        instance_of[np.where(is_drop, from_, to)],
        np.where(is_drop, rows["from_role"], rows["to_role"]),
        from_ == NO_SEAT,
        rows["caught_up"] != 0,
    )
    records = (None if of == NOT_KNOWN else of for of in rows["restore_records"].tolist())
    is_anew = anew(rows, np.array(everyone.end_offset_sums, np.int64)).tolist()
    found = map(Told, *(column.tolist() for column in columns), records, is_anew)
    for number_of_steps in np.bincount(number, minlength=len(block.rounds)).tolist():
        yield list(islice(found, number_of_steps))
