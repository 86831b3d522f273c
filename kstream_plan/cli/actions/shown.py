"""What is shown and saved of each application, made where it is worked on, and put together here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.cli.actions.each_application import Work
from kstream_plan.cli.actions.many import Many
from kstream_plan.cli.actions.reports import write_plan_reports
from kstream_plan.cli.actions.results import unreadable
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.output import OutputForm, Page, say, written_at_once
from kstream_plan.cli.pages import overview, together
from kstream_plan.fleet.figures import badness
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.result import Result


class Wanted(NamedTuple):
    """What is wanted of each application: the form, JSON as well if it is ``saved``, and its ``result``."""

    form: OutputForm
    page: Page
    saved: bool = False
    full: bool = False
    verbose: bool = False
    result: bool = False

    @property
    def json(self) -> bool:
        """Whether its JSON is needed."""
        return self.saved or self.form is OutputForm.JSON

    def options(self, asked: PlanOptions) -> PlanOptions:
        """Return how to plan: what is kept has everything in it, however long that takes."""
        return replace(asked, long_ranges=True) if self.json or self.result else asked

    def in_full(self, *, only: bool) -> bool:
        """Whether its page is needed; ``only``: there is no other application."""
        return self.form is not OutputForm.JSON and (only or self.verbose)


class Shown(NamedTuple):
    """One application: its result without its plan, its exit code, and as far as wanted JSON, page and candidates."""

    result: Result
    code: ExitCode
    json: str = ""
    text: str = ""
    ranks: str = ""


def deliver(
    many: Many[Any, Shown],
    work: Work[Shown],
    wanted: Wanted,
    out: Path | None,
    reports: Sequence[ReportFile] | None = None,
) -> None:
    """Save the JSON and write reports if asked to, then show one application by its page, several by an overview.

    Raises:
        UsageError: a picture of several.
        KstreamPlanError: something cannot be written.
    """
    if out is not None:
        with written_at_once(out) as file:
            file.writelines(many.lines())
    write_plan_reports(reports, many.lines())
    shown, form = work.results, wanted.form
    if not shown:
        return
    if form is OutputForm.JSON:
        for line in many.lines():
            say(line)
        return
    if len(shown) == 1 and not shown[0].text:  # the others went wrong
        shown = [many.again_alone()]
    results = [*(one.result for one in shown), *map(unreadable, work.errors)]
    overviews = [overview(results, form, wanted.page)] if len(shown) > 1 else []
    texts = [one.text for one in sorted(shown, key=lambda one: badness(one.result)) if one.text]
    say(together(overviews, texts, form))
