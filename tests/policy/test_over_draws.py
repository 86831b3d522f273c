"""Of a range the worse end counts: a scenario keeps to a rule if and only if every draw of it does."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.errors import PlanFileError
from kstream_plan.model import Group, Holding, Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws, Simulation
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import CheckedPlan, Finding, Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.policy.rules import RULES, Kind
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios, check_cases

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
    draws = (with_random_ids(scenario, snapshot.state.group, draw) for draw in range(DRAWS))
    return tuple(plan(snapshot, scenario=one) for one in draws)


def standard(rule: str, limit: int) -> Standard:
    defaults = {rule: Limit(bool(limit) if rule == "must_settle" else limit)}
    return Standard(Policy(defaults=defaults), check_cases.NOW)


def finding(checked: CheckedPlan, rule: str) -> Finding:
    [found] = [one for one in checked.findings if one.rule == rule]
    return found


def over_draws(simulation: Simulation) -> OverDraws:
    assert simulation.draws is not None
    return OverDraws(
        simulation.draws.number, simulation.draws.number - simulation.draws.settled, simulation.draws.worst
    )


@pytest.mark.parametrize("rule", RANGED)
def test_a_rule_is_kept_if_and_only_if_every_draw_keeps_to_it(rule: str) -> None:
    values = {finding(check_plan(one, standard(rule, 1)), rule).value for one in each_draw()}
    assert rule not in DIFFERENT or len(values) > 1
    limits = {value + more for value in values if value is not None for more in (-1, 0)}
    for limit in sorted(limits - {-1}):
        checked = check_plan(simulated().plan, standard(rule, limit), draws=over_draws(simulated()))
        alone = [finding(check_plan(one, standard(rule, limit)), rule) for one in each_draw()]
        found = finding(checked, rule)
        assert (found.status is Status.PASSED) == all(one.status is Status.PASSED for one in alone)
        assert found.value in {one.value for one in alone}
        shown = finding(check_plan(simulated().plan, standard(rule, limit)), rule)
        assert found.worst_of == (None if found.value == shown.value else DRAWS)


def test_one_draw_that_does_not_settle_is_enough() -> None:
    rounds = sorted(len(one.rounds) for one in each_draw())
    assert rounds[0] < rounds[-1]
    draws = over_draws(simulated(rounds[-1] - 1))
    assert draws.worst["must_settle"] == 0
    found = finding(check_plan(simulated().plan, standard("must_settle", 1), draws=draws), "must_settle")
    assert (found.status, found.value, found.worst_of) == (Status.ERROR, 0, DRAWS)
    off = finding(check_plan(simulated().plan, standard("must_settle", 0), draws=draws), "must_settle")
    assert off.status is Status.PASSED


def test_what_is_unknown_in_one_draw_is_too_much() -> None:
    unknown = OverDraws(2, 0, {"max_restored_records": None})
    checked = check_plan(simulated().plan, standard("max_restored_records", 10**9), draws=unknown)
    found = finding(checked, "max_restored_records")
    assert (found.status, found.value) == (Status.ERROR, None)


def test_a_saved_simulation_is_checked_like_the_simulation() -> None:
    [saved] = read_saved(f"{simulation_json(simulated())}\n".encode(), "saved")
    assert saved.draws == over_draws(simulated())
    assert saved.plan == simulated().plan
    [alone] = read_saved(f"{simulation_json(replace(simulated(), draws=None))}\n".encode(), "saved")
    assert alone.draws is None


@cache
def one_task(stateful: bool = True) -> tuple[Snapshot, Scenario]:
    """One task, with a standby if it is stateful, in three zones; two instances more."""
    snapshot = captured_scenarios.before("scale-out-standbys")
    state, group = snapshot.state, snapshot.state.group
    zones = [replace(entry, client_tags=(("zone", zone),)) for entry, zone in zip(group.instances, "abc", strict=True)]
    kept = [task for task in group.tasks if task.stateful == stateful][:1]
    item = Group.of(group.application_id, kept, zones)
    index = {group.task_index[task.task_id]: place for place, task in enumerate(item.tasks)}

    def still(role: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index[task] for task in role if task in index)

    holdings = [Holding(*map(still, held)) for held in state.holdings]
    copies = tuple(state.copies[group.task_index[task.task_id]] for task in item.tasks)
    fewer = replace(snapshot, state=replace(state, group=item, holdings=tuple(holdings), copies=copies))
    return fewer, scale_out(item, add=2, client_tags=[(("zone", zone),) for zone in "ab"])


def test_how_copies_are_spread_over_tags_counts_in_every_draw() -> None:
    snapshot, scenario = one_task()
    simulation = simulate(snapshot, scenario, number_of_draws=DRAWS, what_ifs=False)
    draws = (with_random_ids(scenario, snapshot.state.group, draw) for draw in range(DRAWS))
    plans = [plan(snapshot, scenario=one) for one in draws]
    kept = []
    for wanted in (1, 2, 3):
        rules = Standard(Policy(defaults={"distinct_tag_values": Limit((("zone", wanted),))}), check_cases.NOW)
        alone = [finding(check_plan(one, rules), "distinct_tag_values") for one in plans]
        found = finding(check_plan(simulation.plan, rules, draws=over_draws(simulation)), "distinct_tag_values")
        kept.append(sum(one.status is Status.PASSED for one in alone))
        assert (found.status is Status.PASSED) == (kept[-1] == DRAWS)
        assert found.value == min(one.value or 0 for one in alone)
    assert any(0 < number < DRAWS for number in kept)


def test_a_rule_with_nothing_to_measure_is_kept_by_every_draw() -> None:
    snapshot, scenario = one_task(stateful=False)
    simulation = simulate(snapshot, scenario, number_of_draws=3, what_ifs=False)
    found = finding(
        check_plan(simulation.plan, standard("min_standbys", 1), draws=over_draws(simulation)), "min_standbys"
    )
    assert found.status is Status.PASSED
    assert "min_standbys" not in over_draws(simulation).worst


def test_a_saved_simulation_that_lacks_a_rule_is_refused() -> None:
    document = json.loads(simulation_json(simulated()))
    for change in ({"worst": {}}, {"number": 0}):
        document["simulation"]["draws"] |= change
        with pytest.raises(PlanFileError, match=r"simulation\.draws\."):
            read_saved(json.dumps(document).encode(), "saved")


def test_a_baseline_counts_with_its_worst_draw_as_well() -> None:
    rules, draws = standard("max_moves", 1), over_draws(simulated())
    checked = check_plan(simulated().plan, rules, draws=draws, baseline=simulated().plan, baseline_draws=draws)
    found = finding(checked, "max_moves")
    assert found.baseline_value == found.value == draws.worst["max_moves"]
    assert found.kept_before is False
