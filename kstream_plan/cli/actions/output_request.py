"""What is shown and saved of each application, made where it is worked on, and put together here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kstream_plan.cli.actions.fleet_run import FleetRun, Work
from kstream_plan.cli.actions.results import unreadable, write_plan_reports
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.options.parameters import OptionWords
from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.output import OutputForm, Page, page, write_stdout
from kstream_plan.cli.pages import Input, input_of, join_pages, overview
from kstream_plan.fleet.figures import badness
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.result import Result

if TYPE_CHECKING:
    from kstream_plan.cli.commands.assign import AssignOptions
    from kstream_plan.cli.options.simulation import SimulatesSnapshots


class OutputRequest(NamedTuple):
    """What is wanted of each application: the form, JSON as well if it is ``is_saved``, and its ``result``.

    ``paths`` are those that were given; ``is_selection``: only some of the applications there are shown.
    ``option_words`` are the options.
    """

    form: OutputForm
    page: Page
    is_saved: bool = False
    full: bool = False
    verbose: bool = False
    result: bool = False
    paths: tuple[str, ...] = ()
    is_selection: bool = False
    option_words: OptionWords = ()

    def source(self, application_id: str, *, only: bool) -> Input:
        """Return where an application was read; ``only``: there is no other one."""
        return input_of(
            self.paths, application_id, is_plural=self.is_selection or not only, option_words=self.option_words
        )

    @property
    def json(self) -> bool:
        """Whether its JSON is needed."""
        return self.is_saved or self.form is OutputForm.JSON

    def options(self, options: PlanOptions) -> PlanOptions:
        """Return how to plan: what is kept has everything in it, however long that takes."""
        return replace(options, long_ranges=True) if self.json or self.result else options

    def in_full(self, *, only: bool) -> bool:
        """Whether its page is needed; ``only``: there is no other application."""
        return self.form is not OutputForm.JSON and (only or self.verbose)


def output_request(options: AssignOptions | SimulatesSnapshots, paths: Sequence[str]) -> OutputRequest:
    """Return what a command is asked to show of the applications under the paths."""
    return OutputRequest(
        options.output,
        page(),
        is_saved=options.out is not None or bool(options.report),
        full=options.full,
        verbose=options.verbose,
        result=options.out_format is not None,
        paths=tuple(paths),
        is_selection=bool(options.application_id),
        option_words=options.option_words,
    )


class RenderedAnswer(NamedTuple):
    """One application: its result without its plan, its exit code, and as far as wanted JSON, page and candidates."""

    result: Result
    code: ExitCode
    json: str = ""
    text: str = ""
    ranks: str = ""


def deliver(
    fleet_run: FleetRun[Any, RenderedAnswer],
    work: Work[RenderedAnswer],
    request: OutputRequest,
    reports: Sequence[ReportFile] | None = None,
) -> None:
    """Write reports if asked to, then show one application by its page, several by an overview."""
    write_plan_reports(reports, fleet_run.lines())
    answers, form = work.results, request.form
    if not answers:
        return
    if form is OutputForm.JSON:
        for line in fleet_run.lines():
            write_stdout(line)
        return
    if len(answers) == 1 and not answers[0].text:  # the others went wrong
        answers = [fleet_run.rerun_single()]
    results = [*(answer.result for answer in answers), *map(unreadable, work.errors)]
    overviews = [overview(results, form, request.page)] if len(answers) > 1 else []
    texts = [answer.text for answer in sorted(answers, key=lambda answer: badness(answer.result)) if answer.text]
    write_stdout(join_pages(overviews, texts, form))
