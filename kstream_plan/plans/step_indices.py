"""The steps of a plan about single tasks, by the indices of its group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kstream_plan.plans.plan import Plan
from kstream_plan.plans.step_rows import (
    DROP,
    KINDS,
    NO_SEAT,
    NOT_KNOWN,
    anew,
    are,
    in_batches,
)
from kstream_plan.plans.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    Place,
    Promote,
    ThreadMove,
)

#: The steps that start, move or copy a task, and those with which a warm-up begins or ends.
STEP_KINDS = (HandOver, Promote, ThreadMove, Place, Drop, Demote, KeepTemporary)
_KINDS = tuple(map(KINDS.index, STEP_KINDS))


class StepIndices(NamedTuple):
    """A step about a task: the number of its kind, and by index the task and the ``instance``.

    ``role`` is the number of the role that begins there, or of the one that ends (:data:`DROP`). ``is_new``: there
    is no former seat. A step that may have records to restore has ``caught_up`` (the state of the copy that it starts
    from), the number of ``records``, and ``is_anew`` (:func:`~kstream_plan.plans.steps.restores_anew`).
    """

    kind: int
    task: int
    instance: int
    role: int
    is_new: bool
    caught_up: bool
    records: int | None
    is_anew: bool


def step_indices(plan: Plan, *, apart: bool) -> Iterator[list[StepIndices]]:
    """Yield the steps of each round of a plan; ``apart``: without the stateless tasks, if these are numbers."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    rows_of_rounds = [rnd.steps.rows if apart else rnd.steps.every_row for rnd in plan.rounds]
    instance_of, end_offset_sums = (
        np.array([*plan.group.instance_of, NO_SEAT]),
        np.array(plan.group.end_offset_sums, np.int64),
    )
    for all_rows, number, rounds in in_batches(rows_of_rounds):
        is_step_kind = are(all_rows["kind"], *_KINDS)
        rows = all_rows[is_step_kind]
        from_consumer, to_consumer, is_drop = rows["from_consumer"], rows["to_consumer"], rows["kind"] == DROP
        columns = (
            rows["kind"],
            rows["task"],
            instance_of[np.where(is_drop, from_consumer, to_consumer)],
            np.where(is_drop, rows["from_role"], rows["to_role"]),
            from_consumer == NO_SEAT,
            rows["caught_up"] != 0,
        )
        records = (None if number == NOT_KNOWN else number for number in rows["restore_records"].tolist())
        is_anew = anew(rows, end_offset_sums).tolist()
        steps = map(StepIndices, *(column.tolist() for column in columns), records, is_anew)
        for number_of_steps in np.bincount(number[is_step_kind], minlength=rounds).tolist():
            yield list(islice(steps, number_of_steps))
