"""The view that invariants check: a plan, and the changes of its steps, some rounds at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kstream_plan.model import Holding, RenumberedHoldings, renumbered
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans import Plan, Round
from kstream_plan.plans.invariants.changes import Copies, CopyChanges, Difference, Part, parts_of
from kstream_plan.plans.invariants.stateless import StatelessTasks, check_stateless, held_as_numbers
from kstream_plan.plans.replay import HoldingsLog, LoggedHoldings, Outcome
from kstream_plan.plans.round_steps import RoundSteps


@dataclass(eq=False)
class PlanView:
    """A plan to be checked. Stateless tasks that are numbers are checked apart (``stateless``).

    ``tasks`` are the others. ``withholds``: for each round that was checked, whether a task is withheld.
    """

    plan: Plan
    stateless: StatelessTasks | None
    tasks: Sequence[int]
    withholds: list[bool] = field(default_factory=list)

    @classmethod
    def of_plan(cls, plan: Plan) -> PlanView:
        """Return the view of a plan."""
        if not held_as_numbers(plan):
            return cls(plan, None, range(len(plan.group.tasks)))
        return cls(plan, check_stateless(plan), plan.group.stateful)

    def changes(self) -> Iterator[CopyChanges]:
        """Yield the changes of copies in all rounds, in time.

        Raises:
            ValueError: a row has a number that is none, or lacks one.
        """
        plan, apart = self.plan, self.stateless is not None
        copies = Copies(plan.group)
        copies_before = copies.numbers_of(self.looked_at(plan.initial))
        pending: Difference | None = None
        for part in self._parts():
            changes = CopyChanges(copies, part, copies_before, pending, apart=apart)
            self.withholds += changes.withholds
            yield changes
            copies_before, pending = changes.copies_after, changes.last_difference

    def looked_at(self, holdings: Sequence[Holding]) -> Sequence[Holding]:
        """Return holdings without the stateless tasks that are checked apart."""
        return holdings if self.stateless is None else apart_from_stateless(holdings)

    def _parts(self) -> Iterator[Part]:
        ends, rounds = 0, self.plan.rounds
        for stretch in made_of_steps(self.plan, apart=self.stateless is not None):
            yield from parts_of(rounds, ends, stretch.start)
            yield from parts_of(rounds, stretch.start, stretch.stop, stated=False)
            ends = stretch.stop
        yield from parts_of(rounds, ends) if rounds else [Part(0, (), range(0))]

    @property
    def follow_ups(self) -> list[bool]:
        """For each round whether a task is withheld."""
        if self.stateless is None:
            return self.withholds
        return [any(flags) for flags in zip(self.withholds, self.stateless.withholds, strict=True)]

    def name(self, task: int) -> str:
        """Return a task's id as text."""
        return str(self.plan.group.tasks[task].task_id)

    def process(self, instance: int) -> str:
        """Return an instance's process id."""
        return self.plan.group.instances[instance].process_id


class _Entry(NamedTuple):
    """A round, by its index in the plan, as it is in a log; ``plan_consumers``: the plan's index of its consumers."""

    round_index: int
    log: HoldingsLog
    number: int
    plan_consumers: Sequence[int]

    @property
    def begins(self) -> bool:
        """Whether the holdings before it are known without a replay."""
        return self.number == 0 or self.log.was_current(self.number - 1)

    def follows(self, previous: _Entry) -> bool:
        """Tell whether it comes right after ``previous`` in the same log."""
        return (self.log, self.number, self.plan_consumers) == (
            previous.log,
            previous.number + 1,
            previous.plan_consumers,
        )


def made_of_steps(plan: Plan, *, apart: bool) -> Iterator[range]:
    """Yield the rounds that follow one another in a log, up to one whose outcome the log has without its steps.

    The holdings before the first of them are those that the log goes on from. ``apart``: without the stateless tasks,
    which are numbers.
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
    """Return the place of a round in a log that makes its outcome of its steps, if all of these are rows."""
    (decision, plan_consumers), (assignment, other_consumers) = (
        _as_made(apart_from_stateless(holdings) if apart else holdings) for holdings in (rnd.decided, rnd.assigned)
    )
    if rnd.turns or (rnd.stateless is not None and not apart):
        return None
    if not isinstance(decision, LoggedHoldings) or not isinstance(assignment, LoggedHoldings):
        return None
    log, number = decision.log, decision.number
    fit = (assignment.log, assignment.number, other_consumers) == (log, number, plan_consumers)
    fit = fit and (decision.field, assignment.field) == Outcome._fields
    return _Entry(index, log, number, plan_consumers) if fit and _tells(log.steps_of(number), rnd.steps) else None


def _tells(of_log: RoundSteps, steps: RoundSteps) -> bool:
    """Tell whether a log has the steps of a round, by the indices of its members then."""
    if of_log.rows is steps.rows:
        return True
    rows, group = steps.rows, steps.maker.group
    if len(rows) != len(of_log.rows) or of_log.maker.group is group:
        return False
    return bool((steps.maker.translated(of_log.rows, of_log.maker) == rows).all())


def _as_made(holdings: Sequence[Holding]) -> tuple[Sequence[Holding], Sequence[int]]:
    """Return the holdings by the consumers that they were made for, and the index here of each."""
    if isinstance(holdings, RenumberedHoldings):
        return holdings.held, holdings.to
    return holdings, range(len(holdings))


def _goes_on(plan: Plan, first: _Entry, *, apart: bool) -> bool:
    """Tell whether the log has the plan's tasks and consumers, and goes on from the plan's holdings."""
    plan_group, group, index = plan.group, first.log.group, first.round_index
    if group.tasks != plan_group.tasks:
        return False
    if [plan_group.consumer_index.get(consumer) for consumer in group.consumer_index] != [*first.plan_consumers]:
        return False
    holdings = plan.rounds[index - 1].assigned if index else plan.initial
    holdings = apart_from_stateless(holdings) if apart else holdings
    return holdings == renumbered(
        first.log.held_before(first.number), first.plan_consumers, len(plan_group.consumer_ids)
    )
