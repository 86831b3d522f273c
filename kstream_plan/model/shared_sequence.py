"""A frozen sequence of which a version with a few other items is made without copying the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress
from operator import is_not
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)

#: A piece has 2^9 items: for ten thousands of items about as long to copy as the list of pieces is to make.
_SHIFT = 9
_PIECE = 1 << _SHIFT
_WITHIN = _PIECE - 1


class SharedSequence(Sequence[T_co]):
    """Items in pieces; a changed version (:meth:`replaced`) shares the pieces that did not change.

    With thousands of tasks of which a round changes two, copying the rest would take longer than all else. It equals a
    tuple of the same items.
    """

    __slots__ = ("_pieces",)

    def __init__(self, items: Iterable[T_co] = ()) -> None:
        self._pieces: tuple[tuple[T_co, ...], ...] = _in_pieces(tuple(items))

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

    def of(self, indices: Iterable[int]) -> list[T_co]:
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
