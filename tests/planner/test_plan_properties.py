"""What holds of every plan, whatever assignor and protocol made it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from unittest import mock

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from kstream_plan.assignors import ASSIGNORS, Assign, Assignor
from kstream_plan.assignors.balanced import assign as balanced
from kstream_plan.assignors.balanced.task_costs import prospects
from kstream_plan.designs.classic import coordinator
from kstream_plan.designs.classic import design as planner
from kstream_plan.designs.classic.simulated_group import SimulatedGroup
from kstream_plan.model import Group, GroupState, Holding, Rates, Snapshot
from kstream_plan.model.scenario import ConfigChange, Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner import loop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Balance, Plan, Trigger
from kstream_plan.plans.balance import balance_of
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.protocols import PROTOCOLS
from kstream_plan.simulation.one_plan import plan
from tests.benchmarks.whole_plan import scale_out
from tests.helpers import memberships
from tests.helpers.in_rows import made
from tests.helpers.stateless_groups import joined
from tests.helpers.strategies import changed_members, first_starts, groups, snapshots

Standbys: TypeAlias = Mapping[int, Sequence[int]]

every_assignor = pytest.mark.parametrize("assignor", list(ASSIGNORS))
rates = st.builds(
    Rates,
    restore_per_instance=st.sampled_from([None, 0.5, 100.0]),
    produce_per_task=st.sampled_from([None, 0.0, 10.0]),
)


def _history(plan: Plan) -> str:
    """One line a round, printed when a property fails."""
    lines = [f"{plan.protocol}: {plan.verdict.kind}, {plan.summary.hops} hops"]
    for rnd in plan.rounds:
        kinds = [f"{step.kind} {getattr(step, 'task_id', '')}" for step in rnd.steps]
        lines.append(f"{rnd.number} {rnd.at_ms} {rnd.trigger} probing={rnd.probing_rebalance}: {', '.join(kinds)}")
    return "\n".join(lines)


@every_assignor
@given(snapshot=snapshots(), rates=rates)
def test_every_plan_keeps_every_invariant(assignor: str, snapshot: Snapshot, rates: Rates) -> None:
    for protocol in PROTOCOLS:  # drawing a group takes longer than planning for it
        result = plan(replace(snapshot, rates=rates), assignor=assignor, protocol=protocol, max_rounds=60)
        note(_history(result))
        assert broken_invariants(result) == ()


@every_assignor
@given(snapshot=first_starts())
def test_a_settled_group_stays_as_it_is(assignor: str, snapshot: Snapshot) -> None:
    for protocol in PROTOCOLS:
        first = plan(snapshot, assignor=assignor, protocol=protocol, floor=False, ranges=False)
        note(_history(first))
        assert first.verdict.kind == "settled"
        again = plan(memberships.after(first), assignor=assignor, protocol=protocol)
        note(_history(again))
        assert again.rounds == ()
        assert again.verdict.kind == "settled"
        assert again.final == again.initial


@every_assignor
@given(data=st.data())
def test_a_change_of_members_settles_within_the_bound(assignor: str, data: st.DataObject) -> None:
    start = data.draw(first_starts(standbys=False))
    members = data.draw(changed_members(start.state.group))
    for protocol in PROTOCOLS:
        options = PlanOptions(assignor=assignor, protocol=protocol, floor=False, ranges=False)
        before = memberships.after(plan(start, options))
        result = plan(memberships.with_members(before, members), options)
        note(_history(result))
        ticks = sum(rnd.trigger is Trigger.PROBING for rnd in result.rounds)
        assert result.verdict.kind == "settled"
        assert ticks <= math.ceil(result.summary.hops / result.config.max_warmup_replicas) + 1
        # without a file `planned` aims anew at every rebalance: a follow-up may move further tasks
        extra = result.summary.moves if assignor == "planned" else 0
        assert len(result.rounds) <= 2 * (ticks + 1) + extra
        assert result.summary.moves >= result.summary.lower_bounds.moves


@given(snapshot=snapshots())
def test_the_same_snapshot_gives_the_same_plan(snapshot: Snapshot) -> None:
    assert plan(snapshot, max_rounds=20) == plan(snapshot, max_rounds=20)


class _FreshBalance:
    """Counts every decision from nothing."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def balance_after(self, decided: Sequence[Holding]) -> Balance:
        by_consumer = [
            item
            for held, at in zip(decided, self._group.capacities, strict=True)
            for item in (held, *[Holding()] * (at - 1))
        ]
        return balance_of(self._group, by_consumer)


class _Reloaded(SimulatedGroup):
    """Loads its columns anew of what was reported, before every decision."""

    def go_on(self, *given: Any, **named: Any) -> GroupState:
        after = super().go_on(*given, **named)
        return replace(after, copies=tuple(after.copies), holdings=made(after.holdings))


def _forgetting(assignor: Assignor) -> Assign:
    return lambda state, config, _previous=None, **law: assignor.assign(state, config, **law)


def _carried_on_and_anew(snapshot: Snapshot, **options: Any) -> tuple[Plan, Plan]:
    """The same plan as it is made, and made with nothing taken over from the round before but ``balanced``'s target.

    Of several targets that cost the same, that one stays, and a decision without it may choose another.
    """
    carried_on = plan(snapshot, **options)
    every = {
        name: item if name == "balanced" else replace(item, assign=_forgetting(item))
        for name, item in ASSIGNORS.items()
    }
    with (
        mock.patch.object(planner, "ASSIGNORS", every),
        mock.patch.object(coordinator, "SimulatedGroup", _Reloaded),
        mock.patch.object(loop, "RunningBalance", _FreshBalance),
    ):
        return carried_on, plan(snapshot, **options)


@every_assignor
@given(snapshot=snapshots(groups(max_tasks=24)), rates=rates)
def test_carrying_on_gives_what_a_full_recompute_gives(assignor: str, snapshot: Snapshot, rates: Rates) -> None:
    snapshot = replace(snapshot, rates=rates)
    for protocol in PROTOCOLS:
        carried_on, anew = _carried_on_and_anew(snapshot, assignor=assignor, protocol=protocol, max_rounds=20)
        note(_history(carried_on))
        assert carried_on == anew


def _cost(state: GroupState, config: AssignmentConfig, owner: Mapping[int, int], standbys: Standbys) -> list[int]:
    """Records and moves of the active tasks, then of the standbys."""
    item = list(prospects(state, config, state.group.stateful))
    actives = [one.active_cost(owner[one.task]) for one in item]
    others = [one.standby_cost(instance) for one in item for instance in standbys[one.task]]
    return [sum(cost[part] for cost in costs) for costs in (actives, others) for part in (0, 1)]


@given(snapshot=snapshots(groups(max_tasks=24)), rates=rates)
def test_a_target_that_stays_costs_as_little_as_any(snapshot: Snapshot, rates: Rates) -> None:
    carry_on = balanced._carried_on

    def checked(state: GroupState, config: AssignmentConfig, *before: Any) -> Any:
        if kept := carry_on(state, config, *before):
            anew = balanced._afresh(state, config)
            costs = [_cost(state, config, item.owner, item.standbys) for item in (kept, anew)]
            assert costs[0][:2] == costs[1][:2]
            if kept.owner == anew.owner:  # among several optima of the active tasks, standbys may cost more or less
                assert costs[0] == costs[1]
            assert kept.warnings == anew.warnings
        return kept

    with mock.patch.object(balanced, "_carried_on", checked):
        plan(replace(snapshot, rates=rates), assignor="balanced", max_rounds=20, floor=False, ranges=False)


@pytest.mark.parametrize("seed", range(12))
def test_carrying_on_gives_the_same_where_many_stateless_tasks_go_back_and_forth(seed: int) -> None:
    carried_on, anew = _carried_on_and_anew(joined(seed))
    assert carried_on.summary.stateless_hops > 0
    assert carried_on == anew


@given(snapshot=snapshots(), rates=rates)
def test_what_is_unsettled_is_what_the_copies_say(snapshot: Snapshot, rates: Rates) -> None:
    looked_at = []
    go_on = SimulatedGroup.go_on

    def checked(in_play: SimulatedGroup, *given: Any, **named: Any) -> GroupState:
        after = go_on(in_play, *given, **named)
        looked_at.append(after)
        assert in_play.columns.copies.unsettled_tasks() == replace(after).unsettled
        return after

    with mock.patch.object(SimulatedGroup, "go_on", checked):
        result = plan(replace(snapshot, rates=rates), max_rounds=20, floor=False, ranges=False)
    assert len(looked_at) >= max(len(result.rounds) - 1, 0)


@pytest.mark.parametrize("cleanup_ms", [600_000, 3_600_000])
@pytest.mark.parametrize("produced", [None, 20.0])
def test_left_over_state_is_there_whether_looked_at_or_not(cleanup_ms: int, produced: float | None) -> None:
    """It is deleted some time, other threads report it, and other settings count from some time on."""
    snapshot = scale_out(tasks=60, instances=7, joining=1, max_warmup_replicas=2, standbys=1)
    config = replace(snapshot.config, state_cleanup_delay_ms=cleanup_ms)
    snapshot = replace(snapshot, config=config, rates=Rates(produce_per_task=produced))
    sooner = ConfigChange(at_ms=2_500_000, settings=(("state_cleanup_delay_ms", 60_000),))
    for scenario in (None, Scenario(events=(sooner,))):
        carried_on, anew = _carried_on_and_anew(snapshot, scenario=scenario, max_rounds=25)
        assert carried_on == anew
        assert len(carried_on.rounds) > 9
