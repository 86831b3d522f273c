"""The fields of a plan's JSON that say how it ends, for those who plan on from there."""

from __future__ import annotations

from dataclasses import replace

from kstream_plan.documents.codec import (
    NUMBER,
    WHOLE,
    or_null,
)
from kstream_plan.documents.plan.group_fields import FORM
from kstream_plan.documents.records import Field
from kstream_plan.model import Partition
from kstream_plan.plans.end import EndConsumer, EndCopy, EndInput, EndInstance, EndRate, EndTask, PlanEnd

_MAYBE = or_null(WHOLE)
_RATE = replace(NUMBER, schema={"type": "number", "minimum": 0})

FORM.record(Partition, racks="Racks of its replicas; null if unknown.")
FORM.record(EndConsumer, "What it was assigned at the last decision.")
FORM.record(
    EndInstance,
    started_ms=_MAYBE.described("When it started, on the plan's clock; null if unknown."),
)
FORM.record(
    EndCopy,
    lag=_MAYBE.described("As reported: records, -2 (running), -3 (unknown), null (nothing)."),
    to_restore="Where that differs from what was reported.",
    consumer_ids="The consumers that reported it.",
    since_ms=_MAYBE.described("When it was assigned or left over there, on the plan's clock; null if unknown."),
    made_ms=_MAYBE.described("When it was created; null if unknown."),
)
FORM.record(EndRate, of="A process id, or a task id.", per_second=_RATE)
FORM.record(EndTask)
FORM.record(EndInput, records="Records that its changelogs grow by once the input is processed.")
END = FORM.record(
    PlanEnd,
    "The group at the last decision: what is needed to plan on from there (show --as-snapshot) and is not in "
    "the rounds. Times are on the plan's clock.",
    begins_at="When the plan begins, RFC 3339 in UTC; null if unknown.",
    at_ms=WHOLE.described("When the last decision was made."),
    goes_on="Whether anything was decided in the plan.",
    to_come="Number of external changes after the plan's end.",
    copies="All copies but running ones that only their owner reported.",
    restore="By instance.",
    produce="By task.",
    tasks=Field(
        description="Partitions with their racks, where those decide; left out if they do not.",
        default=(),
        left_out=True,
    ),
    unprocessed=Field(
        description="Input that waits while its task restores, or that the snapshot had; left out if there is none.",
        default=(),
        left_out=True,
    ),
    stores=Field(
        description="Where the stores of tasks are; left out if that is unknown.",
        default=None,
        left_out=True,
    ),
)
