"""What is decided and held after each of many rounds whose steps are rows, made when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from kstream_plan.model import Group, Holding, LazyHoldings
from kstream_plan.plans.replay import Outcome, replay
from kstream_plan.plans.step_rows import StepRows

#: Returns what was decided in the last round and is held since, sooner than from the steps.
Current: TypeAlias = Callable[[], Outcome]


class HoldingsLog:
    """The steps of rounds that follow one another in one group, from what was held before the first of them.

    It is about stateful tasks alone. To make an outcome takes the rounds since the last one before it that was made;
    every one that is made on the way is kept.
    """

    def __init__(self, group: Group, initial: Sequence[Holding], current: Current | None = None) -> None:
        """``initial`` is by consumer of ``group``; ``current`` is asked for no more than the last round so far."""
        self._group = group
        self._initial = initial
        self._current = current
        self._rounds: list[StepRows] = []
        #: by round, as far as it was made
        self._made: dict[int, Outcome] = {}
        self._replayed = -1
        self._replay = replay(group, initial, self._rows_after(-1))

    def add(self, steps: StepRows, *, warmups: int, temporary: int) -> tuple[LazyHoldings, LazyHoldings]:
        """Add a round; return what it decides, and what is held after it.

        Of the ``steps`` the rows count: what those of members do was done to what was held first. ``warmups`` and
        ``temporary`` are how many such copies are held after it.
        """
        number, consumers = len(self._rounds), len(self._group.consumer_ids)
        self._rounds.append(steps)
        return (
            LazyHoldings(consumers, partial(self._decided, number), warmups),
            LazyHoldings(consumers, partial(self._assigned, number), warmups + temporary),
        )

    def close(self) -> None:
        """Keep what the last round decided and left, and ask for what is current no more: it is going to change."""
        if self._rounds and self._current is not None:
            self.outcome(len(self._rounds) - 1)
        self._current = None

    def outcome(self, number: int) -> Outcome:
        """Return what a round decides and what is held after it, by consumer; the first round is 0."""
        found = self._made.get(number)
        if found is None and self._current is not None and number == len(self._rounds) - 1:
            found = self._made[number] = self._current()
        return self._replayed_to(number) if found is None else found

    def _replayed_to(self, number: int) -> Outcome:
        """Go on from the round that was made last, or from a known one that is closer."""
        if self._replayed != number - 1:
            known = max((made for made in self._made if made < number), default=-1)
            if not known <= self._replayed < number:
                self._begin_after(known)
        while self._replayed < number:
            self._replayed += 1
            outcome = next(self._replay)
            self._made.setdefault(self._replayed, outcome)
        return self._made[number]

    def _begin_after(self, known: int) -> None:
        held = self._initial if known < 0 else self._made[known].assigned
        self._replay, self._replayed = replay(self._group, held, self._rows_after(known)), known

    def _rows_after(self, number: int) -> Iterator[StepRows]:
        """Yield the rows of each round after this one, also of those that are added meanwhile."""
        while (number := number + 1) < len(self._rounds):
            yield self._rounds[number].with_members(())

    def _decided(self, number: int) -> tuple[Holding, ...]:
        return self.outcome(number).decided

    def _assigned(self, number: int) -> tuple[Holding, ...]:
        return self.outcome(number).assigned
