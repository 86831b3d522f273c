"""Every field of a plan's JSON, declared once: what it holds and what it means.

Reader (:mod:`~kstream_plan.documents.plan.read`), writer (:mod:`~kstream_plan.documents.plan.write`) and schema
(:func:`schema`) follow from it. Where the document has another form than the plan, a named tuple has the document's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from kstream_plan.documents.codec import (
    NUMBER,
    TEXT,
    WHOLE,
    Codec,
    Json,
    WrongValueError,
    list_of,
    mapping_of,
    or_null,
    parsed_text,
    schema_of,
    whole,
)
from kstream_plan.documents.plan.group_fields import END, FORM, NOTE, HoldingsDocument, TargetTasks
from kstream_plan.documents.plan.simulation_fields import SimulationDocument
from kstream_plan.documents.plan.step_fields import STEP
from kstream_plan.documents.records import Field
from kstream_plan.model import FollowedTarget, Instance, Note, Task
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
    Balance,
    Cause,
    CauseCode,
    FigureRange,
    LowerBounds,
    MemberUpdate,
    Outage,
    PausedTask,
    Phase,
    Step,
    Summary,
    Trigger,
    Verdict,
)
from kstream_plan.plans.caught_up_evidence import Evidence, UnprovenStart
from kstream_plan.plans.end import PlanEnd
from kstream_plan.plans.known_rates import NOTHING_KNOWN, KnownRate, KnownRates
from kstream_plan.plans.longest_pause import LongestPause
from kstream_plan.plans.plan import CopyBehind
from kstream_plan.plans.restore_times import RestoringStart
from kstream_plan.plans.summary import FIGURES
from kstream_plan.snapshots.rows.fields import parse_time

FORMAT_VERSION = "1.0"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"^[a-z][a-z0-9-]*$", re.ASCII)


class Member(NamedTuple):
    """Who takes part at the end."""

    process_id: str
    threads: int


class LaterConfig(NamedTuple):
    """Settings, and the number of the first round that is decided with them."""

    round: int
    config: AssignmentConfig


class Tool(NamedTuple):
    """What made a plan."""

    name: str
    version: str
    models: str
    design: str = "classic"
    probes: bool = True


class Origin(NamedTuple):
    """What was planned from."""

    digest: str
    snapshot_digest: str
    generation: int
    captured_at: str | None


class RoundDocument(NamedTuple):
    """One rebalance; ``decided`` and ``assigned`` only with ``full``."""

    number: int
    generation: int
    at_ms: int
    trigger: Trigger
    phases: tuple[Phase, ...]
    probing_rebalance: bool
    steps: Sequence[Step]
    balance: Balance
    turns: tuple[MemberUpdate, ...] = ()
    follows: FollowedTarget | None = None
    decided: HoldingsDocument | None = None
    assigned: HoldingsDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """A plan as its JSON has it."""

    format_version: str
    kind: Literal["plan"] = "plan"
    application_id: str
    tool: Tool
    input: Origin
    assignor: str
    protocol: str
    config: AssignmentConfig
    tasks: tuple[Task, ...]
    instances: tuple[Instance, ...]
    assumptions: tuple[Note, ...]
    initial: HoldingsDocument
    initial_balance: Balance
    stopping: tuple[str, ...] | None
    pauses_from_start: bool = False
    rounds: tuple[RoundDocument, ...]
    final: HoldingsDocument
    members: tuple[Member, ...]
    target: Mapping[str, TargetTasks]
    summary: Summary
    warnings: tuple[Note, ...]
    notes: tuple[Note, ...] = ()
    next: tuple[Note, ...] = ()
    verdict: Verdict
    longest_pause: LongestPause | None = None
    later_configs: tuple[LaterConfig, ...] = ()
    outages: tuple[Outage, ...] = ()
    rates: KnownRates = NOTHING_KNOWN
    end: PlanEnd | None = None
    unproven_starts: tuple[UnprovenStart, ...] = ()
    restoring_starts: tuple[RestoringStart, ...] = ()
    behind: tuple[CopyBehind, ...] = ()
    simulation: SimulationDocument | None = None
    seal: str | None = None


def _digest(text: str) -> str:
    if _DIGEST.fullmatch(text) is None:
        raise WrongValueError("is not a SHA-256 digest, 64 hexadecimal digits")
    return text


def _time(text: str) -> str:
    parse_time(text)
    return text


def _name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise WrongValueError("is not a name: small letters, digits and hyphens")
    return text


#: What a design, or what it does, is called. A plan is read without the design that it was made with.
_NAME_TEXT = parsed_text(_name, None, pattern=_NAME.pattern)
_DIGEST_TEXT = parsed_text(_digest, None, pattern="^[0-9a-f]{64}$")
_TIME = parsed_text(_time, None)
FORM.record(
    Balance,
    "How evenly the decision distributes the load.",
    ref="balance",
    active=list_of(whole().described("Active tasks.")).described("Per instance, in the order of `instances`."),
    standby=list_of(whole().described("Standby and warm-up copies.")).described("Per instance."),
    load_per_thread="Per instance: (active + standby) / threads.",
    instance_spread="Maximum minus minimum of active stateful tasks of an instance.",
    balance_factor="KIP-441's instance balance: maximum minus minimum of active tasks of an instance.",
    subtopology_spread="KIP-441's subtopology balance as it is worded: instances that execute a subtopology, maximum "
    "minus minimum.",
    subtopology_task_spread="Subtopology balance, as a balance_factor limits it: maximum minus minimum of active "
    "tasks of one subtopology on an instance, for the most uneven subtopology.",
)
FORM.record(
    MemberUpdate,
    at_ms="On the plan's clock.",
    first=whole().described("Index of the first of its steps; they end where those of the next turn begin."),
)
FORM.record(
    FollowedTarget,
    "What a decision followed of a target file.",
    ref="follows",
    plan="Id of the plan in the file; null where it did not count.",
    refusal="Code for which the file did not count; null where it did.",
    warmups="Copies beside the wanted ones at once, at most.",
    probe_ms="Time until the next decision while anything waits.",
    again_ms="Time until the next decision after this one; null: not before something happens.",
    expires_in_ms=Field(
        description="How long after this decision the file still counts; left out where it does not count.",
        default=None,
        left_out=True,
    ),
)
FORM.record(
    RoundDocument,
    "One rebalance: one generation of the group.",
    ref="round",
    number=whole(1).described("From 1."),
    generation="The group's generation.",
    at_ms="Milliseconds from now, where the plan begins.",
    trigger="What started the rebalance.",
    probing_rebalance="Whether the decision asks for a probing rebalance, also when a follow-up comes first.",
    steps=list_of(STEP).described("In task order."),
    turns=Field(
        description="Members that apply the round's decision later, one by one, by time; left out if there are none.",
        default=(),
        left_out=True,
    ),
    follows=Field(
        description="What the decision followed of a target file; left out for other assignors.",
        default=None,
        left_out=True,
    ),
    decided=Field(
        FORM.codec_of(HoldingsDocument),
        "What the assignor decided (only with --set full=true).",
        default=None,
        left_out=True,
    ),
    assigned=Field(
        FORM.codec_of(HoldingsDocument),
        "What the members then hold (only with --set full=true).",
        default=None,
        left_out=True,
    ),
)
FORM.record(PausedTask, ms="In all.", times="Number of pauses.")
LONGEST_PAUSE = FORM.record(
    LongestPause,
    "The longest pause of a task until it runs, with what it restores before.",
    times="Number of its pauses, which add up.",
    ms="All of it.",
    starts_ms="Time until it starts.",
    restores_ms="Time that it restores before it runs.",
    least_ms="The least that the longest pause may be, over all random simulations.",
    most_ms="The most that it may be; null: unknown.",
)
FORM.record(
    LowerBounds,
    "Lower bounds for any plan.",
    moves="Minimum number of stateful tasks that must change owner to reach the target's loads.",
    probing_rebalances="Probes that these take at max.warmup.replicas at a time.",
    restored_records="Null unless computed.",
)


def _ranges_codec() -> Codec[tuple[FigureRange, ...]]:
    by_figure = mapping_of(list_of(WHOLE))

    def read(value: Any) -> tuple[FigureRange, ...]:
        ranges = []
        for figure, ends in by_figure.read(value).items():
            if figure not in FIGURES:
                raise WrongValueError("is not a figure of the summary", figure)
            if len(ends) != 2 or ends[0] > ends[1]:
                raise WrongValueError("is not two numbers, the lower one first", figure)
            ranges.append(FigureRange(figure, *ends))
        return tuple(sorted(ranges, key=lambda figure_range: FIGURES.index(figure_range.figure)))

    def write(ranges: tuple[FigureRange, ...]) -> Json:
        return {figure_range.figure: [figure_range.low, figure_range.high] for figure_range in ranges}

    items: dict[str, Json] = {"type": "array", "items": WHOLE.schema, "minItems": 2, "maxItems": 2}
    schema: dict[str, Json] = {
        "type": "object",
        "propertyNames": {"enum": list(FIGURES)},
        "additionalProperties": items,
    }
    return Codec(read, write, schema)


FORM.record(
    Summary,
    "The plan in figures.",
    ref="summary",
    rebalances="Rounds.",
    probing_rebalances="Rounds that a probing timer started.",
    duration_ms="From now to the last round.",
    duration_is="probes: the rate of something that is restored is unknown, and every copy counts as caught up at the "
    "next probe; floor_ms is the lower bound. least: as probes, where there are no probes, and the time "
    "is the lower bound. estimate: all rates are known. floor: what 0.1.0 writes instead of probes.",
    moves="Stateful tasks whose owning instance differs at the end.",
    hops="Changes of owning instance of stateful tasks on the way.",
    warmups="Warm-up copies placed.",
    cold_handovers="Cut-overs of a stateful task to a copy above acceptable.recovery.lag: cold starts.",
    max_cold_restore_ms="How long the slowest of these restores before it runs; 0 if there are none, null if that is "
    "unknown for one of them.",
    restored_records="Records restored on the way; null if an end offset is unknown.",
    paused_task_ms="Sum of the pauses of all tasks: from revoked, or stopped with their instance, to cut over, and "
    "while a static member restarts.",
    max_paused_task="The task with the longest pause in total, without what it restores before it runs; null if no "
    "task pauses.",
    peak_extra_copies="Maximum of warm-up and temporary copies at the same time.",
    stateless_hops="Changes of owning instance of stateless tasks.",
    floor_ms=Field(
        description="The lower bound of the duration, if everything were restored at once; null where all rates are "
        "known, and in plans that 0.1.0 saved.",
        default=None,
    ),
    runs_by_ms=Field(
        description="From now until every task runs, restores included; only for a streams group, null if unknown.",
        default=None,
        left_out=True,
    ),
    ranges=Field(
        _ranges_codec(),
        "Figures that depend on something unknown, as whether copies have caught up by now: both ends, the lower one "
        "first. The figures themselves, and the rounds, are those of copies that have not. Beside figures of the "
        "summary: max_paused_task_ms, the longest pause of a task in total; longest_pause_ms, the longest single "
        "pause; paused_tasks_at_once, the maximum at the same time; settles, 0 or 1.",
        default=(),
    ),
)
_CAUSES = {
    CauseCode.RESTORE_TOO_SLOW: "What its instance restores grows at least as fast as it is restored.",
    CauseCode.STANDING_LAG: "Even a copy that has caught up is further behind than acceptable.recovery.lag.",
    CauseCode.SILENT_INSTANCE: "The instance restores nothing, and so reports nothing.",
    CauseCode.SLOW: "Its lag falls, but too slowly.",
    CauseCode.SILENT_OWNER: "A member of a streams group does not confirm that it has given the task up. The broker "
    "fences it within the plan, which ends without it.",
    CauseCode.OVERDUE_OWNER: "The same, but the broker should have fenced it before: when it will is unknown.",
    CauseCode.LEFT_UNASSIGNED: "Nothing starts the rebalance in which what a stopped worker ran would be assigned.",
}
FORM.record(Cause, code="\n".join(f"{code}: {_CAUSES[code]}" for code in CauseCode))
FORM.record(
    Verdict,
    "How the plan ends.",
    tasks="The tasks that keep it from settling.",
    cause=Field(
        description="Why a plan does not settle: why the first copy that it waits for is not caught up, or which "
        "member does not confirm that it has given up the first task that it waits for.",
        default=None,
    ),
)
FORM.record(Member, threads=whole(1))
FORM.record(LaterConfig, round=whole(1).described("Number of the first round that is decided with them."))
FORM.record(
    Outage,
    process_id="The instance that is not running.",
    from_ms=WHOLE.described("When it stops, on the plan's clock."),
    to_ms=WHOLE.described("When it is running again."),
)
FORM.record(
    Tool,
    models="The releases whose behaviour is modelled.",
    design=Field(
        _NAME_TEXT,
        "How the group coordinates; left out for the classic protocol.",
        default="classic",
        left_out=True,
    ),
    probes=Field(
        description="Whether probing rebalances find out which copies are caught up; left out if they do.",
        default=True,
        left_out=True,
    ),
)
FORM.record(
    Origin,
    "The input of the plan.",
    digest=_DIGEST_TEXT.described("SHA-256 of the canonical selected input."),
    snapshot_digest=_DIGEST_TEXT.described(
        "The same without what happens to the group: two simulations of one snapshot share it."
    ),
    generation="The snapshot's generation; round 1 is the next one.",
    captured_at=or_null(_TIME).described("When the snapshot was taken, RFC 3339 in UTC; null if it does not say."),
)
_RATE = replace(NUMBER, schema={"type": "number", "minimum": 0})
FORM.record(
    KnownRate,
    "A rate, in records per second.",
    ref="rate",
    median=_RATE.described("Median of the measured rates."),
    least=_RATE,
    most=_RATE,
    measured=whole(1).described("Instances, or tasks with state, whose rate is known."),
    among=whole(1).described("All instances, or tasks with state."),
    least_intervals=whole().described("In how many intervals each was measured; 0: unknown."),
    at_least="Only lower bounds were measured.",
    sources="log, offsets-topic, lags, metrics or given.",
)
FORM.record(
    KnownRates,
    "What was known of rates at the start.",
    restore=Field(description="Per instance, all its copies together.", default=None, left_out=True),
    produce=Field(description="Per task with state.", default=None, left_out=True),
)
FORM.record(
    Evidence,
    "What is known of a copy at a moment.",
    fact="The fact that decides.",
    words="The same in words.",
    age_ms=or_null(WHOLE).described("How old that fact is at the moment; null: it has no age, or its age is unknown."),
    heard_ms=or_null(WHOLE).described(
        "When the copy was last reported, in milliseconds after the snapshot was taken; null: unknown."
    ),
    at_least="It is at least this many records behind.",
    at_most="It is at most this many records behind; null: unknown.",
    settled_by="Options that would tell.",
)
FORM.record(
    UnprovenStart,
    task_id="The task.",
    process_id="The instance that starts it.",
    at_ms="When, on the plan's clock.",
    evidence="What is known of the copy that it starts from.",
)
FORM.record(
    RestoringStart,
    task_id="The task.",
    process_id="The instance that starts it.",
    round=whole(1).described("Number of the round."),
    at_ms="When, on the plan's clock.",
    records="What it restores before it runs.",
    restores_ms="How long that takes; null: unknown.",
)
FORM.record(
    CopyBehind,
    task_id="The task.",
    process_id="The instance with the copy.",
    records=whole().described("What it lacks."),
)
PLAN = FORM.record(
    PlanDocument,
    "The plan of a group: one JSON document per application. Lossless: `initial` plus the steps of rounds 1 to n is "
    "what the members hold after round n; without `temporary`, and with that round's `withhold` steps carried out, it "
    "is what was decided in it. Keys are sorted by code point, lists are in task or instance order. A reader ignores "
    "unknown fields and refuses another major version.",
    format_version=replace(TEXT, schema={"type": "string", "pattern": r"^1\."}).described(
        "Major and minor version of this format."
    ),
    assignor="Who decides.",
    protocol=_NAME_TEXT.described("The protocol by which tasks change their owner."),
    tasks="Every task, in Kafka's order.",
    instances="Every instance, in Kafka's order.",
    assumptions="What the plan assumes.",
    initial="What is held before round 1.",
    initial_balance="Balance before, as the first rebalance finds it: an instance that joins in it counts as empty, "
    "one that joins later does not count yet.",
    stopping=Field(
        list_of(TEXT),
        "Consumer ids of members that give up all their tasks before they join a rebalance; absent in plans that "
        "0.1.0 saved.",
        default=None,
    ),
    pauses_from_start=Field(
        description="Pauses count tasks that are unassigned when the plan begins, from then on; plans that earlier "
        "versions saved do not have it, and do not count that.",
        default=False,
        left_out=True,
    ),
    rounds="The rebalances, by time.",
    final="What is held after the last round.",
    members="The members at the end.",
    target="The balanced assignment that the rounds lead to, by process id.",
    warnings="What may hurt: something may start cold, stay unassigned, lose data or not settle, or the plan may not "
    "hold.",
    notes=Field(
        list_of(NOTE),
        "What is good to know, or merely costs; plans that 0.2.0 saved have it among the warnings.",
        default=(),
    ),
    next=Field(
        list_of(NOTE),
        "Commands that answer the next questions; `SNAPSHOT` is the path and options.",
        default=(),
    ),
    longest_pause=Field(
        description="The longest pause of a task, restores included; left out where `summary.max_paused_task` and its "
        "range tell the same.",
        default=None,
        left_out=True,
    ),
    later_configs=Field(
        description="Settings that change during a simulation; left out if there are none.", default=(), left_out=True
    ),
    outages=Field(
        description="Restarts of static members within session.timeout.ms, by time: the group does not notice them, "
        "but their tasks pause; left out if there are none.",
        default=(),
        left_out=True,
    ),
    rates=Field(
        description="How fast state is restored and written, and how that is known; left out if nothing is known.",
        default=NOTHING_KNOWN,
        left_out=True,
    ),
    end=Field(
        END,
        "What is needed to plan on from the end of the plan; left out where that is impossible, and in what earlier "
        "versions saved.",
        default=None,
        left_out=True,
    ),
    unproven_starts=Field(
        description="Starts that count as warm without proof: the former owner is gone, and the copy may have fallen "
        "behind; left out if there are none.",
        default=(),
        left_out=True,
    ),
    restoring_starts=Field(
        description="Starts that count as caught up and restore first, for a second or more; left out if there are "
        "none, and in what earlier versions saved.",
        default=(),
        left_out=True,
    ),
    behind=Field(
        description="Assigned copies that do not count as caught up in the first rebalance; left out if there are "
        "none.",
        default=(),
        left_out=True,
    ),
    simulation=Field(
        FORM.codec_of(SimulationDocument),
        "Only for a simulation: what is known beside its plan.",
        default=None,
        left_out=True,
    ),
    seal=Field(
        TEXT,
        "SHA-256 of what the rounds do not prove: the group, `input`, `rates`, `summary`, remarks, `verdict`, "
        "`unproven_starts`, `restoring_starts`, `tool.design` and the draws of the simulation: a figure that was "
        "deleted is missed. What earlier versions saved does not have it.",
        default=None,
        left_out=True,
    ),
)


def schema() -> dict[str, Json]:
    """Return the JSON Schema of a plan."""
    return schema_of("plan", "kstream-plan plan", PLAN)
