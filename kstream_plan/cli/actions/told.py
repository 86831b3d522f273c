"""What a check tells of each plan, made where the plan is, and put together where all are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import CheckedPlan, Status, Tally
from kstream_plan.render.check import FORMS
from kstream_plan.render.check.table import plan_text, table_of


class Telling(NamedTuple):
    """The width and colour of the table, the reports beside it, and whether a warning fails the check."""

    width: int
    colour: bool = False
    reports: tuple[str, ...] = ()
    fail_on_warning: bool = False


class Told(NamedTuple):
    """One checked plan, or all that is to be told of it: its lines of the table, and its part of each report."""

    place: tuple[int | str, ...]
    application_id: str
    worst: Status
    answer: Answer
    lines: str
    parts: Mapping[str, Any]


def told(checked: CheckedPlan, telling: Telling) -> Told:
    """Return what is told of a plan."""
    warnings_too = telling.fail_on_warning
    return Told(
        checked.place,
        checked.application_id,
        checked.worst,
        checked.answered(warnings_too=warnings_too),
        plan_text(checked, telling.width, telling.colour, warnings_too=warnings_too),
        {name: FORMS[name]().part(checked, warnings_too) for name in telling.reports},
    )


@dataclass(frozen=True, slots=True)
class AllTold:
    """What is told of all plans, the worst first."""

    plans: Sequence[Told]
    tally: Tally
    telling: Telling

    def table(self) -> str:
        """Return the table."""
        width, colour = self.telling.width, self.telling.colour
        return table_of((one.lines for one in self.plans), self.tally, width=width, colour=colour)

    @property
    def reports(self) -> Mapping[str, Callable[[], str]]:
        """What makes each report."""
        return {name: partial(self._report, name) for name in self.telling.reports}

    def _report(self, name: str) -> str:
        return FORMS[name]().whole([one.parts[name] for one in self.plans], self.tally)


def all_told(
    plans: Sequence[Told],
    now: datetime,
    telling: Telling,
    errors: Sequence[tuple[str | None, str]],
    warnings: Sequence[tuple[str, Note]] = (),
) -> AllTold:
    """Put together what is told of every plan, whatever order they come in; ``warnings`` are those of no plan."""
    ordered = sorted(plans, key=attrgetter("place"))
    answers = tuple(one.answer for one in ordered)
    fails = any(answer is not Answer.YES for answer in answers) or (telling.fail_on_warning and bool(warnings))
    worst = tuple(one.worst for one in ordered)
    tally = Tally(worst, answers, now, telling.fail_on_warning, fails, tuple(errors), tuple(warnings))
    return AllTold(ordered, tally, telling)
