"""The movements of a decision in the order in which they are handled, as numbers.

Source: page ``rules``, "Movements".
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload


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
