"""What a check found as a page: every rule, kept or broken, and the plan that it was held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.policy.findings import Check, CheckedPlan, Status, Tally
from kstream_plan.render.pages.check import check_page, tally_text
from kstream_plan.render.report.from_page import section_of
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Labelled, Section, Table, TableRow, Tone
from kstream_plan.render.report.plan_section import plan_section
from kstream_plan.render.report.reports import MOST_SECTIONS, report_of
from kstream_plan.render.text.escape import TERMINAL

_TONES: dict[Status, Tone] = {Status.ERROR: "bad", Status.WARNING: "warn", Status.PASSED: "good"}


def check_html(check: Check) -> str:
    """Return what a check found as one page: what could not be checked, then the plans, the worst first."""
    return check_html_of(check.plans, check.tally)


def check_html_of(plans: Sequence[CheckedPlan], tally: Tally) -> str:
    """Return the same of the plans and the rest."""
    sections = [_unchecked(application_id, message) for application_id, message in tally.errors]
    number = len(sections) + len(plans)
    sections += [_checked(one, alone=number == 1) for one in plans[: max(0, MOST_SECTIONS - len(sections))]]
    overview = _overview(plans, tally) if number > 1 else None
    return report_html(report_of(sections, number, overview))


def _unchecked(application_id: str | None, message: str) -> Section:
    name = "an application" if application_id is None else TERMINAL.name(application_id)
    answer = Labelled("It could not be checked", TERMINAL.sentence(message))
    return Section(name, "", "bad", answer, (), ())


def _checked(checked: CheckedPlan, *, alone: bool) -> Section:
    """Return what the check found, and below it the plan as it is told without a check."""
    plan = plan_section(SavedPlan(checked.plan), alone=alone)
    section = section_of(check_page(checked, verbose=True), more=plan.blocks, taken=plan.taken, data=plan.data)
    shown = plan.facts if plan.answer is None else (plan.answer._replace(label="The plan"), *plan.facts)
    return replace(section, facts=(*section.facts, *shown))


def _overview(plans: Sequence[CheckedPlan], tally: Tally) -> Table:
    rows = [
        TableRow(("-", TERMINAL.name(application_id or "an application"), "could not be checked"), tone="bad")
        for application_id, _ in tally.errors
    ]
    for one in plans:
        cells = (one.answer.word, TERMINAL.name(one.application_id), check_page(one).sentences[0])
        rows.append(TableRow(cells, tone=_TONES[one.worst] if one.worst is not Status.PASSED else "plain"))
    return Table(tally_text(tally), ("", "application", "what was found"), tuple(rows), sortable=True)
