"""Answers as sections of a report: what their pages say, drawn over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kstream_plan.comparison.alternatives import Outcomes, SameOutcome
from kstream_plan.comparison.changes import Comparison
from kstream_plan.plans import Plan
from kstream_plan.plans.rebalance_events import RebalanceEvent, events
from kstream_plan.plans.simulated import Simulation
from kstream_plan.plans.timeline import Timeline, timeline
from kstream_plan.render.answers import page_of
from kstream_plan.render.pages.compare import alternative_name, axes_name, compare_page, duration_text
from kstream_plan.render.report.figure import (
    Figure,
    Length,
    a_member,
    bars_figure,
    everyone_figure,
    load_figure,
    timeline_figure,
)
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.move_tables import moves_tables
from kstream_plan.render.report.page import Block, Drawing, Labelled, Section
from kstream_plan.render.report.script_data import script_data
from kstream_plan.render.report.timeline_table import timeline_table
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.drain import Drain
from kstream_plan.simulation.drain_workers import WorkersDrained

#: Up to this many tasks are listed one by one.
MOST_TASKS = 2_000
#: Of so many outcomes the timelines are part of a report.
_MOST_TIMELINES = 12
_LEGEND = {
    "runs": "runs, the higher the more tasks",
    "warms-up": "a copy warms up there",
    "restores": "restores tasks before it runs them: they are paused",
    "unsure": "started cold: unknown when it runs",
    "cold": "a task starts cold",
    "still": "paused",
    "there": "is a member",
}
_NOT_DRAWN = "unknown and not drawn: how long a cold start restores before it runs"
_LOAD_LEGEND = {"balance": "most minus least", "warms-up": "warm-ups", "restores": "cold starts that restore"}


def section_of(answer: Any, *, is_single: bool = True) -> Section:
    """Return any answer as a section; ``is_single``: add all details."""
    if isinstance(answer, Outcomes):
        return compare_section(answer)
    if isinstance(answer, Drain | WorkersDrained):
        return drain_section(answer)
    if isinstance(answer, Plan | Simulation):
        return answer_section(answer, answer if isinstance(answer, Plan) else answer.plan, is_single=is_single)
    is_long = isinstance(answer, Comparison) and len(answer.tasks) > MOST_TASKS
    return Section(page_of(answer, verbose=not is_long))


def answer_section(answer: Any, plan: Plan, *, is_single: bool = True, note: str = "") -> Section:
    """Return an answer as a section.

    Args:
        answer: what a page is made of.
        plan: what is drawn of it.
        is_single: add all details.
        note: stands below the timeline.
    """
    names, activities, course = Names(plan.group), events(plan), timeline(plan)
    return Section(
        page_of(answer, verbose=is_single),
        drawings=tuple(_drawings(plan, activities, course, names, note)) if activities else (),
        details=(*moves_tables(plan, activities, course, names), *made_from(plan, names)),
        capture_time=plan.captured_at,
        data=script_data(plan, course, names) if activities and is_single else None,
    )


def drain_section(answer: Drain | WorkersDrained) -> Section:
    """Return the answer to "may it stop?" for one application, with what follows over time."""
    cut = answer.plan.verdict.kind == "unfinished"
    scope = ", as far as it was simulated: until every task of theirs has started"
    return answer_section(answer, answer.plan, note=f"after the stop{scope if cut else ''}")


def compare_section(alike: Sequence[SameOutcome]) -> Section:
    """Return the alternatives of one group: how long each takes, and each over time."""
    plan = alike[0].alternative.plan
    legend = (Labelled("runs", "time until the group settles"), Labelled("still", "the range of what it may be"))
    bars = Drawing(f"Duration by {axes_name(alike)}", bars_figure(list(_lengths(alike))), legend)
    timelines = (*_timelines(alike), *made_from(plan, Names(plan.group)))
    page = compare_page(alike, verbose=True)
    return Section(page, drawings=(bars,), details=timelines, capture_time=plan.captured_at)


def _timeline_drawing(
    plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names, note: str = ""
) -> Drawing:
    """Return the timeline of a plan."""
    figure = timeline_figure(plan, activities, axis, names)
    title = f"Tasks per {'worker' if plan.is_of_workers else 'instance'} over time"
    delay = f"drawn when all workers have heard of it, which may take {duration(plan.config.heartbeat_interval_ms)}"
    common = f"… = {names.escape(names.common)}" if names.common else ""
    notes = (note, _NOT_DRAWN if plan.pauses_are_least else "", delay if plan.is_of_workers else "", common)
    return Drawing(title, figure, _legend(figure, _LEGEND), note="; ".join(filter(None, notes)))


def _drawings(
    plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names, note: str
) -> Iterator[Block]:
    """Yield a plan over time, drawn, and the same as a table."""
    yield _timeline_drawing(plan, activities, axis, names, note)
    all_instances_figure = everyone_figure(axis, names)
    if all_instances_figure is not None:
        yield Drawing("Every instance", all_instances_figure, _legend(all_instances_figure, _LEGEND), on_demand=True)
    figure = load_figure(plan, axis)
    legend = {"band": f"from the least to the most that {a_member(plan)} runs", **_LOAD_LEGEND}
    yield Drawing("Load and balance", figure, _legend(figure, legend))
    yield timeline_table(plan, activities, axis, names)


def _legend(figure: Figure, words: dict[str, str]) -> tuple[Labelled, ...]:
    kinds = {shape.kind for row in figure.rows for shape in row.shapes}
    return tuple(Labelled(kind, text) for kind, text in words.items() if kind in kinds)


def _timelines(alike: Sequence[SameOutcome]) -> Iterator[Block]:
    """Yield what the instances of each alternative run over time."""
    for outcome in alike[:_MOST_TIMELINES]:
        plan = outcome.alternative.plan
        if plan.rounds:
            drawing = _timeline_drawing(plan, events(plan), timeline(plan), Names(plan.group))
            title = f"{axes_name(alike)} = {alternative_name(outcome)}: tasks per instance over time"
            yield replace(drawing, title=title, on_demand=True)


def _lengths(alike: Sequence[SameOutcome]) -> Iterator[Length]:
    """Yield how long each takes; one that does not settle has no bar, which would look short."""
    for outcome in alike:
        ends = outcome.alternative.settles and outcome.alternative.plan.verdict.kind == "settled"
        times = outcome.alternative.figures.balanced_ms if ends else (0, 0, 0)
        yield Length(alternative_name(outcome), duration_text(outcome.alternative), *times)
