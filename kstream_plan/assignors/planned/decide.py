"""The whole function of the class in the application: a group, a file and the clock give a decision.

A decision brings the group nearer to a target, from nothing but the group, the target and the clock.

Source: page ``target-file``.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kstream_plan.assignors.planned.members import MembersAndTasks, stateful_owners
from kstream_plan.assignors.planned.target import PlannedTarget, target_of_file, target_without_file
from kstream_plan.assignors.planned.target_file import TargetRefused, parse_target
from kstream_plan.model import NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDecision:
    """Who runs and who holds what next; tasks are indices, members places.

    ``running``: by task the member that runs it; ``standby``: by task the members that hold a standby, in order of
    preference; ``warmups``: pairs of a task and the member that gets a copy as well; ``tasks_waiting``: those to
    run elsewhere; ``standbys_waiting``: pairs of a task and the member that is to hold a standby. ``follow_up_ms`` and
    ``follow_up_on``: when to decide again and which member says so; ``None``: not until something happens.
    """

    running: tuple[int, ...]
    standby: tuple[tuple[int, ...], ...]
    warmups: tuple[tuple[int, int], ...]
    tasks_waiting: tuple[int, ...]
    standbys_waiting: tuple[tuple[int, int], ...]
    follow_up_ms: int | None
    follow_up_on: int | None


def decide_towards(group: MembersAndTasks, target: PlannedTarget, now_ms: int) -> PlannedDecision:
    """Return who runs and holds what now."""
    running = stateful_owners(group, target.active)
    standby = _standbys(group, target, running)
    sequence = [*target.order]
    ordered_tasks = set(sequence)
    sequence += [task for task in group.stateful if task not in ordered_tasks]
    tasks_waiting = tuple(task for task in sequence if target.active[task] not in (NOBODY, running[task]))
    standbys_waiting = tuple(
        (task, place)
        for task in sequence
        for place in target.standby[task]
        if place != running[task] and place not in standby[task]
    )
    is_waiting = bool(tasks_waiting or standbys_waiting)
    follow_up_ms = now_ms + target.probe_ms if is_waiting else target.until_ms
    return PlannedDecision(
        running=_with_stateless(group, target, running),
        standby=standby,
        warmups=_warmups(
            group, target, standby, [(task, target.active[task]) for task in tasks_waiting], standbys_waiting, sequence
        ),
        tasks_waiting=tasks_waiting,
        standbys_waiting=standbys_waiting,
        follow_up_ms=follow_up_ms,
        follow_up_on=None if follow_up_ms is None else _carrier(group),
    )


def _standbys(group: MembersAndTasks, target: PlannedTarget, running: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return by task the nearest of all who do not run it, as many as it is to have; among equals the target's."""
    standby: list[tuple[int, ...]] = [()] * len(running)
    tasks = [task for task in group.stateful if target.standbys_wanted[task]]
    if not tasks:
        return tuple(standby)
    distances = group.ranks[tasks].astype(np.uint64)
    preference = np.full(distances.shape, 2, dtype=np.int8)
    for row, task in enumerate(tasks):
        preference[row, list(target.standby[task])] = 1
        if target.active[task] != NOBODY:
            preference[row, target.active[task]] = 0
        distances[row, running[task]] = np.iinfo(np.uint64).max
    nearest = np.lexsort((preference, distances), axis=1).tolist()
    most = len(group.members) - 1
    for task, places in zip(tasks, nearest, strict=True):
        standby[task] = tuple(places[: min(target.standbys_wanted[task], most)])
    return tuple(standby)


def _warmups(
    group: MembersAndTasks,
    target: PlannedTarget,
    standby: Sequence[Sequence[int]],
    active: Sequence[tuple[int, int]],
    standbys: Sequence[tuple[int, int]],
    sequence: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Return who gets a copy as well: tasks before standbys, of each first those that have begun, then in sequence."""
    position = {task: index for index, task in enumerate(sequence)}

    def key(pair: tuple[int, int]) -> tuple[bool, int, int]:
        task, place = pair
        return task not in group.members[place].state, position[task], place

    pairs = [*sorted(active, key=key), *sorted(standbys, key=key)]
    return tuple([(task, place) for task, place in pairs if place not in standby[task]][: target.warmups])


def _with_stateless(group: MembersAndTasks, target: PlannedTarget, stateful: Sequence[int]) -> tuple[int, ...]:
    running = [*stateful]
    loads = [0] * len(group.members)
    for task in group.stateful:
        loads[running[task]] += 1
    rest = []
    for task in group.stateless:
        place = group.owner[task] if target.active[task] == NOBODY else target.active[task]
        if place == NOBODY:
            rest.append(task)
        else:
            running[task] = place
            loads[place] += 1
    queue = [(load * weight, place) for place, (load, weight) in enumerate(zip(loads, group.weights, strict=True))]
    heapq.heapify(queue)
    for task in rest:
        load, place = queue[0]
        running[task] = place
        heapq.heapreplace(queue, (load + group.weights[place], place))
    return tuple(running)


def _carrier(group: MembersAndTasks) -> int:
    """Return the leader's own member, for its clock set the time, else the first one."""
    for place, member in enumerate(group.members):
        if group.leader is not None and any(name.startswith(group.leader) for name in member.consumer_ids):
            return place
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What a decision followed: a file's target, or the one of an application without a file that counts.

    ``plan`` is the file's, ``refusal`` the code for which it does not count; one of both is ``None``. ``expires_ms`` is
    until when the file counts, in milliseconds since 1970.
    """

    target: PlannedTarget
    plan: str | None = None
    refusal: str | None = None
    expires_ms: int | None = None


def decide(group: MembersAndTasks, content: bytes | None, now_ms: int) -> tuple[Followed, PlannedDecision]:
    """Decide who runs and holds what.

    Args:
        group: the group; it has a member.
        content: what is in the file; ``None``: there is none.
        now_ms: the leader's clock, in milliseconds since 1970.
    """
    followed = follow(group, content, now_ms)
    return followed, decide_towards(group, followed.target, now_ms)


def follow(group: MembersAndTasks, content: bytes | None, now_ms: int) -> Followed:
    """Return the target that counts now; arguments as of :func:`decide`."""
    if content is None:
        return Followed(target=target_without_file(group), refusal="no-file")
    try:
        file = parse_target(content)
        return Followed(target=target_of_file(group, file, now_ms), plan=file.plan, expires_ms=file.expires_ms)
    except TargetRefused as refused:
        return Followed(target=target_without_file(group), refusal=refused.code)
