"""From steps back to decisions and assignments: the effects that the steps' docstrings state, carried out.

A log of rounds whose steps are rows makes their outcomes so when they are read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import Group, Holding, LazyHoldings
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import HAND_OVER, MEMBER_LEFT, NO_SEAT, PROMOTE, THREAD_MOVE, WITHHOLD, Rows
from kstream_plan.plans.steps import Role

#: In the order of a holding's fields.
_ROLES = tuple(Role)
#: The rows that end any copy of the instance instead of what was at their ``from_consumer``.
BEGINS_ALONE = (HAND_OVER, PROMOTE, THREAD_MOVE)
#: Owner, consumer that is to have it, and task.
_Withheld: TypeAlias = tuple[int, int, int]


class Outcome(NamedTuple):
    """The decision of one round and the holdings of the members after it, both by consumer index."""

    decision: tuple[Holding, ...]
    assignment: tuple[Holding, ...]


def replay(group: Group, initial: Sequence[Holding], rounds_of_steps: Iterable[RoundSteps]) -> Iterator[Outcome]:
    """Yield the outcome of each round, given the steps of each by the indices of the group, and the holdings before.

    Raises:
        ValueError: a step does not fit what is held: it ends a role that is not there or begins one that is.
    """
    members = _Members(group, initial)
    for steps in rounds_of_steps:
        withheld_tasks = [*members.apply(steps.every_row)]
        assignment = members.holdings()
        yield Outcome(_decision_of(group, assignment, withheld_tasks), assignment)


def _decision_of(group: Group, assignment: tuple[Holding, ...], withheld_tasks: list[_Withheld]) -> tuple[Holding, ...]:
    """Return decided = (assigned - temporary - withheld from others) + withheld, consumer by consumer.

    An instance that is to run a task keeps no copy of it. A member with a later update of its own
    may still hold a task that it is to give up, and may have got by then a task that was withheld.
    """
    decision = [holding._replace(temporary=()) if holding.temporary else holding for holding in assignment]
    for owner, consumer, task in withheld_tasks:
        if task in decision[owner].active:
            active = tuple(active_task for active_task in decision[owner].active if active_task != task)
            decision[owner] = decision[owner]._replace(active=active)
        for sibling in group.consumers_of[group.instance_of[consumer]]:
            if task in decision[sibling].standby:
                standby = tuple(copy for copy in decision[sibling].standby if copy != task)
                decision[sibling] = decision[sibling]._replace(standby=standby)
        holding = decision[consumer]
        place = bisect_left(holding.active, task)
        if place == len(holding.active) or holding.active[place] != task:
            decision[consumer] = holding._replace(active=(*holding.active[:place], task, *holding.active[place:]))
    return tuple(decision)


class _Members:
    """The holdings of all consumers, by role, in task order; the draft that the steps change."""

    def __init__(self, group: Group, initial: Sequence[Holding]) -> None:
        self._group = group
        #: by consumer and place of the role among all
        self._roles = [[sorted(getattr(holding, role)) for role in _ROLES] for holding in initial]
        self._frozen = list(initial)
        #: by instance and task the consumers of it that hold the task, with their roles
        self._seats: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for consumer, roles in enumerate(self._roles):
            for role, tasks in enumerate(roles):
                for task in tasks:
                    self._seats[group.instance_of[consumer], task].append((consumer, role))
        self._changed_seats: set[tuple[int, int]] = set()

    def holdings(self) -> tuple[Holding, ...]:
        changed_roles: dict[int, list[tuple[int, ...]]] = {}
        for consumer, role in self._changed_seats:
            roles = changed_roles.setdefault(consumer, list(self._frozen[consumer]))
            roles[role] = tuple(self._roles[consumer][role])
        for consumer, roles in changed_roles.items():
            self._frozen[consumer] = Holding(*roles)
        self._changed_seats.clear()
        return tuple(self._frozen)

    def apply(self, rows: Rows) -> Iterator[_Withheld]:
        """Apply these rows, by the indices of the group; yield the withheld tasks."""
        fields = ("kind", "task", "from_consumer", "from_role", "to_consumer", "to_role")
        columns = (rows[name].tolist() for name in fields)
        for kind, task, from_consumer, from_role, to_consumer, to_role in zip(*columns, strict=True):
            if kind == WITHHOLD:
                yield from_consumer, to_consumer, task
                continue
            if kind == MEMBER_LEFT:
                self._empty(self._group.instance_of[from_consumer])
                continue
            if kind in BEGINS_ALONE:
                self._end_copies(task, to_consumer)
            elif from_consumer != NO_SEAT:
                self._end(task, from_consumer, from_role)
            if to_consumer != NO_SEAT:
                self._begin(task, to_consumer, to_role)

    def _begin(self, task: int, consumer: int, role: int) -> None:
        tasks = self._roles[consumer][role]
        place = bisect_left(tasks, task)
        if place < len(tasks) and tasks[place] == task:
            raise ValueError(f"{self._sentence(task, consumer, 'holds')} as {_ROLES[role]} already")
        tasks.insert(place, task)
        self._seats[self._group.instance_of[consumer], task].append((consumer, role))
        self._changed_seats.add((consumer, role))

    def _end(self, task: int, consumer: int, role: int) -> None:
        if not self._removed(consumer, role, task):
            raise ValueError(f"{self._sentence(task, consumer, 'does not hold')} as {_ROLES[role]}")

    def _sentence(self, task: int, consumer: int, verb: str) -> str:
        return f"{self._group.consumer_ids[consumer]!r} {verb} {self._group.tasks[task].task_id}"

    def _end_copies(self, task: int, consumer: int) -> None:
        """End whatever the consumer's instance holds of the task, on any of its consumers."""
        for sibling, role in tuple(self._seats[self._group.instance_of[consumer], task]):
            self._removed(sibling, role, task)

    def _removed(self, consumer: int, role: int, task: int) -> bool:
        tasks = self._roles[consumer][role]
        place = bisect_left(tasks, task)
        if place == len(tasks) or tasks[place] != task:
            return False
        del tasks[place]
        self._seats[self._group.instance_of[consumer], task].remove((consumer, role))
        self._changed_seats.add((consumer, role))
        return True

    def _empty(self, instance: int) -> None:
        for consumer in self._group.consumers_of[instance]:
            for role, tasks in enumerate(self._roles[consumer]):
                for task in tasks:
                    self._seats[instance, task].remove((consumer, role))
                tasks.clear()
                self._changed_seats.add((consumer, role))


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
