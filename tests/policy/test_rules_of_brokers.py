"""Rules about streams groups: Stable is not yet running."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.errors import KstreamPlanError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import Join, Scenario
from kstream_plan.plans import Plan
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.streams_rows import joining, row, snapshot

_HELD = {"a": ["0_0", "0_1"], "b": ["0_2", "0_3"]}
_SEATS = {
    name: [{"consumer_id": f"{name}-1", "position": place, "active": held, "target": {"active": held}}]
    for place, (name, held) in enumerate(_HELD.items())
}


def _joined(of: Snapshot) -> Plan:
    return plan_checked(of, scenario=Scenario(events=(Join(at_ms=0, instances=joining("c")),)))


def _group(**fields: str) -> Snapshot:
    return snapshot(row("4.3", _SEATS, {"0": (4, True, 60_000)}, **fields))


def _measured_ms(made: Plan) -> int | None:
    return RULES["max_duration"].worst(MeasuredPlan(made), 60_000).value  # type: ignore[return-value]


def test_it_takes_until_everything_runs() -> None:
    made = _joined(replace(_group(), rates=Rates(restore_per_instance=1_000.0)))
    assert made.rounds[-1].at_ms < 30_000
    assert _measured_ms(made) == made.ends("runs_by_ms")[1] > 60_000
    assert RULES["max_duration"].worst(MeasuredPlan(made), 60_000).offences


@pytest.mark.parametrize(
    "of", [_group(), replace(_group(group_state="NotReady"), rates=Rates(restore_per_instance=1e9))]
)
def test_what_nobody_knows_is_not_kept(of: Snapshot) -> None:
    found = RULES["max_duration"].worst(MeasuredPlan(_joined(of)), 60_000)
    assert found.value is None
    assert found.offences


@pytest.mark.parametrize("state", ["Dead", "Empty", "Bogus"])
def test_a_state_that_no_group_with_members_has_is_refused(state: str) -> None:
    with pytest.raises(KstreamPlanError, match=f"group_state.*is '{state}'"):
        _group(group_state=state)
