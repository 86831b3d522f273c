"""The starts of a plan from copies that are not caught up, and how long they restore."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import WorkId
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.restore_times import cold_restoring_ms, restored_at_ms
from kstream_plan.plans.steps import HandOver, Promote


class ColdStart(NamedTuple):
    """A task starts from a copy that is not caught up (both by index); ``restores_ms``: so long it restores first.

    ``restores_ms`` is ``None`` where it is unknown, or instances differ in how fast they restore.
    """

    task: int
    instance: int
    at_ms: int
    restores_ms: int | None


def cold_starts_of(plan: Plan) -> Iterator[ColdStart]:
    """Yield the starts of stateful tasks from copies that are not caught up, in time.

    ``restores_ms`` is known where all instances are known to restore at one rate, as the plan's figures count it:
    those of a streams group follow what is still under way.
    """
    group, restore = plan.group, plan.rates.restore
    is_one_rate = restore is not None and restore.least == restore.most and not restore.at_least
    rate = restore.least if restore is not None and is_one_rate else None
    moments = [(at_ms, [*steps.cold_starts()]) for rnd in plan.rounds for at_ms, steps in rnd.moments]
    followed = _followed(moments, rate) if plan.design == "streams" and rate else {}
    for at_ms, starts in moments:
        restore_ms_of_task = cold_restoring_ms(starts, lambda _: rate)
        for step in starts:
            task, instance = group.task_index[step.task_id], group.instance_index[step.to.process_id]
            ends_ms = followed.get((step.task_id, at_ms))
            yield ColdStart(
                task, instance, at_ms, restore_ms_of_task.get(step.task_id) if ends_ms is None else ends_ms - at_ms
            )


def _followed(
    moments: Iterable[tuple[int, Sequence[HandOver | Promote]]], rate: float
) -> Mapping[tuple[WorkId, int], int]:
    """Return by task and start when each cold start is restored, beside the restores under way on its instance."""
    of_instance: defaultdict[str, list[tuple[int, int, WorkId]]] = defaultdict(list)
    for at_ms, starts in moments:
        for step in starts:
            if step.restore_records is not None:
                of_instance[step.to.process_id].append((at_ms, step.restore_records, step.task_id))
    return {
        start: at_ms
        for instance_starts in of_instance.values()
        for start, at_ms in restored_at_ms(instance_starts, ((0, rate),)).items()
    }
