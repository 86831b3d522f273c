"""Loads, moves that help, and balance passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors.high_availability.balancing import balance, deal_to_least_loaded, load, move_helps, skew

capacities = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("source", "destination", "helps"),
    [
        ((3, 1), (1, 1), True),  # 3 and 1 become 2 and 2
        ((2, 1), (1, 1), False),  # 2 and 1 would only change places
        ((1, 1), (1, 1), False),
        ((1, 1), (3, 1), False),
        ((4, 2), (1, 2), True),  # 2 and 0.5 become 1.5 and 1
        ((3, 2), (1, 1), False),  # 1.5 and 1 would become 1 and 2
        ((6, 2), (1, 1), True),  # 3 and 1 become 2.5 and 2
    ],
)
def test_a_move_helps_if_it_shrinks_the_skew_without_turning_it_round(
    source: tuple[int, int], destination: tuple[int, int], helps: bool
) -> None:
    assert move_helps(*source, *destination) is helps


def test_load_is_tasks_per_thread_and_skew_the_difference() -> None:
    assert load(3, 2) == 1.5
    assert skew(3, 2, 1, 4) == 1.25


@st.composite
def _dealt(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int], dict[tuple[int, int], bool]]:
    threads = draw(capacities)
    owner = draw(st.lists(st.integers(0, len(threads) - 1), max_size=25))
    tasks = [[task for task, mine in enumerate(owner) if mine == i] for i in range(len(threads))]
    counts = [len(mine) + draw(st.integers(0, 4)) for mine in tasks]
    refused = draw(st.sets(st.tuples(st.integers(0, len(threads) - 1), st.integers(0, 24)), max_size=30))
    return tasks, counts, threads, dict.fromkeys(refused, True)


@given(_dealt())
def test_balance_makes_the_moves_of_kafkas_passes_over_all_pairs(
    dealt: tuple[list[list[int]], list[int], list[int], dict[tuple[int, int], bool]],
) -> None:
    tasks, counts, threads, refused = dealt
    moves: list[tuple[int, int, int]] = []
    plain = [set(mine) for mine in tasks]
    plain_moves = _pass_over_all_pairs(plain, counts.copy(), threads, lambda to, task: (to, task) not in refused)
    balance(
        tasks,
        counts,
        threads,
        lambda _source, to, mine: (task for task in mine if (to, task) not in refused),
        lambda *move: moves.append(move),
    )
    assert moves == plain_moves
    assert [set(mine) for mine in tasks] == plain
    assert all(mine == sorted(mine) for mine in tasks)


def _pass_over_all_pairs(
    tasks: list[set[int]], counts: list[int], threads: list[int], may_move: Callable[[int, int], bool]
) -> list[tuple[int, int, int]]:
    """The rule as the reference has it, pair by pair (section 4, step 1)."""
    moves: list[tuple[int, int, int]] = []
    before = -1
    while len(moves) != before:
        before = len(moves)
        for source in range(len(tasks)):
            for destination in range(len(tasks)):
                walk = iter(sorted(tasks[source])) if source != destination else iter(())
                while move_helps(counts[source], threads[source], counts[destination], threads[destination]):
                    task = next(walk, None)
                    if task is None:
                        break
                    if may_move(destination, task):
                        tasks[source].remove(task)
                        tasks[destination].add(task)
                        counts[source] -= 1
                        counts[destination] += 1
                        moves.append((task, source, destination))
    return moves


@given(st.one_of(capacities, st.integers(1, 6).map(lambda size: [2] * size)), st.integers(0, 30), st.data())
def test_dealing_gives_each_task_to_the_least_loaded_and_ties_to_the_first(
    threads: list[int], tasks: int, data: st.DataObject
) -> None:
    counts = [data.draw(st.integers(0, 5)) for _ in threads]
    given_to = deal_to_least_loaded(tasks, counts, threads).tolist()
    assert len(given_to) == tasks
    for taken in given_to:
        instance = min(range(len(threads)), key=lambda i: (counts[i] / threads[i], i))
        assert taken == instance
        counts[instance] += 1
