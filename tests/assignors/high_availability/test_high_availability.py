"""What every high-availability decision keeps to, whatever the group."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.model import LATEST, UNKNOWN, Assignment, Copy, Group, GroupState, Holding, Movement
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from tests.helpers import strategies
from tests.helpers.small_groups import group, state

assign = ASSIGNORS["high-availability"]


@given(strategies.group_states(), strategies.configs())
def test_every_task_has_one_active_and_its_roles_never_share_an_instance(
    drawn: GroupState, config: AssignmentConfig
) -> None:
    decision = assign(drawn, config)
    assert sorted(t for held in decision.instances for t in held.active) == list(range(len(drawn.group.tasks)))
    for held in decision.instances:
        everything = (*held.active, *held.standby, *held.warmup)
        assert len(set(everything)) == len(everything)
        assert all(list(role) == sorted(role) for role in held)
        assert held.temporary == ()


@given(strategies.group_states(), strategies.configs())
def test_every_stateful_task_has_its_standbys_but_for_those_reported_short(
    drawn: GroupState, config: AssignmentConfig
) -> None:
    decision = assign(drawn, config)
    short = dict(decision.short_standbys)
    for task in drawn.group.stateful:
        standbys = sum(task in held.standby for held in decision.instances)
        assert standbys + short.get(task, 0) == config.num_standby_replicas
    assert all(missing > 0 for missing in short.values())


@given(strategies.group_states(), strategies.configs())
def test_warm_ups_stay_within_the_budget_and_are_those_of_the_movements(
    drawn: GroupState, config: AssignmentConfig
) -> None:
    decision = assign(drawn, config)
    warmed = sorted((m.destination, m.task) for m in decision.movements if m.warmup)
    assert warmed == sorted((i, t) for i, held in enumerate(decision.instances) for t in held.warmup)
    assert len(warmed) <= config.max_warmup_replicas


@given(strategies.group_states(), strategies.configs())
def test_a_probing_rebalance_follows_exactly_if_something_has_yet_to_move(
    drawn: GroupState, config: AssignmentConfig
) -> None:
    decision = assign(drawn, config)
    assert decision.probing_rebalance == bool(decision.movements)
    if not decision.movements:
        stateless = set(drawn.group.stateless)
        assert decision.target.standby == tuple(held.standby for held in decision.instances)
        assert [set(active) for active in decision.target.active] == [
            set(held.active) - stateless for held in decision.instances
        ]


@given(strategies.group_states(), strategies.configs())
def test_the_split_hands_out_exactly_what_the_instance_was_given(drawn: GroupState, config: AssignmentConfig) -> None:
    decision = assign(drawn, config)
    for held, consumers in zip(decision.instances, drawn.group.consumers_of, strict=True):
        for role in range(len(held)):
            assert sorted(t for c in consumers for t in decision.consumers[c][role]) == list(held[role])


@given(st.data(), strategies.configs())
def test_the_target_does_not_depend_on_lags(data: st.DataObject, config: AssignmentConfig) -> None:
    one = data.draw(strategies.group_states())
    other = data.draw(strategies.group_states(st.just(one.group)))
    assert assign(one, config).target == assign(other, config).target


@given(st.data(), strategies.configs())
def test_an_earlier_decision_saves_work_and_changes_nothing(data: st.DataObject, config: AssignmentConfig) -> None:
    drawn = data.draw(strategies.group_states(strategies.groups(max_tasks=20)))
    previous: tuple[GroupState, Assignment] | None = None
    for _ in range(3):
        decision = assign(drawn, config, previous)
        assert decision == assign(drawn, config)
        previous = (drawn, decision)
        holdings = data.draw(st.sampled_from([drawn.holdings, decision.consumers]))
        drawn = replace(data.draw(strategies.successors(drawn)), holdings=holdings)


def test_who_reports_what_another_was_given_gets_it_though_the_instance_keeps_it() -> None:
    members = group(stateful=3, stateless=0)
    running = {task: (Copy(task, LATEST, (2 * task,)),) for task in members.stateful}
    config = AssignmentConfig(acceptable_recovery_lag=0)
    before = state(members, {}, running)
    decided = assign(before, config)
    by_the_second = {**running, 0: (Copy(0, LATEST, (1,)),)}
    after = replace(state(members, {}, by_the_second), holdings=decided.consumers)
    again = assign(after, config)
    assert again.instances == decided.instances
    assert [held.active for held in again.consumers[:2]] == [(), (0,)]
    assert again == assign(after, config)


def test_under_an_unbounded_limit_everything_starts_at_its_target() -> None:
    members = group()
    lagging = state(members, {}, {task: (Copy(1, 0), Copy(2, UNKNOWN)) for task in members.stateful})
    assert assign(lagging, AssignmentConfig(acceptable_recovery_lag=MAX_LONG)).movements == ()


def test_a_task_moves_warm_and_its_caught_up_owner_keeps_it_meanwhile() -> None:
    members = group(stateful=2, stateless=0)
    decision = assign(state(members, {}, {0: (Copy(2, LATEST, (4,)),), 1: (Copy(2, LATEST, (4,)),)}), _limit(10))
    assert decision.instances == (Holding(warmup=(0,)), Holding(warmup=(1,)), Holding(active=(0, 1)))
    assert decision.movements == (
        Movement(0, "active", "move_caught_up", 2, 0, warmup=True),
        Movement(1, "active", "move_caught_up", 2, 1, warmup=True),
    )
    assert decision.probing_rebalance


def test_a_caught_up_standby_takes_over_without_a_warm_up() -> None:
    members = group(stateful=1, stateless=0)
    copies = {0: (Copy(1, 3, (2,)),)}
    decision = assign(state(members, {}, copies), _limit(10, num_standby_replicas=1))
    assert decision.movements[0] == Movement(0, "active", "swap_caught_up", 1, 0, warmup=False)
    assert decision.instances[1].active == (0,)


def test_between_two_equally_cold_instances_a_standby_goes_to_the_first_and_takes_a_warm_up() -> None:
    members = group(stateful=3, stateless=0)
    running = {task: (Copy(task, LATEST, (2 * task,)),) for task in members.stateful}
    decision = assign(state(members, {}, running), _limit(10, num_standby_replicas=1))
    # Nobody but the owners has any state: the first instance is as cold as the last, which the target names.
    assert decision.target.standby == ((2,), (0,), (1,))
    assert decision.movements == (Movement(1, "standby", "move_most_caught_up", 0, 2, warmup=True),)
    assert decision.instances[0] == Holding(active=(0,), standby=(1, 2))
    assert decision.instances[2] == Holding(active=(2,), warmup=(1,))


@pytest.mark.parametrize("instances", [0, 1])
def test_a_group_without_tasks_or_instances_is_settled(instances: int) -> None:
    members = Group.of("empty", [], list(group().instances[:instances]))
    decision = assign(state(members, {}, {}), AssignmentConfig(num_standby_replicas=1))
    assert decision.instances == (Holding(),) * instances
    assert not decision.probing_rebalance


def _limit(limit: int, **more: int) -> AssignmentConfig:
    return AssignmentConfig(acceptable_recovery_lag=limit, **more)
