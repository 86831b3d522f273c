"""Every alternative of one group played, and told of while that takes its time."""

from __future__ import annotations

from collections.abc import Sequence

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
