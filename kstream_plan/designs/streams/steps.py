"""What one member does in one heartbeat, as steps, and what the members of a group still have to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kstream_plan.designs.streams.copies import to_restore
from kstream_plan.model import GroupState, Holding, WorkId
from kstream_plan.plans import Reason, ReasonCode, Role, Seat, Step
from kstream_plan.plans.steps import Demote, Drop, HandOver, Place, Promote, Revoke, ThreadMove, Withhold

#: Task → the seat that ran it last, if any did.
LastOwners = Mapping[int, Seat]


class HoldingChange(NamedTuple):
    """One consumer holds something else than before."""

    consumer: int
    previous: Holding
    current: Holding


def steps_of(
    state: GroupState, change: HoldingChange, owners: LastOwners, limit: int, *, in_memory: bool
) -> list[Step]:
    """Return the steps of a member; ``state`` is the group just before.

    A start is cold unless its instance has a copy that lacks at most ``limit`` records. ``in_memory``: no state of a
    task is left for another thread.
    """
    consumer, previous, current = change
    steps = list[Step]()
    previous_standbys = {*previous.standby}
    new_actives, lost_actives = {*current.active} - {*previous.active}, {*previous.active} - {*current.active}
    new_standbys, lost_standbys = {*current.standby} - previous_standbys, previous_standbys - {*current.standby}
    for task in sorted(new_actives | lost_actives | new_standbys | lost_standbys):
        if task in new_actives:
            start = _start(
                state, task, consumer, task in previous_standbys, owners.get(task), limit, in_memory=in_memory
            )
            steps.append(start)
        elif task in lost_actives and task in new_standbys:
            steps.append(Demote(_name(state, task), seat(state, consumer), _standby(state, consumer), _MOVES_AWAY))
        elif task in lost_actives:
            steps.append(Revoke(_name(state, task), seat(state, consumer), _MOVES_AWAY))
        elif task in lost_standbys:
            steps.append(Drop(_name(state, task), _standby(state, consumer), Reason(ReasonCode.NOT_NEEDED)))
        if task in new_standbys and task not in lost_actives | new_actives:
            remaining = to_restore(state.group, state.copies[task], task, state.group.instance_of[consumer])
            reason = Reason(ReasonCode.STANDBY_WANTED)
            steps.append(Place(_name(state, task), None, _standby(state, consumer), remaining, reason))
    return steps


def withhold_steps(
    state: GroupState,
    running: Callable[[int], int | None],
    target_owners: Mapping[int, int],
    owners: LastOwners,
    unconfirmed_tasks: Collection[int],
) -> list[Step]:
    """Return the withheld tasks: decided for a consumer that does not run them yet.

    ``running`` gives the consumer that runs a task, ``target_owners`` the consumer that is to. ``unconfirmed_tasks``
    run nowhere, and their owner has not confirmed yet that it has given them up.
    """
    steps = list[Step]()
    for task, consumer in sorted(target_owners.items()):
        owner = running(task)
        if owner == consumer:
            continue
        to_seat = seat(state, consumer)
        from_seat = owners.get(task, to_seat) if owner is None else seat(state, owner)
        is_given_up = owner is None and task not in unconfirmed_tasks
        code = ReasonCode.MEMBERSHIP if is_given_up else ReasonCode.OWNER_MUST_REVOKE
        steps.append(Withhold(_name(state, task), from_seat, to_seat, Reason(code)))
    return steps


def seat(state: GroupState, consumer: int, role: Role = Role.ACTIVE) -> Seat:
    """Return a consumer's seat."""
    group = state.group
    return Seat(group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer], role)


_MOVES_AWAY = Reason(ReasonCode.MOVES_AWAY)


def _start(
    state: GroupState, task: int, consumer: int, is_copy: bool, owner: Seat | None, limit: int, *, in_memory: bool
) -> Step:
    group, to_seat, task_id = state.group, seat(state, consumer), _name(state, task)
    stood_still = Reason(ReasonCode.STOOD_STILL) if owner is None else None
    is_empty = in_memory and group.tasks[task].stateful
    if owner is not None and owner[0] == to_seat[0] and owner[1] != to_seat[1] and not is_empty:
        return ThreadMove(task_id, owner, to_seat, Reason(ReasonCode.THREADS_EVENED_OUT))
    if not group.tasks[task].stateful:
        reason = stood_still or Reason(ReasonCode.STATELESS_EVENED_OUT)
        return HandOver(task_id, _still_there(state, owner), to_seat, True, 0, reason)
    whole = group.tasks[task].end_offset_sum
    remaining = to_restore(group, state.copies[task], task, group.instance_of[consumer])
    ready = remaining is not None and remaining <= limit and (remaining < whole or not whole)
    reason = stood_still or Reason(ReasonCode.TARGET_CAUGHT_UP if ready else ReasonCode.BROKER_DECIDES)
    if is_copy and _still_there(state, owner) is None:
        return Promote(task_id, _standby(state, consumer), to_seat, ready, remaining, reason)
    return HandOver(task_id, _still_there(state, owner), to_seat, ready, remaining, reason)


def _still_there(state: GroupState, owner: Seat | None) -> Seat | None:
    return owner if owner is not None and owner[:2] in state.group.consumer_index else None


def _standby(state: GroupState, consumer: int) -> Seat:
    return seat(state, consumer, Role.STANDBY)


def _name(state: GroupState, task: int) -> WorkId:
    return state.group.tasks[task].task_id
