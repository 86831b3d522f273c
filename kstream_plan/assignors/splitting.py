"""The split of a decision over the consumers, instance by instance."""

from __future__ import annotations

from itertools import chain

from kstream_plan.assignors.consumer_split import split_over_consumers
from kstream_plan.assignors.reuse import changed_tasks, reports
from kstream_plan.model import Assignment, GroupState, Holding


def split(
    state: GroupState, instances: tuple[Holding, ...], previous: tuple[GroupState, Assignment] | None
) -> tuple[Holding, ...]:
    """Split what each instance was given over its consumers.

    An instance's split depends on nothing but what it was given and what its consumers reported about that; where
    neither has changed since ``previous``, its split is taken from there.

    Returns:
        One holding per consumer of the group.
    """
    group = state.group
    if previous is None:
        return tuple(chain.from_iterable(_split_one(state, i, held) for i, held in enumerate(instances)))
    before, decided = previous
    told_otherwise = {
        instance
        for task in changed_tasks(before, state)
        for instance, _, _ in reports(before, task) ^ reports(state, task)
        if any(task in role for role in instances[instance])
    }
    consumers = list(decided.consumers)
    for i, held in enumerate(instances):
        if i in told_otherwise or held != decided.instances[i]:
            mine = group.consumers_of[i]
            consumers[mine.start : mine.stop] = _split_one(state, i, held)
    return tuple(consumers)


def _split_one(state: GroupState, instance: int, held: Holding) -> tuple[Holding, ...]:
    """Tell the split which of the instance's stateful tasks each of its consumers reported, with what lag."""
    consumers = state.group.consumers_of[instance]
    whole, copies = state.group.end_offset_sums, state.copies
    reported: list[list[tuple[int, int]]] = [[] for _ in consumers]
    for task in chain(held.active, held.standby, held.warmup):
        for copy in copies[task]:
            if copy[0] == instance:
                lag = whole[task] if copy[1] is None else copy[1]
                for consumer in copy[2]:
                    reported[consumer - consumers.start].append((lag, task))
                break
    return split_over_consumers(consumers, held, reported, state.group)
