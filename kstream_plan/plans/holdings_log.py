"""The decision and the assignment of each of many rounds whose steps are rows, made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, TypeAlias

from kstream_plan.model import Group, Holding, LazyHoldings
from kstream_plan.plans.replay import Outcome, replay
from kstream_plan.plans.round_steps import RoundSteps

#: Returns what was decided in the last round and is held since, sooner than from the steps.
Current: TypeAlias = Callable[[], Outcome]


class HoldingsLog:
    """The steps of rounds that follow one another in one group, from what was held before the first of them.

    It is about stateful tasks alone. To make an outcome takes the rounds since the last one before it that was made;
    every one that is made on the way is kept.
    """

    def __init__(self, group: Group, initial: Sequence[Holding], current: Current | None = None) -> None:
        """``initial`` is by consumer of ``group``; ``current`` is asked for no more than the last round so far."""
        self.group = group
        self._initial = initial
        self._current = current
        self._rounds: list[RoundSteps] = []
        #: Outcomes by round, as far as they are made, and the rounds whose outcome is the current one of their time.
        self._outcomes: dict[int, Outcome] = {}
        self._current_rounds: set[int] = set()
        self._replayed = -1
        self._replay = replay(group, initial, _rows_after(self._rounds, -1))

    def add(self, steps: RoundSteps, *, warmups: int, temporary: int) -> tuple[LoggedHoldings, LoggedHoldings]:
        """Add a round; return what it decides, and what is held after it.

        ``warmups`` and ``temporary`` are how many such copies are held after it.
        """
        number = len(self._rounds)
        self._rounds.append(steps)
        return (
            LoggedHoldings(self, number, "decision", warmups),
            LoggedHoldings(self, number, "assignment", warmups + temporary),
        )

    def close(self) -> None:
        """Keep what the last round decided and left, and ask for what is current no more: it is going to change."""
        if self._rounds and self._current is not None:
            self.outcome(len(self._rounds) - 1)
        self._current = None

    def outcome(self, number: int) -> Outcome:
        """Return what a round decides and what is held after it, by consumer; the first round is 0.

        Raises:
            ValueError: a step does not fit what is held.
        """
        if number not in self._outcomes and self._is_current(number):
            assert self._current is not None
            self._outcomes[number] = self._current()
            self._current_rounds.add(number)
        return self._outcomes[number] if number in self._outcomes else self._replayed_to(number)

    def held_before(self, number: int) -> Sequence[Holding]:
        """Return what is held before a round, by consumer."""
        return self.outcome(number - 1).assignment if number else self._initial

    def steps_of(self, number: int) -> RoundSteps:
        """Return the steps of a round."""
        return self._rounds[number]

    def was_current(self, number: int) -> bool:
        """Tell whether a round's outcome was current after it, and is not made of the steps."""
        return number in self._current_rounds or self._is_current(number)

    def _is_current(self, number: int) -> bool:
        return self._current is not None and number == len(self._rounds) - 1

    def _replayed_to(self, number: int) -> Outcome:
        """Go on from the round that was made last, or from a known one that is closer."""
        earlier_rounds = range(number - 1, -1, -1)
        start_round = next(
            (place for place in earlier_rounds if place == self._replayed or place in self._outcomes), -1
        )
        if start_round != self._replayed:
            self._begin_after(start_round)
        while self._replayed < number:
            try:
                outcome = next(self._replay)
            except ValueError:  # nothing comes after that: the next call raises the same
                self._begin_after(-1)
                raise
            self._replayed += 1
            self._outcomes.setdefault(self._replayed, outcome)
        return self._outcomes[number]

    def _begin_after(self, start_round: int) -> None:
        holdings = self._initial if start_round < 0 else self._outcomes[start_round].assignment
        self._replay, self._replayed = replay(self.group, holdings, _rows_after(self._rounds, start_round)), start_round


class LoggedHoldings(LazyHoldings):
    """What a round of a log decides, or what is held after it (``field``: as :class:`Outcome` has it)."""

    __slots__ = ("field", "log", "number")

    def __init__(
        self, log: HoldingsLog, number: int, field: Literal["decision", "assignment"], extra_copies: int
    ) -> None:
        super().__init__(len(log.group.consumer_ids), partial(_holdings_of, log, number, field), extra_copies)
        self.log = log
        self.number = number
        self.field = field


def _holdings_of(log: HoldingsLog, number: int, field: Literal["decision", "assignment"]) -> tuple[Holding, ...]:
    outcome = log.outcome(number)
    return outcome.decision if field == "decision" else outcome.assignment


def _rows_after(rounds: Sequence[RoundSteps], number: int) -> Iterator[RoundSteps]:
    """Yield the rows of each round after this one, also of those that are added meanwhile."""
    while (number := number + 1) < len(rounds):
        yield rounds[number]
