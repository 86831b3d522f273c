"""The split of a decision over the consumers, instance by instance."""

from __future__ import annotations

from itertools import chain, filterfalse

from kstream_plan.assignors.threads.changed import changed_tasks, reports
from kstream_plan.assignors.threads.consumer_split import deal_copies, split_over_consumers
from kstream_plan.assignors.threads.stateless_split import split_stateless
from kstream_plan.model import LATEST, Assignment, Copy, GroupState, Holding, Holdings, whole_sum
from kstream_plan.model.holding_changes import unlike


def split(state: GroupState, instances: Holdings, previous: tuple[GroupState, Assignment] | None) -> Holdings:
    """Split what each instance was given over its consumers.

    An instance's split depends on nothing but what it was given and what its consumers reported about that; where
    neither has changed since ``previous``, or everybody reported what it was given then (:func:`_stays`), its split is
    taken from there.

    Returns:
        What each consumer of the group is given; who keeps what it owns of stateful tasks gets the very object.
    """
    group, owned = state.group, Holdings.of(state.group, state.holdings).stateful
    if previous is None:
        found = (_split_one(state, owned, i, held) for i, held in enumerate(instances.stateful))
        return split_stateless(group, instances, tuple(chain.from_iterable(found)), None)
    before, decision = previous
    given, held = Holdings.of(group, decision.instances), Holdings.of(group, decision.consumers)
    stateful = _split_again(state, owned, instances.stateful, before, given.stateful, held.stateful)
    return split_stateless(group, instances, stateful, (given, held))


def _split_again(
    state: GroupState,
    owned: tuple[Holding, ...],
    instances: tuple[Holding, ...],
    before: GroupState,
    given: tuple[Holding, ...],
    held: tuple[Holding, ...],
) -> tuple[Holding, ...]:
    """Split the stateful tasks; those that were ``given`` to each instance ``before`` were ``held`` so by consumer."""
    group = state.group
    told_otherwise = {
        instance
        for task in changed_tasks(before, state)
        for instance, _, _ in reports(before, task) ^ reports(state, task)
        if any(task in role for role in instances[instance])
    }
    given_otherwise = {i for i in unlike(instances, given) if instances[i] != given[i]}
    consumers = list(held)
    for i in sorted(told_otherwise | given_otherwise):
        if i not in given_otherwise and _stays(state, owned, i, instances[i], held):
            continue
        for consumer, mine in zip(group.consumers_of[i], _split_one(state, owned, i, instances[i]), strict=True):
            consumers[consumer] = owned[consumer] if owned[consumer] == mine else mine
    return tuple(consumers)


def _stays(
    state: GroupState, owned: tuple[Holding, ...], instance: int, held: Holding, given: tuple[Holding, ...]
) -> bool:
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


def _split_one(state: GroupState, owned: tuple[Holding, ...], instance: int, held: Holding) -> tuple[Holding, ...]:
    """Tell the split which of the instance's tasks each of its consumers reported, given what all ``owned``.

    A settled task is reported by who runs it, so only the copies of the others have to be looked at.
    """
    group = state.group
    consumers, unsettled = group.consumers_of[instance], state.unsettled
    if len(consumers) > 1:
        kept = _kept(state, owned, instance, held, consumers)
        if kept is not None:
            return kept
    reported = [set(owned[consumer].active) - unsettled for consumer in consumers]
    for task in unsettled.intersection(held.active + held.standby + held.warmup):
        for consumer in _copy(state, task, instance).reporters:
            reported[consumer - consumers.start].add(task)

    def lag_of(task: int) -> int:
        if task not in unsettled:
            return LATEST
        return whole_sum(_copy(state, task, instance).lag, group.end_offset_sums[task])

    return split_over_consumers(consumers, held, reported, lag_of, group)


def _kept(
    state: GroupState, owned: tuple[Holding, ...], instance: int, held: Holding, consumers: range
) -> tuple[Holding, ...] | None:
    """Return the split if everybody gets back what it reported, and only that, of the active tasks; else ``None``.

    By far the most frequent case, told without looking at every task: of the settled ones each consumer reported what
    it runs.
    """
    placed = set(held.active)
    open_tasks = state.unsettled & placed
    had = [owned[consumer].active for consumer in consumers]
    mine = had[:]
    if open_tasks or placed != set(chain.from_iterable(had)):
        mine = [_still(tasks, placed, open_tasks) for tasks in had]
    for task in open_tasks:
        reporters = _copy(state, task, instance).reporters
        if len(reporters) != 1:
            return None
        mine[reporters[0] - consumers.start] += (task,)
    share = len(placed) // len(consumers)
    loads = [len(tasks) for tasks in mine]
    if sum(loads) != len(placed) or not all(share <= load <= share + 1 for load in loads):
        return None
    active = [tasks if tasks is before else tuple(sorted(tasks)) for before, tasks in zip(had, mine, strict=True)]
    if not held.standby and not held.warmup:
        return tuple(map(Holding, active))
    return _with_copies(state, instance, held, consumers, active)


def _still(tasks: tuple[int, ...], placed: set[int], open_tasks: frozenset[int]) -> tuple[int, ...]:
    """Return those of a consumer's tasks that stay on its instance and are settled; the very tuple if all do."""
    if placed.issuperset(tasks) and open_tasks.isdisjoint(tasks):
        return tasks
    return tuple(filterfalse(open_tasks.__contains__, filter(placed.__contains__, tasks)))


def _with_copies(
    state: GroupState, instance: int, held: Holding, consumers: range, active: list[tuple[int, ...]]
) -> tuple[Holding, ...]:
    """Deal the copies to the consumers, whose active tasks are settled already."""
    copies = sorted(held.standby + held.warmup)
    reported: list[set[int]] = [set() for _ in consumers]
    for task in copies:
        for consumer in _copy(state, task, instance).reporters:
            reported[consumer - consumers.start].add(task)
    end_offset_sums = state.group.end_offset_sums

    def lag_of(task: int) -> int:
        return whole_sum(_copy(state, task, instance).lag, end_offset_sums[task])

    dealt = deal_copies(copies, reported, lag_of, [len(tasks) for tasks in active])
    warmups = frozenset(held.warmup)
    return tuple(
        Holding(
            tasks,
            tuple([task for task in mine if task not in warmups]),
            tuple([task for task in mine if task in warmups]),
        )
        for tasks, mine in zip(active, dealt, strict=True)
    )


def _copy(state: GroupState, task: int, instance: int) -> Copy:
    """Return the instance's copy of the task; one that has none has reported nothing."""
    return next((copy for copy in state.copies[task] if copy.instance == instance), Copy(instance, None))
