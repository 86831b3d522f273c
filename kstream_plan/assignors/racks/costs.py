"""Whether racks count, and what it costs a rack-aware optimisation to have a task on an instance (KIP-925).

Source: page ``rules``, "Racks".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstream_plan.model import Group, Partition
from kstream_plan.model.java_hash import signed_int
from kstream_plan.model.settings import AssignmentConfig

#: Traffic and non-overlap cost of stateless tasks, whatever is configured: they may move freely.
_STATELESS_COSTS = 1, 0


def is_rack_aware(group: Group, config: AssignmentConfig) -> bool:
    """Tell whether a strategy is configured and everything it needs to know about racks is known.

    That is the rack of every instance and of every replica of every source partition, and with standbys also of
    every changelog partition of a stateful task.
    """
    return config.rack_aware_assignment_strategy != "none" and racks_known(
        group, changelogs=config.num_standby_replicas > 0
    )


def racks_known(group: Group, *, changelogs: bool) -> bool:
    """Tell whether the racks of all instances, source partitions and (if asked) changelog partitions are known."""
    if not all(instance.rack for instance in group.instances):
        return False
    replicas = _replica_racks(group)

    def has_racks(partitions: tuple[Partition, ...]) -> bool:
        return bool(partitions) and all(partition[:2] in replicas for partition in partitions)

    return all(has_racks(task.source_partitions) for task in group.tasks) and (
        not changelogs or all(has_racks(group.tasks[task].changelog_partitions) for task in group.stateful)
    )


def _replica_racks(group: Group) -> dict[tuple[str, int], set[str]]:
    """Return the racks of each (topic, partition)'s replicas, for those partitions of which all replicas have one."""
    racks: dict[tuple[str, int], set[str]] = {}
    incomplete = set()
    for task in group.tasks:
        for partition in (*task.source_partitions, *task.changelog_partitions):
            if partition.racks and all(partition.racks):
                racks.setdefault(partition[:2], set()).update(rack for rack in partition.racks if rack)
            elif partition.racks:
                incomplete.add(partition[:2])
    return {partition: partition_racks for partition, partition_racks in racks.items() if partition not in incomplete}


class RackCosts:
    """The costs of having tasks on instances; the racks must be known (:func:`racks_known`).

    Args:
        group: whose racks.
        partitions: per task what it reads or restores from.
        traffic: the cost of each of these without a replica in the instance's rack.
        non_overlap: the cost of an instance that does not have the task yet.
    """

    def __init__(
        self, group: Group, partitions: Mapping[int, tuple[Partition, ...]], traffic: int, non_overlap: int
    ) -> None:
        names = sorted({instance.rack or "" for instance in group.instances})
        replicas = _replica_racks(group)
        self._rack_of = [names.index(instance.rack or "") for instance in group.instances]
        #: Per task and rack the number of its partitions that have no replica there.
        self._misses: dict[int, tuple[int, ...]] = {}
        for task, mine in partitions.items():
            racks = [replicas[partition] for partition in dict.fromkeys(partition[:2] for partition in mine)]
            self._misses[task] = tuple(sum(name not in present for present in racks) for name in names)
        self._traffic = traffic
        self._non_overlap = non_overlap

    @classmethod
    def of_sources(cls, group: Group, config: AssignmentConfig, tasks: Sequence[int], *, stateless: bool) -> RackCosts:
        """Return what active ``tasks`` cost."""
        traffic, non_overlap = _STATELESS_COSTS if stateless else _configured(config)
        return cls(group, {task: group.tasks[task].source_partitions for task in tasks}, traffic, non_overlap)

    @classmethod
    def of_changelogs(cls, group: Group, config: AssignmentConfig) -> RackCosts:
        """Return what standby tasks cost."""
        return cls(
            group, {task: group.tasks[task].changelog_partitions for task in group.stateful}, *_configured(config)
        )

    def by_kind(
        self, tasks: Sequence[int], owners: Sequence[int], instances: Sequence[int]
    ) -> tuple[list[list[int]], list[int]]:
        """Return per kind of task its cost on each of ``instances``, and the kind of each of ``tasks``.

        Tasks of one kind lack the same in every rack and have the same owner (its position in ``instances``).
        """
        numbers: dict[tuple[tuple[int, ...], int], int] = {}
        kinds = [
            numbers.setdefault((self._misses[task], owner), len(numbers))
            for task, owner in zip(tasks, owners, strict=True)
        ]
        racks = [self._rack_of[instance] for instance in instances]
        costs = [
            [
                signed_int(self._traffic * misses[rack] + (0 if position == owner else self._non_overlap))
                for position, rack in enumerate(racks)
            ]
            for misses, owner in numbers
        ]
        return costs, kinds


def _configured(config: AssignmentConfig) -> tuple[int, int]:
    return config.rack_aware_assignment_traffic_cost, config.rack_aware_assignment_non_overlap_cost
