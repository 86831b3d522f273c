"""A plan beside what the group then did, as JSON."""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.answers.document import FORM, INPUT, document, field
from kstream_plan.comparison.prediction import (
    CopyEvidence,
    FirstDifference,
    GenerationPair,
    SaidAndHappened,
    TaskDifference,
    TaskHolders,
)
from kstream_plan.documents.codec import COUNT, TEXT, WHOLE, list_of, one_of, or_null
from kstream_plan.model.times import format_time
from kstream_plan.plans import Round


class WordedDifference(NamedTuple):
    """The first difference, and what it comes from in words."""

    first: FirstDifference
    message: str


_TIME_MS = or_null(WHOLE)
FORM.record(TaskHolders, ref="held", active="Who runs it; null: none.", copies="Who has a copy of it.")
TASK_DIFFERENCE = FORM.record(TaskDifference, ref="task", said="As planned.", seen="As it happened.")
FORM.record(
    CopyEvidence,
    lag=or_null(WHOLE).described("As reported; null: not reported."),
    limit="acceptable.recovery.lag.",
    said_caught_up="Whether it is caught up in the plan.",
)
_SAID = FORM.view(
    Round,
    generation="Generation of the group.",
    at_ms=WHOLE.described("When it was made."),
    trigger=TEXT.described("What started it."),
    probing_rebalance="Whether it asks for a probing rebalance.",
)
_SEEN = FORM.view(
    GenerationPair,
    generation=field("recorded_generation.snapshot.decision.generation", codec=COUNT),
    at_ms=field("seen_ms", "When it was made.", WHOLE),
    trigger=field("recorded_generation.trigger", "What started it; null: unknown."),
    plan=field("recorded_generation.plan", "The id of the plan whose target file it followed; null: none."),
    without_plan=field(
        "recorded_generation.without_plan",
        "Why no target file counted, a code; null: one did, or another class decided.",
    ),
    probing_rebalance=field(
        "recorded_generation.snapshot.decision.probing_rebalance",
        "Whether it asks for a probing rebalance; null: unknown.",
    ),
)
GENERATION = FORM.view(
    GenerationPair,
    ref="generation",
    number="Its place, from 1.",
    said=field("planned_round", "The plan's rebalance; null: there is none.", or_null(_SAID)),
    seen=field(
        lambda pair: (
            None if pair.recorded_generation is None or pair.recorded_generation.snapshot.decision is None else pair
        ),
        "The group's generation; null: there is none.",
        or_null(_SEEN),
    ),
    late_ms=_TIME_MS.described("How much later than planned it came; null: one of them is not there."),
    likeness="How far it came as planned.",
    tasks="Tasks that were decided differently.",
    members_said="Instances that take part in the plan alone.",
    members_seen="Instances that take part in the history alone.",
)
_FIRST = FORM.view(
    WordedDifference,
    number=field("first.pair.number", "Its place, from 1."),
    cause=field("first.cause", "What it comes from, as far as the records show."),
    message="The same in words.",
    since_said_ms=field("first.since_said_ms", "Since the generation before, as planned.", _TIME_MS),
    since_seen_ms=field("first.since_seen_ms", "The same, as seen.", _TIME_MS),
    copy=field("first.copy", "The copy whose lag is different in the plan."),
    threads_differ_from=field("first.threads_differ_from", "The first generation whose threads differ; null: none."),
)
_SUMMARY = FORM.view(
    SaidAndHappened,
    said=field("planned_count", "Rebalances of the plan."),
    seen=field(lambda comparison: len(comparison.recorded_pairs), "Generations that the group had.", COUNT),
    came=field("as_planned_count", "Generations as planned, by instance."),
    came_by_thread=field("as_planned_by_thread_count", "Generations as planned, by thread."),
    later="Generations of the history that are left out.",
    said_ms=field(
        lambda comparison: comparison.plan.rounds[-1].at_ms if comparison.plan.rounds else 0,
        "When the last rebalance was planned.",
        WHOLE,
    ),
    seen_ms=field(lambda comparison: comparison.recorded_pairs[-1].seen_ms, "When the last one came.", WHOLE),
)
HAPPENED = document(
    "said-and-happened",
    SaidAndHappened,
    "A plan beside what the group then did, generation by generation",
    details="Times are in milliseconds on the plan's clock; process ids are the plan's where it has the instance. "
    "Lists are in task or instance order. ",
    title="diff of a plan and a history",
    group_at="group",
    words={
        "verdict": TEXT.described("The whole in one line."),
        "first_difference": or_null(_FIRST).described(
            "The first generation that differs from the plan; null: none does."
        ),
    },
    plan=field("plan", "What the plan was made from.", INPUT),
    starts_at=field(lambda comparison: format_time(comparison.starts_ms), "When the plan's clock was 0.", TEXT),
    start_is=field(
        lambda comparison: "assumed" if comparison.assumed else "given",
        "assumed: so that the first generations are at the same time.",
        one_of(["given", "assumed"]),
    ),
    generations=field("pairs", "The generations, planned and seen.", list_of(GENERATION)),
    elsewhere=field(
        "misplaced_tasks",
        "Tasks that have another owner at the end than planned; null: the history ends before the plan.",
    ),
    summary=field(lambda comparison: comparison, "The sums.", _SUMMARY),
)
