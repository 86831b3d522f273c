"""The ``rates`` of a snapshot: how fast tasks grew and instances restored over the generations before it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from types import MappingProxyType

from kstream_plan.model import Group, Rates
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.members import normal_process_id


def read_rates(rates_row: written.Rates | None, group: Group) -> Rates:
    """Return the rates in records per second; those of tasks and instances that the group does not have are left out.

    A restore rate is an instance's. One that names a task is of that copy alone; those of an instance add up.
    """
    if rates_row is None:
        return Rates()
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    produce = {task_index.get(rate.task_id, -1): rate for rate in rates_row.produce or ()}
    restore: dict[int, list[written.RestoreRate]] = defaultdict(list)
    for rate in rates_row.restore or ():
        if rate.task_id is None or rate.task_id in task_index:
            restore[group.instance_index.get(normal_process_id(rate.process_id), -1)].append(rate)
    produce.pop(-1, None)
    restore.pop(-1, None)
    exact_rates: dict[int, float] = {}
    bounds: dict[int, float] = {}
    for instance, rates in sorted(restore.items()):
        at_least = any(rate.at_least for rate in rates)
        (bounds if at_least else exact_rates)[instance] = math.fsum(rate.records_per_second for rate in rates)
    return Rates(
        restore=MappingProxyType(exact_rates),
        restore_at_least=MappingProxyType(bounds),
        restore_intervals=MappingProxyType({i: n for i, rates in sorted(restore.items()) if (n := _intervals(rates))}),
        produce=MappingProxyType({task: rate.records_per_second for task, rate in produce.items()}),
        produce_intervals=MappingProxyType({task: n for task, rate in produce.items() if (n := rate.intervals or 0)}),
        restore_source=MappingProxyType(
            {i: source for i, rates in sorted(restore.items()) if (source := rates[0].source)}
        ),
        produce_source=MappingProxyType({task: source for task, rate in produce.items() if (source := rate.source)}),
    )


def _intervals(rates: Sequence[written.RestoreRate]) -> int:
    return min(rate.intervals or 0 for rate in rates)
