"""What everybody holds, made when somebody looks at it: mostly nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from kstream_plan.model.holding import Holding, Holdings


class LazyHoldings(Sequence[Holding]):
    """What every consumer (or every instance) holds of stateful tasks, by index; equal to a tuple of the same.

    It is made at first use, and kept. ``extra_copies`` is how many warm-up and temporary copies are held.
    """

    __slots__ = ("_holdings", "_length", "_make", "extra_copies")

    def __init__(self, length: int, make: Callable[[], tuple[Holding, ...]], extra_copies: int) -> None:
        """``make`` returns them, ``length`` of them; it is called once at most."""
        self._length = length
        self._make: Callable[[], tuple[Holding, ...]] | None = make
        self._holdings: tuple[Holding, ...] = ()
        self.extra_copies = extra_copies

    def made(self) -> tuple[Holding, ...]:
        """Return them as a tuple."""
        if self._make is not None:
            self._holdings, self._make = self._make(), None
        return self._holdings

    def __reduce__(self) -> tuple[type[tuple[Holding, ...]], tuple[tuple[Holding, ...]]]:
        """Pickle as what it stands for: a tuple."""
        return tuple, (self.made(),)

    @overload
    def __getitem__(self, index: int) -> Holding: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Holding, ...]: ...

    def __getitem__(self, index: int | slice) -> Holding | tuple[Holding, ...]:
        return self.made()[index]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Holding]:
        return iter(self.made())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.made() == tuple(other) if isinstance(other, tuple | Holdings | LazyHoldings) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.made())

    def __repr__(self) -> str:
        return repr(self.made())
