"""The tasks of one consumer or instance in the roles that it has them in, and those of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress, pairwise
from operator import is_not
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kstream_plan.model.group import Group


#: By place among a group's stateless tasks the index of who runs it, or a negative code (:class:`Holdings`).
Owners: TypeAlias = "npt.NDArray[np.signedinteger]"

#: Instead of an owner: nobody runs the task.
NOBODY = -1

Index = TypeVar("Index", int, Owners)

T_co = TypeVar("T_co", covariant=True)


class Holding(NamedTuple):
    """The tasks of one consumer (or of one instance) by role: sorted task indices, the roles disjoint.

    ``temporary``: an active task of its own that is withheld until the present owner has revoked it, held as a
    standby meanwhile because the instance has state of it.
    """

    active: tuple[int, ...] = ()
    standby: tuple[int, ...] = ()
    warmup: tuple[int, ...] = ()
    temporary: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Holdings(Sequence[Holding]):
    """What every consumer (or every instance) holds, by index; equal to a tuple of the same.

    Kafka deals the stateless tasks anew at every probing rebalance, so that thousands of them change hands. Here they
    are numbers, and become part of a holding when that is looked at: ``stateful`` is what each holds apart from
    them (a tuple, or :class:`~kstream_plan.model.holding.LazyHoldings`), ``stateless`` are the group's stateless
    tasks, ``owners`` says by place among these who runs each: an index, :data:`NOBODY`, or the code
    (:func:`revoked_by`) of the one that has just given it up for somebody else.
    """

    stateful: Sequence[Holding]
    stateless: tuple[int, ...]
    owners: Owners

    def __post_init__(self) -> None:
        """Freeze the numbers, too."""
        self.owners.setflags(write=False)

    @classmethod
    def of(cls, group: Group, holdings: Sequence[Holding]) -> Holdings:
        """Tell the group's stateless tasks apart, unless they are already."""
        if isinstance(holdings, Holdings):
            return holdings
        return cls((), group.stateless, no_owners(group))._with(group, list(holdings), enumerate(holdings))

    def __reduce__(self) -> tuple[type[Holdings], tuple[object, ...]]:
        """Pickle so that the numbers are frozen on the other side, too."""
        return Holdings, (self.stateful, self.stateless, self.owners)

    def with_held(self, group: Group, changes: Mapping[int, Holding]) -> Holdings:
        """Return the same but for these, by index, who hold something else now."""
        if not changes:
            return self
        import numpy as np  # noqa: PLC0415 - as in no_owners

        without_changes = replace(self, owners=np.where(np.isin(self.owners, list(changes)), NOBODY, self.owners))
        return without_changes._with(group, list(self.stateful), changes.items())

    def _with(self, group: Group, stateful: list[Holding], changes: Iterable[tuple[int, Holding]]) -> Holdings:
        """Return the same but for these, none of whom runs a stateless task yet."""
        owners, place_of = self.owners.copy(), {task: place for place, task in enumerate(group.stateless)}
        for index, holding in changes:
            stateful[index] = holding
            places = [place_of[task] for task in holding.active if task in place_of] if place_of else []
            if places:
                owners[places] = index
                stateful[index] = holding._replace(
                    active=tuple([task for task in holding.active if task not in place_of])
                )
        return Holdings(tuple(stateful), group.stateless, owners)

    def unlike(self, other: Holdings) -> list[int]:
        """Return, sorted, who holds another object, or runs other stateless tasks, than in ``other``."""
        indices = set[int]()
        if self.stateful is not other.stateful:
            indices.update(compress(range(len(self)), map(is_not, self.stateful, other.stateful)))
        if self.owners is not other.owners:
            is_moved = self.owners != other.owners
            indices.update(self.owners[is_moved].tolist(), other.owners[is_moved].tolist())
        return sorted(index for index in indices if index >= 0)

    def renumbered(
        self, stateful: Sequence[Holding], group: Group, new_index: Sequence[int], new_index_of_revoking: Sequence[int]
    ) -> Holdings:
        """Return the same by the indices of another group, whose members hold ``stateful``.

        ``new_index`` is by consumer here, ``new_index_of_revoking`` of those that have just given up a task;
        :data:`NOBODY` where there is none.
        """
        import numpy as np  # noqa: PLC0415 - as in no_owners

        owners, is_running, is_revoked = no_owners(group), self.owners >= 0, self.owners < NOBODY
        owners[is_running] = np.asarray(new_index)[self.owners[is_running]]
        owners[is_revoked] = revoked_by(np.asarray(new_index_of_revoking)[revoked_by(self.owners[is_revoked])])
        return Holdings(stateful, self.stateless, owners)

    @overload
    def __getitem__(self, index: int) -> Holding: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Holding, ...]: ...

    def __getitem__(self, index: int | slice) -> Holding | tuple[Holding, ...]:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, range(len(self))[index]))
        places = (self.owners == range(len(self))[index]).nonzero()[0].tolist()
        return _with_stateless(self.stateful[index], [self.stateless[place] for place in places])

    def __len__(self) -> int:
        return len(self.stateful)

    def __iter__(self) -> Iterator[Holding]:
        if not self.stateless:
            return iter(self.stateful)
        in_order = self.owners.argsort(kind="stable")
        starts = self.owners[in_order].searchsorted(range(len(self) + 1)).tolist()
        tasks = list(map(self.stateless.__getitem__, in_order.tolist()))
        of_each = (tasks[start:end] for start, end in pairwise(starts))
        return map(_with_stateless, self.stateful, of_each)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Holdings) and self.stateless == other.stateless:
            return self.stateful == other.stateful and same_owners(self.owners, other.owners)
        return tuple(self) == tuple(other) if isinstance(other, tuple | Holdings) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _with_stateless(holding: Holding, tasks: list[int]) -> Holding:
    if not tasks:
        return holding
    active, standby, warmup, temporary = holding
    return Holding(tuple(sorted([*active, *tasks])), standby, warmup, temporary)


def same_owners(owners: Owners, other_owners: Owners) -> bool:
    """Tell whether the same run each task, no matter who has just given it up."""
    return owners is other_owners or (
        owners.shape == other_owners.shape and bool((owners.clip(min=NOBODY) == other_owners.clip(min=NOBODY)).all())
    )


def revoked_by(owner: Index) -> Index:
    """Return the code of a task that ``owner`` has just given up for somebody else; of such a code, the owner."""
    return NOBODY - 1 - owner


def no_owners(group: Group) -> Owners:
    """Return, for every stateless task of a group, that nobody runs it; to be filled."""
    import numpy as np  # noqa: PLC0415 - takes its time, and most commands need none of it

    return np.full(len(group.stateless), NOBODY, np.int16 if len(group.consumer_ids) < 2**15 - 1 else np.int32)


_NOTHING = Holding()


class LazySequence(Sequence[T_co]):
    """A sequence of known length that is made at first use, and kept."""

    __slots__ = ("_items", "_length", "_make")

    def __init__(self, length: int, make: Callable[[], tuple[T_co, ...]]) -> None:
        """``make`` returns the items, ``length`` of them; it is called once at most."""
        self._length = length
        self._make: Callable[[], tuple[T_co, ...]] | None = make
        self._items: tuple[T_co, ...] = ()

    def made(self) -> tuple[T_co, ...]:
        """Return the items as a tuple."""
        if self._make is not None:
            self._items, self._make = self._make(), None
        return self._items

    def __reduce__(self) -> tuple[type[tuple[T_co, ...]], tuple[tuple[T_co, ...]]]:
        """Pickle as what it stands for: a tuple."""
        return tuple, (self.made(),)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...

    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        return self.made()[index]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.made())

    def __repr__(self) -> str:
        return repr(self.made())


class LazyHoldings(LazySequence[Holding]):
    """What every consumer (or every instance) holds of stateful tasks, by index; equal to a tuple of the same.

    ``extra_copies`` is how many warm-up and temporary copies are held.
    """

    __slots__ = ("extra_copies",)

    def __init__(self, length: int, make: Callable[[], tuple[Holding, ...]], extra_copies: int) -> None:
        super().__init__(length, make)
        self.extra_copies = extra_copies

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.made() == tuple(other) if isinstance(other, tuple | Holdings | LazyHoldings) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.made())


class RenumberedHoldings(LazyHoldings):
    """What members ``held``, by the index that each has among others (``to``)."""

    __slots__ = ("held", "to")

    def __init__(self, holdings: LazyHoldings, consumers: Sequence[int], length: int) -> None:
        super().__init__(length, partial(renumbered, holdings, consumers, length), holdings.extra_copies)
        self.held = holdings
        self.to = consumers


def renumbered(holdings: Sequence[Holding], consumers: Sequence[int], length: int) -> tuple[Holding, ...]:
    """Return what each of ``length`` consumers holds: ``consumers`` have the ``holdings``, the others nothing."""
    holdings_of_all = [_NOTHING] * length
    for consumer, holding in zip(consumers, holdings, strict=True):
        holdings_of_all[consumer] = holding
    return tuple(holdings_of_all)
