"""Which other settings are tried."""

from __future__ import annotations

from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Plan
from kstream_plan.simulation.what_ifs import what_ifs
from tests.helpers import plan_cases


def test_of_what_takes_long_only_what_has_far_fewer_rounds_is_tried() -> None:
    made = plan_cases.case("scale-out")
    now = made.config
    tried: list[AssignmentConfig] = []

    def play(config: AssignmentConfig) -> Plan:
        tried.append(config)
        return made

    assert what_ifs(made, play) == ()  # none is any shorter
    assert len(tried) > 2
    tried.clear()
    what_ifs(made, play, long=True)
    needed = min(made.summary.hops, len(made.group.stateful))
    assert [of.max_warmup_replicas for of in tried] == sorted({min(10 * now.max_warmup_replicas, needed), needed})
    assert {of.probing_rebalance_interval_ms for of in tried} == {now.probing_rebalance_interval_ms}
