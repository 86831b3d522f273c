"""Every alternative of a group: simulated, and shown beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.cli.actions.reports import write_reports
from kstream_plan.cli.next_commands import Input, input_of, with_paths, with_paths_in_json
from kstream_plan.cli.options.groups import PlansSnapshots
from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.pages import draw_pages
from kstream_plan.cli.progress import Report
from kstream_plan.comparison.alternatives import SameOutcome, beside_each_other
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.policy.findings import Standard
from kstream_plan.render.answers import page_of, to_json
from kstream_plan.simulation.alternatives import Variant, alternatives
from kstream_plan.simulation.processes import processors


def play_alternatives(
    snapshot: Snapshot,
    axes: Sequence[Sequence[Variant]],
    options: PlanOptions,
    scenario: Scenario | None,
    progress: Report,
    *,
    standard: Standard | None = None,
    number_of_draws: int | None = None,
) -> Sequence[SameOutcome]:
    """Play every combination on all cores; ``progress`` is told how far it is."""
    group = snapshot.state.group
    outcomes = alternatives(
        snapshot,
        axes,
        options,
        scenario=scenario,
        standard=standard,
        number_of_draws=number_of_draws,
        workers=processors(),
        on_alternative=lambda number, total: progress(
            f"{group.application_id}: alternative {number} of {total}", number, total
        ),
    )
    return beside_each_other(outcomes)


def compare_lines(outcomes: Sequence[Sequence[SameOutcome]], paths: Sequence[str], options: PlansSnapshots) -> str:
    """Return the alternatives of every group as JSON Lines; ``paths`` were read."""
    pairs = zip(outcomes, _sources(outcomes, paths, options), strict=True)
    return "".join(f"{with_paths_in_json(to_json(alike), source)}\n" for alike, source in pairs)


def compare_page(
    outcomes: Sequence[Sequence[SameOutcome]], form: OutputForm, paths: Sequence[str], options: PlansSnapshots
) -> str:
    """Return the alternatives of every group, one group below the other; ``paths`` were read."""
    if form is OutputForm.JSON:
        return compare_lines(outcomes, paths, options)
    return draw_pages(map(with_paths, map(page_of, outcomes), _sources(outcomes, paths, options)), form)


def _sources(
    outcomes: Sequence[Sequence[SameOutcome]], paths: Sequence[str], options: PlansSnapshots
) -> Iterator[Input]:
    is_plural = len(outcomes) > 1 or bool(options.application_id)
    names = (alike[0].one.plan.group.application_id for alike in outcomes)
    return (input_of(paths, name, is_plural=is_plural, option_words=options.option_words) for name in names)


def report_compared(reports: Sequence[ReportFile] | None, outcomes: Sequence[Sequence[SameOutcome]]) -> None:
    """Write the alternatives of every group as reports."""
    if reports:
        from kstream_plan.render.report.reports import compare_html  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: compare_html(outcomes)})
