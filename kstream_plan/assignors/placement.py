"""Who runs and who copies which task: a target by task and by instance, and a draft of one."""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.model import NOBODY, Group, Target


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
