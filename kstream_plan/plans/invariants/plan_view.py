"""The view that invariants check: a plan, and the changes of its steps, some rounds at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kstream_plan.model import Holding
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans import Plan
from kstream_plan.plans.invariants.changes import Copies, CopyChanges, Difference, Part, parts_of
from kstream_plan.plans.invariants.made_of_steps import made_of_steps
from kstream_plan.plans.invariants.stateless import StatelessTasks, check_stateless, held_as_numbers


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
