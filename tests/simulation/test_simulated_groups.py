"""What real groups did when members came and went follows from how they were before, and from what was done to them."""

from __future__ import annotations

from typing import Any

import pytest

from kstream_plan.model import Holding
from kstream_plan.plans import Plan, Round
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured, captured_scenarios

#: scenario, records restored per second, records written per second and task
CASES = [
    ("scale-out", None, None),
    ("scale-out", 10_000.0, None),
    ("scale-out-traffic", None, 25.0),
    ("scale-out-traffic", 10_000.0, 25.0),
    ("scale-out-standbys", 10_000.0, None),
]
HEARTBEAT_INTERVAL_MS = 3_000


def _present(plan: Plan, rnd: Round, observed: dict[str, Any]) -> tuple[dict[str, Holding], dict[str, Holding]]:
    """What the plan and the group decided for the members of then, instance by instance or thread by thread."""
    was = captured.decided(plan.group, observed)
    decided = {c: held for c, held in captured.copies_alike(plan.group, rnd.decided).items() if c in was}
    if not plan.config.num_standby_replicas:
        return decided, was
    # which thread of an instance reports left-over state, and so gets a standby back, is a race
    return _by_instance(plan, decided), _by_instance(plan, was)


def _by_instance(plan: Plan, holdings: dict[str, Holding]) -> dict[str, Holding]:
    found = {}
    for instance in plan.group.instances:
        held = [holdings[consumer.consumer_id] for consumer in instance.consumers if consumer.consumer_id in holdings]
        roles = ([task for item in held for task in getattr(item, role)] for role in ("active", "standby"))
        found[instance.process_id] = Holding(*(tuple(sorted(tasks)) for tasks in roles))
    return found


@pytest.mark.parametrize(("scenario", "restore_rate", "produce_rate"), CASES)
def test_every_generation_follows_from_the_group_before(
    scenario: str, restore_rate: float | None, produce_rate: float | None
) -> None:
    before = captured_scenarios.before(scenario, restore_rate, produce_rate)
    result = plan(before, scenario=captured_scenarios.scenario(scenario))
    observed = captured.rows(scenario, "observed")[1:]
    assert broken_invariants(result) == ()
    assert result.verdict.kind == "settled"
    assert len(result.rounds) == len(observed)
    for rnd, was in zip(result.rounds, observed, strict=True):
        assert rnd.generation == was["generation"]
        assert rnd.trigger == captured.trigger(was), rnd.generation
        assert rnd.probing_rebalance == was["probing_rebalance"], rnd.generation
        decided, was_decided = _present(result, rnd, was)
        assert decided == was_decided, rnd.generation
        apart_ms = captured_scenarios.at_ms(was, observed[0]) - rnd.at_ms
        assert abs(apart_ms) <= HEARTBEAT_INTERVAL_MS * max(1, rnd.number - 1), rnd.generation


def test_the_departure_of_an_instance_ends_everything_it_held() -> None:
    result = plan(
        captured_scenarios.before("scale-out-standbys", 10_000.0),
        scenario=captured_scenarios.scenario("scale-out-standbys"),
    )
    i4 = next(i for i, instance in enumerate(result.group.instances) if instance.host == "i4")
    left = next(rnd for rnd in result.rounds if rnd.trigger == "leave")
    ran = sum(len(result.rounds[left.number - 2].assigned[c].active) for c in result.group.consumers_of[i4])
    assert ran > 0
    assert all(result.final[c] == Holding() for c in result.group.consumers_of[i4])
    assert result.summary.max_paused_task is not None
    assert result.summary.max_paused_task.ms >= captured_scenarios.SESSION_TIMEOUT_MS
