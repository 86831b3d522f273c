"""The ``rates`` of a snapshot: how fast tasks grew and instances restored over the generations before it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import Group, Rates
from kstream_plan.snapshots.rows.fields import (
    FieldError,
    Row,
    optional_boolean,
    optional_integer,
    optional_rows,
    optional_text,
    required_text,
    shown,
    wrong_type,
)
from kstream_plan.snapshots.rows.members import normal_process_id


def read_rates(row: Row, group: Group) -> Rates:
    """Return the rates in records per second; those of tasks and instances that the group does not have are left out.

    A restore rate is an instance's. One that names a task is of that copy alone; those of an instance add up.

    Raises:
        FieldError: a field of the wrong type, or a rate that is none.
    """
    given = row.get("rates")
    if given is None:
        return Rates()
    if not isinstance(given, dict):
        raise wrong_type("rates", given, "an object")
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    produce: dict[int, _Rate] = {}
    restore: dict[int, list[_Rate]] = defaultdict(list)
    for name in ("restore", "produce"):
        for number, item in enumerate(_items(given, name)):
            try:
                rate = _rate(item)
                if name == "produce":
                    produce[task_index.get(required_text(item, "task_id"), -1)] = rate
                    continue
                process_id, task = normal_process_id(required_text(item, "process_id")), optional_text(item, "task_id")
                if task is None or task in task_index:
                    restore[group.instance_index.get(process_id, -1)].append(rate)
            except FieldError as error:
                raise error.inside(f"rates.{name}[{number}]") from None
    produce.pop(-1, None)
    restore.pop(-1, None)
    measured: dict[int, float] = {}
    bounds: dict[int, float] = {}
    for instance, rates in sorted(restore.items()):
        at_least = any(rate.at_least for rate in rates)
        (bounds if at_least else measured)[instance] = math.fsum(rate.per_second for rate in rates)
    return Rates(
        restore=MappingProxyType(measured),
        restore_at_least=MappingProxyType(bounds),
        restore_intervals=MappingProxyType({i: n for i, rates in sorted(restore.items()) if (n := _intervals(rates))}),
        produce=MappingProxyType({task: rate.per_second for task, rate in produce.items()}),
        produce_intervals=MappingProxyType({task: n for task, rate in produce.items() if (n := rate.intervals)}),
        restore_source=MappingProxyType({i: of for i, rates in sorted(restore.items()) if (of := rates[0].source)}),
        produce_source=MappingProxyType({task: of for task, rate in produce.items() if (of := rate.source)}),
    )


class _Rate(NamedTuple):
    per_second: float
    intervals: int
    at_least: bool
    source: str


def _intervals(rates: Sequence[_Rate]) -> int:
    return min(rate.intervals for rate in rates)


def _items(given: Row, name: str) -> Sequence[Row]:
    try:
        return optional_rows(given, name)
    except FieldError as error:
        raise error.inside("rates") from None


def _rate(item: Row) -> _Rate:
    value = item.get("records_per_second")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type("records_per_second", value, "a number")
    if not (math.isfinite(value) and value >= 0):
        raise FieldError("records_per_second", f"is {shown(value)}, which is no rate", "give a number, 0 or more")
    return _Rate(
        float(value),
        optional_integer(item, "intervals") or 0,
        optional_boolean(item, "at_least") is True,
        optional_text(item, "source") or "",
    )
