"""The balanced target. Free of any lag and of all previous ownership.

Source: page ``rules``, "Balanced target".
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace

from kstream_plan.assignors.high_availability import client_tags
from kstream_plan.assignors.high_availability.balancing import balance
from kstream_plan.assignors.placement import Placement
from kstream_plan.assignors.racks import optimize as rack_aware
from kstream_plan.model import Group, Target
from kstream_plan.model.settings import AssignmentConfig


def balanced_target(group: Group, config: AssignmentConfig) -> tuple[Target, tuple[tuple[int, int], ...]]:
    """Return the target and the standbys there was no instance for, as (task, number missing)."""
    active = _active(group, config)
    if config.num_standby_replicas == 0:
        return Target(active, ((),) * len(active)), ()
    draft = Placement.of(group, Target(active, ((),) * len(active)))
    shortages = _place_standbys(group, config, draft)
    _balance_standbys(group, config, draft)
    if rack_aware.enabled(group, config):
        standby = rack_aware.optimize_standby(
            group, config, draft.active, [set(tasks) for tasks in draft.standby], _allowed_between_racks(group, config)
        )
        return Target(active, tuple(tuple(sorted(tasks)) for tasks in standby)), shortages
    return draft.target(), shortages


def _allowed_between_racks(group: Group, config: AssignmentConfig) -> rack_aware.MayMove | None:
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
    if rack_aware.enabled(group, config):
        optimized = rack_aware.optimize_active(group, config, stateful, [set(mine) for mine in tasks])
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
