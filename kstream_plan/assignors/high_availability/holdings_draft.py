"""What each instance holds, as movements change it: a draft private to one decision."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from kstream_plan.model import Holding, Movement


class HoldingsDraft:
    """Holdings by instance that are thawed, into sorted lists, only where something changes."""

    def __init__(self, holdings: Sequence[Holding]) -> None:
        self._holdings = holdings
        self._active: dict[int, list[int]] = {}
        self._standby: dict[int, list[int]] = {}
        self._warmup: dict[int, list[int]] = {}

    def apply(self, movement: Movement) -> None:
        """Let the movement happen."""
        task, kind, how, source, destination, warm_up = movement
        if kind == "active":
            _add(self._actives(source), task)
            _discard(self._actives(destination), task)
            if how.startswith("swap"):
                _discard(self._standbys(source), task)
                _add(self._standbys(destination), task)
        else:
            _add(self._standbys(source), task)
            _discard(self._standbys(destination), task)
        if warm_up:
            _add(self._warmups(destination), task)

    def revert(self, movement: Movement) -> None:
        """Undo a movement, as if it had never happened; not for a swap."""
        task, kind, _, source, destination, warm_up = movement
        of = self._actives if kind == "active" else self._standbys
        _discard(of(source), task)
        _add(of(destination), task)
        if warm_up:
            _discard(self._warmups(destination), task)

    def _actives(self, instance: int) -> list[int]:
        if instance not in self._active:
            self._active[instance] = list(self._holdings[instance].active)
        return self._active[instance]

    def frozen(self) -> tuple[Holding, ...]:
        """Return the holdings; those that did not change are the very objects the draft began with."""
        frozen = list(self._holdings)
        for instance in self._active.keys() | self._standby.keys() | self._warmup.keys():
            was = frozen[instance]
            held = Holding(
                active=_frozen(self._active.get(instance), was.active),
                standby=_frozen(self._standby.get(instance), was.standby),
                warmup=_frozen(self._warmup.get(instance), was.warmup),
            )
            if held != was:
                frozen[instance] = held
        return tuple(frozen)

    def _standbys(self, instance: int) -> list[int]:
        if instance not in self._standby:
            self._standby[instance] = list(self._holdings[instance].standby)
        return self._standby[instance]

    def _warmups(self, instance: int) -> list[int]:
        if instance not in self._warmup:
            self._warmup[instance] = list(self._holdings[instance].warmup)
        return self._warmup[instance]


def _add(tasks: list[int], task: int) -> None:
    place = bisect_left(tasks, task)
    if tasks[place : place + 1] != [task]:
        tasks.insert(place, task)


def _discard(tasks: list[int], task: int) -> None:
    place = bisect_left(tasks, task)
    if tasks[place : place + 1] == [task]:
        del tasks[place]


def _frozen(tasks: list[int] | None, untouched: tuple[int, ...]) -> tuple[int, ...]:
    return untouched if tasks is None else tuple(tasks)
