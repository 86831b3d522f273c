"""A cure is named only if a plan made with it keeps to the rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kstream_plan.documents.policy_file import read_policy
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Join, NewInstance, Scenario
from kstream_plan.planner.ranges import VariantRun
from kstream_plan.planner.runner import Ends
from kstream_plan.plans.simulated import Simulation
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import CheckedPlan, Standard, Status
from kstream_plan.simulation.cures import cures, with_cures
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.benchmarks.whole_plan import scale_out
from tests.helpers import captured_scenarios, check_cases, plan_cases, streams_rows

_SHORT = b"version: 1\ndefaults: {max_duration: 200m}"


def cured(name: str, policy: bytes) -> tuple[CheckedPlan, list[Snapshot]]:
    standard = Standard(read_policy(policy, "p"), check_cases.NOW)
    tried: list[Snapshot] = []

    def check_again(snapshot: Snapshot) -> Iterator[CheckedPlan]:
        tried.append(snapshot)
        yield check_plan(plan(snapshot), standard)

    checked = check_plan(plan_cases.case(name), standard)
    return with_cures(checked, plan_cases.snapshot(name), check_again), tried


@pytest.mark.parametrize("name", ["scale-out", "scale-out-standbys", "never-ready", "crash"])
@pytest.mark.parametrize("policy", [check_cases.SAMPLE, check_cases.STRICT])
def test_every_cure_cures_and_breaks_nothing_that_was_kept(name: str, policy: bytes) -> None:
    checked, _ = cured(name, policy)
    standard = Standard(read_policy(policy, "p"), check_cases.NOW)
    snapshot = plan_cases.snapshot(name)
    kept = {finding.rule for finding in checked.findings_of(Status.PASSED)}
    for finding in checked.findings:
        if finding.cure is None:
            continue
        config = replace(snapshot.config, **dict(finding.cure.settings))  # type: ignore[arg-type]
        again = check_plan(plan(replace(snapshot, config=config)), standard)
        assert {one.rule for one in again.findings_of(Status.PASSED)} >= kept | {finding.rule}
        assert next(one for one in again.findings if one.rule == finding.rule).value == finding.cure.value


@pytest.mark.parametrize(
    ("rule", "settings", "measured"),
    [
        ("max_pause_per_task: 30s", {"max_warmup_replicas": 4}, 15_100),
        ("max_pause_per_handover: 2s", {"heartbeat_interval_ms": 2_000}, 2_000),
        ("max_duration: 5m", {"max_warmup_replicas": 8}, 195_200),
        ("max_peak_extra_copies: 2", {"max_warmup_replicas": 1}, 2),
        ("min_standbys: 1", {"num_standby_replicas": 1}, 1),
    ],
)
def test_what_cures_a_scale_out(rule: str, settings: dict[str, int], measured: int) -> None:
    checked, _ = cured("scale-out", f"version: 1\ndefaults: {{{rule}}}".encode())
    cure = checked.findings[0].cure
    assert cure is not None
    assert (dict(cure.settings), cure.value) == (settings, measured)


def test_nothing_is_named_that_does_not_help() -> None:
    checked, tried = cured("scale-out", b"version: 1\ndefaults: {max_duration: 60s, max_moves: 1}")
    assert [finding.cure for finding in checked.findings] == [None] * 3
    assert [item.config.max_warmup_replicas for item in tried] == [16, 20]


@pytest.mark.parametrize("rule", ["max_duration: 20s", "max_rebalances: 0"])
def test_what_more_warm_ups_cannot_reach_is_not_played(rule: str) -> None:
    checked, tried = cured("scale-out", f"version: 1\ndefaults: {{{rule}}}".encode())
    assert (checked.findings[0].cure, tried) == (None, [])


def test_how_else_a_long_plan_comes_out_is_played_only_of_what_may_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, ends = scale_out(80, 6, 3, 1, standbys=1), 0
    checked = check_plan(plan(snapshot), Standard(read_policy(_SHORT, "p"), check_cases.NOW))
    again = VariantRun.__call__

    def counted(*asked: Any) -> Ends:
        nonlocal ends
        ends += 1
        return again(*asked)

    monkeypatch.setattr(VariantRun, "__call__", counted)
    standard = Standard(read_policy(_SHORT, "p"), check_cases.NOW)
    whole, of_whole, ends = cures(checked, snapshot, standard), ends, 0
    monkeypatch.setattr("kstream_plan.planner.ranges._MANY_STEPS", 10)
    assert cures(checked, snapshot, standard) == whole
    assert [finding.cure for finding in whole.findings if finding.rule == "max_duration"] != [None]
    assert 0 < ends < of_whole


def test_what_was_checked_of_one_draw_is_tried_again_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []

    def counted(*given: Any, number_of_draws: int | None, **named: Any) -> Simulation:
        numbers.append(number_of_draws)
        return simulate(*given, number_of_draws=number_of_draws, **named)

    monkeypatch.setattr("kstream_plan.simulation.cures.simulate", counted)
    snapshot = captured_scenarios.before("scale-out")
    two_more = Scenario(events=(Join(at_ms=0, instances=(NewInstance(threads=2), NewInstance(threads=2))),))
    standard = Standard(read_policy(b"version: 1\ndefaults: {max_duration: 9m}", "p"), check_cases.NOW)
    simulation = simulate(snapshot, two_more, number_of_draws=1, what_ifs=False)
    checked = check_plan(simulation.plan, standard, draws=simulation.over_draws)
    findings = cures(checked, snapshot, standard, scenario=two_more).findings
    assert [one.cure is not None for one in findings if one.rule == "max_duration"] == [True]
    assert set(numbers) == {1}


def test_a_plan_that_keeps_to_its_rules_is_not_planned_again() -> None:
    assert cured("scale-out", b"version: 1\ndefaults: {must_settle: true}")[1] == []
    waived = b"""version: 1
defaults: {max_duration: 5m}
waivers: [{application: "*", rule: max_duration, until: 2027-01-01, reason: x}]"""
    assert cured("scale-out", waived)[1] == []


def test_a_cure_that_does_not_hold_at_first_is_not_looked_at_any_further() -> None:
    standard = Standard(read_policy(b"version: 1\ndefaults: {max_pause_per_task: 30s}", "p"), check_cases.NOW)
    thorough: list[int] = []

    def check_again(snapshot: Snapshot) -> Iterator[CheckedPlan]:
        glance = check_plan(plan(snapshot), standard)
        yield glance
        thorough.append(snapshot.config.max_warmup_replicas)
        # what holds at the first look breaks in another draw, but for the last candidate
        yield glance if snapshot.config.max_warmup_replicas >= 8 else check_plan(plan_cases.case("scale-out"), standard)

    checked = check_plan(plan_cases.case("scale-out"), standard)
    [finding, *_] = with_cures(checked, plan_cases.snapshot("scale-out"), check_again).findings
    assert finding.cure is not None
    assert dict(finding.cure.settings) == {"max_warmup_replicas": 8}
    assert thorough == [4, 8]


def test_a_streams_group_is_offered_no_setting_that_it_does_not_have_or_that_its_broker_refuses() -> None:
    nothing: dict[str, list[str]] = {"active": [], "standby": [], "warmup": []}
    member = {"member_epoch": 12, **nothing, "target": nothing}
    instances = {f"s{place}": [{"consumer_id": f"s{place}-1", "position": place, **member}] for place in range(3)}
    snapshot = snapshot_from_row(streams_rows.row("4.4", instances, group_state="Assigning"), "group.json")
    rules = "max_duration: 1ms, max_rebalances: 0, max_pause_per_handover: 1s, max_pause_per_task: 1s, min_standbys: 9"
    standard = Standard(read_policy(f"version: 1\ndefaults: {{{rules}}}".encode(), "p"), check_cases.NOW)
    checked = check_plan(plan(snapshot), standard)
    tried: list[Snapshot] = []

    def check_again(other: Snapshot) -> Iterator[CheckedPlan]:
        tried.append(other)
        yield check_plan(plan(other), standard)

    assert checked.findings_of(Status.ERROR)
    with_cures(checked, snapshot, check_again)
    assert not tried
