"""Members that were told to give up tasks and do not confirm it, until the broker fences them.

The broker waits for such a member as long as its rebalance time-out (its ``max.poll.interval.ms``), counted from when
it was told; then it lets the member go, with all that it holds, and computes a target without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.designs.streams.beats import Pace
from kstream_plan.designs.streams.reconciliation import MemberState, ReconciledMember
from kstream_plan.model import Note, WorkId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.streams_group import BrokerGroup, BrokerMember, TaskNames
from kstream_plan.model.times import duration
from kstream_plan.plans import Cause, CauseCode, Verdict

#: After so many heartbeat intervals a member that was told to give up tasks should have confirmed it.
_LONG_BEATS = 3
#: Until when each silent member is one, by member id; ``None``: the broker should have fenced it before.
Silent = Mapping[str, int | None]


class FencedMember(NamedTuple):
    """A member that the broker has let go, the tasks that it was waited for, and how many more it ran."""

    member_id: str
    process_id: str
    at_ms: int
    task_ids: tuple[WorkId, ...]
    other_task_count: int


def silent_members(group: BrokerGroup, config: AssignmentConfig, pace: Pace) -> Silent:
    """Return the members that do not confirm that they gave up what they were told to, and when each is fenced.

    A member that was told at most a few heartbeats ago confirms soon. Whether one that was told longer ago ever does is
    unknown: it does at the ``SOONEST``; at the ``LATEST`` it does not even where the age is unknown.
    """
    revoking_members = [member.member_id for member in _revoking_members(group)]
    interval_ms, timeout_ms = config.heartbeat_interval_ms, config.max_poll_interval_ms or 0
    age_ms = group.target_age_ms
    if pace is Pace.SOONEST or (age_ms is None and pace is not Pace.LATEST):
        return MappingProxyType({})
    if age_ms is None:
        return MappingProxyType(dict.fromkeys(revoking_members, timeout_ms))
    if age_ms <= _LONG_BEATS * interval_ms:
        return MappingProxyType({})
    latest_ms = interval_ms + timeout_ms - age_ms  # every member hears of a target within an interval
    at_ms = latest_ms if pace is Pace.LATEST else max(0, latest_ms - interval_ms // 2)
    return MappingProxyType(dict.fromkeys(revoking_members, at_ms if latest_ms > 0 else None))


def still_silent(silent: Silent, members: Collection[str]) -> Silent:
    """Return the silent members that are still in the group."""
    return MappingProxyType({member_id: fenced_ms for member_id, fenced_ms in silent.items() if member_id in members})


def notes(group: BrokerGroup, config: AssignmentConfig, running_tasks: Collection[str]) -> Iterator[Note]:
    """Yield notes on members that may never give up what they were told to; ``running_tasks`` have an owner."""
    timeout = f"{duration(config.max_poll_interval_ms or 0)} after the request (max.poll.interval.ms)"
    names, age_ms = tuple(member.member_id for member in _revoking_members(group)), group.target_age_ms
    if names and age_ms is None:
        message = (
            f"{', '.join(names)}: was asked to give up tasks, since when is unknown, and is assumed to confirm soon. "
            f"If it never does, the members that wait for it wait until the broker fences it, {timeout}"
        )
        yield Note("owner-silent", message, names)
    elif names and age_ms is not None and age_ms > _LONG_BEATS * config.heartbeat_interval_ms:
        message = (
            f"{', '.join(names)}: was asked to give up tasks, and has not confirmed for up to {duration(age_ms)}. It "
            f"is assumed never to do so: the broker fences it {timeout}. A thread that hangs runs none of its tasks "
            "meanwhile, nor before"
        )
        yield Note("owner-silent", message, names)
    suspects, unowned = _unknown_revocations(group, running_tasks)
    if unowned:
        message = (
            f"{', '.join(unowned)}: no member runs these tasks. Which member was asked to give them up and has not "
            f"confirmed is unknown; they are assumed to be given up. If one of {', '.join(suspects)} never confirms, "
            f"they wait until the broker fences it, {timeout}"
        )
        yield Note("revocations-unknown", message, suspects)


def with_one_silent(group: BrokerGroup, running_tasks: Collection[str]) -> BrokerGroup:
    """Return the group with one member that never confirms that it gave up unowned tasks, if there may be one.

    Of the candidates it is the one with most tasks: all of them move when it is fenced.
    """
    suspects, unowned_tasks = _unknown_revocations(group, running_tasks)
    candidates = [
        member
        for member in group.members
        if member.member_id in suspects and {*unowned_tasks}.difference(member.target.active)
    ]
    if not candidates:
        return group
    silent = max(candidates, key=lambda member: len(member.target.active))
    revoking = TaskNames(tuple(task for task in unowned_tasks if task not in silent.target.active))
    unrevoked_member = replace(silent, state=MemberState.UNREVOKED_TASKS, revoking=revoking)
    return replace(group, members=tuple(unrevoked_member if member is silent else member for member in group.members))


def _unknown_revocations(group: BrokerGroup, running_tasks: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the members that may have been told to give up tasks, and the unowned tasks that others are to run.

    A member that has reached the target's epoch has given up what it was told to.
    """
    unowned_tasks = sorted(
        {task for member in group.members for task in member.target.active}.difference(running_tasks)
    )
    pending = {task for member in group.members for task in member.revoking.active}
    candidates = [member for member in group.members if member.epoch < group.target_epoch and _may_be_revoking(member)]
    waiting_tasks = [
        task
        for task in unowned_tasks
        if task not in pending and any(task not in member.target.active for member in candidates)
    ]
    return tuple(member.member_id for member in candidates if waiting_tasks), tuple(waiting_tasks)


def _may_be_revoking(member: BrokerMember) -> bool:
    return member.state is None or (member.state == MemberState.UNREVOKED_TASKS and not any(member.revoking))


def unending_verdict(
    member: ReconciledMember,
    age_ms: int | None,
    tasks: tuple[WorkId, ...],
    config: AssignmentConfig,
    *,
    is_last_member: bool,
) -> Verdict:
    """Return the verdict on a plan whose member says nothing, for an unknown time.

    ``is_last_member``: no other member could take over its tasks; else it should have been fenced before.
    """
    explanation = (
        "no other member could take over"
        if is_last_member
        else f"by max.poll.interval.ms={config.max_poll_interval_ms} the broker should have fenced it: its own "
        "interval is longer, by how much is unknown"
    )
    message = f"{_told_and_silent(member.member_id, age_ms)}; {explanation}. {_cure(config)}"
    reason = "these tasks wait, for an unknown time, for a member that does not confirm that it has given them up"
    return Verdict("stuck", tasks, reason, Cause(CauseCode.OVERDUE_OWNER, tasks[0], member.process_id, message))


def fencing_verdict(member: FencedMember, age_ms: int | None, config: AssignmentConfig) -> Verdict:
    """Return the verdict on a plan in which a member had to be fenced."""
    message = (
        f"{_told_and_silent(member.member_id, age_ms)}. The broker fences it {duration(member.at_ms)} from now, "
        f"max.poll.interval.ms={config.max_poll_interval_ms} after the request, unless it leaves before (a thread "
        f"that hangs does, as long after its last poll), and all its tasks move. {_cure(config)}"
    )
    if member.other_task_count:
        message += f". If its thread hangs, {member.other_task_count} more of its tasks are paused until then as well"
    reason = "these tasks wait until the broker fences a member that does not confirm that it has given them up"
    cause = Cause(CauseCode.SILENT_OWNER, member.task_ids[0], member.process_id, message)
    return Verdict("stuck", member.task_ids, reason, cause)


def _told_and_silent(member_id: str, age_ms: int | None) -> str:
    age = "" if age_ms is None else f" up to {duration(age_ms)} ago"
    return f"{member_id} was asked to give it up{age} and has not confirmed that"


def _cure(config: AssignmentConfig) -> str:
    return (
        "To end this sooner, stop its instance: the broker notices a close at once, a kill after "
        f"{duration(config.session_timeout_ms)}"
    )


def _revoking_members(group: BrokerGroup) -> list[BrokerMember]:
    return [member for member in group.members if member.state == MemberState.UNREVOKED_TASKS]
