"""Why a group does what it does, as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kstream_plan.answers.document import FORM, INPUT, added, document, field
from kstream_plan.documents.codec import ABSENT, BOOLEAN, COUNT, NUMBER, TEXT, WHOLE, Codec, mapping_of, or_null, whole
from kstream_plan.documents.records import Field
from kstream_plan.model import WorkId
from kstream_plan.plans import Reason, Seat, Trigger
from kstream_plan.plans.simulated import WhatIf
from kstream_plan.plans.why_answers import (
    Balancing,
    InstanceAnswer,
    Probing,
    Rebalances,
    Share,
    TaskAnswer,
    TaskStep,
    Uneven,
    WaitingCopy,
    Why,
)

_TIME_MS = or_null(WHOLE)
_RATE = or_null(replace(NUMBER, schema={"type": "number", "minimum": 0}))
_ROUND = or_null(whole(1))
FORM.record(
    WaitingCopy,
    "A copy that is waited for.",
    ref="waiting",
    owner="Process id of the instance that runs the task meanwhile; null: none.",
    destination="Process id of the instance that holds the copy.",
    to_run="Whether the task is to run there, not only to have a standby there.",
    lag=or_null(WHOLE).described("Records behind; null: unknown."),
    lag_is="How `lag` is known; whole: nothing was reported, so it is all of the state.",
    lag_at_ms=_TIME_MS.described("When it was so; null: nothing was reported."),
    since_ms=_TIME_MS.described("Since when the copy is assigned; null: unknown."),
    restore_rate=_RATE.described("Records per second that the instance restores; null: unknown."),
    shared_by=whole(1).described("Number of copies of that instance that share the rate."),
    ready_ms=_TIME_MS.described("When the copy is caught up at that rate; null: unknown, or never."),
    ready_is="What `ready_ms` is, or why there is none.",
    needed_rate="Records per second that the instance has to restore for this copy to be caught up at the next probe, "
    "where that is unknown.",
    decided_round=_ROUND.described("The round of the plan that decides for the copy; null: none does."),
    decided_ms="When that is.",
    takes_over_ms="When the task then starts there; null: not within this plan.",
    no_closer_ms=added(
        or_null(whole(60_000)), "For how long the lag of the copy was seen not to fall; null: not seen."
    ),
    restore_at_least=added(_RATE, "A lower bound of what the instance restores, where no rate is known; null: none."),
)
FORM.record(
    WhatIf,
    "The result of another setting, as simulated.",
    ref="what_if",
    setting="A setting, words joined by underscores.",
    value="Its value.",
    verdict="How it ends with that.",
    moves="Stateful tasks that change owner.",
    peak_extra_copies="Maximum of warm-up and temporary copies at the same time.",
    cold_handovers="Cold starts.",
    paused_task_ms=added("For a Connect group: how long all connectors and tasks are paused together; else null."),
    least_duration_ms=added("The least that it takes; null: unknown."),
    most_duration_ms=added("The most that it takes; null: unknown."),
    most_cold_handovers=added("The most cold starts that there may be; null: unknown."),
    may_not_settle=Field(BOOLEAN, "Whether it settles in the likely outcome, and not in another one.", default=False),
)
FORM.record(
    Probing,
    "Why it still probes. `cure`: a setting with which a group settles that does not.",
    ref="probing",
    next_ms="When the next probe comes; null: none does.",
    interval_ms="probing.rebalance.interval.ms.",
    at_once="max.warmup.replicas.",
    handed_over="Tasks that cut over without waiting for a probe.",
    waiting="Copies that are waited for, in task order.",
    queued="Tasks that are to run elsewhere and have no copy there yet.",
    tried="Whether other settings were simulated: not where the question is about a task or an instance.",
    sooner="Other settings with which it settles sooner.",
    cure="A setting with which a group settles that does not; null: none was found.",
)
FORM.record(
    Uneven,
    "Maximum minus minimum: now, and at the end of the plan.",
    ref="uneven",
    now="Now.",
    then="At the end of the plan.",
)
FORM.record(
    Balancing,
    "Stateful tasks per instance, all tasks, and those of the most uneven subtopology.",
    ref="balance",
    why="Why it is not balanced.",
    stateful="Stateful tasks per instance.",
    tasks="All tasks per instance.",
    subtopology="Tasks of the most uneven subtopology.",
    to_move="Stateful tasks that have to move.",
    warming="Number of these that wait for a copy, or for a place to make one.",
    balanced_ms="When the last one starts; null: not within this plan.",
)
_BY_TRIGGER = mapping_of(COUNT)
FORM.record(
    Rebalances,
    "What the rebalances are for.",
    ref="rebalances",
    by_trigger=replace(_BY_TRIGGER, schema={**_BY_TRIGGER.schema, "propertyNames": {"enum": list(Trigger)}}).described(
        "How many rebalances each trigger starts."
    ),
    for_state="Follow-ups that stateful tasks need.",
    only_stateless="Follow-ups only because stateless tasks are reassigned.",
    only_threads="Follow-ups only because tasks move between threads of an instance.",
    only_both="Follow-ups for both of these, and none with state.",
    stateless_hops="How often stateless tasks change instance.",
    thread_moves="How often tasks change thread within their instance.",
    moves="Stateful tasks that change owner.",
)
FORM.record(
    Share,
    "Stateful tasks that an instance runs now, and is to run.",
    ref="share",
    now="Now.",
    target="As it is to be.",
    of_kind_now="Those of the task's subtopology.",
    of_kind_target="Their number as it is to be.",
)
FORM.record(
    Reason,
    code="As in a plan.",
    lag=or_null(WHOLE).described("Lag in records of the copy that decided; -2: it is the running active, -3: unknown."),
    limit="acceptable.recovery.lag.",
    other_lag=or_null(WHOLE).described("Lag of the copy that it was compared with."),
)


def _step_field(name: str, codec: Codec[Any], description: str) -> Field:
    """Return a field that only some kinds of steps have."""
    return Field(codec, description, lambda step: getattr(step, name, ABSENT), default=ABSENT, left_out=True)


_STEP = FORM.view(
    object,
    "A step as in plans: see their schema.",
    kind=field("kind", "As in a plan.", TEXT),
    task_id=field("task_id", codec=FORM.codec_of(WorkId)),
    from__=_step_field("from_", or_null(FORM.codec_of(Seat)), "The former owner; null: none."),
    to=_step_field("to", FORM.codec_of(Seat), "The new owner."),
    caught_up=_step_field("caught_up", BOOLEAN, "Whether the copy it starts on has caught up."),
    restore_records=_step_field("restore_records", or_null(COUNT), "Records to restore first; null: unknown."),
    reason=field("reason", "Why, with the numbers that decided.", FORM.codec_of(Reason)),
)
FORM.record(
    TaskStep,
    ref="step",
    round_number=whole(1).described("Number of the rebalance."),
    trigger="What started it.",
    step=_STEP,
)
FORM.record(
    TaskAnswer,
    "Why the task in question moves.",
    ref="task",
    why="Why the task moves, or does not.",
    owner="Process id; null: unassigned.",
    target="Process id of the instance that is to run it.",
    ends="Process id of the instance that runs it at the end of the plan.",
    shares="Those of its owner and its target.",
    waiting="The copy that it waits for; null: none.",
    steps="Everything that happens to it.",
)
FORM.record(
    InstanceAnswer,
    "Why the instance in question does not run more.",
    ref="instance",
    why="Why the instance does not run more.",
    threads=whole(1).described("Number of its threads."),
    now="Tasks that it runs.",
    stateful="Those among them with state.",
    copies="Copies that it keeps.",
    target="Stateful tasks that it is to run.",
    least="The fewest that any instance is to run.",
    most="The maximum.",
    then="Tasks that it runs at the end of the plan.",
    waiting="Copies there that are waited for.",
    queued="Tasks that are to run there and have no copy there yet.",
    first_ms="When the next task starts there; null: none does.",
    first_is_stateful=added("Whether that task has state."),
)
WHY = document(
    "why",
    Why,
    "Why a group does what it does",
    details="Times are milliseconds from when the plan begins: now, or when the replayed decision was made. ",
    input=field("plan", "What the plan behind the answers was made from.", INPUT),
    verdict=field("plan.verdict.kind", "How the plan behind the answers ends."),
    duration_ms=field("plan.summary.duration_ms", "How long that plan takes."),
    duration_is=field("plan.summary.duration_is", "What that time is: see the schema of plans."),
    floor_ms=added(
        "The shortest possible time, if copies restore at once; null: the restore rate is known.",
        get="plan.summary.floor_ms",
    ),
    stands_after="Number of rounds of the plan after which the answers describe the group: none, if its newest "
    "decision is known; else those of the rebalance that starts now.",
    stands_ms="When that is.",
    as_decided="For a replayed decision (--replay), whether it came out as it was made, instance by instance; the "
    "answers then describe the group just before. Null: none was replayed.",
    probing="",
    balance="",
    rebalances="What the rebalances are for.",
    task="Why the task in question moves, or does not; null: none is.",
    instance="Why the instance in question does not run more; null: none is.",
)
