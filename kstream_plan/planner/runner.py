"""Runs independent simulations. One after the other by default; a caller of the planner may pass another runner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
#: The outcome of a simulation: figures by their names; ``None``: unknown.
Ends: TypeAlias = Mapping[str, int | None]


class Runner(Protocol):
    """Runs independent simulations, in any order. All of them can be pickled."""

    def begin(self, runs: Sequence[Callable[[], Any]], /) -> None:
        """Begin simulations whose outcomes are likely to be needed."""
        ...

    def __call__(self, runs: Sequence[Callable[[], T]], /) -> Sequence[T]:
        """Return the outcome of each of these simulations, whether begun before or not."""
        ...

    def run_each(self, run: Callable[[int], T], number: int, /) -> Iterator[T]:
        """Yield the outcomes of 0 to ``number`` - 1 in their order, and simulate no more than are consumed."""
        ...


class _InTurn:
    def begin(self, runs: Sequence[Callable[[], Any]]) -> None:
        """Begin nothing: only one runs at a time."""

    def __call__(self, runs: Sequence[Callable[[], T]]) -> Sequence[T]:
        return [run() for run in runs]

    def run_each(self, run: Callable[[int], T], number: int) -> Iterator[T]:
        return map(run, range(number))


#: Runs simulations one after the other.
sequential: Runner = _InTurn()
