"""A streams group where a plan begins: the broker's half of it, as a snapshot tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kstream_plan.designs.streams.beats import APPLY_MS, Beats
from kstream_plan.designs.streams.coordinator import GroupCoordinator, StreamsSettings
from kstream_plan.designs.streams.reconciliation import MemberState, Owned, ReconciledMember
from kstream_plan.designs.streams.sticky import MemberTarget, StreamsTasks
from kstream_plan.model import Group, GroupState
from kstream_plan.model.streams_group import BrokerGroup, BrokerMember


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a plan starts from.

    ``asks_now``: a target is wanted now, if the group is Stable. ``reported_ms`` tells by (task, instance) when lags
    were reported that do not say so by the state's time.
    """

    group: BrokerGroup
    asks_now: bool
    reported_ms: Mapping[tuple[int, int], int]


def broker_of(broker_group: BrokerGroup, state: GroupState, settings: StreamsSettings) -> GroupCoordinator:
    """Return the broker's half of a group."""
    group, tasks = state.group, _tasks(state.group)
    number = {name: number for number, name in enumerate(tasks.names)}
    numbers = [number[str(task.task_id)] for task in group.tasks]
    owned_by_member = {
        member_id: Owned(
            frozenset(numbers[task] for task in holding.active), frozenset(numbers[t] for t in holding.standby)
        )
        for member_id, holding in zip(group.consumer_ids, state.holdings, strict=True)
    }
    targets = {
        member.member_id: MemberTarget(*(frozenset(number[name] for name in role) for role in member.target))
        for member in broker_group.members
    }
    return GroupCoordinator.running(
        tasks,
        settings,
        members=[
            _member(member, owned_by_member[member.member_id], targets, number) for member in broker_group.members
        ],
        targets=targets,
        epochs=(broker_group.group_epoch, broker_group.target_epoch),
        computed_at_ms=None if broker_group.target_age_ms is None else -broker_group.target_age_ms,
    )


def _member(
    member: BrokerMember,
    owned: Owned,
    targets: Mapping[str, MemberTarget],
    number: Mapping[str, int],
) -> ReconciledMember:
    (active, standby), target = owned, targets[member.member_id]
    on_the_way = (target.active, target.standby) != owned
    state = MemberState(member.state or (MemberState.UNRELEASED_TASKS if on_the_way else MemberState.STABLE))
    revoking = [frozenset(number[name] for name in role) for role in member.revoking]
    return ReconciledMember(
        member_id=member.member_id,
        process_id=member.process_id,
        epoch=member.epoch,
        previous_epoch=member.epoch,
        state=state,
        active=MappingProxyType(dict.fromkeys(sorted(active), member.epoch)),
        standby=standby,
        revoking_active=revoking[0],
        revoking_standby=revoking[1],
        offsets=MappingProxyType({number[name]: offset for name, offset in member.offsets}),
    )


def _tasks(group: Group) -> StreamsTasks:
    """Return the tasks of the group as the broker numbers them: so many of each subtopology as there are partitions."""
    number = Counter(task.task_id.group for task in group.tasks)
    stateful = {task.task_id.group: task.stateful for task in group.tasks}
    return StreamsTasks.from_subtopologies(
        (name, partitions, stateful[name]) for name, partitions in sorted(number.items())
    )


def with_pending_reports(
    beats: Mapping[str, Beats], broker: GroupCoordinator, silent: Collection[str]
) -> dict[str, Beats]:
    """Let revoking members confirm soon, but for ``silent`` ones."""
    revoking = {
        member_id for member_id, member in broker.members.items() if member.state is MemberState.UNREVOKED_TASKS
    }
    revoking.difference_update(silent)
    return {
        member_id: replace(beat, applied_at_ms=APPLY_MS) if member_id in revoking else beat
        for member_id, beat in beats.items()
    }
