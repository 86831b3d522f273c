"""Of a range the worse end counts: a scenario keeps to a rule if and only if every draw of it does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import captured_scenarios
import check_cases
import pytest

from kstream_plan.findings import CheckedPlan, Finding, Standard, Status, check_plan
from kstream_plan.model import Snapshot
from kstream_plan.planner import plan
from kstream_plan.policy import Limit, Policy
from kstream_plan.render.simulation_json import simulation_json
from kstream_plan.rules import RULES, Kind
from kstream_plan.rules.over_draws import OverDraws
from kstream_plan.scenario import Scenario
from kstream_plan.snapshots.saved_plan import read_saved
from kstream_plan.steps import Plan
from kstream_plan.studies.drawing import drawn
from kstream_plan.studies.scale_out import scale_out
from kstream_plan.studies.simulation import Simulation, simulate

DRAWS = 12
#: Rules that have a worst draw, and of these what differs from draw to draw in the scale-out.
RANGED = [name for name, rule in RULES.items() if not rule.of_input and rule.kind is not Kind.TAGS]
DIFFERENT = {"max_duration", "max_rebalances", "max_moves", "max_warmups", "max_restored_records"}


@cache
def two_more() -> tuple[Snapshot, Scenario]:
    snapshot = captured_scenarios.before("scale-out")
    return snapshot, scale_out(snapshot.state.group, add=2)


@cache
def simulated(max_rounds: int | None = None) -> Simulation:
    snapshot, scenario = two_more()
    return simulate(snapshot, scenario, number_of_draws=DRAWS, what_ifs=False, max_rounds=max_rounds)


@cache
def each_draw() -> tuple[Plan, ...]:
    snapshot, scenario = two_more()
    draws = (drawn(scenario, snapshot.state.group, draw) for draw in range(DRAWS))
    return tuple(plan(snapshot, scenario=one) for one in draws)


def standard(rule: str, limit: int) -> Standard:
    defaults = {rule: Limit(bool(limit) if rule == "must_settle" else limit)}
    return Standard(Policy(defaults=defaults), check_cases.NOW)


def finding(checked: CheckedPlan, rule: str) -> Finding:
    [found] = [one for one in checked.findings if one.rule == rule]
    return found


def over_draws(of: Simulation) -> OverDraws:
    assert of.draws is not None
    return OverDraws(of.draws.number, of.draws.worst)


@pytest.mark.parametrize("rule", RANGED)
def test_a_rule_is_kept_if_and_only_if_every_draw_keeps_to_it(rule: str) -> None:
    values = {finding(check_plan(one, standard(rule, 1)), rule).measured for one in each_draw()}
    assert rule not in DIFFERENT or len(values) > 1
    limits = {value + more for value in values if value is not None for more in (-1, 0)}
    for limit in sorted(limits - {-1}):
        checked = check_plan(simulated().plan, standard(rule, limit), draws=over_draws(simulated()))
        alone = [finding(check_plan(one, standard(rule, limit)), rule) for one in each_draw()]
        found = finding(checked, rule)
        assert (found.status is Status.PASSED) == all(one.status is Status.PASSED for one in alone)
        assert found.measured in {one.measured for one in alone}
        shown = finding(check_plan(simulated().plan, standard(rule, limit)), rule)
        assert found.worst_of == (None if found.measured == shown.measured else DRAWS)


def test_one_draw_that_does_not_settle_is_enough() -> None:
    rounds = sorted(len(one.rounds) for one in each_draw())
    assert rounds[0] < rounds[-1]
    draws = over_draws(simulated(rounds[-1] - 1))
    assert draws.worst["must_settle"] == 0
    found = finding(check_plan(simulated().plan, standard("must_settle", 1), draws=draws), "must_settle")
    assert (found.status, found.measured, found.worst_of) == (Status.ERROR, 0, DRAWS)
    off = finding(check_plan(simulated().plan, standard("must_settle", 0), draws=draws), "must_settle")
    assert off.status is Status.PASSED


def test_what_is_unknown_in_one_draw_is_too_much() -> None:
    unknown = OverDraws(2, {"max_restored_records": None})
    checked = check_plan(simulated().plan, standard("max_restored_records", 10**9), draws=unknown)
    found = finding(checked, "max_restored_records")
    assert (found.status, found.measured) == (Status.ERROR, None)


def test_a_saved_simulation_is_checked_like_the_simulation() -> None:
    [saved] = read_saved(f"{simulation_json(simulated())}\n".encode(), "saved")
    assert saved.draws == over_draws(simulated())
    assert saved.plan == simulated().plan
    [alone] = read_saved(f"{simulation_json(replace(simulated(), draws=None))}\n".encode(), "saved")
    assert alone.draws is None
