"""What everybody holds, and other sequences, made when somebody looks at them: mostly nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar, overload

from kstream_plan.model.holding import Holding, Holdings

T_co = TypeVar("T_co", covariant=True)

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
