"""A plan put into words, before anything decides how wide the page is or what marks it up.

A text that may have to be short comes in several forms, the fullest first. Every name in it is escaped already.
"""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.render.plan.activity import Event, events
from kstream_plan.render.plan.folding import fold
from kstream_plan.render.plan.headline import balance_fact, headline, range_fact
from kstream_plan.render.plan.loads import load_changes
from kstream_plan.render.plan.remarks import remarks
from kstream_plan.render.plan.rows import Line, line
from kstream_plan.render.plan.settled import settled_facts
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, duration, interval
from kstream_plan.render.text.page import Fact


@dataclass(frozen=True, slots=True)
class Story:
    """What the table and the Markdown form show, in this order; ``loads`` are the items of one list."""

    title: Fact
    facts: tuple[Fact, ...]
    pause: str
    lines: tuple[Line, ...]
    ending: tuple[str, str] | None
    numbering: str
    loads: tuple[str, ...]
    loads_legend: str
    remarks: tuple[str, ...]
    legend: str


def tell(plan: Plan, names: Names, draws: OverDraws | None = None) -> Story:
    """Put ``plan`` into words; ``draws``: it is one of these of a simulation."""
    found = events(plan)
    loads, loads_legend = load_changes(plan, names)
    title, *facts = [*headline(plan, found, names), balance_fact(plan)] if plan.rounds else settled_facts(plan, names)
    facts += [] if draws is None else [range_fact(draws.number, draws.unsettled)]
    return Story(
        title=title,
        facts=tuple(facts),
        pause=_pause(plan),
        lines=tuple(line(row, names) for row in fold(found)),
        ending=_ending(plan),
        numbering=_numbering(plan),
        loads=loads,
        loads_legend=loads_legend,
        remarks=remarks(plan, found, names),
        legend=_legend(plan, found),
    )


def _pause(plan: Plan) -> str:
    """Return how long a task stands still here, at most if they differ, or would if it was handed over."""
    found = plan.pauses
    longest = duration(found.longest_ms if found.times else plan.config.heartbeat_interval_ms)
    return f"{'~' if duration(found.shortest_ms) == duration(found.longest_ms) else '≤ '}{longest}"


def _ending(plan: Plan) -> tuple[str, str] | None:
    if not plan.rounds:
        return None
    endings = {
        "settled": "SETTLED, no more probes",
        "stuck": "STUCK: every further probe finds the same",
        "cyclic": "CYCLES: from here on it repeats",
        "unfinished": "NOT FINISHED: the limit of rounds was reached",
    }
    return clock(plan.rounds[-1].at_ms), endings[plan.verdict.kind]


def _numbering(plan: Plan) -> str:
    """Return what to subtract from a generation for the number of its round; empty if that is not one number."""
    apart = {round_.generation - round_.number for round_ in plan.rounds}
    return f"(--round N: gen - {apart.pop():,})" if len(apart) == 1 else ""


def _legend(plan: Plan, found: list[Event]) -> str:
    if not any(event.probe for event in found):
        return ""
    config = plan.config
    return (
        f"probe: every {interval(config.probing_rebalance_interval_ms)} the leader asks which copies are ready "
        f"(lag ≤ {config.acceptable_recovery_lag:,}). -v: steps"
    )
