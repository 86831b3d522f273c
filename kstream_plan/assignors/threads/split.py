"""The split of a decision over the consumers, instance by instance.

Source: page ``rules``, "Split over threads".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.threads.consumer_split import split_over_consumers
from kstream_plan.assignors.threads.stateless_split import Numbers, Shares, split_stateless
from kstream_plan.model import Assignment, Copy, Group, GroupState, Holding, Holdings, whole_sum
from kstream_plan.model.holding_changes import times_in, unlike


def split(
    state: GroupState,
    instances: Holdings,
    previous: tuple[GroupState, Assignment] | None,
    told_otherwise: Collection[int] | None = None,
    laws: Laws = NEWEST,
) -> Holdings:
    """Split what each instance was given over its consumers.

    An instance's split depends on nothing but what it was given and what its consumers reported about that; where
    neither has changed since ``previous``, or everybody reported what it was given then (:func:`_stays`), its split is
    taken from there. ``told_otherwise``: the instances of which consumers have reported other tasks since, where that
    is known; how far behind is all the same to those who get back what they have. ``laws``: what the release that runs
    does otherwise than the newest.

    Returns:
        What each consumer of the group is given; who keeps what it owns of stateful tasks gets the very object.
    """
    group, owned = state.group, Holdings.of(state.group, state.holdings).stateful
    if previous is None:
        found = (_split_one(state, owned, i, held, laws) for i, held in enumerate(instances.stateful))
        stateful, shares = tuple(chain.from_iterable(found)), None
    else:
        before, decision = previous
        given, held = Holdings.of(group, decision.instances), Holdings.of(group, decision.consumers)
        if told_otherwise is None:
            told_otherwise = _told_otherwise(state, before, instances.stateful)
        stateful = _split_again(state, owned, instances.stateful, told_otherwise, given.stateful, held.stateful, laws)
        shares = Shares(given.owners, held.owners, _loads(group, held.stateful, laws))
    shares = split_stateless(group, instances.owners, _loads(group, stateful, laws), shares, laws)
    return Holdings(stateful, group.stateless, shares.consumers)


def _loads(group: Group, consumers: Sequence[Holding], laws: Laws) -> Numbers:
    """Return what counts of the stateful tasks of each consumer where stateless ones are split."""
    loads = np.zeros(len(consumers), np.int32)
    if group.stateless:
        loads[:] = [len(held[0]) + (0 if laws.roles_apart else len(held[1]) + len(held[2])) for held in consumers]
    return loads


def _told_otherwise(state: GroupState, before: GroupState, instances: Sequence[Holding]) -> set[int]:
    """Return the instances of which something else is reported of a task that they are given."""
    found = set[int]()
    for task, by in state.told_otherwise_since(before).items():
        for instance in by:
            if instance not in found and any(times_in(role, task) for role in instances[instance]):
                found.add(instance)
    return found


def _split_again(
    state: GroupState,
    owned: Sequence[Holding],
    instances: Sequence[Holding],
    told_otherwise: Collection[int],
    given: Sequence[Holding],
    held: Sequence[Holding],
    laws: Laws,
) -> tuple[Holding, ...]:
    """Split the stateful tasks; those that were ``given`` to each instance ``before`` were ``held`` so by consumer."""
    group = state.group
    given_otherwise = {i for i in unlike(instances, given) if instances[i] != given[i]}
    consumers = list(held)
    for i in sorted(given_otherwise.union(told_otherwise)):
        if i not in given_otherwise and _stays(state, owned, i, instances[i], held):
            continue
        found = _split_one(state, owned, i, instances[i], laws)
        for consumer, mine in zip(group.consumers_of[i], found, strict=True):
            consumers[consumer] = owned[consumer] if owned[consumer] == mine else mine
    return tuple(consumers)


def _stays(state: GroupState, owned: Sequence[Holding], instance: int, held: Holding, given: Sequence[Holding]) -> bool:
    """Tell whether every consumer has just what it was ``given`` of the same tasks, and alone reported it.

    Then each gets its own back: those that were dealt to it have its share or one more.
    """
    if any(owned[consumer] != given[consumer] for consumer in state.group.consumers_of[instance]):
        return False
    for task in state.unsettled.intersection(chain(held.active, held.standby, held.warmup)):
        reporters = _copy(state, task, instance).reporters
        if len(reporters) != 1 or not any(task in role for role in given[reporters[0]]):
            return False
    return True


def _split_one(
    state: GroupState, owned: Sequence[Holding], instance: int, held: Holding, laws: Laws
) -> tuple[Holding, ...]:
    """Tell the split which of the instance's tasks each of its consumers reported, given what all ``owned``."""
    group = state.group
    consumers = group.consumers_of[instance]
    if len(consumers) == 1:
        return (held,)

    def lag_of(task: int) -> int:
        return whole_sum(_copy(state, task, instance).lag, group.end_offset_sums[task])

    return split_over_consumers(consumers, held, _reported(state, owned, instance, held), lag_of, group, laws)


def _reported(state: GroupState, owned: Sequence[Holding], instance: int, held: Holding) -> list[set[int]]:
    """Return which of an instance's tasks each of its consumers reported.

    A settled task was reported by who holds it, so only the copies of the others have to be looked at.
    """
    consumers = state.group.consumers_of[instance]
    placed = {*held.active, *held.standby, *held.warmup}
    unsettled = state.unsettled & placed
    settled = placed - unsettled if unsettled else placed
    reported = [settled.intersection(chain(*owned[consumer])) for consumer in consumers]
    for task in unsettled:
        for consumer in _copy(state, task, instance).reporters:
            reported[consumer - consumers.start].add(task)
    return reported


def _copy(state: GroupState, task: int, instance: int) -> Copy:
    """Return the instance's copy of the task; one that has none has reported nothing."""
    for copy in state.copies[task]:
        if copy.instance == instance:
            return copy
    return Copy(instance, None)
