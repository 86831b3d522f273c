"""The balanced target. Free of any lag and of all previous ownership.

Source: page ``rules``, "Balanced target".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from kstream_plan.assignors.high_availability import client_tags
from kstream_plan.assignors.high_availability.balancing import balance
from kstream_plan.assignors.racks.costs import is_rack_aware
from kstream_plan.model import NOBODY, Group, Target
from kstream_plan.model.settings import AssignmentConfig

if TYPE_CHECKING:
    from kstream_plan.assignors.racks.optimize import MayMove


@dataclass(slots=True)
class Placement:
    """A draft of who runs and who copies which stateful task; private to one decision.

    ``owner`` (``NOBODY``: a stateless one until it is dealt) and ``standbys`` are by task index, ``active`` and
    ``standby`` the same by instance (sorted tasks), ``counts`` the active and standby tasks of each instance.
    """

    owner: list[int]
    standbys: list[tuple[int, ...]]
    active: list[list[int]]
    standby: list[list[int]]
    counts: list[int]

    @classmethod
    def of(cls, group: Group, target: Target) -> Placement:
        """Return the draft that starts at ``target``."""
        active, standby = [list(tasks) for tasks in target.active], [list(tasks) for tasks in target.standby]
        counts = [len(a) + len(s) for a, s in zip(active, standby, strict=True)]
        return cls(owners(group, target), standby_instances(group, target), active, standby, counts)

    def holds(self, instance: int, task: int) -> bool:
        """Tell whether the instance has a copy of the task in any role."""
        return self.owner[task] == instance or instance in self.standbys[task]

    def target(self) -> Target:
        """Return the draft as a frozen value."""
        return Target(tuple(map(tuple, self.active)), tuple(map(tuple, self.standby)))


def owners(group: Group, target: Target) -> list[int]:
    """Return the instance that runs each task, by task index; ``NOBODY`` for a stateless one."""
    owner = [NOBODY] * len(group.tasks)
    for instance, tasks in enumerate(target.active):
        for task in tasks:
            owner[task] = instance
    return owner


def standby_instances(group: Group, target: Target) -> list[tuple[int, ...]]:
    """Return the instances that hold a standby of each task, by task index."""
    standbys: list[tuple[int, ...]] = [()] * len(group.tasks)
    for instance, tasks in enumerate(target.standby):
        for task in tasks:
            standbys[task] += (instance,)
    return standbys


def balanced_target(group: Group, config: AssignmentConfig) -> tuple[Target, tuple[tuple[int, int], ...]]:
    """Return the target and the standbys there was no instance for, as (task, number missing)."""
    active = _active(group, config)
    if config.num_standby_replicas == 0:
        return Target(active, ((),) * len(active)), ()
    draft = Placement.of(group, Target(active, ((),) * len(active)))
    shortages = _place_standbys(group, config, draft)
    _balance_standbys(group, config, draft)
    if is_rack_aware(group, config):
        from kstream_plan.assignors.racks.optimize import optimize_standby  # noqa: PLC0415 - few groups need it

        standby = optimize_standby(
            group, config, draft.active, [set(tasks) for tasks in draft.standby], _allowed_between_racks(group, config)
        )
        return Target(active, tuple(tuple(sorted(tasks)) for tasks in standby)), shortages
    return draft.target(), shortages


def _allowed_between_racks(group: Group, config: AssignmentConfig) -> MayMove | None:
    if not config.rack_aware_assignment_tags:
        return None
    return lambda source, destination, holders: client_tags.movement_keeps_tag_spread(
        group, source, destination, holders
    )


def _active(group: Group, config: AssignmentConfig) -> tuple[tuple[int, ...], ...]:
    """Deal the stateful tasks round robin, then even out unequal capacities, then let the racks have their say."""
    stateful, instances = group.stateful, len(group.instances)
    tasks = [list(stateful[first::instances]) for first in range(instances)]
    counts = [len(mine) for mine in tasks]
    capacities = group.capacities
    balance(tasks, counts, capacities, lambda _source, _destination, mine: mine, lambda *_: None)
    if is_rack_aware(group, config):
        from kstream_plan.assignors.racks.optimize import optimize_active  # noqa: PLC0415 - few groups need it

        optimized = optimize_active(group, config, stateful, [set(mine) for mine in tasks])
        return tuple(tuple(sorted(mine)) for mine in optimized)
    return tuple(map(tuple, tasks))


def _place_standbys(group: Group, config: AssignmentConfig, draft: Placement) -> tuple[tuple[int, int], ...]:
    """Place ``num.standby.replicas`` copies of every stateful task; return the shortages."""
    if config.rack_aware_assignment_tags:
        placed, shortages = client_tags.place_standbys(
            group, config.rack_aware_assignment_tags, config.num_standby_replicas, draft.active
        )
        for instance, tasks in enumerate(placed):
            draft.standby[instance] = sorted(tasks)
            draft.counts[instance] += len(tasks)
            for task in draft.standby[instance]:
                draft.standbys[task] += (instance,)
        return tuple(shortages)
    _place_on_least_loaded(group, config.num_standby_replicas, draft)
    shortage = config.num_standby_replicas - (len(group.instances) - 1)
    return tuple((task, shortage) for task in group.stateful) if shortage > 0 else ()


def _place_on_least_loaded(group: Group, replicas: int, draft: Placement) -> None:
    """For each task, give a standby to the lowest (load, instance) without a copy, ``replicas`` times."""
    capacities, counts, standby = group.capacities, draft.counts, draft.standby
    queue = [(count / capacities[i], i) for i, count in enumerate(counts)]
    heapify(queue)
    copies = min(replicas, len(capacities) - 1)
    for task in group.stateful:
        owner, set_aside = draft.owner[task], []
        holders: list[int] = []
        while len(holders) < copies:
            instance = queue[0][1]
            if instance == owner:
                set_aside.append(heappop(queue))
                continue
            holders.append(instance)
            standby[instance].append(task)
            counts[instance] += 1
            heavier = (counts[instance] / capacities[instance], instance)
            if len(holders) == copies:
                heapreplace(queue, heavier)
            else:
                heappop(queue)
                set_aside.append(heavier)
        for entry in set_aside:
            heappush(queue, entry)
        draft.standbys[task] = tuple(holders)


def _balance_standbys(group: Group, config: AssignmentConfig, draft: Placement) -> None:
    """Even the standbys out: to an instance without a copy and, with tags, only one that has the source's tags."""
    tagged = bool(config.rack_aware_assignment_tags)

    def may_move(source: int, destination: int, tasks: list[int]) -> Iterator[int]:
        if tagged and not client_tags.destination_keeps_tags(group, source, destination):
            return iter(())
        return (task for task in tasks if not draft.holds(destination, task))

    def move_standby(task: int, source: int, destination: int) -> None:
        draft.standbys[task] = tuple(destination if i == source else i for i in draft.standbys[task])

    capacities = group.capacities
    balance(draft.standby, draft.counts, capacities, may_move, move_standby)
