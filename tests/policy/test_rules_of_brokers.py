"""Rules about streams groups: Stable is not yet running."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kstream_plan.errors import KstreamPlanError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import Join, Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.longest_pause import PAUSE_RULES
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Finding, Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.policy.rules.over_draws import measure_rules
from kstream_plan.render.check.table import table_report
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.streams_rows import joining, row, snapshot

_HELD = {"a": ["0_0", "0_1"], "b": ["0_2", "0_3"]}
_SEATS = {
    name: [{"consumer_id": f"{name}-1", "position": place, "active": held, "target": {"active": held}}]
    for place, (name, held) in enumerate(_HELD.items())
}


def _joined(snapshot: Snapshot) -> Plan:
    return plan_checked(snapshot, scenario=Scenario(events=(Join(at_ms=0, instances=joining("c")),)))


def _group(**fields: str) -> Snapshot:
    return snapshot(row("4.3", _SEATS, {"0": (4, True, 60_000)}, **fields))


def _measured_ms(plan: Plan) -> int | None:
    return RULES["max_duration"].worst(MeasuredPlan(plan), 60_000).value  # type: ignore[return-value]


def test_it_takes_until_everything_runs() -> None:
    result = _joined(replace(_group(), rates=Rates(restore_per_instance=1_000.0)))
    assert result.rounds[-1].at_ms < 30_000
    assert _measured_ms(result) == result.ends("runs_by_ms")[1] > 60_000
    assert RULES["max_duration"].worst(MeasuredPlan(result), 60_000).offences


@pytest.mark.parametrize(
    "snapshot", [_group(), replace(_group(group_state="NotReady"), rates=Rates(restore_per_instance=1e9))]
)
def test_what_nobody_knows_is_not_kept(snapshot: Snapshot) -> None:
    found = RULES["max_duration"].worst(MeasuredPlan(_joined(snapshot)), 60_000)
    assert found.value is None
    assert found.offences


@pytest.mark.parametrize("state", ["Dead", "Empty", "Bogus"])
def test_a_state_that_no_group_with_members_has_is_refused(state: str) -> None:
    with pytest.raises(KstreamPlanError, match=f"group_state.*is '{state}'"):
        _group(group_state=state)


_STANDARD = {rule: Standard(Policy(defaults={rule: Limit(30_000)}), datetime.now(UTC)) for rule in PAUSE_RULES}


def _finding(plan: Plan, rule: str, draws: OverDraws | None = None) -> Finding:
    checked = check_plan(plan, _STANDARD[rule], draws=draws)
    return next(one for one in checked.findings if one.rule == rule)


@pytest.mark.parametrize("rule", PAUSE_RULES)
def test_a_task_that_restores_before_it_runs_stands_still_meanwhile(rule: str) -> None:
    result = _joined(replace(_group(), rates=Rates(restore_per_instance=1_000.0)))
    assert result.summary.cold_handovers == 2
    assert result.summary.max_cold_restore_ms == 120_000
    assert result.ends("max_cold_restore_ms")[1] == 240_000  # by one of two threads alone
    assert result.pauses.longest_ms < 30_000
    found = _finding(result, rule)
    assert found.status is Status.ERROR
    assert found.value is not None
    times = 2 if rule == "max_pause_in_all" else 1
    assert 240_000 * times < found.value <= 240_000 * times + result.ends("paused_task_ms")[1]
    said = table_report(check_all([check_plan(result, _STANDARD[rule])], datetime.now(UTC)), width=200)
    assert "restores included" in " ".join(said.split())


@pytest.mark.parametrize("rule", PAUSE_RULES)
def test_how_long_it_stands_still_is_unknown_where_nobody_knows_how_fast_it_restores(rule: str) -> None:
    found = _finding(_joined(_group()), rule)
    assert (found.status, found.value) == (Status.ERROR, None)
    fast = _joined(replace(_group(), rates=Rates(restore_per_instance=1e9)))
    assert _finding(fast, rule).status is Status.PASSED


@pytest.mark.parametrize("rule", PAUSE_RULES)
def test_what_other_draws_restore_counts(rule: str) -> None:
    slow = _joined(replace(_group(), rates=Rates(restore_per_instance=1_000.0)))
    warm = _joined(replace(_group(), rates=Rates(restore_per_instance=1e9)))
    draws = OverDraws(2, 0, measure_rules(slow))
    found = _finding(warm, rule, draws)
    assert (found.status, found.worst_of) == (Status.ERROR, 2)
    assert found.value == _finding(slow, rule).value
    older = {key: value for key, value in draws.worst.items() if not key.endswith(" restored")}
    assert _finding(warm, rule, OverDraws(2, 0, older)).value is None
