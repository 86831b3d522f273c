"""The split over consumers is Kafka's: as recorded, as done literally, and fair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors import threads
from kstream_plan.assignors.laws import NEWEST
from kstream_plan.assignors.threads import dealt_to_threads, split_over_consumers, thread_assignment
from kstream_plan.model import LATEST, UNKNOWN, Consumer, Group, Holding, Holdings, Instance, Task, TaskId, no_owners
from tests.helpers import kafka_cases, strategies
from tests.helpers.engine_modes import engine_module
from tests.reference import client_state as reference
from tests.reference.streams_partition_assignor import assign_client_to_threads

Reports = list[list[tuple[int, int]]]


@pytest.fixture(autouse=True, scope="module", params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both modes of the engine."""
    with pytest.MonkeyPatch.context() as patched:
        module = engine_module("thread_assignment", request.param)
        patched.setattr(threads, "ThreadAssignment", module.ThreadAssignment)
        yield


def _decisions(name: str) -> Iterator[tuple[Group, dict[str, Any], dict[str, Any]]]:
    """Every decision of one file, those of other assignors included: the split is the same."""
    for case, result in kafka_cases.recorded(name):
        group = kafka_cases.group_of(case)
        rounds = kafka_cases.rounds_of(case, result) if "history" in result else [(case, result)]
        for before, decided in rounds:
            yield group, before, decided


@pytest.mark.parametrize(("name", "splits"), [("single", 3890), ("converge", 10466)])
def test_every_recorded_split_comes_out(name: str, splits: int) -> None:
    compared = 0
    for group, before, decided in _decisions(name):
        index_of = {str(task.task_id): index for index, task in enumerate(group.tasks)}
        row_of = {row["process_id"]: row for row in before["clients"]}
        for row in decided["clients"]:
            _compare(group, index_of, row_of[row["process_id"]], row)
            compared += 1
    assert compared == splits


def _compare(group: Group, index_of: dict[str, int], before: dict[str, Any], decided: dict[str, Any]) -> None:
    def indices(ids: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted(index_of[text] for text in ids))

    consumers = group.consumers_of[group.instance_index[decided["process_id"]]]
    lags, reported = before.get("task_lags") or {}, kafka_cases.reported_by_consumer(before)
    stateful = frozenset(group.stateful)
    previous = [
        [(lags[text], index_of[text]) for text in sorted(tasks) if index_of.get(text) in stateful]
        for tasks in (reported[group.consumer_ids[consumer]] for consumer in consumers)
    ]
    warmups = set(decided["warmup"])
    standbys = [text for text in decided["standby"] if text not in warmups]
    placement = Holding(indices(decided["active"]), indices(standbys), indices(decided["warmup"]))
    for consumer, held in zip(consumers, _split(group, placement, previous, consumers), strict=True):
        recorded = decided["threads"][group.consumer_ids[consumer]]
        assert held.active == indices(recorded["active"])
        assert tuple(sorted(held.standby + held.warmup)) == indices(recorded["standby"])


def _split(group: Group, placement: Holding, previous: Reports, consumers: range | None = None) -> tuple[Holding, ...]:
    """Split from (lag, task) pairs, one list for each consumer; of one instance only, if ``consumers`` says so."""
    lags = {task: lag for reported in previous for lag, task in reported}
    reported = [{task for _, task in pairs} for pairs in previous]
    places = [place for place, task in enumerate(group.stateless) if task in placement.active]
    stateful = placement._replace(active=tuple(sorted({*placement.active}.difference(group.stateless))))
    split = split_over_consumers(consumers or range(len(previous)), stateful, reported, lags.__getitem__, group)
    load = [len(held.active) + len(held.standby) + len(held.warmup) for held in split]
    owners = no_owners(group)
    if places:
        tasks = [group.stateless[place] for place in places]
        owners[places] = dealt_to_threads(thread_assignment(group, NEWEST), tasks, load)
    return tuple(Holdings(split, group.stateless, owners))


@st.composite
def splits(draw: st.DrawFn) -> tuple[Group, Holding, Reports]:
    """One instance, what it is given, and what its consumers say they had, some of it twice."""
    tasks = [task for task in draw(strategies.tasks(30)) if task.task_id.topology_name is None]
    number = draw(st.integers(1, 5))
    group = Group.of(
        "orders",
        tasks,
        [Instance(process_id="a", consumers=tuple(Consumer(consumer_id=f"c{n}") for n in range(number)))],
    )
    roles: dict[str, list[int]] = {"active": [], "standby": [], "warmup": [], "nothing": []}
    for index, task in enumerate(group.tasks):
        roles[draw(st.sampled_from(sorted(roles) if task.stateful else ["active", "active", "nothing"]))].append(index)
    lags = {t: draw(st.sampled_from([LATEST, UNKNOWN, 0, 5, 5, 100])) for t in group.stateful}
    previous = [
        [(lags[task], task) for task in draw(st.lists(st.sampled_from(group.stateful), unique=True))] if lags else []
        for _ in range(number)
    ]
    return group, Holding(*(tuple(roles[role]) for role in ("active", "standby", "warmup"))), previous


@given(splits())
def test_it_is_what_kafka_does_step_by_step(drawn: tuple[Group, Holding, Reports]) -> None:
    group, placement, previous = drawn
    split = _split(group, placement, previous)
    split_by_role = [(list(held.active), sorted(held.standby + held.warmup)) for held in split]
    assert split_by_role == _by_the_reference(group, placement, previous)


@given(splits())
def test_every_copy_is_held_once_in_its_role_and_the_load_is_even(drawn: tuple[Group, Holding, Reports]) -> None:
    group, placement, previous = drawn
    split = _split(group, placement, previous)
    for role in Holding._fields:
        held = [task for holding in split for task in getattr(holding, role)]
        assert sorted(held) == list(getattr(placement, role))
        assert all(list(getattr(holding, role)) == sorted(getattr(holding, role)) for holding in split)
    loads = [len(held.active) + len(held.standby) + len(held.warmup) for held in split]
    assert max(loads) - min(loads) <= 1


@given(splits(), st.randoms(use_true_random=False))
def test_the_order_of_the_reports_does_not_matter(drawn: tuple[Group, Holding, Reports], rng: Any) -> None:
    group, placement, previous = drawn
    shuffled = [rng.sample(reported, len(reported)) for reported in previous]
    assert _split(group, placement, shuffled) == _split(group, placement, previous)


def test_what_was_split_stays_as_it_is() -> None:
    group = _one_instance(stateful=23, stateless=0, consumers=4)
    placement = Holding(tuple(range(12)), tuple(range(12, 20)), tuple(range(20, 23)))
    first = _split(group, placement, [[] for _ in range(4)])
    previous = [
        [*((LATEST, task) for task in held.active), *((7, task) for task in held.standby + held.warmup)]
        for held in first
    ]
    assert _split(group, placement, previous) == first


def test_a_consumer_keeps_its_most_caught_up_tasks_up_to_an_even_share() -> None:
    group = _one_instance(stateful=4, stateless=0, consumers=2)
    previous = [[(30, 0), (LATEST, 1), (20, 2), (10, 3)], []]
    split = _split(group, Holding((0, 1, 2, 3)), previous)
    assert [held.active for held in split] == [(1, 3), (0, 2)]


def test_stateless_tasks_go_round_those_below_the_share() -> None:
    group = _one_instance(stateful=1, stateless=3, consumers=2)
    split = _split(group, Holding((0, 1, 2, 3)), [[], [(LATEST, 0)]])
    assert [held.active for held in split] == [(1, 3), (0, 2)]


def _one_instance(stateful: int, stateless: int, consumers: int) -> Group:
    tasks = [Task(task_id=TaskId(0, p), stateful=True) for p in range(stateful)]
    tasks += [Task(task_id=TaskId(1, p), stateful=False) for p in range(stateless)]
    threads = tuple(Consumer(consumer_id=f"c{n}") for n in range(consumers))
    return Group.of("orders", tasks, [Instance(process_id="a", consumers=threads)])


def _by_the_reference(group: Group, placement: Holding, previous: Reports) -> list[tuple[list[int], list[int]]]:
    ids = [reference.TaskId.parse(str(task.task_id)) for task in group.tasks]
    state = reference.ClientState(reference.ProcessId(0, 1, "a"), {}, len(previous))
    state.active_tasks = {ids[task] for task in placement.active}
    state.standby_tasks = {ids[task] for task in placement.standby + placement.warmup}
    lags = {task: lag for pairs in previous for lag, task in pairs}
    state.task_lag_totals = {ids[task]: lags.get(task, 0) for task in group.stateful}
    for consumer, pairs in zip(group.consumer_ids, previous, strict=True):
        state.consumer_to_previous_stateful_task_ids[consumer] = {ids[task] for _, task in pairs}
    by_role = assign_client_to_threads(group.consumer_ids, state)
    active, copies = ([sorted(map(ids.index, role[consumer])) for consumer in group.consumer_ids] for role in by_role)
    return list(zip(active, copies, strict=True))
