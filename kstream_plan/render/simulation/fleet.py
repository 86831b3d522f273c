"""The simulations of several applications, one line each, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.plans.activity import membership
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview, outcome_with_ends, overview
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape
from kstream_plan.render.text.numbers import count, from_to

_COLUMNS = (
    Column("application"),
    Column("instances"),
    Column("outcome"),
    Column("moves", right=True),
    Column("least", right=True),
    Column("cold", right=True),
)


def simulation_summary(simulations: Sequence[Simulation], *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a heading and one line per application, worst first, as lines of text, each ended.

    Of several draws it has the medians, and the most cold starts of any of them.
    """
    ordered = sorted(simulations, key=simulation_badness)
    rows = [_cells(of, TERMINAL) for of in ordered]
    return overview(_counts(ordered), _COLUMNS, rows, list(map(_is_bad, ordered)), width=width, colour=colour)


def simulation_markdown_summary(simulations: Sequence[Simulation]) -> str:
    """Return a heading and one row per application, worst first, as Markdown."""
    rows = [_cells(of, MARKDOWN) for of in sorted(simulations, key=simulation_badness)]
    return markdown_overview(_counts(simulations), _COLUMNS, rows)


def simulation_badness(of: Simulation) -> tuple[bool, int, int, int, str]:
    """Return a key that sorts the worst simulation first.

    By: does not settle in every draw, most cold starts, longest, most moves, application id.
    """
    return of.settles, -of.most_cold_handovers, -of.duration_ms, -of.moves, of.plan.group.application_id


def _is_bad(of: Simulation) -> bool:
    return not of.settles or of.most_cold_handovers > 0


def _counts(simulations: Sequence[Simulation]) -> str:
    unsettled = sum(not of.settles for of in simulations)
    cold = sum(of.most_cold_handovers > 0 for of in simulations)
    parts = [f"{unsettled:,} {'does' if unsettled == 1 else 'do'} not settle"] if unsettled else []
    parts += [f"{cold:,} with cold starts"] if cold else []
    parts += [f"{len(simulations) - unsettled:,} settle"]
    return f"{count(len(simulations), 'application')}: {', '.join(parts)}"


def _of_draws(of: Simulation) -> tuple[int, ...]:
    return () if of.draws is None else (of.draws.duration_ms.least, of.draws.duration_ms.most)


def _cells(of: Simulation, escape: Escape) -> tuple[str, ...]:
    plan = of.plan
    joined, left = membership(plan)
    everyone = len(plan.group.instances)
    before, after = everyone - len(joined), everyone - len(left)
    return (
        escape.name(plan.group.application_id),
        f"{before:,} → {after:,}" if before != after else f"{after:,}",
        outcome_with_ends(plan, of.duration_ms, *_of_draws(of)) if plan.rounds else "nothing follows",
        f"{of.moves:,}/{len(plan.group.stateful):,}",
        f"{plan.summary.lower_bounds.moves:,}",
        from_to(*plan.ends("cold_handovers"))
        if plan.ends("cold_handovers")[1] == of.most_cold_handovers
        else f"{of.most_cold_handovers:,}",
    )
