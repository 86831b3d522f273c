"""Load, skew, and the moves that help (Kafka's ``balanceTasksOverThreads``).

Source: page ``rules``, "Balanced target".

A load is tasks per stream thread in IEEE double, as Kafka computes it; ties go to the instance with the lower index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableSequence, Sequence
from heapq import heapify, heapreplace

import numpy as np
import numpy.typing as npt


def load(tasks: int, capacity: int) -> float:
    """Return the tasks per stream thread."""
    return tasks / capacity


def skew(source_tasks: int, source_capacity: int, destination_tasks: int, destination_capacity: int) -> float:
    """Return by how much the source is loaded more than the destination, in tasks per stream thread."""
    return load(source_tasks, source_capacity) - load(destination_tasks, destination_capacity)


def move_helps(source_tasks: int, source_capacity: int, destination_tasks: int, destination_capacity: int) -> bool:
    """Tell whether moving one task evens out two instances.

    It does if the skew is positive now, is smaller afterwards, and does not change its sign.
    """
    now = skew(source_tasks, source_capacity, destination_tasks, destination_capacity)
    skew_after = skew(source_tasks - 1, source_capacity, destination_tasks + 1, destination_capacity)
    return now > 0 and 0 <= skew_after < now


def deal_to_least_loaded(tasks: int, counts: Sequence[int], capacities: Sequence[int]) -> npt.NDArray[np.int64]:
    """Give so many tasks in turn to the instance with the lowest (load, instance).

    Args:
        tasks: how many there are to give.
        counts: the tasks that each instance has before.
        capacities: per instance its stream threads.

    Returns:
        The instance that each task is given to.
    """
    if len(set(capacities)) == 1:
        return _deal_level_by_level(tasks, counts)
    instances: list[int] = []
    loads = list(counts)
    queue = [(count / capacities[i], i) for i, count in enumerate(loads)]
    heapify(queue)
    for _ in range(tasks):
        instance = queue[0][1]
        instances.append(instance)
        loads[instance] += 1
        heapreplace(queue, (loads[instance] / capacities[instance], instance))
    return np.array(instances, dtype=np.int64)


def _deal_level_by_level(tasks: int, counts: Sequence[int]) -> npt.NDArray[np.int64]:
    """Do the same where all capacities are equal: those with the fewest tasks take turns until the next ones join in.

    That deals whole rows at once, however many tasks there are.
    """
    instances = np.empty(tasks, dtype=np.int64)
    loads = np.array(counts)
    levels = np.unique(loads).tolist()
    first = 0
    for level, higher in zip(levels, [*levels[1:], None], strict=True):
        takers = (loads <= level).nonzero()[0]
        end = tasks if higher is None else min(tasks, first + (higher - level) * len(takers))
        instances[first:end] = np.resize(takers, end - first)
        first = end
        if first == tasks:
            break
    return instances


def balance(
    tasks: MutableSequence[list[int]],
    counts: MutableSequence[int],
    capacities: Sequence[int],
    may_move: Callable[[int, int, list[int]], Iterable[int]],
    on_move: Callable[[int, int, int], None],
) -> None:
    """Move tasks between instances until no move helps (:func:`move_helps`).

    Passes over every ordered pair (source, destination); for a pair the source's tasks are walked, as they were when
    the pair began, in sorted order. Passes repeat until one moves nothing.

    Args:
        tasks: per instance the sorted tasks that may be moved; changed in place.
        counts: per instance all tasks that weigh on it (active and standby); changed in place.
        capacities: per instance its stream threads.
        may_move: (source, destination, the source's tasks) → those of them, in order, that the destination may take.
        on_move: called with (task, source, destination) after each move.
    """
    keep_balancing = True
    while keep_balancing:
        keep_balancing = False
        for source in range(len(tasks)):
            if _relieve(source, tasks, counts, capacities, may_move, on_move):
                keep_balancing = True
    for mine in tasks:
        mine.sort()


def _relieve(
    source: int,
    tasks: MutableSequence[list[int]],
    counts: MutableSequence[int],
    capacities: Sequence[int],
    may_move: Callable[[int, int, list[int]], Iterable[int]],
    on_move: Callable[[int, int, int], None],
) -> bool:
    """Offer the source's tasks to every other instance in turn; tell whether any was moved."""
    # Nobody whose load plus one task is above the source's less one task can take anything, and moves only lower the
    # latter and raise the former: usually that rules out all pairs of a source at once.
    load_without_one = (counts[source] - 1) / capacities[source]
    if load_without_one < min((count + 1) / capacity for count, capacity in zip(counts, capacities, strict=True)):
        return False
    tasks[source].sort()
    any_moved = False
    for destination, capacity in enumerate(capacities):
        if load_without_one < (counts[destination] + 1) / capacity or destination == source:
            continue
        tasks_moved = _take(
            source, destination, counts, capacities, may_move(source, destination, tasks[source]), on_move
        )
        if tasks_moved:
            any_moved = True
            load_without_one = (counts[source] - 1) / capacities[source]
            tasks[source] = _excluding(tasks[source], tasks_moved)
            tasks[destination] += tasks_moved
    return any_moved


def _take(
    source: int,
    destination: int,
    counts: MutableSequence[int],
    capacities: Sequence[int],
    movable: Iterable[int],
    on_move: Callable[[int, int, int], None],
) -> list[int]:
    """Move tasks from one instance to another as long as that helps; return them."""
    tasks: list[int] = []
    offered = iter(movable)
    while _helps(source, destination, counts, capacities):
        task = next(offered, None)
        if task is None:
            break
        tasks.append(task)
        counts[source] -= 1
        counts[destination] += 1
        on_move(task, source, destination)
    return tasks


def _excluding(tasks: list[int], first: list[int]) -> list[int]:
    """Return the sorted tasks without those taken, which are in the same order and often the first ones."""
    if tasks[: len(first)] == first:
        return tasks[len(first) :]
    excluded = set(first)
    return [task for task in tasks if task not in excluded]


def _helps(source: int, destination: int, counts: Sequence[int], capacities: Sequence[int]) -> bool:
    return move_helps(counts[source], capacities[source], counts[destination], capacities[destination])
