"""Alternatives as a page of text for stdout."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.actions.reports import write_reports
from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.pages import draw_pages
from kstream_plan.comparison.alternatives import SameOutcome
from kstream_plan.render.answers import page_of
from kstream_plan.render.compare.json_form import compare_json


def compare_lines(outcomes: Sequence[Sequence[SameOutcome]]) -> str:
    """Return the alternatives of every group as JSON Lines."""
    return "".join(f"{compare_json(alike)}\n" for alike in outcomes)


def compare_page(outcomes: Sequence[Sequence[SameOutcome]], form: OutputForm) -> str:
    """Return the alternatives of every group, one group below the other."""
    return compare_lines(outcomes) if form is OutputForm.JSON else draw_pages(map(page_of, outcomes), form)


def report_compared(reports: Sequence[ReportFile] | None, outcomes: Sequence[Sequence[SameOutcome]]) -> None:
    """Write the alternatives of every group as reports."""
    if reports:
        from kstream_plan.render.report.compare_section import compare_html  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: compare_html(outcomes)})
