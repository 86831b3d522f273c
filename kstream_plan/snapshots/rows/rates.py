"""The ``rates`` of a snapshot: how fast tasks grew and copies were restored over the generations before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType

from kstream_plan.model import Group, Rates
from kstream_plan.snapshots.rows.fields import FieldError, Row, optional_rows, required_text, shown, wrong_type
from kstream_plan.snapshots.rows.members import normal_process_id


def read_rates(row: Row, group: Group) -> Rates:
    """Return the rates in records per second; those of tasks and instances that the group does not have are left out.

    Raises:
        FieldError: a field of the wrong type, or a rate that is none.
    """
    given = row.get("rates")
    if given is None:
        return Rates()
    if not isinstance(given, dict):
        raise wrong_type("rates", given, "an object")
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    restore: dict[tuple[int, int], float] = {}
    produce: dict[int, float] = {}
    for name in ("restore", "produce"):
        for number, item in enumerate(_items(given, name)):
            try:
                task, rate = task_index.get(required_text(item, "task_id")), _rate(item)
                if name == "produce" and task is not None:
                    produce[task] = rate
                elif name == "restore":
                    instance = group.instance_index.get(normal_process_id(required_text(item, "process_id")))
                    if task is not None and instance is not None:
                        restore[instance, task] = rate
            except FieldError as error:
                raise error.inside(f"rates.{name}[{number}]") from None
    return Rates(restore=MappingProxyType(restore), produce=MappingProxyType(produce))


def _items(given: Row, name: str) -> Sequence[Row]:
    try:
        return optional_rows(given, name)
    except FieldError as error:
        raise error.inside("rates") from None


def _rate(item: Row) -> float:
    value = item.get("records_per_second")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type("records_per_second", value, "a number")
    if not (math.isfinite(value) and value >= 0):
        raise FieldError("records_per_second", f"is {shown(value)}, which is no rate", "give a number, 0 or more")
    return float(value)
