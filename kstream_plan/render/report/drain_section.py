"""The answer to "may it stop?" as a page: what becomes of each task, and what follows over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import events
from kstream_plan.plans.timeline import Timeline, timeline
from kstream_plan.render.answers import page_of
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Block, Section
from kstream_plan.render.report.plan_section import drawings
from kstream_plan.render.report.reports import only, report_of, section_svg
from kstream_plan.render.report.script_data import script_data
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.drain import Drain
from kstream_plan.simulation.drain_workers import WorkersDrained


def drains_html(sections: Sequence[Section]) -> str:
    """Return the answers for one or several applications as one page."""
    return report_html(report_of(sections, len(sections)))


def drains_svg(sections: Sequence[Section]) -> str:
    """Return what follows if they stop now over time."""
    return section_svg(only(sections))


def drain_section(answer: Drain | WorkersDrained) -> Section:
    """Return the answer for one application."""
    names, plan = Names(answer.plan.group), answer.plan
    course = timeline(plan)
    return Section(
        page_of(answer, verbose=True),
        drawings=tuple(_follows(plan, course, names)),
        details=tuple(made_from(plan, names)),
        capture_time=plan.captured_at,
        data=script_data(plan, course, names) if plan.rounds else None,
    )


def _follows(plan: Plan, axis: Timeline, names: Names) -> Iterator[Block]:
    activities = events(plan)
    if not activities:
        return
    cut = plan.verdict.kind == "unfinished"
    note = "after the stop, as far as it was simulated: until every task of theirs has started"
    yield from drawings(plan, activities, axis, names, note if cut else "after the stop")
