"""Movements in the order in which they are handled, and what changes of them from round to round.

Source: page ``rules``, "Movements".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias, overload

from kstream_plan.model.decision import Movement
from kstream_plan.model.shared_sequence import SharedSequence

#: A movement with its place: the lower, the sooner it is handled; no two of the same kind have the same.
Queued: TypeAlias = tuple[int, Movement]


class MovementQueue(Sequence[Movement]):
    """At most one movement of each active task, by place, then at most one of a standby of each task, by place.

    Frozen; a changed version shares what did not change, and a task's movements are found without looking at the
    others. It equals a tuple of the same movements. ``number_of_tasks``: how many have any. ``workings`` is what helps
    whoever made it to make the next one: nobody else looks into it.
    """

    __slots__ = ("_by_task", "_number", "number_of_tasks", "workings")

    def __init__(
        self, tasks: int, active: Mapping[int, Queued], standby: Mapping[int, Queued], workings: object = None
    ) -> None:
        """``active`` and ``standby`` are by task, of which there are so many."""
        kinds = (active, standby)
        self._by_task = tuple(SharedSequence([queued.get(task) for task in range(tasks)]) for queued in kinds)
        self._number = sum(map(len, kinds))
        self.number_of_tasks = len(active.keys() | standby.keys())
        self.workings = workings

    def of(self, tasks: Collection[int]) -> list[Movement]:
        """Return the movements of these tasks: those of active ones first."""
        return [queued[1] for kind in self._by_task for queued in kind.of(tasks) if queued is not None]

    def _number_of(self, tasks: Collection[int]) -> int:
        """Return how many of these tasks have any movement."""
        active, standby = (kind.of(tasks) for kind in self._by_task)
        return sum(one is not None or other is not None for one, other in zip(active, standby, strict=True))

    def changed(
        self, active: Mapping[int, Queued | None], standby: Mapping[int, Queued | None], workings: object = None
    ) -> MovementQueue:
        """Return the queue with other movements of these tasks, or without any of them (``None``)."""
        made: MovementQueue = object.__new__(MovementQueue)
        made._by_task = tuple(
            kind.replaced(queued) for kind, queued in zip(self._by_task, (active, standby), strict=True)
        )
        more = 0
        for before, queued in zip(self._by_task, (active, standby), strict=True):
            more += before.of(queued).count(None) - list(queued.values()).count(None)
        tasks = active.keys() | standby.keys()
        more_tasks = made._number_of(tasks) - self._number_of(tasks)
        made._number = self._number + more
        made.number_of_tasks = self.number_of_tasks + more_tasks
        made.workings = workings
        return made

    @overload
    def __getitem__(self, index: int) -> Movement: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Movement, ...]: ...

    def __getitem__(self, index: int | slice) -> Movement | tuple[Movement, ...]:
        return tuple(self)[index]  # nobody asks for one by its place within a loop

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Movement]:
        for kind in self._by_task:
            yield from (movement for _, movement in sorted(filter(None, kind)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | MovementQueue) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
