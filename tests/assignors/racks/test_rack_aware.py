"""The rack strategies exchange the tasks that Kafka exchanges (KIP-925)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.assignors.racks.costs import is_rack_aware
from kstream_plan.assignors.racks.negative_cycles import minimize_cost
from kstream_plan.assignors.racks.network import NOBODY, TaskNetwork, assign_all
from kstream_plan.assignors.racks.optimize import optimize_active, optimize_standby
from kstream_plan.errors import ConfigError
from kstream_plan.model import Consumer, Group, Instance, Partition, Task, TaskId
from kstream_plan.model.settings import AssignmentConfig
from tests.helpers import kafka_cases, strategies
from tests.helpers import literal_rack_graph as literal

MIN_TRAFFIC = AssignmentConfig(rack_aware_assignment_strategy="min_traffic")
BALANCE = AssignmentConfig(rack_aware_assignment_strategy="balance_subtopology")


def _group(instance_racks: str, task_racks: str, *, stateful: bool = True) -> Group:
    """One instance per letter of ``instance_racks``; one task per word of ``task_racks``, its replicas' racks."""
    instances = [
        Instance(process_id=f"i{n:02}", consumers=(Consumer(consumer_id=f"c{n}"),), rack=rack)
        for n, rack in enumerate(instance_racks)
    ]
    tasks = [
        Task(
            task_id=TaskId(0, n),
            stateful=stateful,
            source_partitions=(Partition("source", n, tuple(racks)),),
            changelog_partitions=(Partition("changelog", n, tuple(racks)),) if stateful else (),
        )
        for n, racks in enumerate(task_racks.split())
    ]
    return Group.of("orders", tasks, instances)


# ------------------------------------------------------------------------------------------ against Kafka and literally


def test_every_recorded_decision_with_tags_and_racks_comes_out() -> None:
    """Named topologies, unequal capacities, colliding hashes, and costs that overflow 32 bits."""
    outcomes = Counter[str]()
    for case, result in kafka_cases.recorded("tags-and-racks"):
        state, config = kafka_cases.state_of(case), kafka_cases.config_of(case)
        if result is None:
            with pytest.raises(ConfigError, match="never ends"):
                ASSIGNORS["high-availability"](state, config)
            outcomes["never ends"] += 1
            continue
        decision = kafka_cases.rendered(state.group, ASSIGNORS["high-availability"](state, config))
        assert decision == kafka_cases.expected(state.group, result), case["id"]
        outcomes["same"] += 1
    assert outcomes == {"same": 120, "never ends": 6}


@st.composite
def costly_tasks(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Per task its cost on each client, few kinds or all different, and its owner."""
    clients = draw(st.integers(1, 6))
    costs = st.lists(st.integers(0, draw(st.sampled_from([1, 3, 40]))), min_size=clients, max_size=clients)
    kinds = draw(st.lists(costs, min_size=1, max_size=4))
    rows = draw(st.lists(st.one_of(st.sampled_from(kinds), costs), min_size=1, max_size=25))
    return rows, draw(st.lists(st.sampled_from(range(clients)), min_size=len(rows), max_size=len(rows)))


@given(costly_tasks())
def test_min_traffic_is_kafkas_search_arc_by_arc(drawn: tuple[list[list[int]], list[int]]) -> None:
    costs, owners = drawn
    network = TaskNetwork(costs, range(len(costs)), [0] * len(costs), owners)
    minimize_cost(network)
    assert network.owner == literal.min_traffic(costs, owners)


@given(costly_tasks(), st.data())
def test_balance_subtopology_is_kafkas_search_arc_by_arc(
    drawn: tuple[list[list[int]], list[int]], data: st.DataObject
) -> None:
    (costs, owners), groups = drawn, data.draw(st.integers(1, 4))
    drawn_groups = data.draw(st.lists(st.integers(1, groups), min_size=len(costs), max_size=len(costs)))
    numbers = {group: number for number, group in enumerate(sorted(set(drawn_groups)))}
    subtopology_of = [numbers[group] for group in sorted(drawn_groups)]
    sizes, capacities = Counter(subtopology_of), [owners.count(client) for client in range(len(costs[0]))]
    limits = [[ceil(n * 1.0 / len(costs) * sizes[number]) for n in capacities] for number in range(len(numbers))]
    network = TaskNetwork(costs, range(len(costs)), subtopology_of, [NOBODY] * len(costs), limits)
    assign_all(network, capacities)
    minimize_cost(network)
    assert network.owner == literal.balance_subtopology(costs, owners, subtopology_of)


# -------------------------------------------------------------------------------------------------------- properties


@given(strategies.groups(min_instances=2), strategies.configs(), st.data())
def test_everyone_keeps_as_many_tasks_and_less_is_read_across_racks(
    group: Group, config: AssignmentConfig, data: st.DataObject
) -> None:
    config = replace(
        config,
        rack_aware_assignment_strategy="min_traffic",
        rack_aware_assignment_traffic_cost=data.draw(st.sampled_from([1, 10])),
        rack_aware_assignment_non_overlap_cost=data.draw(st.sampled_from([0, 1, 100])),
    )
    owners = [data.draw(st.sampled_from(range(len(group.instances)))) for _ in group.tasks]
    before = [{task for task, owner in enumerate(owners) if owner == i} for i in range(len(group.instances))]
    after = optimize_active(group, config, range(len(group.tasks)), before)
    assert list(map(len, after)) == list(map(len, before))
    assert sorted(task for mine in after for task in mine) == list(range(len(group.tasks)))
    assert _reads_across(group, after) <= _reads_across(group, before)


def _reads_across(group: Group, active: list[set[int]]) -> int:
    return sum(
        group.instances[instance].rack not in (partition.racks or ())
        for instance, mine in enumerate(active)
        for task in mine
        for partition in group.tasks[task].source_partitions
    )


@given(strategies.groups(min_instances=2), st.integers(1, 3))
def test_standbys_are_swapped_and_never_meet_another_copy(group: Group, replicas: int) -> None:
    instances = range(len(group.instances))
    active = [{task for task in group.stateful if task % len(instances) == i} for i in instances]
    standby = [{task for task in group.stateful if 0 < (i - task) % len(instances) <= replicas} for i in instances]
    after = optimize_standby(group, MIN_TRAFFIC, active, standby)
    assert list(map(len, after)) == list(map(len, standby))
    assert Counter(t for mine in after for t in mine) == Counter(t for mine in standby for t in mine)
    assert all(not mine & own for mine, own in zip(after, active, strict=True))


# ---------------------------------------------------------------------------------------------------------- examples


def test_tasks_go_where_their_replicas_are() -> None:
    group = _group("ab", "b a b a")
    assert optimize_active(group, MIN_TRAFFIC, range(4), [{0, 2}, {1, 3}]) == [{1, 3}, {0, 2}]
    assert optimize_active(group, BALANCE, range(4), [{0, 2}, {1, 3}]) == [{1, 3}, {0, 2}]


def test_a_move_has_to_save_more_than_it_costs() -> None:
    group, config = _group("ab", "b a"), replace(MIN_TRAFFIC, rack_aware_assignment_non_overlap_cost=11)
    assert optimize_active(group, config, range(2), [{0}, {1}]) == [{0}, {1}]


def test_stateless_tasks_move_freely_whatever_is_configured() -> None:
    group, config = _group("ab", "b a", stateful=False), replace(MIN_TRAFFIC, rack_aware_assignment_traffic_cost=0)
    assert optimize_active(group, config, range(2), [{0}, {1}], stateless=True) == [{1}, {0}]


def test_other_tasks_stay_where_they_are() -> None:
    group = _group("ab", "b a b a")
    assert optimize_active(group, MIN_TRAFFIC, [0, 1], [{0, 2}, {1, 3}]) == [{1, 2}, {0, 3}]
    assert optimize_active(group, MIN_TRAFFIC, [], [{0, 2}, {1, 3}]) == [{0, 2}, {1, 3}]


def test_balance_subtopology_takes_from_each_subtopology_in_proportion() -> None:
    group = _group("ab", "a a a a")
    tasks = [
        *group.tasks,
        *(
            replace(t, task_id=TaskId(1, n), source_partitions=(Partition("more", n, ("b",)),))
            for n, t in enumerate(group.tasks)
        ),
    ]
    group = Group.of("orders", tasks, list(group.instances))
    dealt = [{0, 2, 4, 6}, {1, 3, 5, 7}]
    assert optimize_active(group, MIN_TRAFFIC, range(8), dealt) == [{0, 1, 2, 3}, {4, 5, 6, 7}]
    assert [len(mine & {0, 1, 2, 3}) for mine in optimize_active(group, BALANCE, range(8), dealt)] == [2, 2]


def test_standbys_swap_between_racks_only_and_where_they_may() -> None:
    group = _group("aab", "a b a b")
    active: list[set[int]] = [set(), set(), set()]
    swapped = optimize_standby(group, MIN_TRAFFIC, active, [{1}, {3}, {0, 2}])
    assert swapped == [{0}, {2}, {1, 3}]
    refused = optimize_standby(group, MIN_TRAFFIC, active, [{1}, {3}, {0, 2}], lambda source, *_: source != 0)
    assert refused == [{1}, {0}, {2, 3}]
    assert optimize_standby(group, MIN_TRAFFIC, [{0}, set(), set()], [{1}, {3}, {0, 2}])[0] == {2}


@pytest.mark.parametrize(
    ("instance_racks", "task_racks", "is_enabled"),
    [("ab", "a b", True), (["a", None], "a b", False), (["a", ""], "a b", False), ("ab", "a", True)],
)
def test_every_instance_needs_a_rack(instance_racks: str, task_racks: str, is_enabled: bool) -> None:
    assert is_rack_aware(_group(instance_racks, task_racks), MIN_TRAFFIC) is is_enabled


@pytest.mark.parametrize("racks", [None, (), ("a", None), ("a", "")])
def test_every_replica_needs_a_rack(racks: tuple[str | None, ...] | None) -> None:
    group, with_standbys = _group("ab", "a b"), replace(MIN_TRAFFIC, num_standby_replicas=1)
    first, second = group.tasks
    no_source = replace(first, source_partitions=(Partition("source", 0, racks),))
    no_changelog = replace(first, changelog_partitions=(Partition("changelog", 0, racks),))
    assert not is_rack_aware(Group.of("orders", [no_source, second], list(group.instances)), MIN_TRAFFIC)
    assert is_rack_aware(Group.of("orders", [no_changelog, second], list(group.instances)), MIN_TRAFFIC)
    assert not is_rack_aware(Group.of("orders", [no_changelog, second], list(group.instances)), with_standbys)


def test_it_is_off_by_default_and_without_partitions() -> None:
    group = _group("ab", "a b")
    bare = [replace(task, source_partitions=()) for task in group.tasks]
    assert not is_rack_aware(group, AssignmentConfig())
    assert not is_rack_aware(Group.of("orders", bare, list(group.instances)), MIN_TRAFFIC)
