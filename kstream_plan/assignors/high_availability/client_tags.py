"""Standbys spread over client tags (KIP-708, Kafka's ``ClientTagAwareStandbyTaskAssignor``).

Source: page ``rules``, "Standbys by tags".
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping, Sequence

from kstream_plan.assignors.java.collections import TaskHashTable
from kstream_plan.model import Group


def place_standbys(
    group: Group, tags: tuple[str, ...], num_standby_replicas: int, active: Sequence[Collection[int]]
) -> tuple[list[set[int]], list[tuple[int, int]]]:
    """Give every stateful task its standbys, on other values of the configured tags than its active and each other.

    Tasks for which there are not enough such instances are completed afterwards with the least loaded ones, whatever
    their tags.

    Args:
        group: who takes part.
        tags: the configured keys (``rack.aware.assignment.tags``); other tags are ignored.
        num_standby_replicas: standbys wanted per task, 1 or more.
        active: the active stateful tasks of each instance.

    Returns:
        The standby tasks per instance, and the tasks that could not be given enough, sorted, with the number missing.
    """
    queue = _LeastLoaded(group.capacities, [len(mine) for mine in active])
    marks = _tag_marks(group, tags)
    owner = {task: instance for instance, mine in enumerate(active) for task in mine}
    standby: list[set[int]] = [set() for _ in group.instances]
    holders, shortages = {}, {}
    for task in group.stateful:
        instances = _on_other_tags(owner[task], num_standby_replicas, queue, marks)
        for instance in instances:
            standby[instance].add(task)
        if len(instances) < num_standby_replicas:
            holders[task] = sum(1 << instance for instance in (owner[task], *instances))
            shortages[task] = num_standby_replicas - len(instances)
    for task in _hash_map_order(group, shortages):
        while shortages[task] > 0 and (replacement := queue.take(holders[task])) is not None:
            standby[replacement].add(task)
            holders[task] |= 1 << replacement
            shortages[task] -= 1
    return standby, [(task, number) for task, number in shortages.items() if number > 0]


def destination_keeps_tags(group: Group, source: int, destination: int) -> bool:
    """Tell whether a standby may be moved to even out loads: the destination has every tag value of the source."""
    at_destination = group.instances[destination].client_tags
    return all(tag in at_destination for tag in group.instances[source].client_tags)


def movement_keeps_tag_spread(group: Group, source: int, destination: int, holders: Collection[int]) -> bool:
    """Tell whether a standby may be moved to save traffic between racks (the rack-aware optimisation's own rule).

    ``holders`` are the instances with a copy of the task in any role (``source`` and ``destination`` may be among
    them and do not matter). True unless the copies would then have fewer distinct tags, configured or not.
    """
    instances = group.instances
    tags = {tag for holder in holders if holder not in (source, destination) for tag in instances[holder].client_tags}
    return len(tags.union(instances[destination].client_tags)) >= len(tags.union(instances[source].client_tags))


class _LeastLoaded:
    """The instances by (load, instance): who is least loaded takes a task, and is put where it then belongs."""

    def __init__(self, capacities: Sequence[int], counts: list[int]) -> None:
        self._capacities = capacities
        self._counts = counts
        self._order = sorted((count / capacities[i], i) for i, count in enumerate(counts))

    def take(self, excluded: int) -> int | None:
        """Give a task to the least loaded instance whose bit is not in ``excluded``; return it, if there is one."""
        for position, (_, instance) in enumerate(self._order):
            if not excluded >> instance & 1:
                del self._order[position]
                self._counts[instance] += 1
                insort(self._order, (self._counts[instance] / self._capacities[instance], instance))
                return instance
        return None


#: One tag of an instance: its key, how many values the key has in all, and the instances with this value (as bits).
_Mark = tuple[str, int, int]


def _tag_marks(group: Group, keys: Collection[str]) -> list[list[_Mark]]:
    """Return for each instance the marks of its configured tags."""
    with_value: dict[str, dict[str, int]] = {key: {} for key in keys}
    for index, instance in enumerate(group.instances):
        for key, value in instance.client_tags:
            if key in with_value:
                with_value[key][value] = with_value[key].get(value, 0) | 1 << index
    return [
        [(key, len(with_value[key]), with_value[key][value]) for key, value in instance.client_tags if key in keys]
        for instance in group.instances
    ]


def _on_other_tags(owner: int, number: int, queue: _LeastLoaded, marks: Sequence[Sequence[_Mark]]) -> list[int]:
    """Choose up to ``number`` instances for one task, from its owner outward, and give it to them.

    A key all of whose values can be used up by the instances chosen so far stops constraining: with two clusters
    and the active in one, the first standby goes to the other and the second may go anywhere.
    """
    blocked_by_key: dict[str, int] = {}
    instances: list[int] = []
    holders, last = 1 << owner, owner
    while len(instances) < number:
        for key, values, sharing in marks[last]:
            if values <= len(instances) + 1:
                blocked_by_key.pop(key, None)
            else:
                blocked_by_key[key] = blocked_by_key.get(key, 0) | sharing
        excluded = holders
        for sharing in blocked_by_key.values():
            excluded |= sharing
        instance = queue.take(excluded)
        if instance is None:
            break
        instances.append(instance)
        holders |= 1 << instance
        last = instance
    return instances


def _hash_map_order(group: Group, tasks: Mapping[int, int]) -> list[int]:
    """Return ``tasks`` in the order of Kafka's ``HashMap`` of all stateful tasks once the others were removed."""
    if len(tasks) < 2:
        return list(tasks)
    stateful = group.stateful
    table = TaskHashTable([group.table_hashes[task] for task in stateful])
    for position in range(len(stateful)):
        table.put(position)
    for position, task in enumerate(stateful):
        if task not in tasks:
            table.remove(position)
    return [stateful[position] for position in table]
