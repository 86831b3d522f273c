"""Snapshots to checked plans: planned, or simulated if something happens to the group, and cures tried the same way."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from kstream_plan.cli.actions.check_saved import Source, compared_with
from kstream_plan.cli.actions.each_application import Work, each_application
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.actions.plan import plan_one
from kstream_plan.cli.actions.read import read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.output import written_at_once
from kstream_plan.cli.progress import Report
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.plans import Plan
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import CheckedPlan, Standard
from kstream_plan.policy.rules import OverDraws
from kstream_plan.simulation.cures import with_cures


class _Made(NamedTuple):
    """A plan, what is known of other draws, and how it gets the line under which it is saved."""

    plan: Plan
    draws: OverDraws | None
    line: Callable[[], str]


def check_snapshots(
    source: Source,
    scenario_of: ScenarioOf | None,
    standard: Standard,
    before: Mapping[str, SavedPlan],
    settings: Overrides,
    given: Mapping[str, Any],
    tell: Report,
) -> Work[CheckedPlan]:
    """Read and plan the snapshots, hold the plans against the policy, and look for cures; save the plans if asked to.

    With ``scenario_of`` this is what the groups are simulated under; without, a rebalance starts now.

    Raises:
        KstreamPlanError: something cannot be read or planned, and ``keep_going`` is not among what is given.
    """
    tell("reading")
    stdin = None if source.snapshots_from_stdin is None else io.BytesIO(source.snapshots_from_stdin)
    outcomes = read_snapshots(given, source.snapshots, stdin)
    make = partial(_make, scenario_of=scenario_of, given=given)
    lines = []

    def checked(snapshot: Snapshot, done: int) -> CheckedPlan:
        made = make(snapshot, tell=partial(tell, done=done, total=len(outcomes)) if scenario_of is None else tell)
        if given["out"] is not None:
            lines.append(made.line())
        name = snapshot.state.group.application_id
        earlier = compared_with(before.get(name))
        first = check_plan(made.plan, standard, source=str(given["out"] or ""), draws=made.draws, **earlier)

        def cures_told(what: str, done: int = 0, total: int | None = None) -> None:
            tell(f"looking for cures, {what}", done, total)

        def check_again(other: Snapshot) -> Iterator[CheckedPlan]:
            glance = (1,) if made.draws is not None and made.draws.number > 1 else ()
            for draws in (*glance, given["draws"]):
                again = make(other, given={**given, "bounds": False, "draws": draws}, tell=cures_told)
                yield check_plan(again.plan, standard, draws=again.draws)

        return with_cures(first, snapshot, check_again)

    work = each_application(outcomes, settings, given, checked)
    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.writelines(lines)
    return work


def _make(snapshot: Snapshot, *, scenario_of: ScenarioOf | None, given: Mapping[str, Any], tell: Report) -> _Made:
    if scenario_of is None:
        plan = plan_one(snapshot, given, tell)
        return _Made(plan, None, lambda: f"{plan_json(plan, full=given['full'])}\n")
    from kstream_plan.cli.actions.simulate import simulate_one  # noqa: PLC0415 - only where something happens
    from kstream_plan.render.simulation.json_form import simulation_json  # noqa: PLC0415

    simulated = simulate_one(snapshot, given, scenario_of, tell, what_ifs=False)
    draws = simulated.draws
    over = None if draws is None else OverDraws(draws.number, draws.number - draws.settled, draws.worst)
    return _Made(simulated.plan, over, lambda: f"{simulation_json(simulated, full=given['full'])}\n")
