"""What each command can report as a page of HTML, or as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.errors import UsageError
from kstream_plan.fleet.figures import badness
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.page import Table
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.report.markup import drawing_svg, report_html
from kstream_plan.render.report.page import Drawing, Report, Section
from kstream_plan.render.report.plan_section import plan_section

T = TypeVar("T")

#: Up to so many applications have a section of their own, the worst ones.
MOST_SECTIONS = 20


def plans_html(entries: Sequence[SavedPlan]) -> str:
    """Return plans and simulations as one page: of several an overview first, then the worst ones."""
    results = [result_of(entry.plan, entry.simulation) for entry in entries]
    order = sorted(zip(results, entries, strict=True), key=lambda pair: badness(pair[0]))
    sections = [plan_section(entry, is_single=len(entries) == 1) for _, entry in order[:MOST_SECTIONS]]
    report = report_of(sections, len(entries))
    return report_html(
        report if len(entries) == 1 else _with_overview(report, results, [result for result, _ in order])
    )


def plan_svg(entries: Sequence[SavedPlan]) -> str:
    """Return the timeline of a plan or simulation alone."""
    return section_svg(plan_section(only(entries), is_single=False))


def only(items: Sequence[T]) -> T:
    """Return what there is one of."""
    if len(items) != 1:
        fix = "choose the application with --application-id, or write html=FILE"
        raise UsageError("svg is the picture of one application", where="--report", fix=fix)
    return items[0]


def section_svg(section: Section) -> str:
    """Return the first drawing of a section alone."""
    drawing = next((block for block in section.drawings if isinstance(block, Drawing)), None)
    if drawing is None:
        raise UsageError("there is no timeline: nothing follows", where="--report", fix="write html=FILE")
    return drawing_svg(section, drawing)


def fleet_html(results: Sequence[Result], selection: Sequence[Result]) -> str:
    """Return many applications at a glance as one page: all are counted, some shown."""
    return report_html(_with_overview(Report("kstream-plan: fleet", ()), results, selection))


def report_of(sections: Sequence[Section], number: int, overview: tuple[Table, ...] = ()) -> Report:
    """Return a page of sections, which are of so many there would be."""
    title = f"kstream-plan: {sections[0].page.title}" if number == 1 else f"kstream-plan: {number:,} applications"
    left_out = number - len(sections)
    note = f"The {len(sections):,} worst follow; one of the others: --application-id ID" if left_out else ""
    return Report(title, tuple(sections), overview, left_out=note)


def _with_overview(report: Report, results: Sequence[Result], selection: Sequence[Result]) -> Report:
    """Return a report that begins with many applications at a glance: all are counted, some shown."""
    page = fleet_page(results, selection)
    title = ". ".join([page.title, *page.sentences])
    tables = [replace(table, sortable=True) for table in page.tables] or [Table("", (), ())]
    return replace(report, overview=(replace(tables[0], title=title), *tables[1:]))
