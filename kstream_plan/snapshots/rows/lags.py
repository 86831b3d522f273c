"""Lag rows, one by one: what an instance reported about one store of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from kstream_plan.model import LATEST, UNKNOWN, Group
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.rows.document_kind import refuse_written
from kstream_plan.snapshots.rows.fields import (
    FieldError,
    Row,
    checked_integer,
    optional_boolean,
    optional_integer,
    optional_text,
    optional_texts,
    required_text,
    shown,
    wrong_type,
)
from kstream_plan.snapshots.rows.members import normal_process_id
from kstream_plan.snapshots.rows.tasks import parsed_task_id
from kstream_plan.snapshots.rows.times import optional_time


class LagSource(StrEnum):
    """Where a lag is from: the report at the last join, or what the application's own metrics said later.

    Of metrics without end offsets only the least that a copy is behind is known.
    """

    JOIN = "join"
    METRICS = "metrics"
    METRICS_AT_LEAST = "metrics, at least"


class LagRow(NamedTuple):
    """One lag row, its task, instance and consumers as indices of the group.

    ``store`` is ``None`` for a row about the whole task. Exactly one of ``lag`` and ``offset`` is given, a number of
    records or one of Kafka's markers, unless the store is not ``logged``: it has no lag then. ``reporters`` is ``None``
    if the row does not name them. ``at_ms`` is the time of the row since 1970, ``None`` if it has none (always, inside
    a snapshot); ``reported_at_ms`` that of the join at which the instance reported it, or of the moment at which it was
    measured, ``None`` if it is not said; ``source`` tells which.
    """

    task: int
    instance: int
    store: str | None
    lag: int | None
    offset: int | None
    end_offset: int | None
    reporters: tuple[int, ...] | None
    restoring: bool = False
    at_ms: int | None = None
    logged: bool = True
    reported_at_ms: int | None = None
    source: LagSource = LagSource.JOIN


class UnknownNameError(FieldError):
    """A lag row names a task, an instance or a consumer that the snapshot does not have."""

    def inside(self, outer: str) -> UnknownNameError:
        """Return the same error seen from further out."""
        error = super().inside(outer)
        return UnknownNameError(error.path, error.what, error.fix)


class LagRows:
    """Reads lag rows of one group, one after the other; no two may be about the same store at the same time.

    Args:
        group: the group they are about (its tasks may be unfinished).
        flat: they are rows of a lag snapshot, which have ``captured_at`` and ``restoring`` too.
    """

    def __init__(self, group: Group, *, flat: bool = False) -> None:
        self._group = group
        self._flat = flat
        self._consumer_index = {consumer_id: index for index, consumer_id in enumerate(group.consumer_ids)}
        self._task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
        self._places: dict[tuple[int, int, str | None, int | None], str] = {}

    def read(self, item: Row, place: str) -> LagRow:
        """Read one row.

        Args:
            item: the row.
            place: where it is, for error messages.

        Raises:
            UnknownNameError: it names a task, an instance or a consumer that is not in the group.
            FieldError: it is no lag row but a document that this tool has written; a field of the wrong type or out of
                range; both ``lag`` and ``offset``, or neither; another row is about the same store at the same time.
        """
        try:
            if self._flat:
                refuse_written(item)
            row = _read_lag_row(item, self._group, self._task_index, self._consumer_index)
            if self._flat:
                required_text(item, "application_id")
                restoring = optional_boolean(item, "restoring") is True
                row = row._replace(restoring=restoring, at_ms=optional_time(item, "captured_at"))
            first = self._places.setdefault((row.task, row.instance, row.store, row.at_ms), place)
            if first is not place:
                raise FieldError("", f"is about the same store of the same task as {first}", "keep one of them")
        except FieldError as error:
            raise error.inside(place) from None
        return row


def read_lag_rows(items: Sequence[Row], group: Group) -> list[LagRow]:
    """Read the ``lags`` of a snapshot, see :meth:`LagRows.read`."""
    rows = LagRows(group)
    return [rows.read(item, f"lags[{number}]") for number, item in enumerate(items)]


def _read_lag_row(item: Row, group: Group, task_index: Mapping[str, int], consumer_index: Mapping[str, int]) -> LagRow:
    instance = _known_instance(item, group)
    task = task_index.get(required_text(item, "task_id"))
    if task is None:
        task = _known_task(item, group)
    logged = optional_boolean(item, "logged") is not False
    lag, offset = _records_or_marker(item, "lag"), _records_or_marker(item, "offset")
    if lag is not None and offset is not None:
        raise FieldError("offset", f"is {offset} beside a lag of {lag}", "give lag or offset, not both")
    if logged and lag is None and offset is None:
        raise FieldError("lag", "is missing, and so is offset", f"give one of them ({UNKNOWN} if it is not known)")
    return LagRow(
        task,
        instance,
        optional_text(item, "store"),
        lag,
        offset,
        optional_integer(item, "end_offset"),
        _reporters(item, group, instance, consumer_index),
        logged=logged,
        reported_at_ms=optional_time(item, "reported_at"),
        source=_source(item),
    )


def _source(item: Row) -> LagSource:
    given = optional_text(item, "source")
    try:
        return LagSource.JOIN if given is None else LagSource(given)
    except ValueError:
        names = ", ".join(f'"{source}"' for source in LagSource)
        raise FieldError("source", f"is {shown(given)}, which is none", f"write one of {names}") from None


def _known_instance(item: Row, group: Group) -> int:
    process_id = required_text(item, "process_id")
    instance = group.instance_index.get(process_id)
    if instance is None:
        instance = group.instance_index.get(normal_process_id(process_id))
    if instance is None:
        fix = "add the instance to instances, or leave the row out"
        raise UnknownNameError("process_id", f"is {shown(process_id)}, which is not in instances", fix)
    return instance


def _known_task(item: Row, group: Group) -> int:
    task = group.task_index.get(parsed_task_id("task_id", item["task_id"]))
    if task is None:
        what = f"is {shown(item['task_id'])}, which is not in tasks"
        raise UnknownNameError("task_id", what, "add the task to tasks, or leave the row out")
    return task


def _records_or_marker(item: Row, name: str) -> int | None:
    value = item.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise wrong_type(name, value, "a whole number")
    if value in (LATEST, UNKNOWN):
        return value
    if value < 0:
        fix = f"give a number of records, {LATEST} (running active) or {UNKNOWN} (unknown)"
        raise FieldError(name, f"is {value}, which is negative and none of Kafka's markers", fix)
    return checked_integer(name, value, 0, MAX_LONG)


def _reporters(item: Row, group: Group, instance: int, consumer_index: Mapping[str, int]) -> tuple[int, ...] | None:
    names = optional_texts(item, "consumer_ids")
    if names is None:
        return None
    reporters = set()
    for position, name in enumerate(names):
        consumer = consumer_index.get(name)
        if consumer is None or consumer not in group.consumers_of[instance]:
            what = f"is {shown(name)}, no consumer of {shown(group.instances[instance].process_id)}"
            raise UnknownNameError(f"consumer_ids[{position}]", what, "name consumers of the instance that reported")
        reporters.add(consumer)
    return tuple(sorted(reporters))
