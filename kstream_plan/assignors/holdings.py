"""What each instance holds, as movements change it: a draft private to one decision."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Holding, Movement


class HoldingsDraft:
    """Holdings by instance that are thawed only where something changes."""

    def __init__(self, holdings: Sequence[Holding]) -> None:
        self._holdings = holdings
        self._active: dict[int, set[int]] = {}
        self._standby: dict[int, set[int]] = {}
        self._warmup: dict[int, set[int]] = {}

    def apply(self, movement: Movement) -> None:
        """Let the movement happen."""
        task, kind, how, source, destination, warm_up = movement
        if kind == "active":
            self.active(source).add(task)
            self.active(destination).discard(task)
            if how.startswith("swap"):
                self._standbys(source).discard(task)
                self._standbys(destination).add(task)
        else:
            self._standbys(source).add(task)
            self._standbys(destination).discard(task)
        if warm_up:
            self._warmups(destination).add(task)

    def revert(self, movement: Movement) -> None:
        """Undo a movement, as if it had never happened; not for a swap."""
        task, kind, _, source, destination, warm_up = movement
        of = self.active if kind == "active" else self._standbys
        of(source).discard(task)
        of(destination).add(task)
        if warm_up:
            self._warmups(destination).discard(task)

    def active(self, instance: int) -> set[int]:
        """Return the instance's active tasks, to be changed in place."""
        if instance not in self._active:
            self._active[instance] = set(self._holdings[instance].active)
        return self._active[instance]

    def frozen(self) -> tuple[Holding, ...]:
        """Return the holdings; those that nothing touched are the very objects the draft began with."""
        frozen = list(self._holdings)
        for instance in self._active.keys() | self._standby.keys() | self._warmup.keys():
            held = frozen[instance]
            frozen[instance] = Holding(
                active=_sorted(self._active.get(instance), held.active),
                standby=_sorted(self._standby.get(instance), held.standby),
                warmup=_sorted(self._warmup.get(instance), held.warmup),
            )
        return tuple(frozen)

    def _standbys(self, instance: int) -> set[int]:
        if instance not in self._standby:
            self._standby[instance] = set(self._holdings[instance].standby)
        return self._standby[instance]

    def _warmups(self, instance: int) -> set[int]:
        if instance not in self._warmup:
            self._warmup[instance] = set(self._holdings[instance].warmup)
        return self._warmup[instance]


def _sorted(tasks: set[int] | None, untouched: tuple[int, ...]) -> tuple[int, ...]:
    return untouched if tasks is None else tuple(sorted(tasks))
