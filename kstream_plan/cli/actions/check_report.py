"""What a check tells of each plan, made where the plan is, and put together where all are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from kstream_plan.cli.pages import NOT_READ, Input, with_commands
from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import CheckedPlan, Status, Tally
from kstream_plan.render.check import form_of
from kstream_plan.render.check.table import plan_text, table_of


class ReportForms(NamedTuple):
    """The width and colour of the table, reports, whether a warning fails the check, and what was read."""

    width: int
    colour: bool = False
    reports: tuple[str, ...] = ()
    fail_on_warning: bool = False
    source: Input = NOT_READ


class PlanParts(NamedTuple):
    """One checked plan, or all that is to be told of it: its lines of the table, and its part of each report."""

    place: tuple[int | str, ...]
    application_id: str
    worst: Status
    answer: Answer
    lines: str
    parts: Mapping[str, Any]


def report_parts(checkup: CheckedPlan, forms: ReportForms) -> PlanParts:
    """Return the reports of a plan."""
    warnings_too = forms.fail_on_warning
    options = {"json": {"command": forms.source.command}}
    parts = {name: form_of(name).part_of(checkup, warnings_too, **options.get(name, {})) for name in forms.reports}
    return PlanParts(
        checkup.place,
        checkup.application_id,
        checkup.worst,
        checkup.check_answer(warnings_too=warnings_too),
        plan_text(
            checkup,
            forms.width,
            forms.colour,
            warnings_too=warnings_too,
            complete=partial(with_commands, command=forms.source.command),
        ),
        parts,
    )


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The reports of all plans, the worst first."""

    plans: Sequence[PlanParts]
    tally: Tally
    forms: ReportForms

    def table(self) -> str:
        """Return the table."""
        width, colour = self.forms.width, self.forms.colour
        return table_of((part.lines for part in self.plans), self.tally, width=width, colour=colour)

    @property
    def reports(self) -> Mapping[str, Callable[[], str]]:
        """What makes each report."""
        return {name: partial(self._report, name) for name in self.forms.reports}

    def _report(self, name: str) -> str:
        return str(form_of(name).report_of([part.parts[name] for part in self.plans], self.tally))


def check_report(
    plans: Sequence[PlanParts],
    now: datetime,
    forms: ReportForms,
    errors: Sequence[tuple[str | None, str]],
    warnings: Sequence[tuple[str, Note]] = (),
) -> CheckReport:
    """Put together the reports of every plan, whatever order they come in; ``warnings`` are those of no plan."""
    order = sorted(plans, key=attrgetter("place"))
    answers = tuple(part.answer for part in order)
    fails = any(answer is not Answer.YES for answer in answers) or (forms.fail_on_warning and bool(warnings))
    worst = tuple(part.worst for part in order)
    tally = Tally(worst, answers, now, forms.fail_on_warning, fails, tuple(errors), tuple(warnings))
    return CheckReport(order, tally, forms)
