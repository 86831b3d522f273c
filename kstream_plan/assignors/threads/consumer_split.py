"""The split of one instance's tasks over its consumers (Kafka's ``assignTasksToThreads``).

Source: page ``rules``, "Split over threads".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop
from itertools import chain, repeat
from typing import NamedTuple

from kstream_plan.assignors.java.collections import hash_order, remove_from_heap
from kstream_plan.model import Group, Holding


def split_over_consumers(
    consumers: range,
    placement: Holding,
    reported: Sequence[AbstractSet[int]],
    lag_of: Callable[[int], int],
    group: Group,
) -> tuple[Holding, ...]:
    """Split what one instance was given of stateful tasks over its consumers.

    Three passes share the load of the threads: active stateful tasks, standbys (warm-ups among them, which Kafka does
    not tell apart), stateless tasks (:mod:`stateless_split`). The first two, made here, respect what each consumer
    reported, up to an even share.

    Args:
        consumers: the instance's consumers, by index in the group.
        placement: the instance's stateful tasks by role.
        reported: the stateful tasks that the instance's k-th consumer reported.
        lag_of: the instance's lag on a task it reported, in records as Kafka sees it (``LATEST``, ``UNKNOWN`` or
            0 and more).
        group: who the indices mean.

    Returns:
        One holding per consumer, in order.
    """
    if len(consumers) == 1:
        return (Holding(placement.active, placement.standby, placement.warmup),)
    previous = _Reported(reported, lag_of)
    load = [0] * len(consumers)
    active = _deal(list(placement.active), previous, load, lambda tasks: _as_hash_set(tasks, group))
    copies = _deal(sorted(placement.standby + placement.warmup), previous, load, list)
    warmups = frozenset(placement.warmup)
    return tuple([_holding(a, c, warmups) for a, c in zip(active, copies, strict=True)])


def _as_hash_set(tasks: Sequence[int], group: Group) -> list[int]:
    """Order tasks (sorted) as Kafka's set of their ids iterates."""
    return [tasks[position] for position in hash_order(list(map(group.table_hashes.__getitem__, tasks)))]


def _holding(active: list[int], copies: list[int], warmups: Collection[int]) -> Holding:
    """Sort one consumer's tasks and tell the warm-ups from the other standbys again."""
    active.sort()
    copies.sort()
    if not warmups:
        return Holding(tuple(active), tuple(copies))
    standby = tuple([task for task in copies if task not in warmups])
    return Holding(tuple(active), standby, tuple([task for task in copies if task in warmups]))


class _Reported(NamedTuple):
    """What each consumer reported, and the instance's lag on it."""

    tasks: Sequence[AbstractSet[int]]
    lag_of: Callable[[int], int]

    def by_lag(self, tasks: Iterable[int]) -> list[int]:
        """Sort reported tasks by (lag, task)."""
        return sorted(tasks, key=lambda task: (self.lag_of(task), task))


def _deal(
    tasks: list[int], reported: _Reported, load: list[int], java_order: Callable[[list[int]], list[int]]
) -> list[list[int]]:
    """Give ``tasks`` (sorted) to the consumers, evenly together with their ``load``, to which they are added.

    Each consumer first gets up to its share what it ``reported``, least lag first. What is left fills those below the
    share in task order. The remainder goes one by one to those at the share: to who reported the task if possible,
    else in the order of the array of Kafka's queue of unassigned tasks, made from ``java_order(tasks)``.
    """
    if not tasks:
        return [[] for _ in load]
    share = (sum(load) + len(tasks)) // len(load)
    room = [share - already for already in load]
    given = _give_back_all(tasks, room, reported) if any(reported.tasks) else None
    given = given or _deal_step_by_step(tasks, room, reported, java_order)
    for consumer, mine in enumerate(given):
        load[consumer] += len(mine)
    return given


def _give_back_all(tasks: list[int], room: list[int], reported: _Reported) -> list[list[int]] | None:
    """Give every consumer what it reported if that is what the steps come to, by far the most frequent case.

    It is if every task was reported once and everybody then has its share or one more: who has one more is the one
    that gets it back.
    """
    left = set(tasks)
    given = [left & candidates for candidates in reported.tasks]
    if sum(map(len, given)) != len(tasks) or left.difference(*given):
        return None
    for mine, share in zip(given, room, strict=True):
        if not 0 <= len(mine) - share <= 1:
            return None
    return list(map(list, given))


def _deal_step_by_step(
    tasks: list[int], room: list[int], reported: _Reported, java_order: Callable[[list[int]], list[int]]
) -> list[list[int]]:
    left = set(tasks)
    given, skipped = _give_back(left, room, reported)
    kept = list(map(len, given))
    rest = list(fill_up(sorted(left), given, room))
    if rest:
        at_share = [consumer for consumer, mine in enumerate(given) if len(mine) == room[consumer]]
        returned = _give_back_one_more(rest, given, at_share, skipped)
        if len(rest) > 2:  # a heap of two has them in order
            taken = [reported.by_lag(mine[:count]) for mine, count in zip(given, kept, strict=True)]
            polled = len(left) - len(returned) - len(rest)
            rest = array_order(java_order(tasks), chain.from_iterable(taken), polled, returned)
        for task, consumer in zip(rest, at_share, strict=False):
            given[consumer].append(task)
    return given


def _give_back(left: set[int], room: list[int], reported: _Reported) -> tuple[list[list[int]], dict[int, int]]:
    """Take from ``left`` and give every consumer what it reported while it has room.

    Returns:
        What each is given, and the tasks there was no room for, with the last consumer that reported them.
    """
    given, skipped = [], {}
    for consumer, candidates in enumerate(reported.tasks):
        common, limit = left & candidates, max(room[consumer], 0)
        mine = list(common)
        if len(mine) > limit:
            mine = reported.by_lag(common)
            skipped.update(dict.fromkeys(mine[limit:], consumer))
            del mine[limit:]
            common = set(mine)
        left -= common
        given.append(mine)
    return given, skipped


def fill_up(queue: Sequence[int], given: list[list[int]], room: Sequence[int]) -> Sequence[int]:
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


def _give_back_one_more(
    rest: list[int], given: list[list[int]], at_share: list[int], skipped: dict[int, int]
) -> list[int]:
    """Give one skipped task to each consumer at the share that reported it; return those given."""
    returned = []
    for task in sorted(skipped):
        consumer = skipped[task]
        if consumer in at_share and task in rest:
            given[consumer].append(task)
            rest.remove(task)
            at_share.remove(consumer)
            returned.append(task)
    return returned


def array_order(queued: list[int], taken: Iterable[int], polled: int, returned: list[int]) -> list[int]:
    """Replay Kafka's queue of unassigned tasks and return what is left of it, in the order of its array."""
    heapify(queued)
    for task in taken:
        remove_from_heap(queued, task)
    deque(map(heappop, repeat(queued, polled)), maxlen=0)
    for task in returned:
        remove_from_heap(queued, task)
    return queued
