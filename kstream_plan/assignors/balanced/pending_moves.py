"""Where tasks and standbys are until they can be where the ``balanced`` target has them, and in which order they move.

Who is busiest is relieved first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from kstream_plan.assignors.balanced.task_costs import Prospect
from kstream_plan.model import Movement


class PendingMove(NamedTuple):
    """A task, or a standby, that waits to move.

    ``restore`` is what the destination's copy lacks, in records, ``caught_up`` the number of instances caught up on the
    task; ``is_begun`` tells whether the destination has been assigned a copy already.
    """

    task: int
    source: int
    destination: int
    restore: int
    caught_up: int
    is_begun: bool


def by_relief(moves: Sequence[PendingMove], loads: Sequence[int], capacities: Sequence[int]) -> list[PendingMove]:
    """Sort: next comes a move off the instance with most tasks per thread by then, the one that restores least.

    Ties go to the lower instance, then the lower task. ``loads`` are the tasks of each instance before any move.
    """
    moves_by_source: dict[int, list[tuple[int, int, PendingMove]]] = defaultdict(list)
    for move in moves:
        moves_by_source[move.source].append((move.restore, move.task, move))
    for source_moves in moves_by_source.values():
        heapify(source_moves)
    counts = list(loads)
    queue = [(-counts[source] / capacities[source], source) for source in moves_by_source]
    heapify(queue)
    order: list[PendingMove] = []
    while queue:
        load, source = heappop(queue)
        if load != -counts[source] / capacities[source] or not moves_by_source[source]:
            continue  # its load has changed since; the entry for the new one is queued
        move = heappop(moves_by_source[source])[2]
        order.append(move)
        counts[source] -= 1
        counts[move.destination] += 1
        for instance in (source, move.destination):
            if moves_by_source.get(instance):
                heappush(queue, (-counts[instance] / capacities[instance], instance))
    return order


def in_kafkas_order(moves: Sequence[PendingMove]) -> list[PendingMove]:
    """Sort as Kafka handles them: by the number of caught-up instances, then by task."""
    return sorted(moves, key=lambda move: (move.caught_up, move.task))


def probes_until_relieved(
    order: Sequence[PendingMove], loads: Sequence[int], capacities: Sequence[int], at_once: int
) -> int:
    """Return after how many probes the highest load is what it is when all moves, ``at_once`` per probe, are made."""
    counts = list(loads)
    for move in order:
        counts[move.source] -= 1
        counts[move.destination] += 1
    peak = max(load / capacity for load, capacity in zip(counts, capacities, strict=True))
    number = len(order)
    for move in reversed(order):
        counts[move.source] += 1
        counts[move.destination] -= 1
        if max(counts[i] / capacities[i] for i in (move.source, move.destination)) > peak:
            break
        number -= 1
    return -(-number // at_once)


def runs_now(prospect: Prospect, target: int) -> int:
    """Return the target's instance if nobody is further, else the most caught-up one."""
    home = prospect.home
    return target if home is None or prospect.rank(target) <= prospect.rank(home) else home


def standbys_now(prospect: Prospect, active: int, owner: int, standbys: Sequence[int]) -> tuple[int, ...]:
    """Return the next most caught-up instances, as many as the target has, sorted.

    Among equals: the one that is to run the task, the target's standbys, those that are standbys now, by instance;
    while the task is not there yet, those that are standbys now come before the target's.

    Args:
        prospect: the task's copies.
        active: the instance that runs it now.
        owner: the instance that is to run it.
        standbys: the instances that are to hold its standbys.
    """
    at_home = prospect.copies.get(owner) == "active"

    def key(instance: int) -> tuple[int, bool, bool, bool, int]:
        in_target, is_standby = instance in standbys, prospect.copies.get(instance) == "standby"
        first, second = (in_target, is_standby) if at_home else (is_standby, in_target)
        return prospect.rank(instance), instance != owner, not first, not second, instance

    if not standbys:
        return ()
    nearest = sorted({*prospect.ranks, owner, *standbys} - {active}, key=key)
    return tuple(sorted(nearest[: len(standbys)]))


def active_moves(
    prospects: Iterable[Prospect], run_by: Mapping[int, int], owner: Mapping[int, int]
) -> list[PendingMove]:
    """Return the moves of the tasks that run elsewhere than they are to."""
    return [
        _move(prospect, run_by[prospect.task], owner[prospect.task])
        for prospect in prospects
        if run_by[prospect.task] != owner[prospect.task]
    ]


def standby_moves(
    prospects: Iterable[Prospect], current: Mapping[int, tuple[int, ...]], target: Mapping[int, tuple[int, ...]]
) -> list[PendingMove]:
    """Return the moves of the standbys that are elsewhere than they are to be."""
    return [
        _move(prospect, source, destination)
        for prospect in prospects
        for source, destination in zip(
            [i for i in current[prospect.task] if i not in target[prospect.task]],
            [i for i in target[prospect.task] if i not in current[prospect.task]],
            strict=True,
        )
    ]


def _move(prospect: Prospect, source: int, destination: int) -> PendingMove:
    return PendingMove(
        task=prospect.task,
        source=source,
        destination=destination,
        restore=prospect.rank(destination),
        caught_up=sum(not restore for restore in prospect.ranks.values()),
        is_begun=bool(prospect.copies.get(destination)),
    )


def movements(
    kind: str, moves: Iterable[PendingMove], standbys: Mapping[int, tuple[int, ...]], budget: int
) -> tuple[Movement, ...]:
    """Let destinations warm up: first where one has begun to, then in the given order, as many as the budget allows.

    A destination that is a standby by now needs no warm-up.
    """
    pending = []
    for move in sorted(moves, key=lambda move: not move.is_begun):
        swap = move.destination in standbys[move.task]
        way = f"{'swap' if swap else 'move'}_{'' if move.caught_up else 'most_'}caught_up"
        warm_up = not swap and budget > 0
        budget -= warm_up
        pending.append(Movement(move.task, kind, way, move.source, move.destination, warm_up))
    return tuple(pending)
