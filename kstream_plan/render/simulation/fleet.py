"""The simulations of several applications, one line each, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.plans.activity import membership
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import (
    Column,
    Line,
    markdown_worst_first,
    not_surely,
    outcome_with_ends,
    worst_first,
)
from kstream_plan.render.text.escape import Escape
from kstream_plan.render.text.numbers import count, from_to

#: What a line of a simulation has.
COLUMNS = (
    Column("application"),
    Column("instances"),
    Column("outcome"),
    Column("moves", right=True),
    Column("least", right=True),
    Column("cold", right=True),
)


def simulation_line(of: Simulation, escape: Escape) -> Line:
    """Return a simulation's line, its name made harmless by ``escape``.

    Of several draws it has the medians, and the most cold starts of any of them.
    """
    draws, settles = of.draws, of.plan.verdict.kind == "settled"
    settles = settles and (draws is None or draws.settled == draws.number)
    cold = of.most_cold_handovers > 0
    return Line(simulation_badness(of), _cells(of, escape), settles, cold, surely=of.settles)


def simulation_summary(lines: Sequence[Line], *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a heading and one line per application, worst first, as lines of text, each ended."""
    return worst_first(counts(lines), COLUMNS, lines, width=width, colour=colour)


def simulation_markdown_summary(lines: Sequence[Line]) -> str:
    """Return a heading and one row per application, worst first, as Markdown."""
    return markdown_worst_first(counts(lines), COLUMNS, lines)


def simulation_badness(of: Simulation) -> tuple[bool, int, int, int, str]:
    """Return a key that sorts the worst simulation first.

    By: does not settle in every draw, most cold starts, longest, most moves, application id.
    """
    return of.settles, -of.most_cold_handovers, -of.duration_ms, -of.moves, of.plan.group.application_id


def counts(lines: Sequence[Line]) -> str:
    """Return how many simulations come to what."""
    unsettled = sum(not line.settles for line in lines)
    cold = sum(line.starts_cold for line in lines)
    parts = [f"{unsettled:,} {'does' if unsettled == 1 else 'do'} not settle"] if unsettled else []
    parts += not_surely(lines)
    parts += [f"{cold:,} with cold starts"] if cold else []
    parts += [f"{len(lines) - unsettled:,} settle"]
    return f"{count(len(lines), 'application')}: {', '.join(parts)}"


def _of_draws(of: Simulation, figure: str = "duration_ms") -> tuple[int, ...]:
    return () if of.draws is None else getattr(of.draws, figure)[1:]


def _cells(of: Simulation, escape: Escape) -> tuple[str, ...]:
    plan = of.plan
    joined, left = membership(plan)
    everyone, changes = len(plan.group.instances), plan.ends("rebalances", *_of_draws(of, "rebalances"))[1]
    before, after = everyone - len(joined), everyone - len(left)
    return (
        escape.name(plan.group.application_id),
        f"{before:,} → {after:,}" if before != after else f"{after:,}",
        outcome_with_ends(plan, of.duration_ms, *_of_draws(of)) if changes else "nothing follows",
        f"{of.moves:,}/{len(plan.group.stateful):,}",
        f"{plan.summary.lower_bounds.moves:,}",
        from_to(*plan.ends("cold_handovers"))
        if plan.ends("cold_handovers")[1] == of.most_cold_handovers
        else f"{of.most_cold_handovers:,}",
    )
