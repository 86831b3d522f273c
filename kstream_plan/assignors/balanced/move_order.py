"""The order in which pending moves are made: who is busiest is relieved first (``balanced``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple


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
