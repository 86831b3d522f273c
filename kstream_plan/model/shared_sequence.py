"""A frozen sequence of which a version with a few other items is made without copying the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress
from operator import is_not
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)

#: The items of a piece at first: for ten thousands of items about as long to copy as the list of pieces is to make.
_PIECE = 512


class SharedSequence(Sequence[T_co]):
    """Items in pieces; a changed version (:meth:`replaced`) shares the pieces that did not change.

    With thousands of tasks of which a round changes two, copying the rest would take longer than all else. It equals a
    tuple of the same items.
    """

    __slots__ = ("_pieces", "_starts")

    def __init__(self, items: Iterable[T_co] = ()) -> None:
        everything = tuple(items)
        self._pieces: tuple[tuple[T_co, ...], ...] = _in_pieces(everything)
        self._starts = _starts(self._pieces)

    def replaced(self, items: Mapping[int, T_co]) -> SharedSequence[T_co]:
        """Return the sequence with these items, by index, in the place of those that are there."""
        pieces = list(self._pieces)
        drafts: dict[int, list[T_co]] = {}
        for index, item in items.items():
            number = bisect_right(self._starts, index) - 1
            draft = drafts.setdefault(number, [])
            if not draft:
                draft += pieces[number]
            draft[index - self._starts[number]] = item
        for number, draft in drafts.items():
            pieces[number] = tuple(draft)
        return _made_of(tuple(pieces), self._starts)

    def unlike(self, other: SharedSequence[T_co]) -> list[int]:
        """Return, in order, where another object is than in a version of the same length."""
        if self._starts != other._starts or len(self) != len(other):
            return list(compress(range(len(self)), map(is_not, self, other)))
        found: list[int] = []
        for number in compress(range(len(self._pieces)), map(is_not, self._pieces, other._pieces)):
            piece, start = self._pieces[number], self._starts[number]
            found += compress(range(start, start + len(piece)), map(is_not, piece, other._pieces[number]))
        return found

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...

    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index < 0:
            index += len(self)
        number = bisect_right(self._starts, index) - 1
        if number < 0:
            raise IndexError(index)
        return self._pieces[number][index - self._starts[number]]

    def __len__(self) -> int:
        return self._starts[-1] + len(self._pieces[-1]) if self._pieces else 0

    def __iter__(self) -> Iterator[T_co]:
        return chain.from_iterable(self._pieces)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | SharedSequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _made_of(pieces: tuple[tuple[T_co, ...], ...], starts: list[int]) -> SharedSequence[T_co]:
    made: SharedSequence[T_co] = object.__new__(SharedSequence)
    made._pieces, made._starts = pieces, starts
    return made


def _in_pieces(items: tuple[T_co, ...]) -> tuple[tuple[T_co, ...], ...]:
    return tuple(items[start : start + _PIECE] for start in range(0, len(items), _PIECE))


def _starts(pieces: tuple[tuple[T_co, ...], ...]) -> list[int]:
    return list(accumulate(map(len, pieces[:-1]), initial=0)) if pieces else []
