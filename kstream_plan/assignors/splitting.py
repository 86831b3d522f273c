"""The split of a decision over the consumers, instance by instance."""

from __future__ import annotations

from itertools import chain

from kstream_plan.assignors.consumer_split import split_over_consumers
from kstream_plan.assignors.reuse import changed_tasks, reports
from kstream_plan.model import LATEST, Assignment, Copy, GroupState, Holding, whole_sum


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
    """Tell the split which of the instance's stateful tasks each of its consumers reported.

    A settled task is reported by who runs it, so only the copies of the others have to be looked at.
    """
    consumers, unsettled = state.group.consumers_of[instance], state.unsettled
    reported = [set(state.holdings[consumer].active) - unsettled for consumer in consumers]
    for task in unsettled.intersection(held.active + held.standby + held.warmup):
        for consumer in _copy(state, task, instance).reporters:
            reported[consumer - consumers.start].add(task)

    def lag_of(task: int) -> int:
        if task not in unsettled:
            return LATEST
        return whole_sum(_copy(state, task, instance).lag, state.group.end_offset_sums[task])

    return split_over_consumers(consumers, held, reported, lag_of, state.group)


def _copy(state: GroupState, task: int, instance: int) -> Copy:
    """Return the instance's copy of the task; one that has none has reported nothing."""
    return next((copy for copy in state.copies[task] if copy.instance == instance), Copy(instance, None))
