"""Lag rows, one by one: what an instance reported about one store of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import UNKNOWN, Group
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, shown, time_ms
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id, parsed_task_id
from kstream_plan.snapshots.rows.types import LagSource


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
        return UnknownNameError(error.path, error.problem, error.fix)


class LagRows:
    """Reads lag rows of one group, one after the other; no two may be about the same store at the same time.

    Args:
        group: the group they are about (its tasks may be unfinished).
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._consumer_index = {consumer_id: index for index, consumer_id in enumerate(group.consumer_ids)}
        self._task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
        self._places: dict[tuple[int, int, str | None, int | None], str] = {}

    def read(self, written_lag: written.Lag | written.LagSnapshot, place: str) -> LagRow:
        """Read one row.

        Args:
            written_lag: the row.
            place: where it is, for error messages.

        Raises:
            UnknownNameError: it names a task, an instance or a consumer that is not in the group.
            FieldError: both ``lag`` and ``offset``, or neither; another row is about the same store at the same time.
        """
        try:
            row = _read_lag_row(written_lag, self._group, self._task_index, self._consumer_index)
            first = self._places.setdefault((row.task, row.instance, row.store, row.at_ms), place)
            if first is not place:
                raise FieldError("", f"is about the same store of the same task as {first}", "keep one of them")
        except FieldError as error:
            raise error.inside(place) from None
        return row


def read_lag_rows(written_lags: Sequence[written.Lag], group: Group) -> list[LagRow]:
    """Read the ``lags`` of a snapshot, see :meth:`LagRows.read`."""
    rows = LagRows(group)
    return [rows.read(written_lag, f"lags[{number}]") for number, written_lag in enumerate(written_lags)]


def _read_lag_row(
    written_lag: written.Lag | written.LagSnapshot,
    group: Group,
    task_index: Mapping[str, int],
    consumer_index: Mapping[str, int],
) -> LagRow:
    instance = _known_instance(written_lag.process_id, group)
    task = task_index.get(written_lag.task_id)
    if task is None:
        task = _known_task(written_lag.task_id, group)
    logged = written_lag.logged is not False
    if written_lag.lag is not None and written_lag.offset is not None:
        raise FieldError(
            "offset", f"is {written_lag.offset} beside a lag of {written_lag.lag}", "give lag or offset, not both"
        )
    if logged and written_lag.lag is None and written_lag.offset is None:
        raise FieldError("lag", "is missing, and so is offset", f"give one of them ({UNKNOWN} if it is not known)")
    row = LagRow(
        task,
        instance,
        written_lag.store,
        written_lag.lag,
        written_lag.offset,
        written_lag.end_offset,
        _reporters(written_lag.consumer_ids, group, instance, consumer_index),
        logged=logged,
    )
    if isinstance(written_lag, written.LagSnapshot):
        return row._replace(restoring=written_lag.restoring is True, at_ms=time_ms(written_lag.captured_at))
    return row._replace(reported_at_ms=time_ms(written_lag.reported_at), source=written_lag.source or LagSource.JOIN)


def _known_instance(process_id: str, group: Group) -> int:
    instance = group.instance_index.get(process_id)
    if instance is None:
        instance = group.instance_index.get(normal_process_id(process_id))
    if instance is None:
        fix = "add the instance to instances, or leave the row out"
        raise UnknownNameError("process_id", f"is {shown(process_id)}, which is not in instances", fix)
    return instance


def _known_task(name: str, group: Group) -> int:
    task = group.task_index.get(parsed_task_id("task_id", name))
    if task is None:
        problem = f"is {shown(name)}, which is not in tasks"
        raise UnknownNameError("task_id", problem, "add the task to tasks, or leave the row out")
    return task


def _reporters(
    names: Sequence[str] | None, group: Group, instance: int, consumer_index: Mapping[str, int]
) -> tuple[int, ...] | None:
    if names is None:
        return None
    reporters = set()
    for position, name in enumerate(names):
        consumer = consumer_index.get(name)
        if consumer is None or consumer not in group.consumers_of[instance]:
            problem = f"is {shown(name)}, no consumer of {shown(group.instances[instance].process_id)}"
            raise UnknownNameError(f"consumer_ids[{position}]", problem, "name consumers of the instance that reported")
        reporters.add(consumer)
    return tuple(sorted(reporters))
