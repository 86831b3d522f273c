"""Movements of active tasks in the order in which they are handled, and what changes of it from round to round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from kstream_plan.model import Movement
from kstream_plan.model.shared_sequence import SharedSequence


class MovementQueue(Sequence[Movement]):
    """At most one movement of each task, by (number of its caught-up instances, task): reference section 4, step 4.

    Frozen; a changed version shares what did not change, and a task's movement is found without looking at the others.
    It equals a tuple of the same movements.
    """

    __slots__ = ("_alike",)

    def __init__(self, movements: Iterable[Movement] = (), caught_up: Callable[[int], int] = lambda _: 0) -> None:
        """``movements`` come in the order of tasks; ``caught_up`` says how many instances are caught up on a task."""
        alike: dict[int, list[Movement]] = {}
        for movement in movements:
            alike.setdefault(caught_up(movement.task), []).append(movement)
        #: by number of caught-up instances, in task order (a task comes first in its movement)
        self._alike = tuple(SharedSequence(alike.get(number, ())) for number in range(max(alike, default=-1) + 1))

    def of(self, task: int) -> Movement | None:
        """Return the task's movement, if it has one."""
        found = self._find(task)
        return None if found is None else self._alike[found[0]][found[1]]

    def place(self, caught_up: int, task: int) -> int:
        """Return where a movement of the task is, or would be, if so many instances are caught up on it."""
        before = sum(map(len, self._alike[:caught_up]))
        return before + (self._alike[caught_up].place((task,)) if caught_up < len(self._alike) else 0)

    def with_one(self, caught_up: int, movement: Movement) -> MovementQueue:
        """Return the queue with one more movement, of a task on which so many instances are caught up."""
        alike = [*self._alike, *[_NOTHING] * (caught_up + 1 - len(self._alike))]
        alike[caught_up] = alike[caught_up].spliced(alike[caught_up].place(movement), 0, (movement,))
        return _made_of(alike)

    def without(self, task: int) -> MovementQueue:
        """Return the queue without the task's movement, which is in it."""
        return self._changed(task, ())

    def replaced(self, movement: Movement) -> MovementQueue:
        """Return the queue with this movement in the place of the one that the same task has in it."""
        return self._changed(movement.task, (movement,))

    def parted(self, caught_up: int) -> tuple[MovementQueue, MovementQueue]:
        """Return the movements of tasks on which fewer instances are caught up, then the others."""
        return _made_of(self._alike[:caught_up]), _made_of([*[_NOTHING] * caught_up, *self._alike[caught_up:]])

    def _changed(self, task: int, movements: tuple[Movement, ...]) -> MovementQueue:
        found = self._find(task)
        if found is None:
            raise KeyError(task)
        alike = list(self._alike)
        alike[found[0]] = alike[found[0]].spliced(found[1], 1, movements)
        return _made_of(alike)

    def _find(self, task: int) -> tuple[int, int] | None:
        for caught_up, movements in enumerate(self._alike):
            place = movements.place((task,))
            if place < len(movements) and movements[place].task == task:
                return caught_up, place
        return None

    @overload
    def __getitem__(self, index: int) -> Movement: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Movement, ...]: ...

    def __getitem__(self, index: int | slice) -> Movement | tuple[Movement, ...]:
        return tuple(self)[index]  # nobody asks for one by its place within a loop

    def __len__(self) -> int:
        return sum(map(len, self._alike))

    def __iter__(self) -> Iterator[Movement]:
        return chain.from_iterable(self._alike)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | MovementQueue) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


_NOTHING: SharedSequence[Movement] = SharedSequence()


def _made_of(alike: Iterable[SharedSequence[Movement]]) -> MovementQueue:
    made: MovementQueue = object.__new__(MovementQueue)
    made._alike = tuple(alike)
    return made
