"""What changed from one state to the next is what sets would say."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Group, Holding
from kstream_plan.model.holding_changes import (
    changed_holdings,
    difference,
    stateful_loads,
    times_in,
    warmup_counts,
)
from tests.helpers import strategies

_tasks = st.sets(st.integers(0, 40)).map(sorted).map(tuple)


@given(_tasks, _tasks)
def test_difference(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    assert difference(before, after) == (sorted(set(before) - set(after)), sorted(set(after) - set(before)))


@given(_tasks, st.sets(st.integers(0, 40), max_size=4))
def test_difference_of_what_is_mostly_alike(before: tuple[int, ...], changed: set[int]) -> None:
    after = tuple(sorted(set(before) ^ changed))
    assert difference(before, after) == (sorted(changed & set(before)), sorted(changed - set(before)))


@given(st.lists(st.integers(0, 5)).map(sorted), st.integers(0, 5))
def test_times_in(tasks: list[int], task: int) -> None:
    assert times_in(tasks, task) == tasks.count(task)


_holdings = st.lists(
    st.sampled_from([Holding(), Holding((1,)), Holding((2,)), Holding((1, 2))]), min_size=3, max_size=3
)


@given(st.lists(_holdings, max_size=6))
def test_what_changed_leads_from_one_state_to_the_next(states: list[list[Holding]]) -> None:
    now = [Holding()] * 3
    for index, changes in changed_holdings(states):
        for consumer, before, after in changes:
            assert now[consumer] == before
            now[consumer] = after
        assert now == states[index]


@given(strategies.groups(max_tasks=12), st.lists(st.randoms(use_true_random=False), max_size=5))
def test_what_instances_run_and_warm_up_is_what_counting_gives(group: Group, rounds: list[random.Random]) -> None:
    states = []
    for rng in rounds:
        held: list[tuple[list[int], list[int]]] = [([], []) for _ in group.consumer_ids]
        for task in range(len(group.tasks)):
            rng.choice(held)[rng.randrange(2)].append(task)
        states.append([Holding(tuple(active), (), tuple(warmup)) for active, warmup in held])
    loads, warming = list(stateful_loads(group, states)), list(warmup_counts(group, states))
    assert len(loads) == len(warming) == len(states)
    for state, load, warm in zip(states, loads, warming, strict=True):
        for instance, consumers in enumerate(group.consumers_of):
            tasks = [task for consumer in consumers for task in state[consumer].active]
            assert load[instance] == sum(group.tasks[task].stateful for task in tasks)
            assert warm[instance] == sum(len(state[consumer].warmup) for consumer in consumers)
