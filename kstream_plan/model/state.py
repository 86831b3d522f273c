"""A group between two rebalances: who holds what, and what is on disk.

Source of lags: page ``rules``, "Lag and rank".
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, compress
from operator import is_not
from types import MappingProxyType
from typing import NamedTuple, TypeVar, overload

from kstream_plan.model.group import Group
from kstream_plan.model.holding import Holding
from kstream_plan.model.settings import MAX_LONG

#: Kafka's marker for the running active owner: caught up whatever the limit.
LATEST = -2
#: Kafka's marker for a copy whose offset sum is unknown: not caught up, but sorted before every other lag.
UNKNOWN = -3

#: By role of a holding.
_IS_ACTIVE = (True, False, False, False)

T_co = TypeVar("T_co", covariant=True)

#: A piece has 2^9 items: for ten thousands of items about as long to copy as the list of pieces is to make.
_SHIFT = 9
_PIECE = 1 << _SHIFT
_WITHIN = _PIECE - 1


class Copy(NamedTuple):
    """State of one task on one instance's disk, assigned to one of its consumers or left over.

    ``lag`` is what the instance last reported, as Kafka sees it: :data:`LATEST`, :data:`UNKNOWN`, records behind
    (0 … the task's end-offset sum), or ``None`` if it has reported nothing yet, which counts as no state at all.
    ``reporters`` are the consumers that reported it (the split calls it their previous task).
    ``remaining`` is what there is still to restore, reported or not. ``consumer`` is the one that holds it, in
    whatever role, ``active`` tells whether that role is active. ``placed_in`` is the generation whose assignment put
    the copy there; ``lost_at_ms`` the time since which it is left over (``None`` while it is assigned), ``made_at_ms``
    when there was none before it (``None``: not known).
    """

    instance: int
    lag: int | None
    reporters: tuple[int, ...] = ()
    remaining: int = 0
    consumer: int | None = None
    active: bool = False
    placed_in: int = -1
    lost_at_ms: int | None = None
    made_at_ms: int | None = None


def whole_sum(lag: int | None, end_offset_sum: int) -> int:
    """The lag as Kafka's ``lagFor`` gives it: what was not reported counts as the task's whole end-offset sum."""
    return min(end_offset_sum, MAX_LONG) if lag is None else lag


@dataclass(frozen=True, kw_only=True)
class GroupState:
    """A group between two rebalances: everything the next decision and the next round depend on.

    ``holdings`` is what each consumer holds (owns), by consumer index; ``copies`` what is on disk, by task index,
    each tuple sorted by instance and at most one copy per instance (empty for stateless tasks). ``at_ms`` is the
    time of the last assignment on the plan's clock. ``leader`` is an instance index, ``None`` if not known. ``revoked``
    maps each stateful task that the last assignment withheld to the instance that has given it up for that; once
    members have changed meanwhile, each stateless one as well (``NOBODY``: the instance has gone). ``waiting`` is the
    unprocessed input of each stateful task, in the records that its changelogs grow by once it is processed. ``memory``
    is what else the group remembers, in whatever way it coordinates: a frozen value that only its design looks into,
    made of what is the same in every run (no sets), or ``None``.
    """

    group: Group
    generation: int
    at_ms: int
    holdings: Sequence[Holding]
    copies: Sequence[tuple[Copy, ...]]
    leader: int | None = None
    revoked: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    waiting: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    memory: object = None

    @cached_property
    def unsettled(self) -> frozenset[int]:
        """The stateful tasks, without those whose copies are all held, whole, and reported by their holders alone."""
        return frozenset(self._unsettled_of(self.group.stateful))

    def _unsettled_of(self, tasks: Collection[int]) -> Iterator[int]:
        holders_by_task: dict[int, dict[int, bool]] = {task: {} for task in tasks}
        for consumer, holding in enumerate(self.holdings):
            for of_role, active in zip(holding, _IS_ACTIVE, strict=True):
                for task in of_role:
                    if task in holders_by_task:
                        holders_by_task[task][consumer] = active
        for task, seats in holders_by_task.items():
            copies = self.copies[task]
            if not is_settled(copies) or {copy.consumer: copy.active for copy in copies} != seats:
                yield task

    def __getstate__(self) -> dict[str, object]:
        """Pickle the fields, not what was derived from them or where the state came from."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"revoked": dict(self.revoked), "waiting": dict(self.waiting)}

    def copies_of(self, tasks: Sequence[int]) -> Sequence[tuple[Copy, ...]]:
        """Return the copies of each of these tasks."""
        return SharedSequence.of(self.copies).at(tasks)

    def changed_since(self, earlier_state: GroupState) -> Sequence[int]:
        """Return the tasks, sorted, that had other copies in ``earlier_state``; at once if this state followed from it.

        Soon, too, if this one followed from one that followed from it, as from probe to probe where tasks move.
        """
        origin, changed_tasks = self._followed_from()
        if origin is earlier_state:
            return changed_tasks
        if origin is not None:
            first, changed_first = origin._followed_from()
            if first is earlier_state:
                tasks = sorted({*changed_first, *changed_tasks})
                pairs = zip(tasks, earlier_state.copies_of(tasks), self.copies_of(tasks), strict=True)
                return [task for task, old, new in pairs if old is not new]
        return SharedSequence.of(self.copies).unlike(SharedSequence.of(earlier_state.copies))

    def _followed_from(self) -> tuple[GroupState | None, Sequence[int]]:
        """Return the state that this one followed from, if it is still known, and the tasks of which copies changed."""
        origin, changed_tasks = vars(self).get("_changed_since", (None, ()))
        return (None if origin is None else origin()), changed_tasks

    def reports_changed_since(self, earlier_state: GroupState) -> Mapping[int, frozenset[int]]:
        """Return the tasks, in order, whose reports are others than in ``earlier_state``, each with the instances.

        It is asked for more than once for the same two states, and remembered.
        """
        origin, reports = vars(self).get("_reports_changed_since", (None, {}))
        if origin is not None and origin() is earlier_state:
            remembered: Mapping[int, frozenset[int]] = reports
            return remembered
        instances_by_task = {}
        changed_tasks = self.changed_since(earlier_state)
        for task, old, new in zip(
            changed_tasks, earlier_state.copies_of(changed_tasks), self.copies_of(changed_tasks), strict=True
        ):
            changed_reports = {copy[:3] for copy in old} ^ {copy[:3] for copy in new}
            if changed_reports:
                instances_by_task[task] = frozenset([instance for instance, _, _ in changed_reports])
        vars(self)["_reports_changed_since"] = (weakref.ref(earlier_state), instances_by_task)
        return instances_by_task

    def remembering(self, memory: object) -> GroupState:
        """Return the same group with something else that it remembers, and all that is known of it already."""
        copy_of_state = replace(self, memory=memory)
        vars(copy_of_state).update(
            {name: cached for name, cached in vars(self).items() if name not in self.__dataclass_fields__}
        )
        return copy_of_state

    def with_unsettled(self, tasks: frozenset[int]) -> GroupState:
        """Return the same group, of which it is known already which tasks are unsettled."""
        copy_of_state = replace(self)
        vars(copy_of_state)["unsettled"] = tasks
        return copy_of_state

    def with_copies(self, copies: Mapping[int, tuple[Copy, ...]]) -> GroupState:
        """Return the same group with other copies of some tasks, held by the same consumers."""
        new_state = replace(self, copies=SharedSequence.of(self.copies).replaced(copies))
        vars(new_state)["unsettled"] = self._unsettled_after(copies)
        return new_state

    def regrouped(
        self,
        *,
        group: Group,
        holdings: Sequence[Holding],
        copies: Mapping[int, tuple[Copy, ...]],
        revoked: Mapping[int, int],
        leader: int,
    ) -> GroupState:
        """Return the state for other members; ``copies`` has every task of which a holder or a copy changed."""
        new_copies = SharedSequence.of(self.copies).replaced(copies)
        new_state = replace(self, group=group, holdings=holdings, copies=new_copies, revoked=revoked, leader=leader)
        cached = vars(self)
        if "unsettled" in cached:
            changed_tasks = {task for task in copies if group.stateful_flags[task]}
            vars(new_state)["unsettled"] = (self.unsettled - changed_tasks).union(
                new_state._unsettled_of(changed_tasks)
            )
        return new_state

    def followed_by(
        self,
        *,
        at_ms: int,
        holdings: Sequence[Holding],
        copies: Mapping[int, tuple[Copy, ...]],
        revoked: Mapping[int, int],
        waiting: Mapping[int, int],
    ) -> GroupState:
        """Return the state one generation later; ``copies`` has every task of which a holder or a copy changed."""
        old_copies, tasks = SharedSequence.of(self.copies), sorted(copies)
        changed_tasks = [
            task for task, of_task in zip(tasks, old_copies.at(tasks), strict=True) if copies[task] is not of_task
        ]
        new_state = replace(
            self,
            generation=self.generation + 1,
            at_ms=at_ms,
            holdings=holdings,
            copies=old_copies.replaced({task: copies[task] for task in changed_tasks}) if changed_tasks else old_copies,
            revoked=MappingProxyType(dict(revoked)),
            waiting=MappingProxyType(dict(waiting)),
        )
        vars(new_state)["_changed_since"] = (weakref.ref(self), changed_tasks)
        vars(new_state)["unsettled"] = self._unsettled_after(copies)
        return new_state

    def _unsettled_after(self, copies: Mapping[int, tuple[Copy, ...]]) -> frozenset[int]:
        """Say what is unsettled with these copies in place of others, which their holders know of.

        Looking at every task again would take longer than the decision itself.
        """
        settled_tasks = {task for task, of_task in copies.items() if is_settled(of_task)}
        return (self.unsettled | copies.keys()) - settled_tasks


def is_settled(copies: Sequence[Copy]) -> bool:
    """Tell whether all copies of a task are held, whole, and reported by their holders alone."""
    for _, lag, reporters, remaining, consumer, active, _, _, _ in copies:
        if remaining or lag is None or reporters != (consumer,):
            return False
        if lag != LATEST if active else lag < 0:
            return False
    return bool(copies)


class SharedSequence(Sequence[T_co]):
    """Items in pieces; a changed version (:meth:`replaced`) shares the pieces that did not change.

    With thousands of tasks of which a round changes two, copying the rest would take longer than all else. It equals a
    tuple of the same items.
    """

    __slots__ = ("_pieces",)

    def __init__(self, items: Iterable[T_co] = ()) -> None:
        self._pieces: tuple[tuple[T_co, ...], ...] = _in_pieces(tuple(items))

    @classmethod
    def of(cls, items: Sequence[T_co]) -> SharedSequence[T_co]:
        """Return the items in pieces, unless they are already."""
        return items if isinstance(items, SharedSequence) else cls(items)

    def replaced(self, items: Mapping[int, T_co]) -> SharedSequence[T_co]:
        """Return the sequence with these items, by index, in the place of those that are there."""
        pieces = list(self._pieces)
        drafts: dict[int, list[T_co]] = {}
        for index, item in items.items():
            number = index >> _SHIFT
            draft = drafts.setdefault(number, [])
            if not draft:
                draft += pieces[number]
            draft[index & _WITHIN] = item
        for number, draft in drafts.items():
            pieces[number] = tuple(draft)
        return _made_of(tuple(pieces))

    def at(self, indices: Iterable[int]) -> list[T_co]:
        """Return the items at these indices, none of them negative."""
        pieces = self._pieces
        return [pieces[index >> _SHIFT][index & _WITHIN] for index in indices]

    def unlike(self, other: SharedSequence[T_co]) -> list[int]:
        """Return, in order, where another object is than in a version of the same length."""
        indices: list[int] = []
        for number in compress(range(len(self._pieces)), map(is_not, self._pieces, other._pieces)):
            piece, start = self._pieces[number], number << _SHIFT
            indices += compress(range(start, start + len(piece)), map(is_not, piece, other._pieces[number]))
        return indices

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...

    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index < 0:
            index += len(self)
            if index < 0:
                raise IndexError(index)
        return self._pieces[index >> _SHIFT][index & _WITHIN]

    def __len__(self) -> int:
        return (len(self._pieces) - 1 << _SHIFT) + len(self._pieces[-1]) if self._pieces else 0

    def __iter__(self) -> Iterator[T_co]:
        return chain.from_iterable(self._pieces)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | SharedSequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _made_of(pieces: tuple[tuple[T_co, ...], ...]) -> SharedSequence[T_co]:
    sequence: SharedSequence[T_co] = object.__new__(SharedSequence)
    sequence._pieces = pieces
    return sequence


def _in_pieces(items: tuple[T_co, ...]) -> tuple[tuple[T_co, ...], ...]:
    return tuple(items[start : start + _PIECE] for start in range(0, len(items), _PIECE))
