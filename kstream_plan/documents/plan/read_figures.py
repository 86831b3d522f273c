"""A saved plan's figures, notes and verdict."""

from __future__ import annotations

from typing import Literal

from kstream_plan.documents.json_fields import JsonFields
from kstream_plan.model import Group, Note, TaskId
from kstream_plan.plans import Balance, Cause, CauseCode, LowerBounds, Outage, PausedTask, Summary, Verdict

DURATION_KINDS: tuple[Literal["floor", "estimate"], ...] = ("floor", "estimate")
VERDICTS: tuple[Literal["settled", "stuck", "cyclic", "unfinished"], ...] = (
    "settled",
    "stuck",
    "cyclic",
    "unfinished",
)


def read_notes(field: JsonFields) -> tuple[Note, ...]:
    """Return the assumptions or warnings in a list."""
    return tuple(
        Note(
            code=note["code"].text(),
            message=note["message"].text(),
            subjects=tuple(subject.text() for subject in note["subjects"]),
        )
        for note in field
    )


def read_balance(field: JsonFields, group: Group) -> Balance:
    """Return how evenly a round spreads the load.

    Raises:
        PlanFileError: a figure is missing or of another type, or there is not one for each instance of ``group``.
    """
    balance = Balance(
        active=field["active"].integers(),
        standby=field["standby"].integers(),
        load_per_thread=field["load_per_thread"].numbers(),
        instance_spread=field["instance_spread"].integer(),
        balance_factor=field["balance_factor"].integer(),
        subtopology_spread=field["subtopology_spread"].integer(),
        subtopology_task_spread=field["subtopology_task_spread"].integer(),
    )
    for name in ("active", "standby", "load_per_thread"):
        if len(getattr(balance, name)) != len(group.instances):
            raise field[name].fail(f"does not hold one number for each of {len(group.instances)} instances")
    return balance


def read_summary(field: JsonFields, group: Group) -> Summary:
    """Return the plan's figures.

    Raises:
        PlanFileError: a figure is missing or of another type, or the task that pauses longest is not in ``group``.
    """

    def paused_task(paused: JsonFields) -> PausedTask:
        return PausedTask(_task_id(paused["task_id"], group), paused["ms"].integer(), paused["times"].integer())

    bounds = field["lower_bounds"]
    return Summary(
        rebalances=field["rebalances"].integer(),
        probing_rebalances=field["probing_rebalances"].integer(),
        duration_ms=field["duration_ms"].integer(),
        duration_is=field["duration_is"].choice(DURATION_KINDS),
        moves=field["moves"].integer(),
        hops=field["hops"].integer(),
        warmups=field["warmups"].integer(),
        cold_handovers=field["cold_handovers"].integer(),
        max_cold_restore_ms=field.get("max_cold_restore_ms").or_none(JsonFields.integer),
        restored_records=field.get("restored_records").or_none(JsonFields.integer),
        paused_task_ms=field["paused_task_ms"].integer(),
        max_paused_task=field.get("max_paused_task").or_none(paused_task),
        peak_extra_copies=field["peak_extra_copies"].integer(),
        stateless_hops=field["stateless_hops"].integer(),
        lower_bounds=LowerBounds(
            moves=bounds["moves"].integer(),
            probing_rebalances=bounds["probing_rebalances"].integer(),
            restored_records=bounds.get("restored_records").or_none(JsonFields.integer),
        ),
    )


def read_verdict(field: JsonFields, group: Group) -> Verdict:
    """Return how the plan ends.

    Raises:
        PlanFileError: an unknown verdict, or it names a task or an instance that is not in ``group``.
    """
    return Verdict(
        kind=field["kind"].choice(VERDICTS),
        tasks=_task_ids(field["tasks"], group),
        reason=field["reason"].text(),
        cause=field.get("cause").or_none(lambda cause: _cause(cause, group)),
    )


def read_outages(field: JsonFields, group: Group) -> tuple[Outage, ...]:
    """Return the outages in a list."""

    def outage(one: JsonFields) -> Outage:
        found = Outage(one["process_id"].text(), one["from_ms"].integer(), one["to_ms"].integer())
        if found.process_id not in group.instance_index:
            raise one["process_id"].fail(f"is {found.process_id!r}, which is not among the instances")
        if found.to_ms <= found.from_ms:
            raise one["to_ms"].fail(f"is {found.to_ms}, which is not after from_ms")
        return found

    return tuple(map(outage, field))


def _cause(field: JsonFields, group: Group) -> Cause:
    process_id = field["process_id"].text()
    if process_id not in group.instance_index:
        raise field["process_id"].fail(f"is {process_id!r}, which is not among the instances")
    return Cause(
        code=field["code"].one_of(CauseCode),
        task_id=_task_id(field["task_id"], group),
        process_id=process_id,
        message=field["message"].text(),
    )


def _task_id(field: JsonFields, group: Group) -> TaskId:
    task_id = field.parsed(TaskId.parse)
    if task_id not in group.task_index:
        raise field.fail(f"is {field.text()!r}, which is not among the tasks")
    return task_id


def _task_ids(field: JsonFields, group: Group) -> tuple[TaskId, ...]:
    task_ids = field.all_parsed(TaskId.parse)
    if group.task_index.keys() >= set(task_ids):
        return task_ids
    return tuple(_task_id(item, group) for item in field)
