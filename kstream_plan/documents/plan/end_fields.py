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
from kstream_plan.plans.end import EndConsumer, EndCopy, EndInstance, EndRate, EndTask, PlanEnd

_MAYBE = or_null(WHOLE)
_RATE = replace(NUMBER, schema={"type": "number", "minimum": 0})

FORM.record(Partition, racks="Of its replicas; null if not known.")
FORM.record(EndConsumer, "What it was assigned when the last decision was made.")
FORM.record(
    EndInstance,
    started_ms=_MAYBE.said("Since when it runs, on the plan's clock; null if not known."),
)
FORM.record(
    EndCopy,
    lag=_MAYBE.said("As reported: records, -2 (runs), -3 (not known), null (nothing)."),
    to_restore="Where that is something else than what was reported.",
    consumer_ids="Who reported it.",
    since_ms=_MAYBE.said("Since when it has been where it is, on the plan's clock; null if not known."),
    made_ms=_MAYBE.said("When there was none before it; null if not known."),
)
FORM.record(EndRate, of="A process id, or a task id.", per_second=_RATE)
FORM.record(EndTask)
END = FORM.record(
    PlanEnd,
    "The group as the last decision found it: what it takes to plan on from there (show --final --as-snapshot), and "
    "what the rounds do not tell. Times are on the plan's clock.",
    begins_at="When the plan begins, RFC 3339 in UTC; null if nobody knows.",
    at_ms=WHOLE.said("When the last decision was made."),
    goes_on="Whether anything was decided in the plan.",
    to_come="How many changes from outside come after the plan's end.",
    copies="All but those that ran, and of which only their owner said so.",
    restore="By instance.",
    produce="By task.",
    tasks=Field(
        description="Partitions with their racks, where those decide; left out if they do not.",
        missing=(),
        left_out=True,
    ),
)
