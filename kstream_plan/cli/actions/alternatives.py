"""Every alternative of a group: simulated, and shown beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.actions.results import write_reports
from kstream_plan.cli.options.groups import PlansSnapshots
from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.pages import Input, inputs_of
from kstream_plan.cli.progress import Report
from kstream_plan.comparison.alternatives import SameOutcome, beside_each_other
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.policy.findings import Standard
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
    """Simulate every combination on all cores; report to ``progress``."""
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


def inputs_compared(
    outcomes: Sequence[Sequence[SameOutcome]], paths: Sequence[str], options: PlansSnapshots
) -> list[Input]:
    """Return where the snapshot of every group was read."""
    names = (alike[0].alternative.plan.group.application_id for alike in outcomes)
    words = tuple(item for item in options.option_words if item[0] != "now" or options.now_ms is not None)
    return inputs_of(paths, names, words, is_selection=bool(options.application_id))


def report_compared(reports: Sequence[ReportFile] | None, outcomes: Sequence[Sequence[SameOutcome]]) -> None:
    """Write the alternatives of every group as reports."""
    if reports:
        from kstream_plan.render.report.reports import compare_html  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: compare_html(outcomes)})
