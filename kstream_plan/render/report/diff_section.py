"""What changed between two generations, a plan beside what happened, two plans of one snapshot: as HTML pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.said_and_happened import SaidAndHappened
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.plans import Plan
from kstream_plan.render.page import Page
from kstream_plan.render.pages.diff import diff_page, diffs_page
from kstream_plan.render.pages.happened import happened_overview, happened_page
from kstream_plan.render.pages.two_plans import two_plans_page
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Section
from kstream_plan.render.report.plan_section import plan_section
from kstream_plan.render.report.reports import MOST_SECTIONS, report_of

#: Up to so many tasks are listed one by one.
_MOST_TASKS = 2_000


def diff_html(comparisons: Sequence[Comparison]) -> str:
    """Return what changed as one page: of several applications an overview first."""
    pages = [
        diff_page(comparison, verbose=len(comparison.tasks) <= _MOST_TASKS)
        for comparison in comparisons[:MOST_SECTIONS]
    ]
    return _html(pages, diffs_page(comparisons), len(comparisons))


def happened_html(comparisons: Sequence[SaidAndHappened]) -> str:
    """Return plans beside what happened as one page: of several applications an overview first."""
    pages = [happened_page(comparison, verbose=True) for comparison in comparisons[:MOST_SECTIONS]]
    return _html(pages, happened_overview(comparisons), len(comparisons))


def two_plans_html(old: Plan, new: Plan) -> str:
    """Return two plans of one snapshot as one page: their figures side by side, then each of them."""
    sections = [Section(two_plans_page(old, new))]
    for name, plan in (("Old plan", old), ("New plan", new)):
        section = plan_section(SavedPlan(plan), is_single=False)
        sections.append(replace(section, page=replace(section.page, title=f"{name}: {section.page.title}")))
    return report_html(report_of(sections, 1))


def _html(pages: Sequence[Page], overview: Page, number: int) -> str:
    tables = tuple(replace(table, sortable=True) for table in overview.tables)
    return report_html(report_of(list(map(Section, pages)), number, tables if number > 1 else ()))
