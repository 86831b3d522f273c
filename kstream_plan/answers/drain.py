"""Whether instances, or Connect workers, may stop, as JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from kstream_plan.answers.document import FORM, GROUP, added, document, field
from kstream_plan.documents.codec import TEXT, WHOLE, Codec, list_of, or_null
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import UnprovenStart, options_that_tell
from kstream_plan.plans.loads import Busiest
from kstream_plan.simulation.drain import Drain, DrainedTask
from kstream_plan.simulation.drain_workers import DrainedItem, StandStill, WorkersDrained
from kstream_plan.simulation.effects_on_others import Aftermath


class _Follows(NamedTuple):
    """What follows for the group, and the plan that shows it."""

    aftermath: Aftermath
    plan: Plan


class _Unknown(NamedTuple):
    """A start of which it is unknown whether it is warm, and when its copy was last reported."""

    start: UnprovenStart
    heard_at: str | None


_PROCESS_IDS = list_of(TEXT, 1)
FORM.record(
    Busiest,
    "How much the busiest instance runs: stateful tasks, if there are any; a worker: connectors and tasks.",
    before="Before.",
    most="Maximum meanwhile.",
    process_ids="The instance that runs that much then.",
    from_ms=WHOLE.described("Since when: milliseconds after they stop."),
    after="At the end.",
)
_ENDS: dict[str, Any] = {
    "busiest": field("aftermath.busiest"),
    "instances": field("aftermath.instances", "Number of instances at the end."),
    "least": field("aftermath.least", "The minimum that one of them runs then."),
    "most": field("aftermath.most", "The maximum."),
    "verdict": field("plan.verdict.kind"),
    "rebalances": field("aftermath.rebalances", "Number of rebalances from when they stop."),
    "duration_ms": field("aftermath.duration_ms", "How long it takes from when they stop."),
    "duration_is": field("plan.summary.duration_is"),
}
_FOLLOWS = FORM.view(
    _Follows,
    "What follows for the group, as far as it was simulated: an unfinished plan continues.",
    noticed_ms=field(
        "aftermath.noticed_ms",
        "How long the group takes to notice that the last of them has gone; null: the simulation does not show it.",
    ),
    others_cold=field(
        "aftermath.others_cold",
        "Number of tasks that others ran, or that were unassigned, that start from a copy that is not caught up.",
    ),
    others_paused=field("aftermath.others_paused", "Number of them that pause."),
    others_longest_ms=field("aftermath.others_longest_ms", "Longest pause of one of them in total."),
    others_longest_is=field(
        "aftermath.others_longest_is",
        "floor: what cold starts restore comes on top, and how long that takes is unknown.",
    ),
    without_standby=field(
        "aftermath.without_standby", "Number of stateful tasks without a standby: before and at the end."
    ),
    left_alone=added(
        "Number of stateful tasks that have one copy left of several, until a new one has restored.",
        get="aftermath.left_alone",
    ),
    **_ENDS,
)


def _input(answer: type) -> Codec[Any]:
    return FORM.view(
        answer,
        digest=field("waiting_plan.digest", "Fingerprint of the group and its settings, as a plan from now on has it."),
        generation=field("plan.generation"),
        captured_at=field("plan.captured_at"),
        now=added("The moment that is asked of, RFC 3339 in UTC: by default the clock's; null: unknown.", get="time"),
    )


FORM.record(
    DrainedTask,
    ref="task",
    stateful="Whether it has state.",
    destination="Process id of the instance that starts it first.",
    pause_ms="How long it is paused; with what it restores before it runs, if the rate is known.",
    pause_is="floor: what it restores before it runs comes on top, and how long that takes is unknown.",
    caught_up="Whether it starts on a copy within acceptable.recovery.lag; true for a stateless task.",
    restore_records="Records to restore; null: the end offset is unknown.",
    restore_is=added("floor: only a lower bound of the copy's lag is known."),
    copy_there=added(
        "What the destination has of it just before: none; left-over: state on disk that it is not assigned; assigned."
    ),
    restores_ms=added("Part of pause_ms in which it restores before it runs; 0 if that is unknown."),
)
DRAIN = document(
    "drain",
    Drain,
    "Whether instances may stop",
    input=field(lambda drain: drain, "What was asked.", _input(Drain)),
    process_ids=_PROCESS_IDS.described("The instances that stop."),
    answer=added(
        "Whether they may stop now without a cold start: no if one is proven or likely, yes if every start is proven "
        "to be warm."
    ),
    now="What happens to every task that runs there if they stop now, in task order.",
    unknown=added(
        list_of(
            FORM.view(
                _Unknown,
                task_id=field("start.task_id"),
                process_id=field("start.process_id", "The instance that starts the task."),
                fact=field("start.evidence.fact", "Stable name of the fact that makes it unknown.", TEXT),
                words=field("start.evidence.words", "The same in words."),
                heard_at="When the copy was last reported, RFC 3339 in UTC; null: unknown.",
                at_most=field("start.evidence.at_most", "At most this many records behind; null: unknown."),
                settled_by=field("start.evidence.settled_by", "Options that would tell."),
            )
        ),
        "The copies from which a task may start warm or cold: that is unknown.",
        get=lambda drain: [_Unknown(start, drain.heard_at.get(start.task_id)) for start in drain.unknown],
    ),
    cold_now=added(
        "Minimum and maximum of cold starts among these, where it is unknown whether copies have caught up by now; "
        "`now` is the maximum.",
        get="how_many_cold",
    ),
    cold_again=added(
        list_of(TEXT),
        "Tasks of `now` that start warm, and start cold where they move again.",
        get=lambda drain: list(map(str, drain.cold_again)),
    ),
    follows=added(_FOLLOWS, get=lambda drain: _Follows(drain.follows, drain.plan)),
    wait_ms="How long until everything under way has settled and a probing interval has passed; null: nothing is under "
    "way, or it does not settle.",
    announced=added(
        "By the learner design: wait_ms is how long until instances that announce now that they leave are released, "
        "and later what happened to their tasks."
    ),
    later="The same after waiting; empty if there is nothing to wait for.",
    answer_later=added(
        "Whether they may stop after waiting, if copies have caught up by then; null: waiting changes nothing."
    ),
    restoring_after=added(
        list_of(TEXT),
        "Tasks that start cold if they stop after waiting, or restore for long before they run: of any instance.",
        get=lambda drain: list(map(str, drain.restoring_after)),
    ),
    doubts="Why more may start cold than `now` says: if there are any, the start is not proven warm.",
    settled_by=added(
        list_of(TEXT),
        "Options that would tell whether the unknown starts are warm.",
        get=lambda drain: options_that_tell(start.evidence for start in drain.unknown),
    ),
    rests_on=added("What is assumed for copies that were behind in their last report and count as caught up."),
)

FORM.record(
    DrainedItem,
    ref="item",
    task_id="The connector, `name (connector)`, or its task, `name-0`.",
    destination="Member id of the worker that runs it first then; null: none.",
    pause_ms="Its pauses in total.",
)
FORM.record(
    StandStill,
    "What is unassigned if the workers stop in one way.",
    ref="way",
    way="stopped: cleanly; killed: noticed at session.timeout.ms; restarted: stopped cleanly, back after a minute; "
    "delay-60s, delay-0s: stopped cleanly at this scheduled.rebalance.max.delay.ms.",
    items="Connectors and tasks that pause at least once.",
    longest_ms="Longest pause of one of them in total.",
    item_ms="Sum of the pauses of all of them.",
    at_once="Maximum that is paused at the same time.",
    runs_after_ms=or_null(WHOLE).described(
        "How long after the stop the last of them runs again; null: the group does not settle."
    ),
)
DRAIN_WORKERS = document(
    "drain-workers",
    WorkersDrained,
    "Pauses if workers stop",
    title="drain, of a Connect group",
    input=field(lambda drain: drain, "What was asked.", _input(WorkersDrained)),
    group=added(GROUP, "Members before and after, and all connectors and tasks.", get="plan"),
    process_ids=_PROCESS_IDS.described("Member ids of the workers that stop."),
    answer=added("Whether nothing stands unassigned meanwhile, beyond the time until all have heard of a rebalance."),
    doubts=added("Why more may stand unassigned than the plan says."),
    items="What they ran.",
    ways=list_of(FORM.codec_of(StandStill), 1).described("The first one is a clean stop now."),
    follows=added(
        FORM.view(_Follows, "What follows for the group, if they are stopped now.", **_ENDS),
        get=lambda drain: _Follows(drain.follows, drain.plan),
    ),
    wait_ms=or_null(WHOLE).described("How long until everything under way has settled; null: waiting changes nothing."),
    later="A clean stop after waiting.",
)
