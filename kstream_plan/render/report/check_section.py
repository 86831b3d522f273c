"""What a check found as a page: every rule, kept or broken, and the plan that it was held against."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.policy.findings import CheckedPlan, Status, Tally
from kstream_plan.render.page import Page, Table, Tone, columns_of, text_row
from kstream_plan.render.pages.check import check_page, tally_text
from kstream_plan.render.report.markup import Section
from kstream_plan.render.report.reports import MOST_SECTIONS, sections_html
from kstream_plan.render.report.sections import answer_section
from kstream_plan.render.text.escape import printable

_TONES: dict[Status, Tone] = {Status.ERROR: "bad", Status.WARNING: "unknown"}


def part_of(checkup: CheckedPlan, _warnings_too: bool) -> CheckedPlan:
    """Return the whole plan: which plans are drawn is not known before all are there."""
    return checkup


def report_of(plans: Sequence[CheckedPlan], tally: Tally) -> str:
    """Return what a check found as one page: what could not be checked, then the plans, the worst first."""
    sections = [_unchecked(application_id, message) for application_id, message in tally.errors]
    number = len(sections) + len(plans)
    first_plans = plans[: max(0, MOST_SECTIONS - len(sections))]
    sections += [_section(plan, is_single=number == 1, warnings_too=tally.fail_on_warning) for plan in first_plans]
    return sections_html(sections, number, (_overview(plans, tally),) if number > 1 else ())


def _unchecked(application_id: str | None, message: str) -> Section:
    name = "an application" if application_id is None else printable(application_id)
    sentence = f"It could not be checked: {printable(message)}"
    return Section(Page(title=name, tone="bad", sentences=(sentence,)))


def _section(checkup: CheckedPlan, *, is_single: bool, warnings_too: bool) -> Section:
    """Return what the check found, and below it the plan as it is told without a check."""
    plan = checkup.plan
    page = check_page(checkup, verbose=True, warnings_too=warnings_too)
    return Section(page, subject=answer_section(plan, plan, is_single=is_single))


def _overview(plans: Sequence[CheckedPlan], tally: Tally) -> Table:
    rows = [
        text_row("", printable(application_id or "an application"), "could not be checked", tone="bad")
        for application_id, _ in tally.errors
    ]
    for plan, answer in zip(plans, tally.answers, strict=True):
        page = check_page(plan, warnings_too=tally.fail_on_warning)
        texts = (answer.word, printable(plan.application_id), page.sentences[0])
        rows.append(text_row(*texts, tone=_TONES.get(plan.worst, "plain")))
    columns = columns_of("", "application", "what was found")
    return Table(tally_text(tally), columns, tuple(rows), sortable=True)
