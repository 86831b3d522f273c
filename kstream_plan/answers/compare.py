"""Alternatives beside each other, as JSON."""

from __future__ import annotations

from kstream_plan.answers.document import FORM, GROUP, INPUT, added, document, field
from kstream_plan.comparison.alternatives import AlternativeFigures, Outcomes, SameOutcome
from kstream_plan.documents.codec import TEXT, WHOLE, list_of, mapping_of, or_null
from kstream_plan.documents.plan.fields import LONGEST_PAUSE
from kstream_plan.plans.longest_pause import longest_pause

_SHOWN = "in the random simulation that is shown"
_FIGURES = FORM.view(
    AlternativeFigures,
    settled="Number of random simulations that settle; without randomness 1 or 0.",
    balanced_ms="Time until every task has its final owner.",
    rebalances="",
    moves="Stateful tasks that change instance.",
    max_paused_ms="Longest pause of a task, without what it restores before it runs.",
    cold_handovers="Cold starts.",
    restored_records="Records restored; null: an end offset is unknown.",
    relief_ms=or_null(WHOLE).described(
        "When the busiest instance begins to run fewer tasks than at the start; null: it never does."
    ),
    least_moves="The minimum that any plan from this beginning to this end moves.",
    paused_at_once="Tasks that are paused at the same time, of any random simulation.",
    paused_tasks_at_once=added("The same with the random simulation that is shown as `median`."),
    peak_extra_copies="Maximum of copies at once beyond those that stay, of any random simulation.",
    extra_copies=added("The same with the random simulation that is shown as `median`."),
    most_restores_begun=f"Maximum of copies that begin to restore in one rebalance, {_SHOWN}.",
    most_state_records=f"Records in the copies of the fullest instance, {_SHOWN}; null: an end offset is unknown.",
    pauses=added("Pauses of tasks; here and below, for saved plans: those of the random simulation that is shown."),
    paused_task_ms=added(
        "Sum of the pauses of all tasks; for a Connect group the time unassigned, connectors apart, without the time "
        "until all have noticed a rebalance."
    ),
    paused_connector_ms=added("The same for connectors; null: not a Connect group."),
    stopped=added("Connectors and tasks that rebalances stop, each time; null: not a Connect group."),
    started=added("Connectors and tasks that rebalances start, each time; null: not a Connect group."),
)
_ALTERNATIVES = list_of(mapping_of(TEXT), 1).described(
    "The alternatives with this result, in the order given: what is different in each, by a setting's name in Kafka's "
    "spelling, or assignor, protocol, design, scenario or plan."
)
_OUTCOME = FORM.view(
    SameOutcome,
    alternatives=field(
        lambda outcome: [dict(way.changes) for way in outcome.alternatives],
        codec=_ALTERNATIVES,
    ),
    fastest="No acceptable alternative is faster beyond chance: it settles in every random simulation, keeps to the "
    "policy, has the fewest cold starts, and its times overlap with the best one's. For a Connect group: no "
    "acceptable alternative has shorter pauses in total.",
    verdict=field("alternative.plan.verdict.kind", "How it ends in the random simulation that is shown."),
    duration_is=field("alternative.plan.summary.duration_is", "What its time is, as in a plan."),
    floor_ms=field(
        "alternative.plan.summary.floor_ms",
        "As in a plan's summary: the minimum time if everything were restored at once; null where rates are known.",
    ),
    draws=field("alternative.draws.number", "Number of random simulations; null: nothing is random."),
    longest_pause=added(
        LONGEST_PAUSE, get=lambda outcome: longest_pause(outcome.alternative.plan, outcome.alternative.draws)
    ),
    drawn_ms=field(
        "alternative.drawn_ms",
        "Duration of each random simulation in milliseconds, the same ones in the same order in all alternatives; "
        "empty: nothing is random here.",
    ),
    kept=field("alternative.keeps_policy", "Whether it keeps to the policy; null: none was given."),
    broken_rules=field("alternative.broken_rules", "Rules of the policy that it breaks."),
    figures=field("alternative.figures", "What it comes to.", _FIGURES),
)
COMPARE = document(
    "compare",
    Outcomes,
    "Alternatives, or saved plans, beside each other",
    group_at="first.group",
    models_at="first.models",
    input=field("first", "What the first alternative was planned from.", INPUT),
    group=added(GROUP, "The members and tasks of the first alternative.", get="first"),
    outcomes=field(
        list,
        "In the order of the table: those that keep to the policy first, else in the order given.",
        list_of(_OUTCOME, 1),
    ),
)
