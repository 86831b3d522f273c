"""Which rounds of a plan are proven to break no invariant of who runs and keeps what, many of them at once.

These are rounds whose steps are rows, and whose outcomes a log makes of these very rows. The others may be as sound:
they are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Group, Holding, RenumberedHoldings, renumbered
from kstream_plan.plans import Plan, Round
from kstream_plan.plans.holdings_log import HoldingsLog, LoggedHoldings
from kstream_plan.plans.replay import Outcome, replay
from kstream_plan.plans.step_rows import WITHHOLD, RowTally, StepRows

if TYPE_CHECKING:
    from kstream_plan.plans.invariants.copies_in_rows import Asked

#: So many rounds are proven at once: what is made of their rows is not to fill the memory.
_AT_ONCE = 1000


class Proven(NamedTuple):
    """Rounds that follow one another: the index of the first, and of each whether anything is withheld."""

    first: int
    withhold: list[bool]

    @property
    def end(self) -> int:
        """The index after the last one."""
        return self.first + len(self.withhold)


class _Entry(NamedTuple):
    """A round, by its index in the plan, as it is in a log; ``to`` has the plan's index of each of its consumers."""

    round_index: int
    steps: StepRows
    log: HoldingsLog
    number: int
    to: Sequence[int]

    @property
    def begins(self) -> bool:
        """Whether it is known what is held before, without a replay."""
        return self.number == 0 or self.log.is_told(self.number - 1)

    def follows(self, other: _Entry) -> bool:
        """Tell whether it comes next in the same log."""
        return (self.log, self.number, self.to) == (other.log, other.number + 1, other.to)


def proven(plan: Plan, tasks: Sequence[int]) -> tuple[Proven, ...]:
    """Return the rounds that are proven, in each of which these ``tasks`` and no others are run."""
    found = (_proof(plan, tasks, stretch) for stretch in _stretches(plan))
    return tuple([one for one in found if one is not None])


def held_before(plan: Plan, index: int) -> Sequence[Holding]:
    """Return what is held before a round, by its index; at the index after the last one, what is held after that."""
    return plan.rounds[index - 1].assigned if index else plan.initial


def _stretches(plan: Plan) -> Iterator[list[_Entry]]:
    """Yield the rounds that follow one another in a log, between one whose outcome it was told and the next such."""
    stretch: list[_Entry] = []
    for index, rnd in enumerate(plan.rounds):
        entry = _entry(index, rnd)
        if entry is None or (stretch and not entry.follows(stretch[-1])):
            stretch = []
        if entry is not None and (stretch or entry.begins):
            stretch.append(entry)
            if entry.log.is_told(entry.number):
                yield stretch
                stretch = []


def _entry(index: int, rnd: Round) -> _Entry | None:
    """Return where a round is in a log that makes its outcome of its steps, if all of these are rows."""
    steps, (decided, to), (assigned, other_to) = rnd.steps, _as_made(rnd.decided), _as_made(rnd.assigned)
    if not isinstance(steps, StepRows) or steps.members or rnd.turns:
        return None
    if not isinstance(decided, LoggedHoldings) or not isinstance(assigned, LoggedHoldings):
        return None
    log, number = decided.log, decided.number
    fit = (assigned.log, assigned.number, other_to) == (log, number, to)
    fit = fit and (decided.field, assigned.field) == Outcome._fields
    of_these = log.group is steps.maker.group and log.rows_of(number) is steps.rows
    return _Entry(index, steps, log, number, to) if fit and of_these else None


def _as_made(holdings: Sequence[Holding]) -> tuple[Sequence[Holding], Sequence[int]]:
    """Return what is held by those that it was made for, and the index here of each."""
    if isinstance(holdings, RenumberedHoldings):
        return holdings.held, holdings.to
    return holdings, range(len(holdings))


def _proof(plan: Plan, tasks: Sequence[int], stretch: list[_Entry]) -> Proven | None:
    """Prove that the rounds of a stretch are sound, and come to the outcome that their log was told."""
    from kstream_plan.plans.invariants.copies_in_rows import Seats, played  # noqa: PLC0415 - numpy takes its time

    first, last, asked = stretch[0], stretch[-1], _asked(plan, tasks, stretch)
    group, held = first.log.group, first.log.held_before(first.number)
    seats, withhold = Seats.of(held), list[bool]()
    if asked is None or not _are_of(plan.group, group, first.to) or held != seats.holdings(len(held)):
        return None
    if held_before(plan, first.round_index) != renumbered(held, first.to, len(plan.group.consumer_ids)):
        return None
    for start in range(0, len(stretch), _AT_ONCE):
        rows = [entry.steps.rows for entry in stretch[start : start + _AT_ONCE]]
        found = played(group, seats, rows, asked)
        if found is None:
            return None
        withhold += found[0]
        seats = found[1]
    withheld = StepRows(last.steps.maker, (), rows[-1][rows[-1]["kind"] == WITHHOLD], RowTally())
    outcome = next(replay(group, seats.holdings(len(held)), [withheld]))
    return Proven(first.round_index, withhold) if outcome == last.log.outcome(last.number) else None


def _are_of(everyone: Group, group: Group, to: Sequence[int]) -> bool:
    """Tell whether ``to`` has the index among everyone of each consumer of a group, and the tasks are the same."""
    return group.tasks == everyone.tasks and [everyone.consumer_index.get(of) for of in group.consumer_index] == [*to]


def _asked(plan: Plan, tasks: Sequence[int], stretch: list[_Entry]) -> Asked | None:
    """Return what is asked of the rounds of a stretch; ``None``: not the same of all."""
    from kstream_plan.plans.invariants.copies_in_rows import Asked  # noqa: PLC0415 - numpy takes its time

    configs = {plan.config_of(plan.rounds[entry.round_index].number) for entry in stretch}
    if len(configs) > 1:
        return None
    named = {named for note in plan.warnings if note.code == "standbys-short" for named in note.subjects}
    short = [task for task in tasks if named and str(plan.group.tasks[task].task_id) in named]
    stopping = [consumer for consumer, of_plan in enumerate(stretch[0].to) if of_plan in plan.stopping]
    return Asked(configs.pop(), tasks, short, stopping)
