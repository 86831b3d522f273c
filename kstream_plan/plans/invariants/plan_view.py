"""What the invariants look at: a plan, and what changes in it from round to round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import or_
from typing import NamedTuple

from kstream_plan.model import Holding
from kstream_plan.model.holding_changes import apart_from_stateless, changed_holdings, difference, unlike
from kstream_plan.plans import Plan, Revoke, Round, Step
from kstream_plan.plans.invariants.proofs import Proven, held_before
from kstream_plan.plans.invariants.stateless import StatelessTasks, check_stateless, held_as_numbers
from kstream_plan.plans.replay import replay
from kstream_plan.plans.step_rows import StepRows


class Delta(NamedTuple):
    """What a consumer lost and got in one role (by its place in :class:`~kstream_plan.model.Holding`)."""

    consumer: int
    role: int
    lost: Sequence[int]
    gained: Sequence[int]


@dataclass(frozen=True, eq=False)
class PlanView:
    """A plan to be checked; what changes in it is found once for all invariants.

    Stateless tasks that are numbers are looked at apart (``stateless``); ``plan`` is the ``whole`` one without them.
    ``proven`` are the rounds that need not be looked at one by one.
    """

    whole: Plan
    plan: Plan
    stateless: StatelessTasks | None
    proven: tuple[Proven, ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> PlanView:
        """Return the view of a plan, with nothing proven."""
        if not held_as_numbers(plan):
            return cls(plan, plan, None)
        return cls(plan, _apart_from_stateless(plan), check_stateless(plan))

    @cached_property
    def tasks(self) -> Sequence[int]:
        """The tasks that are looked at."""
        return range(len(self.plan.group.tasks)) if self.stateless is None else self.plan.group.stateful

    @cached_property
    def parts(self) -> list[PlanView]:
        """What comes before, between and after what is proven, each as a plan of its own."""
        if not self.proven:
            return [self]
        firsts, ends = [0, *(of.end for of in self.proven)], [*(of.first for of in self.proven), len(self.plan.rounds)]
        return [self._part(first, end) for first, end in zip(firsts, ends, strict=True)]

    def _part(self, first: int, end: int) -> PlanView:
        plan = self.plan
        final = plan.final if end == len(plan.rounds) else held_before(plan, end)
        part = replace(plan, initial=held_before(plan, first), rounds=plan.rounds[first:end], final=final)
        return replace(self, plan=part, proven=())

    @cached_property
    def decided(self) -> list[list[Delta]]:
        """What changes in each round of what is decided; in the first one that is everything."""
        return list(_deltas([rnd.decided for rnd in self.plan.rounds]))

    @cached_property
    def held(self) -> list[list[Delta]]:
        """What changes of what is held: at first everything, then round by round."""
        return list(_deltas([self.plan.initial, *(rnd.assigned for rnd in self.plan.rounds)]))

    @cached_property
    def in_time(self) -> list[tuple[int, list[Delta]]]:
        """What changes of what is held, each with the number of its round: at first everything, then time by time.

        Round by round where the steps do not fit what is held: they are not lossless then, or not in order.
        """
        if not any(rnd.turns for rnd in self.plan.rounds):
            return list(enumerate(self.held))
        numbers, history = [0], [self.plan.initial]
        for rnd in self.plan.rounds:
            moments = (steps for _, steps in rnd.moments)
            try:
                held = [outcome.assigned for outcome in replay(self.plan.group, history[-1], moments)]
            except ValueError:
                return list(enumerate(self.held))
            numbers += [rnd.number] * len(held)
            history += held
        return list(zip(numbers, _deltas(history), strict=True))

    @cached_property
    def withheld(self) -> list[set[tuple[int, int]]]:
        """Round by round the consumers and tasks that were decided and not handed over."""
        return [_withheld(rnd) for rnd in self.plan.rounds]

    @cached_property
    def follow_ups(self) -> list[bool]:
        """Round by round whether anything is withheld."""
        stateful = [bool(withheld) for withheld in self.parts[0].withheld]
        for known, part in zip(self.proven, self.parts[1:], strict=True):
            stateful += [*known.withhold, *map(bool, part.withheld)]
        return stateful if self.stateless is None else list(map(or_, stateful, self.stateless.withheld))

    def name(self, task: int) -> str:
        """Return a task's id as text."""
        return str(self.plan.group.tasks[task].task_id)

    def process(self, instance: int) -> str:
        """Return an instance's process id."""
        return self.plan.group.instances[instance].process_id


def _apart_from_stateless(plan: Plan) -> Plan:
    stateless = {plan.group.tasks[task].task_id for task in plan.group.stateless}

    def kept(steps: Sequence[Step]) -> Sequence[Step]:
        if isinstance(steps, StepRows):
            return steps.with_members(tuple(kept(steps.members)))
        # who ran a stateless task that is revoked has stopped that thread
        return tuple(step for step in steps if not isinstance(step, Revoke) or step.task_id not in stateless)

    rounds = (
        replace(
            rnd,
            steps=kept(rnd.single_steps),
            decided=apart_from_stateless(rnd.decided),
            assigned=apart_from_stateless(rnd.assigned),
        )
        for rnd in plan.rounds
    )
    initial, final = map(apart_from_stateless, (plan.initial, plan.final))
    return replace(plan, initial=initial, rounds=tuple(rounds), final=final)


def _deltas(history: Sequence[Sequence[Holding]]) -> Iterator[list[Delta]]:
    for _, changes in changed_holdings(history):
        yield [
            Delta(consumer, role, *difference(before, after))
            for consumer, old, new in changes
            for role, (before, after) in enumerate(zip(old, new, strict=True))
            if before is not after
        ]


def _withheld(rnd: Round) -> set[tuple[int, int]]:
    return {
        (consumer, task)
        for consumer in unlike(rnd.decided, rnd.assigned)
        for task in difference(rnd.decided[consumer].active, rnd.assigned[consumer].active)[0]
    }
