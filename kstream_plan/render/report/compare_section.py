"""Alternatives beside each other as a page: how long each takes, their figures, and each over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kstream_plan.comparison.alternatives import Outcomes, SameOutcome
from kstream_plan.plans.activity import events
from kstream_plan.plans.timeline import timeline
from kstream_plan.render.pages.compare import alternative_name, axes_name, compare_page, duration_text
from kstream_plan.render.report.figure import Length, bars_figure
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Block, Drawing, Labelled, Section
from kstream_plan.render.report.plan_section import timeline_drawing
from kstream_plan.render.report.reports import report_of
from kstream_plan.render.text.names import Names

#: Of so many outcomes the timelines are part of the page.
_MOST_TIMELINES = 12


def compare_html(outcomes: Sequence[Sequence[SameOutcome]]) -> str:
    """Return the alternatives of every group as one page."""
    return report_html(report_of([compare_section(alike) for alike in outcomes], len(outcomes)))


def compare_section(alike: Sequence[SameOutcome]) -> Section:
    """Return the alternatives of one group."""
    plan = alike[0].one.plan
    legend = (Labelled("runs", "time until the group settles"), Labelled("still", "the range of what it may be"))
    bars = Drawing(f"Duration by {axes_name(alike)}", bars_figure(list(_lengths(alike))), legend)
    timelines = (*_timelines(alike), *made_from(plan, Names(plan.group)))
    page = compare_page(Outcomes(alike), verbose=True)
    return Section(page, drawings=(bars,), details=timelines, capture_time=plan.captured_at)


def _timelines(alike: Sequence[SameOutcome]) -> Iterator[Block]:
    """Yield what the instances of each alternative run over time."""
    for outcome in alike[:_MOST_TIMELINES]:
        plan = outcome.one.plan
        if plan.rounds:
            drawing = timeline_drawing(plan, events(plan), timeline(plan), Names(plan.group))
            title = f"{axes_name(alike)} = {alternative_name(outcome)}: tasks per instance over time"
            yield replace(drawing, title=title, on_demand=True)


def _lengths(alike: Sequence[SameOutcome]) -> Iterator[Length]:
    """Yield how long each takes; one that does not settle has no bar, which would look short."""
    for outcome in alike:
        ends = outcome.one.settles and outcome.one.plan.verdict.kind == "settled"
        times = outcome.one.figures.balanced_ms if ends else (0, 0, 0)
        yield Length(alternative_name(outcome), duration_text(outcome.one), *times)
