"""What one member does in one heartbeat, as steps, and what the members of a group still have to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kstream_plan.designs.streams.copies import to_restore
from kstream_plan.model import GroupState, Holding, WorkId
from kstream_plan.plans import Reason, ReasonCode, Role, Seat, Step
from kstream_plan.plans.steps import Demote, Drop, HandOver, Place, Promote, Revoke, ThreadMove, Withhold

#: Task → the seat that ran it last, as far as anybody did.
LastOwners = Mapping[int, Seat]


class Moved(NamedTuple):
    """One consumer holds something else than before."""

    consumer: int
    before: Holding
    after: Holding


def steps_of(state: GroupState, moved: Moved, owners: LastOwners, limit: int, *, in_memory: bool) -> list[Step]:
    """Return the steps of a member; ``state`` is the group just before.

    A start is cold without a copy of which at most ``limit`` records lack. ``in_memory``: no state is left of a task
    for another thread.
    """
    consumer, before, after = moved
    steps = list[Step]()
    had, has = {*before.active}, {*after.active}
    copied, copies = {*before.standby}, {*after.standby}
    for task in sorted(had | has | copied | copies):
        if task in has - had:
            start = _start(state, task, consumer, task in copied, owners.get(task), limit, in_memory=in_memory)
            steps.append(start)
        elif task in had - has and task in copies - copied:
            steps.append(Demote(_name(state, task), seat(state, consumer), _standby(state, consumer), _MOVES_AWAY))
        elif task in had - has:
            steps.append(Revoke(_name(state, task), seat(state, consumer), _MOVES_AWAY))
        elif task in copied - copies:
            steps.append(Drop(_name(state, task), _standby(state, consumer), Reason(ReasonCode.NOT_NEEDED)))
        if task in copies - copied and task not in had - has and task not in has - had:
            left = to_restore(state.group, state.copies[task], task, state.group.instance_of[consumer])
            place = Place(_name(state, task), None, _standby(state, consumer), left, Reason(ReasonCode.STANDBY_WANTED))
            steps.append(place)
    return steps


def withheld(
    state: GroupState,
    running: Callable[[int], int | None],
    wanted: Mapping[int, int],
    owners: LastOwners,
    not_said: Collection[int],
) -> list[Step]:
    """Return what is decided for somebody who does not run it yet.

    ``running`` tells who runs a task, ``wanted`` who is to, both by consumer; ``not_said`` are those that nobody runs
    and whose owner has not said yet that it has given them up.
    """
    steps = list[Step]()
    for task, consumer in sorted(wanted.items()):
        owner = running(task)
        if owner == consumer:
            continue
        to = seat(state, consumer)
        from_ = owners.get(task, to) if owner is None else seat(state, owner)
        gone = owner is None and task not in not_said
        code = ReasonCode.MEMBERSHIP if gone else ReasonCode.OWNER_MUST_REVOKE
        steps.append(Withhold(_name(state, task), from_, to, Reason(code)))
    return steps


def seat(state: GroupState, consumer: int, role: Role = Role.ACTIVE) -> Seat:
    """Return a consumer's seat."""
    group = state.group
    return Seat(group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer], role)


_MOVES_AWAY = Reason(ReasonCode.MOVES_AWAY)


def _start(
    state: GroupState, task: int, consumer: int, is_copy: bool, owner: Seat | None, limit: int, *, in_memory: bool
) -> Step:
    group, to, task_id = state.group, seat(state, consumer), _name(state, task)
    stood_still = Reason(ReasonCode.STOOD_STILL) if owner is None else None
    is_empty = in_memory and group.tasks[task].stateful
    if owner is not None and owner[0] == to[0] and owner[1] != to[1] and not is_empty:
        return ThreadMove(task_id, owner, to, Reason(ReasonCode.THREADS_EVENED_OUT))
    if not group.tasks[task].stateful:
        why = stood_still or Reason(ReasonCode.STATELESS_EVENED_OUT)
        return HandOver(task_id, _still_there(state, owner), to, True, 0, why)
    whole = group.tasks[task].end_offset_sum
    left = to_restore(group, state.copies[task], task, group.instance_of[consumer])
    ready = left is not None and left <= limit and (left < whole or not whole)
    why = stood_still or Reason(ReasonCode.TARGET_CAUGHT_UP if ready else ReasonCode.BROKER_DECIDES)
    if is_copy and _still_there(state, owner) is None:
        return Promote(task_id, _standby(state, consumer), to, ready, left, why)
    return HandOver(task_id, _still_there(state, owner), to, ready, left, why)


def _still_there(state: GroupState, owner: Seat | None) -> Seat | None:
    return owner if owner is not None and owner[:2] in state.group.consumer_index else None


def _standby(state: GroupState, consumer: int) -> Seat:
    return seat(state, consumer, Role.STANDBY)


def _name(state: GroupState, task: int) -> WorkId:
    return state.group.tasks[task].task_id
