"""What changed between two generations, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple

from kstream_plan.answers.document import FORM, added, document, field
from kstream_plan.comparison.changes import (
    Comparison,
    CopyChange,
    CopyChangeKind,
    InstanceChange,
    Side,
    Skew,
    Start,
    TaskChange,
    TaskClass,
)
from kstream_plan.comparison.protocol_view import MemberView, ProtocolView, protocol_view
from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.codec import COUNT, NUMBER, TEXT, WHOLE, Codec, list_of, one_of, or_null, with_name
from kstream_plan.plans.balance import Load


class _Member(NamedTuple):
    """An instance and what it runs."""

    process_id: str
    load: Load


def _counts(kinds: Iterable[StrEnum], meaning: str) -> Codec[Any]:
    """Return the codec of how many there are of each kind."""
    fields: dict[str, Any] = {kind: field(itemgetter(kind), meaning, COUNT) for kind in kinds}
    return FORM.view(dict, **fields)


_FROM, _TO = "Who had it; null: none.", "Who has it; null: none."
_RECORDS = with_name("records", or_null(COUNT).described("Records to restore; null if unknown."))
_MEMBER = FORM.view(
    _Member,
    process_id="The instance.",
    stateful=field("load.stateful", "Tasks with state that it runs."),
    stateless=field("load.stateless", "Tasks without state that it runs."),
    copies=field("load.copies", "Standby and warm-up copies."),
)
_SIDE = FORM.view(
    Side,
    ref="side",
    generation="Generation of the group.",
    captured_at="When it was so, RFC 3339 in UTC; null: unknown.",
    instances=field(lambda side: len(side.group.instances), codec=COUNT),
    tasks=field(lambda side: len(side.group.tasks), codec=COUNT),
    members=added(
        list_of(_MEMBER),
        "What each instance runs; of a Connect group all is counted as stateful.",
        get=lambda side: [_Member(*member) for member in side.loads.items()],
    ),
)
FORM.record(CopyChange, kind="What became of the copy.", from_=_FROM, to=_TO, restore_records=_RECORDS)
FORM.record(
    Start,
    within="Whether its state there is within `limit`.",
    held="Whether as an assigned copy, not left over.",
    lag=or_null(WHOLE).described("As reported: -2 running active, -3 unknown; null if no lag is known."),
    limit="acceptable.recovery.lag.",
    restore_records=_RECORDS,
)
_TASK = FORM.view(
    TaskChange,
    task_id="The task.",
    class_=field(
        "kind",
        "What became of the active role, the first that applies. orphaned: it had an owner and is unassigned; "
        "promoted: the new owner held a copy within the limit; handed-over-warm: it had left-over state within the "
        "limit; thread-moved: another consumer of the same instance. Of a Connect group, handed-over-warm: another "
        "worker runs it, or a worker runs what was unassigned.",
    ),
    from_=_FROM,
    to=_TO,
    copies="What became of its copies.",
    start="What a stateful task starts from on its new instance; null if it did not move.",
    pause_ms="Expected pause of the task, or its pause by the plan's clock.",
)
FORM.record(
    InstanceChange,
    kind="What became of the instance.",
    before="The former process id, number of threads or tags.",
    after="The new one.",
)
FORM.record(
    Skew,
    "Maximum minus minimum. An instance that has just joined counts as empty.",
    ref="skew",
    instance="Stateful tasks of an instance.",
    thread="Tasks of a consumer.",
    subtopology="Tasks of one subtopology on an instance, the worst one's.",
    balance_factor="All tasks of an instance.",
    subtopology_spread="Instances that run a subtopology.",
)
_TOTALS = FORM.view(
    Comparison,
    tasks=field("totals.tasks"),
    cold_starts=added(
        "Minimum and maximum of tasks whose last start was cold; they differ where generations are missing, and where "
        "only a lower bound of a lag was measured."
    ),
    untold_generations=added(
        "Generations between the two that are unknown: restore_records and pause_ms do not include what was restored "
        "and paused in them.",
        get="untold",
    ),
    classes=field("totals.classes", "Tasks by class.", _counts(TaskClass, "Tasks of this class.")),
    copies=field(
        "totals.copies", "Changes of copies by kind.", _counts(CopyChangeKind, "Copies to which this happened.")
    ),
    moved=field("totals.moved_tasks", "Tasks that one instance ran and another runs."),
    moved_share=field(
        lambda comparison: round(comparison.totals.moved_share, 6),
        "Their share of all tasks.",
        replace(NUMBER, schema={"type": "number", "minimum": 0, "maximum": 1}),
    ),
    started=field("totals.started_tasks", "Tasks that were unassigned and have an owner now."),
    restore_records=field("totals.restore_records", codec=_RECORDS),
    pause_ms=field("totals.pause_ms", "Sum of the pauses of all tasks."),
    pause_is=field(
        "totals.pause_is",
        "floor: a cold start makes a pause longer by what it restores, or when a task paused is unknown; seen: by a "
        "history's own times.",
        one_of(["floor", "estimate", "seen"]),
    ),
    skew_before=field("totals.skew_before"),
    skew_after=field("totals.skew_after"),
)
FORM.record(
    MemberView,
    added="onPartitionsAssigned, first.",
    revoked="onPartitionsRevoked, then.",
    gave_up="Whether it had given up everything before it joined (eager).",
)
FORM.record(
    ProtocolView,
    maybe_revoking="Owned and decided.",
    ready_to_migrate="Decided and without an owner.",
    unknown_but_owned="Owned and not decided: revoked.",
    withheld="Those of maybe_revoking whose owner changes: left out until revoked.",
    rejoin="Whether all members are asked to rejoin at once.",
    members="The callbacks of every member.",
)
DIFF = document(
    "diff",
    Comparison,
    "What changed between two generations of a group",
    details="Lossless: what was held before, with `tasks` carried out (each task's `from` and `to`, and those of its "
    "copies), is what is held after; a task that is not listed stayed, with its copies. Lists are in task or instance "
    "order. ",
    group_at="new.group",
    models_at=lambda comparison: comparison.new.models or comparison.old.models or MODELS,
    words={"verdict": TEXT.described("The whole in one line.")},
    extra={
        "protocol_view": added(
            FORM.codec_of(ProtocolView),
            "KIP-429's view of the rebalance; only with --set protocol.view=true.",
            get=lambda comparison: protocol_view(comparison.old, comparison.new),
        )
    },
    old=field("old", "The generation before.", _SIDE),
    new=field("new", "The generation after.", _SIDE),
    tasks=list_of(_TASK).described("The tasks that changed."),
    instances="The instances that changed.",
    totals=field(lambda comparison: comparison, "The sums.", _TOTALS),
)
