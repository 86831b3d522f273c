"""The steps of stateful tasks in one round: what changes for whom, and why.

The steps follow from what every instance held before and after; the reasons from the decision that was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from kstream_plan.model import Assignment, GroupState, Movement, WorkId
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
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
from kstream_plan.protocols.transition import Transition

#: Makes reasons: most tell the same numbers, round after round.
_reason = lru_cache(maxsize=4096)(Reason)

#: The roles of a holding after its first one, the active one.
_COPIES = (Role.STANDBY, Role.WARMUP, Role.TEMPORARY)


class _Held(NamedTuple):
    consumer: int
    role: Role


#: (task, instance) → what the instance holds of the task
_Held_of: TypeAlias = dict[tuple[int, int], _Held]


def steps_of(
    state: GroupState,
    decision: Assignment,
    transition: Transition,
    config: AssignmentConfig,
    revoked_by: Mapping[int, int],
    *,
    in_memory: bool = False,
) -> tuple[Step, ...]:
    """Return the steps of the stateful tasks in one round, by task, at each task giving up before taking over.

    ``state`` is the group before the round, ``revoked_by`` maps each task that was revoked in the round before to the
    consumer that gave it up. ``in_memory``: no state is left of a task for another thread.
    """
    before, after = _held_otherwise(state, transition)
    changed = set(map(itemgetter(0), before.keys() | after.keys()))
    explain = _Explanation(state, decision, transition, config, changed, in_memory=in_memory)
    drafts: list[tuple[int, int, int, Step]] = []  # no two alike in the first three, so that these give the order
    for (task, instance), old in before.items():
        new = after.pop((task, instance), None)
        step = _step(explain, task, instance, old, new, revoked_by.get(task))
        drafts.append((task, 0 if new is None else 2, instance, step))
    for (task, instance), new in after.items():
        drafts.append((task, 2, instance, _step(explain, task, instance, None, new, revoked_by.get(task))))
    for task, owner, consumer in explain.withheld:
        drafts.append((task, 1, consumer, explain.withhold(task, owner, consumer)))
    drafts.sort()
    return tuple(map(itemgetter(3), drafts))


def _held_otherwise(state: GroupState, transition: Transition) -> tuple[_Held_of, _Held_of]:
    """What is held of stateful tasks before and not after, at the same consumer in the same role, and the reverse."""
    before: _Held_of = {}
    after: _Held_of = {}
    instance_of = state.group.instance_of
    for consumer, lost, gained in transition.active_changes:
        held, instance = _Held(consumer, Role.ACTIVE), instance_of[consumer]
        before.update(dict.fromkeys(zip(lost, repeat(instance)), held))
        after.update(dict.fromkeys(zip(gained, repeat(instance)), held))
    for consumer in transition.changed:
        old, new = transition.before.stateful[consumer], transition.holdings.stateful[consumer]
        if old[1:] == new[1:]:
            continue
        instance = instance_of[consumer]
        for role, had, has in zip(_COPIES, old[1:], new[1:], strict=True):
            if had == has:
                continue
            held, lost, gained = _Held(consumer, role), set(had).difference(has), set(has).difference(had)
            before.update(dict.fromkeys(zip(lost, repeat(instance)), held))
            after.update(dict.fromkeys(zip(gained, repeat(instance)), held))
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


class _Explanation:
    """Turns one change of a stateful task into a step with its reason; holds the round's facts, changes none."""

    def __init__(
        self,
        state: GroupState,
        decision: Assignment,
        transition: Transition,
        config: AssignmentConfig,
        tasks: set[int],
        *,
        in_memory: bool,
    ) -> None:
        self._group = state.group
        self._in_memory = in_memory
        self._limit = config.acceptable_recovery_lag
        self.withheld = [entry[:3] for entry in transition.withheld]
        asked = tuple(tasks.union([entry[0] for entry in self.withheld]))
        self._copies = dict(zip(asked, state.copies_of(asked), strict=True))
        self._seats: dict[_Held, Seat] = {}
        movements = decision.movements.of_tasks(tasks)
        self._active_movement = {m.task: m for m in movements if m.kind == "active"}
        self._standby_destination = {(m.task, m.destination): m for m in movements if m.kind == "standby"}
        self._new_owner = {task: consumer for task, _, consumer in self.withheld}

    def given_up(self, task: int, old: _Held) -> Step:
        seat, task_id = self._seat(old), self._task_id(task)
        if old.role is Role.ACTIVE:
            return Revoke(task_id, seat, self._why_given_up(task, old))
        return Drop(task_id, seat, _reason(ReasonCode.NOT_NEEDED))

    def started(self, task: int, instance: int, old: _Held | None, new: _Held, revoked_by: int | None) -> Step:
        task_id, to = self._task_id(task), self._seat(new)
        moved_from, is_deleted = None, False
        if revoked_by not in (None, new.consumer) and self._group.instance_of[revoked_by] == instance:
            moved_from = Seat(to.process_id, self._group.consumer_ids[revoked_by], Role.ACTIVE)
            is_deleted = all(copy.instance != instance for copy in self._copies[task])  # since it was revoked
        elif old is not None and old.role is Role.ACTIVE:
            moved_from = self._seat(old)
        if moved_from is not None and not (self._in_memory or is_deleted):
            return ThreadMove(task_id, moved_from, to, _reason(ReasonCode.THREADS_EVENED_OUT))
        is_other_thread = old is not None and old.consumer != new.consumer
        caught_up, restore_records = self._start(task, instance, is_empty=self._in_memory and is_other_thread)
        if moved_from is not None:
            why = _reason(ReasonCode.THREADS_EVENED_OUT)
            return HandOver(task_id, moved_from, to, caught_up, restore_records, why)
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
            return KeepTemporary(task_id, from_, to, _reason(ReasonCode.OWNER_MUST_REVOKE))
        if from_ is not None and from_.role is new.role:
            return ThreadMove(task_id, from_, to, _reason(ReasonCode.THREADS_EVENED_OUT))
        return Place(task_id, from_, to, self._restores(task, instance), self._why_copied(task, instance, new.role))

    def withhold(self, task: int, owner: int, consumer: int) -> Step:
        instance = self._group.instance_of[consumer]
        if self._group.instance_of[owner] == instance:
            reason = _reason(ReasonCode.THREADS_EVENED_OUT)
        else:
            reason = self._why_active(task, instance)
        seats = [self._seat(_Held(member, Role.ACTIVE)) for member in (owner, consumer)]
        return Withhold(self._task_id(task), seats[0], seats[1], reason)

    def _why_active(self, task: int, instance: int) -> Reason:
        lag = self._lag(task, instance)
        movement = self._active_movement.get(task)
        if movement is not None and movement.source == instance:
            code = ReasonCode.CAUGHT_UP_MEANWHILE if self._caught_up(lag) else ReasonCode.MOST_CAUGHT_UP
            return _reason(code, lag, self._limit, self._lag(task, movement.destination))
        code = ReasonCode.TARGET_CAUGHT_UP if self._caught_up(lag) else ReasonCode.NO_STATE_ANYWHERE
        return _reason(code, lag, self._limit)

    def _why_copied(self, task: int, instance: int, role: Role) -> Reason:
        lag = self._lag(task, instance)
        movement: Movement | None = self._standby_destination.get((task, instance))
        if movement is None and role is Role.WARMUP:
            movement = self._active_movement.get(task)
        if role is Role.WARMUP and movement is not None:
            return _reason(ReasonCode.TARGET_WARMS_UP, lag, self._limit, self._lag(task, movement.source))
        return _reason(ReasonCode.STANDBY_WANTED, lag, self._limit)

    def _why_given_up(self, task: int, old: _Held) -> Reason:
        consumer = self._new_owner.get(task)
        if consumer is None:
            return _reason(ReasonCode.MOVES_AWAY)
        instance = self._group.instance_of[consumer]
        if instance == self._group.instance_of[old.consumer]:
            return _reason(ReasonCode.THREADS_EVENED_OUT)
        return _reason(ReasonCode.MOVES_AWAY, self._lag(task, instance), self._limit)

    def _start(self, task: int, instance: int, *, is_empty: bool) -> tuple[bool, int | None]:
        """Whether the task starts caught up, and what it restores first: all, of a copy that ``is_empty``."""
        restore_records = self._restores(task, instance, is_empty=is_empty)
        is_near = self._caught_up(self._lag(task, instance))
        if is_empty:
            is_near = is_near and self._caught_up(self._group.end_offset_sums[task])
        return restore_records == 0 or is_near, restore_records

    def _restores(self, task: int, instance: int, *, is_empty: bool = False) -> int | None:
        definition = self._group.tasks[task]
        remaining = definition.end_offset_sum
        for copy in () if is_empty else self._copies[task]:
            if copy[0] == instance:
                remaining = copy.remaining
                break
        return remaining if definition.end_offset_known or not remaining else None

    def _lag(self, task: int, instance: int) -> int:
        for copy in self._copies[task]:
            if copy[0] == instance:
                lag = copy[1]
                return self._group.end_offset_sums[task] if lag is None else lag
        return self._group.end_offset_sums[task]

    def _caught_up(self, lag: int) -> bool:
        return is_caught_up(lag, self._limit)

    def _seat(self, held: _Held) -> Seat:
        seat = self._seats.get(held)
        if seat is None:
            process_id = self._group.instances[self._group.instance_of[held.consumer]].process_id
            seat = self._seats[held] = Seat(process_id, self._group.consumer_ids[held.consumer], held.role)
        return seat

    def _task_id(self, task: int) -> WorkId:
        return self._group.tasks[task].task_id
