"""What each command can report as a page of HTML, or as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from kstream_plan.comparison.alternatives import SameOutcome
from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.prediction import SaidAndHappened
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.errors import UsageError
from kstream_plan.fleet.figures import badness
from kstream_plan.plans import Plan
from kstream_plan.plans.result import Result, result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import are_results
from kstream_plan.render.page import Page, Table
from kstream_plan.render.pages.diff import diff_page, diffs_page
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.pages.happened import happened_overview, happened_page
from kstream_plan.render.pages.two_plans import two_plans_page
from kstream_plan.render.report.markup import Drawing, Report, Section, drawing_svg, report_html
from kstream_plan.render.report.sections import MOST_TASKS, answer_section, compare_section, section_of

#: Up to this many applications have a section of their own, the worst ones.
MOST_SECTIONS = 20


def answer_html(answer: Any) -> str:
    """Return one answer, or a list of results, as one page."""
    return fleet_html(answer, answer) if are_results(answer) else sections_html([section_of(answer)], 1)


def plans_html(entries: Sequence[SavedPlan]) -> str:
    """Return plans and simulations as one page: of several an overview first, then the worst ones."""
    results = [result_of(entry.plan, entry.simulation) for entry in entries]
    order = sorted(zip(results, entries, strict=True), key=lambda pair: badness(pair[0]))
    is_single = len(entries) == 1
    sections = [_plan_section(entry, is_single=is_single) for _, entry in order[:MOST_SECTIONS]]
    overview = () if is_single else _fleet_overview(results, [result for result, _ in order])
    return sections_html(sections, len(entries), overview)


def plan_svg(entries: Sequence[SavedPlan]) -> str:
    """Return the timeline of a plan or simulation alone."""
    return sections_svg([_plan_section(entry, is_single=False) for entry in entries[:2]])


def fleet_html(results: Sequence[Result], selection: Sequence[Result]) -> str:
    """Return many applications at a glance as one page: all are counted, some shown."""
    return report_html(Report("kstream-plan: fleet", (), _fleet_overview(results, selection)))


def compare_html(outcomes: Sequence[Sequence[SameOutcome]]) -> str:
    """Return the alternatives of every group as one page."""
    return sections_html(list(map(compare_section, outcomes)), len(outcomes))


def diff_html(comparisons: Sequence[Comparison]) -> str:
    """Return what changed as one page: of several applications an overview first."""
    pages = (diff_page(comparison, verbose=len(comparison.tasks) <= MOST_TASKS) for comparison in comparisons)
    return _pages_html(pages, diffs_page(comparisons), len(comparisons))


def happened_html(comparisons: Sequence[SaidAndHappened]) -> str:
    """Return plans beside what happened as one page: of several applications an overview first."""
    pages = (happened_page(comparison, verbose=True) for comparison in comparisons)
    return _pages_html(pages, happened_overview(comparisons), len(comparisons))


def two_plans_html(old: Plan | Simulation, new: Plan | Simulation) -> str:
    """Return two plans of one snapshot as one page: their figures side by side, then each of them."""
    sections = [Section(two_plans_page(old, new))]
    for name, answer in (("Old plan", old), ("New plan", new)):
        plan = answer if isinstance(answer, Plan) else answer.plan
        section = answer_section(answer, plan, is_single=False)
        sections.append(replace(section, page=replace(section.page, title=f"{name}: {section.page.title}")))
    return report_html(Report(f"kstream-plan: {sections[0].page.title}", tuple(sections)))


def sections_html(sections: Sequence[Section], number: int, overview: tuple[Table, ...] = ()) -> str:
    """Return sections as one page; ``number``: how many of them there would be."""
    title = f"kstream-plan: {sections[0].page.title}" if number == 1 else f"kstream-plan: {number:,} applications"
    left_out = number - len(sections)
    note = f"The {len(sections):,} worst follow; one of the others: --application-id ID" if left_out else ""
    return report_html(Report(title, tuple(sections), overview, note))


def sections_svg(sections: Sequence[Section]) -> str:
    """Return the first drawing of the only section alone."""
    if len(sections) != 1:
        fix = "choose the application with --application-id, or write html=FILE"
        raise UsageError("svg is the picture of one application", where="--report", fix=fix)
    drawing = next((block for block in sections[0].drawings if isinstance(block, Drawing)), None)
    if drawing is None:
        raise UsageError("there is no timeline: nothing follows", where="--report", fix="write html=FILE")
    return drawing_svg(sections[0], drawing)


def _plan_section(entry: SavedPlan, *, is_single: bool) -> Section:
    return answer_section(entry.simulation or entry.plan, entry.plan, is_single=is_single)


def _pages_html(pages: Iterable[Page], overview: Page, number: int) -> str:
    tables = tuple(replace(table, sortable=True) for table in overview.tables) if number > 1 else ()
    return sections_html(list(map(Section, islice(pages, MOST_SECTIONS))), number, tables)


def _fleet_overview(results: Sequence[Result], selection: Sequence[Result]) -> tuple[Table, ...]:
    """Return many applications at a glance: all are counted, some shown."""
    page = fleet_page(results, selection)
    title = ". ".join([page.title, *page.sentences])
    tables = [replace(table, sortable=True) for table in page.tables] or [Table("", (), ())]
    return (replace(tables[0], title=title), *tables[1:])
