"""The steps of one round of a learner group: what changes for whom, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.designs.learner.decision import LearnerDecision
from kstream_plan.designs.learner.roles import Roles
from kstream_plan.model import NOBODY, Copy, Group, GroupState, Holding, WorkId
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans import (
    Demote,
    Drop,
    HandOver,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    ThreadMove,
)

_ROLES = tuple(Role)


class _ConsumerRole(NamedTuple):
    consumer: int
    role: Role


def steps_of(
    state: GroupState, holdings: Sequence[Holding], decision: LearnerDecision, acceptable_recovery_lag: int
) -> list[Step]:
    """Return the steps from what a group holds to what it is to hold, by task, each given up before it is taken over.

    ``decision`` is by the tasks of the group.
    """
    lost_roles, gained_roles = _role_changes(state, holdings)
    step_maker = _Steps(state, decision, acceptable_recovery_lag, lost_roles)
    drafts: list[tuple[int, int, int, Step]] = []  # no two alike in the first three
    for (task, instance), old in lost_roles.items():
        new = gained_roles.pop((task, instance), None)
        drafts.append((task, *step_maker.step(task, instance, old, new)))
    for (task, instance), new in gained_roles.items():
        drafts.append((task, *step_maker.step(task, instance, None, new)))
    drafts.sort(key=lambda draft: draft[:3])
    return [step for *_, step in drafts]


def _role_changes(
    state: GroupState, holdings: Sequence[Holding]
) -> tuple[dict[tuple[int, int], _ConsumerRole], dict[tuple[int, int], _ConsumerRole]]:
    """Return the roles that consumers lose, and those that they gain, by (task, instance)."""
    lost_roles: dict[tuple[int, int], _ConsumerRole] = {}
    gained_roles: dict[tuple[int, int], _ConsumerRole] = {}
    for consumer, (old, new) in enumerate(zip(state.holdings, holdings, strict=True)):
        instance = state.group.instance_of[consumer]
        for role, old_tasks, new_tasks in zip(_ROLES, old, new, strict=True):
            if old_tasks != new_tasks:
                seat = _ConsumerRole(consumer, role)
                lost_roles.update(((task, instance), seat) for task in sorted(set(old_tasks).difference(new_tasks)))
                gained_roles.update(((task, instance), seat) for task in sorted(set(new_tasks).difference(old_tasks)))
    return lost_roles, gained_roles


class _Steps:
    """Turns one change into a step with its reason; holds the round's facts, changes none."""

    def __init__(
        self,
        state: GroupState,
        decision: LearnerDecision,
        limit: int,
        lost_roles: Mapping[tuple[int, int], _ConsumerRole],
    ) -> None:
        self._state, self._limit = state, limit
        self._learned = frozenset(decision.took_over)
        self._owner = {task: old for (task, _), old in lost_roles.items() if old.role is Role.ACTIVE}

    def step(
        self, task: int, instance: int, old: _ConsumerRole | None, new: _ConsumerRole | None
    ) -> tuple[int, int, Step]:
        """Return the step with its order among those of its task: giving up first, then by instance."""
        if new is None:
            assert old is not None
            return 0, instance, self._ends(task, old)
        if new.role is Role.ACTIVE:
            return 2, instance, self._starts(task, instance, old, new)
        return 1, instance, self._copied(task, instance, old, new)

    def _ends(self, task: int, old: _ConsumerRole) -> Step:
        if old.role is Role.ACTIVE:
            return Revoke(self._id(task), self._seat(old), self._why_given_up(task))
        return Drop(self._id(task), self._seat(old), Reason(ReasonCode.NOT_NEEDED))

    def _starts(self, task: int, instance: int, old: _ConsumerRole | None, new: _ConsumerRole) -> Step:
        if old is not None and old.role is Role.ACTIVE:
            return ThreadMove(self._id(task), self._seat(old), self._seat(new), Reason(ReasonCode.MOVES_AT_ONCE))
        restores, owner = self._restores(task, instance), self._owner.get(task)
        stateful = self._state.group.stateful_flags[task]
        caught_up = restores == 0 or (restores is not None and is_caught_up(restores, self._limit))
        reason = self._why_starts(task, instance, restores, caught_up=caught_up)
        if owner is None and old is not None:
            return Promote(self._id(task), self._seat(old), self._seat(new), caught_up, restores, reason)
        from_seat = None if owner is None else self._seat(owner)
        return HandOver(self._id(task), from_seat, self._seat(new), caught_up or not stateful, restores, reason)

    def _copied(self, task: int, instance: int, old: _ConsumerRole | None, new: _ConsumerRole) -> Step:
        if old is not None and old.role is Role.ACTIVE:
            return Demote(self._id(task), self._seat(old), self._seat(new), self._why_given_up(task))
        if old is not None and old.role is new.role:
            return ThreadMove(self._id(task), self._seat(old), self._seat(new), Reason(ReasonCode.THREADS_EVENED_OUT))
        code = ReasonCode.LEARNS if new.role is Role.WARMUP else ReasonCode.STANDBY_WANTED
        restores = self._restores(task, instance)
        from_seat = None if old is None else self._seat(old)
        return Place(self._id(task), from_seat, self._seat(new), restores, Reason(code, restores, self._limit))

    def _why_given_up(self, task: int) -> Reason:
        return Reason(ReasonCode.LEARNED if task in self._learned else ReasonCode.MOVES_AT_ONCE)

    def _why_starts(self, task: int, instance: int, restores: int | None, *, caught_up: bool) -> Reason:
        if task in self._learned:
            return Reason(ReasonCode.LEARNED, restores, self._limit)
        if not self._state.group.stateful_flags[task]:
            return Reason(ReasonCode.STATELESS_EVENED_OUT)
        code = ReasonCode.TARGET_CAUGHT_UP if caught_up else self._why_cold(task, instance)
        return Reason(code, restores, self._limit)

    def _why_cold(self, task: int, instance: int) -> ReasonCode:
        """Return the reason why a task starts on an instance whose copy is not caught up."""
        whole = self._state.group.tasks[task].end_offset_sum
        remaining_by_instance = {copy.instance: copy.remaining for copy in self._state.copies[task]}
        closest = min(remaining_by_instance.values(), default=whole)
        if closest >= whole:
            return ReasonCode.NO_STATE_ANYWHERE
        return (
            ReasonCode.MOST_CAUGHT_UP if remaining_by_instance.get(instance) == closest else ReasonCode.TARGET_WARMS_UP
        )

    def _restores(self, task: int, instance: int) -> int | None:
        definition = self._state.group.tasks[task]
        copy: Copy | None = next((copy for copy in self._state.copies[task] if copy.instance == instance), None)
        remaining = definition.end_offset_sum if copy is None else copy.remaining
        return remaining if definition.end_offset_known or not remaining else None

    def _seat(self, consumer_role: _ConsumerRole) -> Seat:
        group = self._state.group
        process_id = group.instances[group.instance_of[consumer_role.consumer]].process_id
        return Seat(process_id, group.consumer_ids[consumer_role.consumer], consumer_role.role)

    def _id(self, task: int) -> WorkId:
        return self._state.group.tasks[task].task_id


def learned_tasks(group: Group, roles: Roles) -> tuple[WorkId, ...]:
    """Return the tasks with a learner and an owner, by owner: it stops them before it joins."""
    tasks = roles.learned
    tasks = tasks[roles.owner[tasks] != NOBODY]
    tasks = tasks[roles.consumer[tasks].argsort(kind="stable")]
    return tuple([group.tasks[task].task_id for task in tasks.tolist()])
