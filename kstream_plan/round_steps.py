"""The steps of one round: what changes for whom, and why.

The steps follow from what every instance held before and after; the reasons from the decision that was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, repeat
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import Assignment, Copy, Group, GroupState, Movement, TaskId
from kstream_plan.movement_queue import MovementQueue
from kstream_plan.ranking import is_caught_up
from kstream_plan.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    ThreadMove,
    Withhold,
)
from kstream_plan.transition import Transition

_ROLES = (Role.ACTIVE, Role.STANDBY, Role.WARMUP, Role.TEMPORARY)


class _Held(NamedTuple):
    consumer: int
    role: Role


#: (task, instance) → what the instance holds of the task
_Held_of: TypeAlias = dict[tuple[int, int], _Held]

#: What a step of a stateless task follows from: the task, its consumer before and after, who revoked it in the round
#: before, and whom it is withheld from now (``None``: nobody). Of a withheld one: the task, its owner, that consumer.
_Stateless: TypeAlias = tuple[int | None, ...]


class RoundSteps(NamedTuple):
    """The steps of a round, by task, at each task giving up before taking over; and those of stateful tasks alone."""

    all: tuple[Step, ...]
    stateful: tuple[Step, ...]


class StepMaker:
    """Makes the steps of one round after the other, for the same members under the same settings.

    Thousands of stateless tasks may go back and forth from round to round (they are dealt anew in each): a step that
    comes up again is the same object.
    """

    def __init__(self, group: Group, config: AssignmentConfig) -> None:
        self._group = group
        self._config = config
        self._known: dict[_Stateless, Step] = {}

    def steps_of(
        self, state: GroupState, decision: Assignment, transition: Transition, revoked_by: Mapping[int, int]
    ) -> RoundSteps:
        """Return the steps of one round.

        ``state`` is the group before the round, ``revoked_by`` maps each task that was revoked in the round before to
        the consumer that gave it up.
        """
        before, after = _held_otherwise(state, transition)
        changes: list[tuple[tuple[int, int], _Held | None, _Held | None]] = []
        changes += zip(before, before.values(), map(after.get, before), strict=True)
        changes += ((place, None, new) for place, new in after.items() if place not in before)
        stateless, known = self._group.stateless_set, self._known
        stateful = set(map(itemgetter(0), before.keys() | after.keys())).difference(stateless)
        explain = _Explanation(state, decision, transition, self._config, stateful)
        drafts: list[tuple[int, int, int, Step]] = []  # no two alike in the first three, so that these give the order
        for (task, instance), old, new in changes:
            step, key, revoked = None, None, revoked_by.get(task)
            if task in stateless:
                key = (task, old and old.consumer, new and new.consumer, revoked, explain.new_owner.get(task))
                step = known.get(key)
            if step is None:
                step = _step(explain, task, instance, old, new, revoked)
                if key is not None:
                    known[key] = step
            drafts.append((task, 0 if new is None else 2, instance, step))
        for task, owner, consumer, _ in transition.withheld:
            step = known.get((task, owner, consumer)) if task in stateless else None
            if step is None:
                step = explain.withhold(task, owner, consumer)
                if task in stateless:
                    known[task, owner, consumer] = step
            drafts.append((task, 1, consumer, step))
        drafts.sort()
        return RoundSteps(
            all=tuple(map(itemgetter(3), drafts)),
            stateful=tuple([draft[3] for draft in drafts if draft[0] in stateful]) if stateful else (),
        )


def _held_otherwise(state: GroupState, transition: Transition) -> tuple[_Held_of, _Held_of]:
    """What is held before and not after at the same consumer in the same role, and the other way round."""
    before: _Held_of = {}
    after: _Held_of = {}
    for consumer in transition.changed:
        instance = state.group.instance_of[consumer]
        for role, old, new in zip(_ROLES, state.holdings[consumer], transition.holdings[consumer], strict=True):
            if old != new:
                held, had, has = _Held(consumer, role), set(old), set(new)
                before.update(dict.fromkeys(zip(had - has, repeat(instance)), held))
                after.update(dict.fromkeys(zip(has - had, repeat(instance)), held))
    return before, after


def _step(
    explain: _Explanation, task: int, instance: int, old: _Held | None, new: _Held | None, revoked_by: int | None
) -> Step:
    if new is None:
        assert old is not None
        return explain.given_up(task, old)
    if new.role is Role.ACTIVE:
        return explain.started(task, instance, old, new, revoked_by)
    return explain.copied(task, instance, old, new)


def _movements_of(tasks: set[int], movements: Sequence[Movement]) -> list[Movement]:
    if isinstance(movements, MovementQueue):
        return [movement for task in tasks if (movement := movements.of(task)) is not None]
    return list(compress(movements, map(tasks.__contains__, map(itemgetter(0), movements))))


class _Explanation:
    """Turns one change into a step with its reason; holds the round's facts, changes none."""

    def __init__(
        self,
        state: GroupState,
        decision: Assignment,
        transition: Transition,
        config: AssignmentConfig,
        tasks: set[int],
    ) -> None:
        self._state = state
        self._group = state.group
        self._limit = config.acceptable_recovery_lag
        self._seats: dict[_Held, Seat] = {}
        movements = _movements_of(tasks, decision.movements)
        self._active_movement = {m.task: m for m in movements if m.kind == "active"}
        self._standby_destination = {(m.task, m.destination): m for m in movements if m.kind == "standby"}
        self._why_stateless = (
            ReasonCode.STATELESS_EVENED_OUT if decision.keeps_stateless else ReasonCode.STATELESS_LEAST_LOADED
        )
        self.new_owner = {entry.task: entry.consumer for entry in transition.withheld}

    def given_up(self, task: int, old: _Held) -> Step:
        seat, task_id = self._seat(old), self._task_id(task)
        if old.role is Role.ACTIVE:
            return Revoke(task_id, seat, self._why_given_up(task, old))
        return Drop(task_id, seat, Reason(ReasonCode.NOT_NEEDED))

    def started(self, task: int, instance: int, old: _Held | None, new: _Held, revoked_by: int | None) -> Step:
        task_id, to = self._task_id(task), self._seat(new)
        if revoked_by not in (None, new.consumer) and self._group.instance_of[revoked_by] == instance:
            moved_from = Seat(to.process_id, self._group.consumer_ids[revoked_by], Role.ACTIVE)
            return ThreadMove(task_id, moved_from, to, Reason(ReasonCode.THREADS_EVENED_OUT))
        if old is not None and old.role is Role.ACTIVE:
            return ThreadMove(task_id, self._seat(old), to, Reason(ReasonCode.THREADS_EVENED_OUT))
        caught_up, restore_records = self._start(task, instance)
        reason = self._why_active(task, instance)
        if revoked_by is None and old is not None:
            return Promote(task_id, self._seat(old), to, caught_up, restore_records, reason)
        from_ = None if revoked_by is None else self._seat(_Held(revoked_by, Role.ACTIVE))
        return HandOver(task_id, from_, to, caught_up, restore_records, reason)

    def copied(self, task: int, instance: int, old: _Held | None, new: _Held) -> Step:
        task_id, to = self._task_id(task), self._seat(new)
        from_ = None if old is None else self._seat(old)
        if from_ is not None and from_.role is Role.ACTIVE:
            assert old is not None
            return Demote(task_id, from_, to, self._why_given_up(task, old))
        if new.role is Role.TEMPORARY:
            return KeepTemporary(task_id, from_, to, Reason(ReasonCode.OWNER_MUST_REVOKE))
        if from_ is not None and from_.role is new.role:
            return ThreadMove(task_id, from_, to, Reason(ReasonCode.THREADS_EVENED_OUT))
        return Place(task_id, from_, to, self._restores(task, instance), self._why_copied(task, instance, new.role))

    def withhold(self, task: int, owner: int, consumer: int) -> Step:
        instance = self._group.instance_of[consumer]
        if self._group.instance_of[owner] == instance:
            reason = Reason(ReasonCode.THREADS_EVENED_OUT)
        else:
            reason = self._why_active(task, instance)
        seats = [self._seat(_Held(member, Role.ACTIVE)) for member in (owner, consumer)]
        return Withhold(self._task_id(task), seats[0], seats[1], reason)

    def _why_active(self, task: int, instance: int) -> Reason:
        if not self._group.tasks[task].stateful:
            return Reason(self._why_stateless)
        lag = self._lag(task, instance)
        movement = self._active_movement.get(task)
        if movement is not None and movement.source == instance:
            code = ReasonCode.CAUGHT_UP_MEANWHILE if self._caught_up(lag) else ReasonCode.MOST_CAUGHT_UP
            return Reason(code, lag, self._limit, self._lag(task, movement.destination))
        code = ReasonCode.TARGET_CAUGHT_UP if self._caught_up(lag) else ReasonCode.NO_STATE_ANYWHERE
        return Reason(code, lag, self._limit)

    def _why_copied(self, task: int, instance: int, role: Role) -> Reason:
        lag = self._lag(task, instance)
        movement: Movement | None = self._standby_destination.get((task, instance))
        if movement is None and role is Role.WARMUP:
            movement = self._active_movement.get(task)
        if role is Role.WARMUP and movement is not None:
            return Reason(ReasonCode.TARGET_WARMS_UP, lag, self._limit, self._lag(task, movement.source))
        return Reason(ReasonCode.STANDBY_WANTED, lag, self._limit)

    def _why_given_up(self, task: int, old: _Held) -> Reason:
        consumer = self.new_owner.get(task)
        if consumer is None:
            return Reason(ReasonCode.MOVES_AWAY)
        instance = self._group.instance_of[consumer]
        if instance == self._group.instance_of[old.consumer]:
            return Reason(ReasonCode.THREADS_EVENED_OUT)
        return Reason(ReasonCode.MOVES_AWAY, self._lag(task, instance), self._limit)

    def _start(self, task: int, instance: int) -> tuple[bool, int | None]:
        """Whether the task starts caught up, and what it restores first."""
        if not self._group.tasks[task].stateful:
            return True, 0
        restore_records = self._restores(task, instance)
        return restore_records == 0 or self._caught_up(self._lag(task, instance)), restore_records

    def _restores(self, task: int, instance: int) -> int | None:
        definition = self._group.tasks[task]
        copy = self._copy(task, instance)
        remaining = definition.end_offset_sum if copy is None else copy.remaining
        return remaining if definition.end_offset_known or not remaining else None

    def _copy(self, task: int, instance: int) -> Copy | None:
        return next((copy for copy in self._state.copies[task] if copy.instance == instance), None)

    def _lag(self, task: int, instance: int) -> int | None:
        if not self._group.tasks[task].stateful:
            return None
        copy = self._copy(task, instance)
        return self._group.tasks[task].end_offset_sum if copy is None or copy.lag is None else copy.lag

    def _caught_up(self, lag: int | None) -> bool:
        return lag is None or is_caught_up(lag, self._limit)

    def _seat(self, held: _Held) -> Seat:
        seat = self._seats.get(held)
        if seat is None:
            process_id = self._group.instances[self._group.instance_of[held.consumer]].process_id
            seat = self._seats[held] = Seat(process_id, self._group.consumer_ids[held.consumer], held.role)
        return seat

    def _task_id(self, task: int) -> TaskId:
        return self._group.tasks[task].task_id
