"""From steps back to what was decided and held: the effects that the steps' docstrings state, carried out."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.model import Group, Holding
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.seats import Role
from kstream_plan.plans.step_rows import HAND_OVER, MEMBER_LEFT, NO_SEAT, PROMOTE, THREAD_MOVE, WITHHOLD, Rows

#: In the order of a holding's fields.
_ROLES = tuple(Role)
#: The rows that end any copy of the instance instead of what was at their ``from_consumer``.
BEGINS_ALONE = (HAND_OVER, PROMOTE, THREAD_MOVE)
#: Owner, consumer that is to have it, and task.
_Withheld: TypeAlias = tuple[int, int, int]


class Outcome(NamedTuple):
    """What one round decided and what the members then hold, both by consumer index."""

    decided: tuple[Holding, ...]
    assigned: tuple[Holding, ...]


def replay(group: Group, initial: Sequence[Holding], rounds_of_steps: Iterable[RoundSteps]) -> Iterator[Outcome]:
    """Yield the outcome of each round, given the steps of each by the indices of the group, and what was held before.

    Raises:
        ValueError: a step does not fit what is held: it ends a role that is not there or begins one that is.
    """
    members = _Members(group, initial)
    for steps in rounds_of_steps:
        withheld = [*members.apply(steps.every_row)]
        assigned = members.holdings()
        yield Outcome(_decided(group, assigned, withheld), assigned)


def _decided(group: Group, assigned: tuple[Holding, ...], withheld: list[_Withheld]) -> tuple[Holding, ...]:
    """Return decided = (assigned - temporary - withheld from others) + withheld, consumer by consumer.

    An instance that is to run a task keeps no copy of it. Whoever has a turn of its own later
    may still hold what is to go, and may have got by then what was withheld.
    """
    decided = [held._replace(temporary=()) if held.temporary else held for held in assigned]
    for owner, consumer, task in withheld:
        if task in decided[owner].active:
            active = tuple(other for other in decided[owner].active if other != task)
            decided[owner] = decided[owner]._replace(active=active)
        for other in group.consumers_of[group.instance_of[consumer]]:
            if task in decided[other].standby:
                standby = tuple(copy for copy in decided[other].standby if copy != task)
                decided[other] = decided[other]._replace(standby=standby)
        held = decided[consumer]
        place = bisect_left(held.active, task)
        if place == len(held.active) or held.active[place] != task:
            decided[consumer] = held._replace(active=(*held.active[:place], task, *held.active[place:]))
    return tuple(decided)


class _Members:
    """What every consumer holds, by role, in task order; the draft that the steps change."""

    def __init__(self, group: Group, initial: Sequence[Holding]) -> None:
        self._group = group
        #: by consumer and place of the role among all
        self._roles = [[sorted(getattr(held, role)) for role in _ROLES] for held in initial]
        self._frozen = list(initial)
        #: by instance and task who of it holds the task in which roles
        self._seats: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for consumer, roles in enumerate(self._roles):
            for role, tasks in enumerate(roles):
                for task in tasks:
                    self._seats[group.instance_of[consumer], task].append((consumer, role))
        self._changed: set[tuple[int, int]] = set()

    def holdings(self) -> tuple[Holding, ...]:
        changed: dict[int, list[tuple[int, ...]]] = {}
        for consumer, role in self._changed:
            held = changed.setdefault(consumer, list(self._frozen[consumer]))
            held[role] = tuple(self._roles[consumer][role])
        for consumer, held in changed.items():
            self._frozen[consumer] = Holding(*held)
        self._changed.clear()
        return tuple(self._frozen)

    def apply(self, rows: Rows) -> Iterator[_Withheld]:
        """Do what each of these rows does, by the indices of the group; yield what is withheld."""
        fields = ("kind", "task", "from_consumer", "from_role", "to_consumer", "to_role")
        for kind, task, from_, from_role, to, to_role in zip(*(rows[of].tolist() for of in fields), strict=True):
            if kind == WITHHOLD:
                yield from_, to, task
                continue
            if kind == MEMBER_LEFT:
                self._empty(self._group.instance_of[from_])
                continue
            if kind in BEGINS_ALONE:
                self._end_copies(task, to)
            elif from_ != NO_SEAT:
                self._end(task, from_, from_role)
            if to != NO_SEAT:
                self._begin(task, to, to_role)

    def _begin(self, task: int, consumer: int, role: int) -> None:
        tasks = self._roles[consumer][role]
        place = bisect_left(tasks, task)
        if place < len(tasks) and tasks[place] == task:
            raise ValueError(f"{self._named(task, consumer, 'holds')} as {_ROLES[role]} already")
        tasks.insert(place, task)
        self._seats[self._group.instance_of[consumer], task].append((consumer, role))
        self._changed.add((consumer, role))

    def _end(self, task: int, consumer: int, role: int) -> None:
        if not self._removed(consumer, role, task):
            raise ValueError(f"{self._named(task, consumer, 'does not hold')} as {_ROLES[role]}")

    def _named(self, task: int, consumer: int, verb: str) -> str:
        return f"{self._group.consumer_ids[consumer]!r} {verb} {self._group.tasks[task].task_id}"

    def _end_copies(self, task: int, consumer: int) -> None:
        """End whatever the consumer's instance holds of the task, on any of its consumers."""
        for other, role in tuple(self._seats[self._group.instance_of[consumer], task]):
            self._removed(other, role, task)

    def _removed(self, consumer: int, role: int, task: int) -> bool:
        tasks = self._roles[consumer][role]
        place = bisect_left(tasks, task)
        if place == len(tasks) or tasks[place] != task:
            return False
        del tasks[place]
        self._seats[self._group.instance_of[consumer], task].remove((consumer, role))
        self._changed.add((consumer, role))
        return True

    def _empty(self, instance: int) -> None:
        for consumer in self._group.consumers_of[instance]:
            for role, tasks in enumerate(self._roles[consumer]):
                for task in tasks:
                    self._seats[instance, task].remove((consumer, role))
                tasks.clear()
                self._changed.add((consumer, role))
