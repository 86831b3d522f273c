"""A saved plan's figures, notes and verdict."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from kstream_plan.model import Note, TaskId
from kstream_plan.snapshots.json_fields import JsonFields
from kstream_plan.steps import Cause, CauseCode, LowerBounds, Outage, PausedTask, Summary, Verdict

_DURATION_KINDS: tuple[Literal["floor", "estimate"], ...] = ("floor", "estimate")
_VERDICTS: tuple[Literal["settled", "stuck", "cyclic", "unfinished"], ...] = (
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


def read_summary(field: JsonFields) -> Summary:
    """Return the plan's figures."""

    def paused_task(paused: JsonFields) -> PausedTask:
        return PausedTask(paused["task_id"].parsed(TaskId.parse), paused["ms"].integer(), paused["times"].integer())

    bounds = field["lower_bounds"]
    return Summary(
        rebalances=field["rebalances"].integer(),
        probing_rebalances=field["probing_rebalances"].integer(),
        duration_ms=field["duration_ms"].integer(),
        duration_is=field["duration_is"].choice(_DURATION_KINDS),
        moves=field["moves"].integer(),
        hops=field["hops"].integer(),
        warmups=field["warmups"].integer(),
        cold_handovers=field["cold_handovers"].integer(),
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


def read_verdict(field: JsonFields) -> Verdict:
    """Return how the plan ends."""
    return Verdict(
        kind=field["kind"].choice(_VERDICTS),
        tasks=field["tasks"].all_parsed(TaskId.parse),
        reason=field["reason"].text(),
        cause=field.get("cause").or_none(_cause),
    )


def read_outages(field: JsonFields, known: Collection[str]) -> tuple[Outage, ...]:
    """Return the outages in a list, of instances whose process ids are ``known``."""

    def outage(one: JsonFields) -> Outage:
        found = Outage(one["process_id"].text(), one["from_ms"].integer(), one["to_ms"].integer())
        if found.process_id not in known:
            raise one["process_id"].fail(f"is {found.process_id!r}, which is not among the instances")
        if found.to_ms <= found.from_ms:
            raise one["to_ms"].fail(f"is {found.to_ms}, which is not after from_ms")
        return found

    return tuple(map(outage, field))


def _cause(field: JsonFields) -> Cause:
    return Cause(
        code=field["code"].one_of(CauseCode),
        task_id=field["task_id"].parsed(TaskId.parse),
        process_id=field["process_id"].text(),
        message=field["message"].text(),
    )
