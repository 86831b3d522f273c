"""What a real group did, generation by generation, comes out of its first input."""

from __future__ import annotations

import pytest

from kstream_plan.simulation.one_plan import assign_once, plan
from tests.helpers import captured

#: scenario, restore rate, how many generations follow from the join until the next change of members
SEQUENCES = [
    ("scale-out", None, 22),
    ("scale-out", 10_000.0, 22),
    ("scale-out-traffic", None, 14),
    ("scale-out-traffic", 10_000.0, 14),
    ("scale-out-standbys", 10_000.0, 22),
]


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_every_generation_is_decided_as_it_was(scenario: str) -> None:
    for snapshot, observed in zip(captured.inputs(scenario), captured.rows(scenario, "observed"), strict=True):
        decision = assign_once(snapshot)
        group = snapshot.state.group
        assert captured.copies_alike(group, decision.consumers) == captured.decided(group, observed)
        assert decision.probing_rebalance == observed["probing_rebalance"]


@pytest.mark.parametrize(("scenario", "restore_rate", "generations"), SEQUENCES)
def test_the_whole_sequence_follows_from_the_join(scenario: str, restore_rate: float | None, generations: int) -> None:
    result = plan(captured.join(scenario, restore_rate))
    observed = captured.rows(scenario, "observed")[1 : 1 + generations]
    assert len(result.rounds) == generations
    assert result.verdict.kind == "settled"
    for rnd, was in zip(result.rounds, observed, strict=True):
        assert rnd.generation == was["generation"]
        assert rnd.trigger == captured.trigger(was), rnd.generation
        assert rnd.probing_rebalance == was["probing_rebalance"], rnd.generation
        decided = captured.copies_alike(result.group, rnd.decided)
        was_decided = captured.decided(result.group, was)
        if result.config.num_standby_replicas:
            # which thread of an instance reports left-over state, and so gets a standby back, is a race
            decided, was_decided = (captured.by_instance(result.group, item) for item in (decided, was_decided))
        else:
            assert captured.copies_alike(result.group, rnd.assigned) == captured.assigned(result.group, was)
        assert decided == was_decided, rnd.generation
