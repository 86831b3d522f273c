"""Runs independent simulations. One after the other by default; a caller of the planner may pass another runner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
#: The outcome of a simulation: figures by their names; ``None``: unknown.
Ends: TypeAlias = Mapping[str, int | None]


class SideBySide(Protocol):
    """Runs independent simulations, in any order. All of them can be pickled."""

    def begin(self, plays: Sequence[Callable[[], Any]], /) -> None:
        """Begin simulations whose outcomes are likely to be needed."""
        ...

    def __call__(self, plays: Sequence[Callable[[], T]], /) -> Sequence[T]:
        """Return the outcome of each of these simulations, whether begun before or not."""
        ...

    def run_each(self, play: Callable[[int], T], number: int, /) -> Iterator[T]:
        """Yield the outcomes of 0 to ``number`` - 1 in their order, and simulate no more than are consumed."""
        ...


class _InTurn:
    def begin(self, plays: Sequence[Callable[[], Any]]) -> None:
        """Begin nothing: only one runs at a time."""

    def __call__(self, plays: Sequence[Callable[[], T]]) -> Sequence[T]:
        return [play() for play in plays]

    def run_each(self, play: Callable[[int], T], number: int) -> Iterator[T]:
        return map(play, range(number))


#: Runs simulations one after the other.
in_turn: SideBySide = _InTurn()
