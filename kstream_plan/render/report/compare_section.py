"""Alternatives beside each other as a page: how long each takes, their figures, and each over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kstream_plan.comparison.alternatives import SameOutcome, fastest
from kstream_plan.plans.activity import events
from kstream_plan.plans.timeline import timeline
from kstream_plan.render.compare.table import (
    alternative_name,
    compared,
    compared_heading,
    conclusion_of,
    is_bad,
    to_deploy,
)
from kstream_plan.render.report.figure import Length, bars_figure
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Block, Code, Drawing, Labelled, Section, Table, TableRow, Tone
from kstream_plan.render.report.plan_section import timeline_drawing
from kstream_plan.render.report.reports import report_of
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.render.text.names import Names

#: The figures of the best that stand beside how long it takes.
_IN_ANSWER = ("pause", "cold")
#: Of so many outcomes the timelines are part of the page.
_MOST_TIMELINES = 12


def compare_html(found: Sequence[Sequence[SameOutcome]]) -> str:
    """Return the alternatives of every group as one page."""
    return report_html(report_of([compare_section(alike) for alike in found], len(found)))


def compare_section(alike: Sequence[SameOutcome]) -> Section:
    """Return the alternatives of one group."""
    plan = alike[0].one.plan
    tone: Tone = "bad" if all(is_bad(of.one) for of in alike) else "good"
    return Section(
        TERMINAL.name(plan.group.application_id),
        f"by {_axes(alike)}: {compared_heading(alike, TERMINAL).rpartition(': ')[2]}",
        tone,
        _answer(alike),
        (),
        tuple(_blocks(alike)),
        taken=plan.captured_at,
    )


def _answer(alike: Sequence[SameOutcome]) -> Labelled | None:
    """Return which is the best, why, and its first figures; what to deploy has a block of its own."""
    said = conclusion_of(alike).removeprefix("* ").partition("; to deploy ")[0]
    best = fastest(alike)
    if not said or not best:
        return Labelled("Which is best", said) if said else None
    names, balanced, *others = compared(alike, TERMINAL)
    place = alike.index(best[0])
    figures = [balanced.cells[place]]
    figures += [f"{one.column.head} {one.cells[place]}" for one in others if one.column.head in _IN_ANSWER]
    name = names.cells[place].removesuffix(" *")
    return Labelled(f"Best: {names.column.head} = {name}", f"{said}: {', '.join(figures)}")


def _blocks(alike: Sequence[SameOutcome]) -> Iterator[Block]:
    names = [alternative_name(of, TERMINAL) for of in alike]
    best = fastest(alike)
    if best and to_deploy(best[0]):
        yield Code("To deploy it", "\n".join(to_deploy(best[0])))
    figure = bars_figure(list(_lengths(alike)))
    legend = (
        Labelled("runs", "time until every task is where it stays"),
        Labelled("still", "from the least to the most"),
    )
    yield Drawing(f"How long each takes, by {_axes(alike)}", figure, legend)
    yield _figures(alike)
    for name, of in list(zip(names, alike, strict=True))[:_MOST_TIMELINES]:
        plan = of.one.plan
        if plan.rounds:
            drawn = timeline_drawing(plan, events(plan), timeline(plan), Names(plan.group))
            yield replace(drawn, title=f"{_axes(alike)} = {name}: who runs how much when", folded=True)
    plan = alike[0].one.plan
    yield from made_from(plan, Names(plan.group))


def _axes(alike: Sequence[SameOutcome]) -> str:
    """Return what the alternatives have otherwise."""
    return compared(alike, TERMINAL)[0].column.head


def _lengths(alike: Sequence[SameOutcome]) -> Iterator[Length]:
    """Yield how long each takes; one that does not end has no bar, which would look short."""
    names, balanced, *_ = compared(alike, TERMINAL)
    for of, name, cell in zip(alike, names.cells, balanced.cells, strict=True):
        ends = of.one.settles and of.one.plan.verdict.kind == "settled"
        yield Length(name, cell.removeprefix("settles "), *(of.one.figures.balanced_ms if ends else (0, 0, 0)))


def _figures(alike: Sequence[SameOutcome]) -> Table:
    shown = [one for one in compared(alike, TERMINAL) if any(one.cells)]
    cells = zip(*(one.cells for one in shown), strict=True)
    rows = tuple(
        TableRow(row, tone="bad" if is_bad(of.one) else "good" if of.fastest else "plain")
        for row, of in zip(cells, alike, strict=True)
    )
    best = "*: none is known to be faster; " if fastest(alike) else ""
    meanings = best + "; ".join(f"{one.column.head}: {one.meaning}" for one in shown[1:])
    right = frozenset(place for place, one in enumerate(shown) if one.column.right)
    return Table("In figures", tuple(one.column.head for one in shown), rows, right, note=meanings, sortable=True)
