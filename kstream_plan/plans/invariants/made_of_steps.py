"""Which rounds of a plan have holdings that are made of their steps when somebody looks at them, by a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kstream_plan.model import Holding, RenumberedHoldings, renumbered
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans import Plan, Round
from kstream_plan.plans.holdings_log import HoldingsLog, LoggedHoldings
from kstream_plan.plans.replay import Outcome
from kstream_plan.plans.round_steps import RoundSteps


class _Entry(NamedTuple):
    """A round, by its index in the plan, as it is in a log; ``to`` has the plan's index of each of its consumers."""

    round_index: int
    log: HoldingsLog
    number: int
    to: Sequence[int]

    @property
    def begins(self) -> bool:
        """Whether it is known what is held before, without a replay."""
        return self.number == 0 or self.log.was_current(self.number - 1)

    def follows(self, other: _Entry) -> bool:
        """Tell whether it comes next in the same log."""
        return (self.log, self.number, self.to) == (other.log, other.number + 1, other.to)


def made_of_steps(plan: Plan, *, apart: bool) -> Iterator[range]:
    """Yield the rounds that follow one another in a log, up to one whose outcome the log was told apart from steps.

    What is held before the first of them is what the log goes on from. ``apart``: without the stateless tasks, which
    are numbers.
    """
    stretch: list[_Entry] = []
    for index, rnd in enumerate(plan.rounds):
        entry = _entry(index, rnd, apart=apart)
        if entry is None or (stretch and not entry.follows(stretch[-1])):
            stretch = []
        if entry is not None and (stretch or entry.begins):
            stretch.append(entry)
            if entry.log.was_current(entry.number):
                if _goes_on(plan, stretch[0], apart=apart):
                    yield range(stretch[0].round_index, index + 1)
                stretch = []


def _entry(index: int, rnd: Round, *, apart: bool) -> _Entry | None:
    """Return where a round is in a log that makes its outcome of its steps, if all of these are rows."""
    both = (rnd.decided, rnd.assigned)
    (decided, to), (assigned, other_to) = (_as_made(apart_from_stateless(of) if apart else of) for of in both)
    if rnd.turns or (rnd.stateless is not None and not apart):
        return None
    if not isinstance(decided, LoggedHoldings) or not isinstance(assigned, LoggedHoldings):
        return None
    log, number = decided.log, decided.number
    fit = (assigned.log, assigned.number, other_to) == (log, number, to)
    fit = fit and (decided.field, assigned.field) == Outcome._fields
    return _Entry(index, log, number, to) if fit and _tells(log.steps_of(number), rnd.steps) else None


def _tells(of_log: RoundSteps, steps: RoundSteps) -> bool:
    """Tell whether a log has the steps of a round, by the indices of who took part then."""
    if of_log.rows is steps.rows:
        return True
    rows, group = steps.rows, steps.maker.group
    if len(rows) != len(of_log.rows) or of_log.maker.group is group:
        return False
    return bool((steps.maker.translated(of_log.rows, of_log.maker) == rows).all())


def _as_made(holdings: Sequence[Holding]) -> tuple[Sequence[Holding], Sequence[int]]:
    """Return what is held by those that it was made for, and the index here of each."""
    if isinstance(holdings, RenumberedHoldings):
        return holdings.held, holdings.to
    return holdings, range(len(holdings))


def _goes_on(plan: Plan, first: _Entry, *, apart: bool) -> bool:
    """Tell whether the log has the plan's tasks and consumers, and goes on from what the plan says is held."""
    everyone, group, index = plan.group, first.log.group, first.round_index
    if group.tasks != everyone.tasks:
        return False
    if [everyone.consumer_index.get(of) for of in group.consumer_index] != [*first.to]:
        return False
    held = plan.rounds[index - 1].assigned if index else plan.initial
    held = apart_from_stateless(held) if apart else held
    return held == renumbered(first.log.held_before(first.number), first.to, len(everyone.consumer_ids))
