"""What each instance holds, as tasks change places: a draft private to one decision."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kstream_plan.model import Holding


class Places(NamedTuple):
    """The instances that run a task, keep standbys of it and warm it up."""

    owner: int
    standbys: tuple[int, ...]
    warmups: tuple[int, ...] = ()


def holdings_of(places: Iterable[tuple[int, Places]], instances: int) -> tuple[Holding, ...]:
    """Return what so many instances hold of tasks with these places, which come in task order."""
    active, standby, warmup = ([list[int]() for _ in range(instances)] for _ in Holding._fields[:3])
    for task, at in places:
        active[at.owner].append(task)
        for instance in at.standbys:
            standby[instance].append(task)
        for instance in at.warmups:
            warmup[instance].append(task)
    return tuple(Holding(*map(tuple, roles)) for roles in zip(active, standby, warmup, strict=True))


class HoldingsDraft:
    """Holdings by instance that are thawed, into sorted lists, only where something changes."""

    def __init__(self, holdings: Sequence[Holding]) -> None:
        self._holdings = holdings
        #: (instance, role) → its tasks
        self._thawed: dict[tuple[int, int], list[int]] = {}

    def move(self, task: int, before: Places, now: Places) -> None:
        """Let a task go from where it was to other places."""
        if before.owner != now.owner:
            _discard(self._of(before.owner, 0), task)
            _add(self._of(now.owner, 0), task)
        for role, was, held in ((1, before.standbys, now.standbys), (2, before.warmups, now.warmups)):
            if was != held:
                for instance in was:
                    _discard(self._of(instance, role), task)
                for instance in held:
                    _add(self._of(instance, role), task)

    def frozen(self) -> tuple[Holding, ...]:
        """Return the holdings; those that did not change are the very objects the draft began with."""
        frozen = list(self._holdings)
        for instance in {instance for instance, _ in self._thawed}:
            was = frozen[instance]
            roles = [
                was[role] if tasks is None else tuple(tasks)
                for role in range(3)
                for tasks in [self._thawed.get((instance, role))]
            ]
            held = Holding(*roles)
            if held != was:
                frozen[instance] = held
        return tuple(frozen)

    def _of(self, instance: int, role: int) -> list[int]:
        found = self._thawed.get((instance, role))
        if found is None:
            found = self._thawed[instance, role] = list(self._holdings[instance][role])
        return found


def _add(tasks: list[int], task: int) -> None:
    tasks.insert(bisect_left(tasks, task), task)


def _discard(tasks: list[int], task: int) -> None:
    del tasks[bisect_left(tasks, task)]
