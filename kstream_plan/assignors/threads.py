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
    changed_reporters: Collection[int] | None = None,
    laws: Laws = NEWEST,
) -> Holdings:
    """Split what each instance was given over its consumers.

    An instance's split depends on nothing but what it was given and what its consumers reported about that; where
    neither has changed since ``previous``, or everybody reported what it was given then (:func:`_stays`), its split is
    taken from there. ``changed_reporters``: the instances whose consumers have reported other tasks since, if that is
    known; how far behind is all the same to those who get back what they have. ``laws``: what the release that runs
    does otherwise than the newest.

    Returns:
        What each consumer of the group is given; who keeps what it owns of stateful tasks gets the very object.
    """
    group, owned = state.group, Holdings.of(state.group, state.holdings).stateful
    if previous is None:
        shares_by_instance = (
            _split_one(state, owned, i, holding, laws) for i, holding in enumerate(instances.stateful)
        )
        stateful, shares = tuple(chain.from_iterable(shares_by_instance)), None
    else:
        previous_state, decision = previous
        previous_instances, previous_consumers = (
            Holdings.of(group, decision.instances),
            Holdings.of(group, decision.consumers),
        )
        if changed_reporters is None:
            changed_reporters = _changed_reporters(state, previous_state, instances.stateful)
        stateful = _split_again(
            state,
            owned,
            instances.stateful,
            changed_reporters,
            previous_instances.stateful,
            previous_consumers.stateful,
            laws,
        )
        shares = Shares(
            previous_instances.owners, previous_consumers.owners, _loads(group, previous_consumers.stateful, laws)
        )
    shares = split_stateless(group, instances.owners, _loads(group, stateful, laws), shares, laws)
    return Holdings(stateful, group.stateless, shares.consumers)


def _loads(group: Group, consumers: Sequence[Holding], laws: Laws) -> Numbers:
    """Return what counts of the stateful tasks of each consumer where stateless ones are split."""
    loads = np.zeros(len(consumers), np.int32)
    if group.stateless:
        loads[:] = [len(tasks[0]) + (0 if laws.roles_apart else len(tasks[1]) + len(tasks[2])) for tasks in consumers]
    return loads


def _changed_reporters(state: GroupState, previous_state: GroupState, instances: Sequence[Holding]) -> set[int]:
    """Return the instances of which something else is reported of a task that they are given."""
    changed_instances = set[int]()
    for task, reporting_instances in state.reports_changed_since(previous_state).items():
        for instance in reporting_instances:
            if instance not in changed_instances and any(times_in(role, task) for role in instances[instance]):
                changed_instances.add(instance)
    return changed_instances


def _split_again(
    state: GroupState,
    owned: Sequence[Holding],
    instances: Sequence[Holding],
    changed_reporters: Collection[int],
    previous_instances: Sequence[Holding],
    previous_consumers: Sequence[Holding],
    laws: Laws,
) -> tuple[Holding, ...]:
    """Split the stateful tasks; ``previous_consumers`` is how ``previous_instances`` were split."""
    group = state.group
    given_otherwise = {i for i in unlike(instances, previous_instances) if instances[i] != previous_instances[i]}
    consumers = list(previous_consumers)
    for i in sorted(given_otherwise.union(changed_reporters)):
        if i not in given_otherwise and _stays(state, owned, i, instances[i], previous_consumers):
            continue
        shares = _split_one(state, owned, i, instances[i], laws)
        for consumer, mine in zip(group.consumers_of[i], shares, strict=True):
            consumers[consumer] = owned[consumer] if owned[consumer] == mine else mine
    return tuple(consumers)


def _stays(
    state: GroupState, owned: Sequence[Holding], instance: int, holding: Holding, previous: Sequence[Holding]
) -> bool:
    """Tell whether every consumer has just what it had by the ``previous`` split, and alone reported it.

    Then each gets its own back: those that were dealt to it have its share or one more.
    """
    if any(owned[consumer] != previous[consumer] for consumer in state.group.consumers_of[instance]):
        return False
    for task in state.unsettled.intersection(chain(holding.active, holding.standby, holding.warmup)):
        reporters = _copy(state, task, instance).reporters
        if len(reporters) != 1 or not any(task in role for role in previous[reporters[0]]):
            return False
    return True


def _split_one(
    state: GroupState, owned: Sequence[Holding], instance: int, holding: Holding, laws: Laws
) -> tuple[Holding, ...]:
    """Tell the split which of the instance's tasks each of its consumers reported, given what all ``owned``."""
    group = state.group
    consumers = group.consumers_of[instance]
    if len(consumers) == 1:
        return (holding,)

    def lag_of(task: int) -> int:
        return whole_sum(_copy(state, task, instance).lag, group.end_offset_sums[task])

    return split_over_consumers(consumers, holding, _reported(state, owned, instance, holding), lag_of, group, laws)


def _reported(state: GroupState, owned: Sequence[Holding], instance: int, holding: Holding) -> list[set[int]]:
    """Return which of an instance's tasks each of its consumers reported.

    A settled task was reported by who holds it, so only the copies of the others have to be looked at.
    """
    consumers = state.group.consumers_of[instance]
    placed = {*holding.active, *holding.standby, *holding.warmup}
    unsettled_tasks = state.unsettled & placed
    settled_tasks = placed - unsettled_tasks if unsettled_tasks else placed
    reported = [settled_tasks.intersection(chain(*owned[consumer])) for consumer in consumers]
    for task in unsettled_tasks:
        for consumer in _copy(state, task, instance).reporters:
            reported[consumer - consumers.start].add(task)
    return reported


def _copy(state: GroupState, task: int, instance: int) -> Copy:
    """Return the instance's copy of the task; one that has none has reported nothing."""
    for copy in state.copies[task]:
        if copy.instance == instance:
            return copy
    return Copy(instance, None)
