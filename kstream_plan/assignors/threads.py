"""The split of what each instance was given over its consumers (Kafka's ``assignTasksToThreads``).

Source: page ``rules``, "Split over threads". One pass over the active stateful tasks and one over the copies, both by
``engine.thread_assignment``, then one over the stateless tasks, on numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kstream_plan.assignors.java.collections import hash_order
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.thread_assignment import ThreadAssignment
from kstream_plan.model import Assignment, Copy, Group, GroupState, Holding, Holdings, Owners, no_owners, whole_sum
from kstream_plan.model.holding_changes import times_in, unlike
from kstream_plan.model.java_hash import plain_hash_in_table

Numbers: TypeAlias = "npt.NDArray[np.int32]"


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


def split_over_consumers(
    consumers: range,
    placement: Holding,
    reported: Sequence[AbstractSet[int]],
    lag_of: Callable[[int], int],
    group: Group,
    laws: Laws = NEWEST,
) -> tuple[Holding, ...]:
    """Split what one instance was given of stateful tasks over its consumers.

    Three passes share the load of the threads: active stateful tasks, standbys (warm-ups among them, which Kafka does
    not tell apart), stateless tasks (:func:`split_stateless`). The first two, made here, respect what each consumer
    reported, up to an even share. Before 3.2 each pass has a load of its own.

    Args:
        consumers: the instance's consumers, by index in the group.
        placement: the instance's stateful tasks by role.
        reported: the stateful tasks that the instance's k-th consumer reported.
        lag_of: the instance's lag on a task it reported, in records as Kafka sees it (``LATEST``, ``UNKNOWN`` or
            0 and more).
        group: who the indices mean.
        laws: what the release that runs does otherwise than the newest.

    Returns:
        One holding per consumer, in order.
    """
    if len(consumers) == 1:
        return (Holding(placement.active, placement.standby, placement.warmup),)
    assignment, load = thread_assignment(group, laws), zeros("i", len(consumers))

    def dealt(tasks: Sequence[int], *, as_hash_set: bool) -> list[list[int]]:
        return _dealt(assignment, tasks, reported, lag_of, load, as_hash_set=as_hash_set)

    active = dealt(placement.active, as_hash_set=True)
    load = zeros("i", len(consumers)) if laws.roles_apart else load
    copies = dealt(sorted(placement.standby + placement.warmup), as_hash_set=False)
    warmups = frozenset(placement.warmup)
    return tuple(
        Holding(
            tuple(mine),
            tuple([task for task in copied if task not in warmups]),
            tuple([task for task in copied if task in warmups]),
        )
        for mine, copied in zip(active, copies, strict=True)
    )


def thread_assignment(group: Group, laws: Laws) -> ThreadAssignment:
    """Return the one that deals a group's tasks; it is made once."""
    name = "_thread_assignment_of_plain_hashes" if laws.plain_hashes else "_thread_assignment"
    assignment: ThreadAssignment | None = vars(group).get(name)
    if assignment is None:
        hashes = _plain_hashes(group) if laws.plain_hashes else group.table_hashes
        assignment = ThreadAssignment(hashes, max(group.capacities), hash_order)
        vars(group)[name] = assignment
    return assignment


def _plain_hashes(group: Group) -> list[int]:
    return [plain_hash_in_table(*task.task_id[:2]) if task.stateful else 0 for task in group.tasks]


def _dealt(
    assignment: ThreadAssignment,
    tasks: Sequence[int],
    reported: Sequence[AbstractSet[int]],
    lag_of: Callable[[int], int],
    load: array[int],
    *,
    as_hash_set: bool,
) -> list[list[int]]:
    """Give ``tasks`` (sorted) to the consumers, evenly together with their ``load``, to which they are added."""
    reporters = [[thread for thread, mine in enumerate(reported) if task in mine] for task in tasks]
    assignment.clear()
    for task, threads in zip(tasks, reporters, strict=True):
        assignment.add(task, threads[0] if threads else -1)
        for thread in threads[1:]:
            assignment.add_reporter(thread)
    if not assignment.give_back(load, 0, len(load)):
        for place, task in enumerate(tasks):
            if reporters[place]:
                assignment.set_lag(place, lag_of(task))
        assignment.deal(load, 0, len(load), as_hash_set)
    return assignment.by_thread(len(load))


class Shares(NamedTuple):
    """A decision on the stateless tasks: the instance, then the consumer of each, and what else each consumer has.

    ``loads`` are what counts of the stateful tasks of each consumer (:func:`split_stateless`).
    """

    instances: Owners
    consumers: Owners
    loads: Numbers


def split_stateless(
    group: Group, instances: Owners, loads: Numbers, previous: Shares | None, laws: Laws = NEWEST
) -> Shares:
    """Split the stateless tasks of every instance over its consumers, which only fill up with them.

    Nobody has reported any of them, so an instance's split depends on its tasks and its consumers' loads alone.

    Args:
        group: who takes part.
        instances: by place among the stateless tasks, which instance it was given to.
        loads: how many stateful tasks each consumer has in any role; before 3.2, active ones alone.
        previous: an earlier decision. It only saves work.
        laws: what the release that runs does otherwise than the newest.

    Returns:
        What was given, and which consumer gets each.
    """
    if laws.roles_apart:
        return Shares(instances, _in_turn(group, instances, loads), loads)
    if previous is None:
        touched, owners = set(range(len(group.instances))), no_owners(group)
    else:
        touched, owners = _touched(group, instances, loads, previous), previous.consumers
    if touched and len(instances):
        owners, by_instance = owners.copy(), instances.argsort(kind="stable")
        assignment = thread_assignment(group, NEWEST)
        ends = np.bincount(instances, minlength=len(group.instances)).cumsum().tolist()
        for instance in touched:
            mine = by_instance[ends[instance - 1] if instance else 0 : ends[instance]]
            if len(mine):
                tasks, consumers = [*map(group.stateless.__getitem__, mine.tolist())], group.consumers_of[instance]
                load = loads[consumers.start : consumers.stop].tolist()
                owners[mine] = consumers.start + np.array(dealt_to_threads(assignment, tasks, load))
    return Shares(instances, owners, loads)


def _in_turn(group: Group, instances: Owners, loads: Numbers) -> Owners:
    """Return the owners as before 3.2: first those with one active stateful task less, then all, in turn."""
    owners = no_owners(group)
    for instance, consumers in enumerate(group.consumers_of):
        (mine,) = (instances == instance).nonzero()
        counts = loads[consumers.start : consumers.stop].tolist()
        lighter = [consumers.start + k for k, count in enumerate(counts) if count < max(counts)][: len(mine)]
        owners[mine[: len(lighter)]] = lighter
        owners[mine[len(lighter) :]] = consumers.start + np.arange(len(mine) - len(lighter)) % len(consumers)
    return owners


def _touched(group: Group, instances: Owners, loads: Numbers, previous: Shares) -> set[int]:
    """Return the instances with other stateless tasks, or other loads of consumers, than in an earlier decision."""
    changed_consumers = np.flatnonzero(loads != previous.loads).tolist()
    touched = set(map(group.instance_of.__getitem__, changed_consumers))
    is_moved = instances != previous.instances
    return touched.union(instances[is_moved].tolist(), previous.instances[is_moved].tolist())


def dealt_to_threads(assignment: ThreadAssignment, tasks: list[int], load: Sequence[int]) -> list[int]:
    """Return which of an instance's consumers gets each of its stateless tasks (sorted).

    ``load`` is what each of the consumers has of other tasks.
    """
    assignment.clear()
    assignment.add_unreported(tasks)
    assignment.deal(array("i", load), 0, len(load), True)
    return assignment.takers()
