"""What an assignor decides: the target, who holds what until then, and the tasks on their way.

Source of the movements: page ``rules``, "Movements".
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

from kstream_plan.model.holding import Holding
from kstream_plan.model.note import Note


class Movement(NamedTuple):
    """One task on its way to its target instance (Kafka's ``TaskMovement``).

    ``how`` is ``swap_caught_up``, ``move_caught_up``, ``swap_most_caught_up`` or ``move_most_caught_up``;
    ``source`` runs (or, for a standby, keeps) the task meanwhile, ``destination`` is its target, ``warmup`` tells
    whether the destination was given a copy to warm up.
    """

    task: int
    kind: str
    how: str
    source: int
    destination: int
    warmup: bool


#: Words of a movement's ``kind`` and ``how``, by number.
KINDS = ("active", "standby")
HOWS = ("swap_caught_up", "swap_most_caught_up", "move_caught_up", "move_most_caught_up")
#: Numbers of a movement: the fields of :class:`Movement`, in order.
NUMBERS = len(Movement._fields)


class Movements(Sequence[Movement]):
    """Movements of active tasks, then of standbys; frozen, and equal to a tuple of the same movements.

    Args:
        length: how many there are.
        make: returns six numbers for each: task, kind, how, source, destination, warm-up; called once at most.
    """

    def __init__(self, length: int, make: Callable[[], array[int]]) -> None:
        self._length, self._make = length, make

    @classmethod
    def of(cls, movements: Iterable[Movement]) -> Movements:
        """Return these movements."""
        numbers = array("i")
        for task, kind, way, source, destination, warm_up in movements:
            numbers.extend((task, KINDS.index(kind), HOWS.index(way), source, destination, warm_up))
        return cls.of_numbers(numbers)

    @classmethod
    def of_numbers(cls, numbers: array[int]) -> Movements:
        """Return movements whose numbers are made."""
        return cls(len(numbers) // NUMBERS, lambda: numbers)

    @cached_property
    def numbers(self) -> array[int]:
        """Six numbers for each: task, kind, how, source, destination, warm-up."""
        return self._make()

    @cached_property
    def tasks(self) -> frozenset[int]:
        """The tasks that have any movement."""
        return frozenset(self.numbers[::NUMBERS])

    def of_tasks(self, tasks: Collection[int]) -> list[Movement]:
        """Return the movements of these tasks, in order."""
        if not tasks:
            return []
        return [self[index] for index, task in enumerate(self.numbers[::NUMBERS]) if task in tasks]

    @overload
    def __getitem__(self, index: int) -> Movement: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Movement, ...]: ...

    def __getitem__(self, index: int | slice) -> Movement | tuple[Movement, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = NUMBERS * range(len(self))[index]
        task, kind, way, source, destination, warm_up = self.numbers[start : start + NUMBERS]
        return Movement(task, KINDS[kind], HOWS[way], source, destination, bool(warm_up))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Movement]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Movements):
            return self.numbers == other.numbers
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.numbers.tobytes())

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Callable[[array[int]], Movements], tuple[array[int]]]:
        return Movements.of_numbers, (self.numbers,)


NO_MOVEMENTS = Movements.of(())


class Target(NamedTuple):
    """The balanced assignment that the movements lead to: per instance sorted task indices. Free of any lag."""

    active: tuple[tuple[int, ...], ...]
    standby: tuple[tuple[int, ...], ...]


class FollowedTarget(NamedTuple):
    """What a decision of an assignor followed that goes by a target file.

    ``plan`` is the id of the plan in the file; where the file did not count, or there was none, it is ``None``, and
    ``refusal`` says why. ``warmups`` are the copies beside the wanted ones at once, ``probe_ms`` is when it decides
    again while anything waits, ``again_ms`` when it does after this decision (``None``: when something happens).
    ``expires_in_ms`` is how long after this decision the file that counts still does.
    """

    plan: str | None
    refusal: str | None
    warmups: int
    probe_ms: int
    again_ms: int | None
    expires_in_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An assignor's decision.

    ``instances`` is the decision per instance, ``consumers`` its split over the threads (by consumer index), roles
    disjoint (``temporary`` always empty). ``movements`` are in the order of handling. ``short_standbys`` lists the
    tasks for which there were not enough instances, with the number that is missing. ``warnings`` is what else it could
    not keep to, ``notes`` what is worth knowing about it; ``keeps_stateless``: stateless tasks stay unless the balance
    needs them to move. ``follows`` is what it followed of a target file, if the assignor goes by one.
    """

    instances: Sequence[Holding]
    consumers: Sequence[Holding]
    probing_rebalance: bool
    target: Target
    movements: Movements = NO_MOVEMENTS
    short_standbys: tuple[tuple[int, int], ...] = ()
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    keeps_stateless: bool = False
    follows: FollowedTarget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDecision:
    """The newest decision of a group that is known to have been made: a group goes on from after it.

    Times are in milliseconds, counted from when the snapshot was taken. ``generation`` is the one that it led to,
    ``at_ms`` when it was made. ``consumers`` is what every consumer, by index, was decided to have, what is withheld
    from it included; ``None``: what the snapshot says that it holds. ``probing_rebalance`` tells whether the leader
    wants to look again, ``next_ms`` when the next rebalance is due; ``None``: not known. ``others`` are the consumers
    that the decision says nothing about: they get nothing, and if they have nothing, they have come since.
    ``rejoining`` are those that come back at once, because something is withheld from them: a follow-up is due.
    ``by_follower``: the class that follows target files made it, with a file or without one.
    """

    generation: int
    at_ms: int | None = None
    consumers: tuple[Holding, ...] | None = None
    probing_rebalance: bool | None = None
    next_ms: int | None = None
    others: tuple[int, ...] = ()
    rejoining: tuple[int, ...] = ()
    by_follower: bool = False
