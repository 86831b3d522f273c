"""Plays that do not hang on one another: one after the other here, or however whoever calls the planner plays them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
#: What comes of a play: figures by their names; ``None``: not known.
Ends: TypeAlias = Mapping[str, int | None]


class SideBySide(Protocol):
    """Plays what does not hang on one another, in whatever order. All of it can be pickled."""

    def begin(self, plays: Sequence[Callable[[], Any]], /) -> None:
        """Begin with what will perhaps be asked for."""
        ...

    def __call__(self, plays: Sequence[Callable[[], T]], /) -> Sequence[T]:
        """Return what comes of each of these plays, of those that were begun, too."""
        ...

    def each(self, play: Callable[[int], T], number: int, /) -> Iterator[T]:
        """Yield what comes of 0 to ``number`` - 1 in their order, no more of it than is asked for."""
        ...


class _InTurn:
    def begin(self, plays: Sequence[Callable[[], Any]]) -> None:
        """Begin with nothing: only one is played at a time."""

    def __call__(self, plays: Sequence[Callable[[], T]]) -> Sequence[T]:
        return [play() for play in plays]

    def each(self, play: Callable[[int], T], number: int) -> Iterator[T]:
        return map(play, range(number))


#: Plays one after the other.
in_turn: SideBySide = _InTurn()
