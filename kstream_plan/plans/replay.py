"""From steps back to decisions and assignments: the effects that the steps' docstrings state, carried out."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.model import Group, Holding
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
