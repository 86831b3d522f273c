"""The stateless tasks of every instance over its consumers: the last pass of the split, on numbers.

Source: page ``rules``, "Split over threads".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from functools import lru_cache
from heapq import heapify, heappop
from itertools import repeat

import numpy as np
import numpy.typing as npt

from kstream_plan.assignors.java.collections import hash_order
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.model import Group, Holding, Holdings, Owners, no_owners
from kstream_plan.model.holding_changes import unlike


def split_stateless(
    group: Group,
    instances: Holdings,
    consumers: tuple[Holding, ...],
    previous: tuple[Holdings, Holdings] | None,
    laws: Laws = NEWEST,
) -> Holdings:
    """Split the stateless tasks of every instance over its consumers, which only fill up with them.

    Nobody has reported any of them, so an instance's split hangs on its tasks and on the loads of its consumers alone.

    Args:
        group: who takes part.
        instances: what each instance was given.
        consumers: what each consumer was given of the stateful tasks.
        previous: an earlier decision by instance and by consumer. It only saves work.
        laws: what the release that runs does otherwise than the newest.

    Returns:
        What each consumer is given of all tasks.
    """
    if not group.stateless:
        return Holdings(consumers, (), instances.owners)
    if laws.roles_apart:
        return Holdings(consumers, group.stateless, _in_turn(group, instances.owners, consumers))
    touched: Collection[int] = range(len(instances))
    owners = no_owners(group)
    if previous is not None:
        touched = _touched(group, instances, consumers, *previous)
        owners = previous[1].owners.copy() if touched else previous[1].owners
    if touched:
        _split(group, instances.owners, consumers, touched, owners)
    return Holdings(consumers, group.stateless, owners)


def _in_turn(group: Group, given: Owners, consumers: Sequence[Holding]) -> Owners:
    """Return the owners as before 3.2: first those with one active stateful task less, then all, in turn."""
    owners = no_owners(group)
    for instance, of in enumerate(group.consumers_of):
        (mine,) = (given == instance).nonzero()
        counts = [len(held.active) for held in consumers[of.start : of.stop]]
        behind = [of.start + k for k, count in enumerate(counts) if count < max(counts)][: len(mine)]
        owners[mine[: len(behind)]] = behind
        owners[mine[len(behind) :]] = of.start + np.arange(len(mine) - len(behind)) % len(of)
    return owners


def _touched(
    group: Group, instances: Holdings, consumers: tuple[Holding, ...], given: Holdings, held: Holdings
) -> set[int]:
    """Return the instances with other stateless tasks, or other loads of consumers, than in an earlier decision."""
    changed = (c for c in unlike(consumers, held.stateful) if _load(consumers[c]) != _load(held.stateful[c]))
    touched = set(map(group.instance_of.__getitem__, changed))
    moved = instances.owners != given.owners
    return touched.union(instances.owners[moved].tolist(), given.owners[moved].tolist())


def _split(group: Group, given: Owners, consumers: Sequence[Holding], touched: Collection[int], owners: Owners) -> None:
    """Write the owners of the stateless tasks that were given to the touched instances."""
    by_instance = given.argsort(kind="stable")
    ends = np.bincount(given, minlength=len(group.instances)).cumsum().tolist()
    for instance in touched:
        mine = by_instance[ends[instance - 1] if instance else 0 : ends[instance]]
        if not len(mine):
            continue
        of = group.consumers_of[instance]
        load = list(map(_load, consumers[of.start : of.stop]))
        owners[mine] = of.start + dealt_to_threads(group, mine, load)


def _load(held: Holding) -> int:
    active, standby, warmup, _ = held
    return len(active) + len(standby) + len(warmup)


def dealt_to_threads(group: Group, places: Owners, load: Sequence[int]) -> npt.NDArray[np.int32]:
    """Return which of an instance's consumers gets each of its stateless tasks.

    Args:
        group: who takes part.
        places: the tasks, by their places among the group's stateless ones, sorted.
        load: what each of the consumers has of other tasks.
    """
    share = (sum(load) + len(places)) // len(load)
    turns, last = _turns(len(places), tuple([share - already for already in load]))
    if len(last) > 2:  # a heap of two has them in order
        queue = hash_order(group.stateless_table_hashes[places])
        turns = turns.copy()
        heapify(queue)
        deque(map(heappop, repeat(queue, len(queue) - len(last))), maxlen=0)  # what is left is in Kafka's order
        turns[queue] = last
    return turns


@lru_cache(maxsize=4096)
def _turns(tasks: int, room: tuple[int, ...]) -> tuple[npt.NDArray[np.int32], tuple[int, ...]]:
    """Return which consumer gets each of so many tasks, and those that get one of the last ones, one each.

    ``room`` is what each consumer lacks to an even share. They fill up to it in task order; the last tasks go to those
    that are at it, in an order that hangs on more than the numbers if there are three or more.
    """
    given: list[list[int]] = [[] for _ in room]
    rest = _fill_up(range(tasks), given, room)
    at_share = [consumer for consumer, (mine, free) in enumerate(zip(given, room, strict=True)) if len(mine) == free]
    turns = np.empty(tasks, dtype=np.int32)
    for consumer, mine in enumerate(given):
        turns[mine] = consumer
    takers = tuple(at_share[: len(rest)])
    turns[tasks - len(rest) :] = takers
    turns.setflags(write=False)
    return turns, takers


def _fill_up(queue: Sequence[int], given: list[list[int]], room: Sequence[int]) -> Sequence[int]:
    """Deal in task order to the consumers with room, one at a time each; return what is still left.

    As long as the same consumers have room, whole rows are dealt at once.
    """
    first = 0
    while hungry := [consumer for consumer, mine in enumerate(given) if len(mine) < room[consumer]]:
        rows = min(room[consumer] - len(given[consumer]) for consumer in hungry)
        end = first + rows * len(hungry)
        for place, consumer in enumerate(hungry):
            given[consumer] += queue[first + place : end : len(hungry)]
        first = end
    return queue[first:]
