"""Standbys spread over client tags as Kafka spreads them (KIP-708)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors.high_availability.client_tags import (
    destination_keeps_tags,
    movement_keeps_tag_spread,
    place_standbys,
)
from kstream_plan.assignors.high_availability.target import balanced_target
from kstream_plan.model import Consumer, Group, Instance, Task, TaskId
from tests.helpers import kafka_cases, strategies
from tests.reference import client_state as reference
from tests.reference.standby_task_assignor import ClientTagAwareStandbyTaskAssignor


def _group(*tags: dict[str, str], tasks: int = 1, threads: int = 1) -> Group:
    """One instance per mapping of tags, in this order; tasks 0_0 … are stateful."""
    instances = [
        Instance(
            process_id=f"i{n:02}",
            consumers=tuple(Consumer(consumer_id=f"i{n:02}-{thread}") for thread in range(threads)),
            client_tags=tuple(of_instance.items()),
        )
        for n, of_instance in enumerate(tags)
    ]
    return Group.of("orders", [Task(task_id=TaskId(0, p), stateful=True) for p in range(tasks)], instances)


def _dealt(group: Group) -> list[list[int]]:
    """The stateful tasks, one instance after the other."""
    return [list(group.stateful[first :: len(group.instances)]) for first in range(len(group.instances))]


@pytest.mark.parametrize(("name", "number"), [("single", 70), ("converge", 15), ("tags-and-racks", 85)])
def test_every_recorded_target_with_tags_comes_out(name: str, number: int) -> None:
    compared = 0
    for case, result in kafka_cases.recorded(name):
        tagged = case["config"].get("rack_aware_assignment_tags") and case["assignor"] == "high_availability"
        if not tagged or result is None:
            continue
        group = kafka_cases.group_of(case)
        target, _ = balanced_target(group, kafka_cases.config_of(case))
        decided = result["history"][0] if "history" in result else result
        for row in decided["clients"]:
            index = group.instance_index[row["process_id"]]
            standbys = [str(group.tasks[task].task_id) for task in target.standby[index]]
            assert sorted(standbys) == sorted(row["target_standby"]), case["id"]
        compared += 1
    assert compared == number


def test_the_kips_example_spreads_over_zones_and_clusters_as_far_as_they_go() -> None:
    zones, clusters = ("a", "b", "c"), ("1", "2")
    group = _group(*({"zone": zone, "cluster": cluster} for cluster in clusters for zone in zones))
    standby, short = place_standbys(group, ("zone", "cluster"), 2, [[0], [], [], [], [], []])
    assert short == []
    # the first one in another zone and the other cluster; then clusters are used up and only the third zone is left
    assert [instance for instance, tasks in enumerate(standby) if tasks] == [2, 4]


def test_tags_that_are_not_configured_do_not_matter() -> None:
    group = _group({"zone": "a", "host": "x"}, {"zone": "a", "host": "y"}, {"zone": "b", "host": "x"})
    assert place_standbys(group, ("zone",), 1, [[0], [], []])[0] == [set(), set(), {0}]
    assert place_standbys(group, ("host",), 1, [[0], [], []])[0] == [set(), {0}, set()]
    assert place_standbys(group, ("nothing",), 1, [[0], [], []])[0] == [set(), {0}, set()]


def test_a_task_that_no_other_value_is_free_for_goes_to_the_least_loaded() -> None:
    group = _group({"zone": "a", "host": "x"}, {"zone": "a", "host": "y"}, {"zone": "b", "host": "x"}, tasks=3)
    standby, short = place_standbys(group, ("zone", "host"), 1, [[0], [1, 2], []])
    assert standby == [set(), {0}, {1, 2}]
    assert short == []


def test_a_key_whose_values_are_used_up_stops_constraining() -> None:
    group = _group({"zone": "a"}, {"zone": "a"}, {"zone": "b"}, {}, tasks=2)
    standby, short = place_standbys(group, ("zone",), 3, [[0], [1], [], []])
    assert standby == [{1}, {0}, {0, 1}, {0, 1}]
    assert short == []


def test_missing_instances_are_counted() -> None:
    group = _group({"zone": "a"}, {"zone": "b"}, tasks=2)
    assert place_standbys(group, ("zone",), 3, [[0, 1], []]) == ([set(), {0, 1}], [(0, 2), (1, 2)])


def test_balancing_keeps_every_tag_of_the_source() -> None:
    group = _group({"zone": "a", "host": "x"}, {"zone": "a", "host": "y"}, {"zone": "a"}, {})
    assert not destination_keeps_tags(group, 0, 1)
    assert destination_keeps_tags(group, 2, 0)
    assert not destination_keeps_tags(group, 0, 2)
    assert destination_keeps_tags(group, 3, 0)


def test_swapping_between_racks_keeps_the_number_of_tags() -> None:
    group = _group({"zone": "a"}, {"zone": "b"}, {"zone": "c"}, {})
    assert movement_keeps_tag_spread(group, 1, 2, [0, 1])
    assert not movement_keeps_tag_spread(group, 1, 3, [0, 1])
    assert movement_keeps_tag_spread(group, 1, 0, [0, 1])
    assert movement_keeps_tag_spread(group, 3, 0, [3, 0])


@st.composite
def tagged_groups(draw: st.DrawFn) -> Group:
    return draw(strategies.groups(max_tasks=14, max_instances=9).filter(_names_do_not_mix))


def _names_do_not_mix(group: Group) -> bool:
    """Kafka cannot compare a task of a named topology to one without."""
    return len({task.task_id.topology_name is None for task in group.tasks}) < 2


keys = st.sampled_from([("zone",), ("cluster",), ("zone", "cluster"), ("cluster", "zone", "unused")])


@given(tagged_groups(), keys, st.integers(1, 4))
def test_it_is_what_kafka_does_step_by_step(group: Group, tags: tuple[str, ...], replicas: int) -> None:
    active = _dealt(group)
    standby, short = place_standbys(group, tags, replicas, active)
    assert (standby, short) == _by_the_reference(group, tags, replicas, active)


@given(tagged_groups(), keys, st.integers(1, 4))
def test_copies_are_as_many_as_can_be_and_never_two_in_one_place(
    group: Group, tags: tuple[str, ...], replicas: int
) -> None:
    active = _dealt(group)
    standby, short = place_standbys(group, tags, replicas, active)
    possible = min(replicas, len(group.instances) - 1)
    for task in group.stateful:
        holders = [i for i, mine in enumerate(standby) if task in mine]
        assert len(holders) == possible
        assert not any(task in active[i] for i in holders)
    assert short == [(task, replicas - possible) for task in group.stateful if possible < replicas]


@given(tagged_groups(), st.sampled_from(strategies.TAGS))
def test_one_standby_is_elsewhere_if_there_is_an_elsewhere(group: Group, tag: str) -> None:
    active = _dealt(group)
    standby, _ = place_standbys(group, (tag,), 1, active)
    values = [dict(instance.client_tags).get(tag) for instance in group.instances]
    for owner, tasks in enumerate(active):
        if values[owner] is None or len({value for value in values if value is not None}) < 2:
            continue
        for task in tasks:
            holder = next(i for i, mine in enumerate(standby) if task in mine)
            assert values[holder] != values[owner]


def _by_the_reference(
    group: Group, tags: tuple[str, ...], replicas: int, active: list[list[int]]
) -> tuple[list[set[int]], list[tuple[int, int]]]:
    ids = [reference.TaskId.parse(str(task.task_id)) for task in group.tasks]
    clients: reference.ClientStates = {}
    for instance, capacity, mine in zip(group.instances, group.capacities, active, strict=True):
        client = reference.ProcessId.parse(instance.process_id)
        clients[client] = reference.ClientState(client, dict(instance.client_tags), capacity)
        clients[client].active_tasks = {ids[task] for task in mine}
    configs = reference.AssignmentConfigs(num_standby_replicas=replicas, rack_aware_assignment_tags=tags)
    assignor = ClientTagAwareStandbyTaskAssignor(clients, [ids[task] for task in group.stateful], configs)
    assignor.assign()
    standby = [{ids.index(task) for task in state.standby_tasks} for state in clients.values()]
    missing = assignor.tasks_to_remaining_standbys.items()
    return standby, [(ids.index(task), number) for task, number in missing if number > 0]
