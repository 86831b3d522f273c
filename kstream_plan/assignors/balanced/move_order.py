"""The order in which pending moves are made: who is busiest is relieved first (``balanced``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple


class PendingMove(NamedTuple):
    """A task, or a standby, that waits to move.

    ``restore`` is what the destination's copy lacks, in records, ``caught_up`` the number of instances caught up on the
    task; ``begun`` tells whether the destination has been assigned a copy already.
    """

    task: int
    source: int
    destination: int
    restore: int
    caught_up: int
    begun: bool


def by_relief(moves: Sequence[PendingMove], loads: Sequence[int], capacities: Sequence[int]) -> list[PendingMove]:
    """Sort: next comes a move off the instance with most tasks per thread by then, the one that restores least.

    Ties go to the lower instance, then the lower task. ``loads`` are the tasks of each instance before any move.
    """
    waiting: dict[int, list[tuple[int, int, PendingMove]]] = defaultdict(list)
    for move in moves:
        waiting[move.source].append((move.restore, move.task, move))
    for of in waiting.values():
        heapify(of)
    held = list(loads)
    queue = [(-held[source] / capacities[source], source) for source in waiting]
    heapify(queue)
    ordered: list[PendingMove] = []
    while queue:
        load, source = heappop(queue)
        if load != -held[source] / capacities[source] or not waiting[source]:
            continue  # its load has changed since; the entry for the new one is queued
        move = heappop(waiting[source])[2]
        ordered.append(move)
        held[source] -= 1
        held[move.destination] += 1
        for instance in (source, move.destination):
            if waiting.get(instance):
                heappush(queue, (-held[instance] / capacities[instance], instance))
    return ordered


def in_kafkas_order(moves: Sequence[PendingMove]) -> list[PendingMove]:
    """Sort as Kafka handles them: by the number of caught-up instances, then by task."""
    return sorted(moves, key=lambda move: (move.caught_up, move.task))


def probes_until_relieved(
    ordered: Sequence[PendingMove], loads: Sequence[int], capacities: Sequence[int], at_once: int
) -> int:
    """Return after how many probes the highest load is what it is when all moves, ``at_once`` per probe, are made."""
    held = list(loads)
    for move in ordered:
        held[move.source] -= 1
        held[move.destination] += 1
    peak = max(load / capacity for load, capacity in zip(held, capacities, strict=True))
    number = len(ordered)
    for move in reversed(ordered):
        held[move.source] += 1
        held[move.destination] -= 1
        if max(held[i] / capacities[i] for i in (move.source, move.destination)) > peak:
            break
        number -= 1
    return -(-number // at_once)
