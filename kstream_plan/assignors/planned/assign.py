"""An application's own assignor, which follows a target file: what it decides from a state of the planner.

Source: page ``target-file``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.planned.decide import PlannedDecision, decide
from kstream_plan.assignors.planned.members import Member, MembersAndTasks
from kstream_plan.assignors.planned.target import PlannedTarget
from kstream_plan.assignors.planned.target_file import NO_TARGET, TargetNow
from kstream_plan.assignors.threads import split
from kstream_plan.model import (
    NOBODY,
    Assignment,
    FollowedTarget,
    Group,
    GroupState,
    Holding,
    Holdings,
    Instance,
    Movement,
    Movements,
    Target,
    no_owners,
    whole_sum,
)
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig

_UUID = "00000000-0000-0000-0000-000000000000"
_OF_STATIC_MEMBER = re.compile(r"-[0-9]+-[0-9a-f-]{36}\Z")


def assign(
    state: GroupState,
    config: AssignmentConfig,
    previous: tuple[GroupState, Assignment] | None = None,
    *,
    laws: Laws = NEWEST,
    target: TargetNow = NO_TARGET,
) -> Assignment:
    """Decide where every task goes, instance by instance, then consumer by consumer.

    Args:
        state: the group.
        config: the application's settings.
        previous: an earlier decision for the same group and settings, and its state. It only saves work.
        laws: what the release that runs does otherwise than the newest.
        target: the file, and the leader's clock.
    """
    group = state.group
    members = members_and_tasks(state, config)
    followed, decision = decide(members, target.content, target.now_ms)
    instances = _holdings(group, decision)
    same_group = previous if previous is not None and previous[0].group is group else None
    again_ms = None if decision.follow_up_ms is None else decision.follow_up_ms - target.now_ms
    planned_target = followed.target
    short = sorted(
        (task, config.num_standby_replicas - len(decision.standby[task]))
        for task in group.stateful
        if followed.plan is None and len(decision.standby[task]) < config.num_standby_replicas
    )
    return Assignment(
        instances=instances,
        consumers=split(state, instances, same_group, laws=laws),
        probing_rebalance=again_ms is not None,
        target=_target(group, planned_target, decision),
        movements=Movements.of(_movements(members, planned_target, decision)),
        short_standbys=tuple(short),
        keeps_stateless=True,
        follows=FollowedTarget(
            plan=followed.plan,
            refusal=followed.refusal,
            warmups=planned_target.warmups,
            probe_ms=planned_target.probe_ms,
            again_ms=again_ms,
            expires_in_ms=None if followed.expires_ms is None else followed.expires_ms - target.now_ms,
        ),
    )


def members_and_tasks(state: GroupState, config: AssignmentConfig) -> MembersAndTasks:
    """Return a group of the planner as the class in the application sees it when the group rebalances."""
    group = state.group
    owned: list[set[int]] = [set() for _ in group.instances]
    holdings = Holdings.of(group, state.holdings)
    for consumer, holding in enumerate(holdings.stateful):
        owned[group.instance_of[consumer]].update(holding.active)
    for task, consumer in zip(group.stateless, holdings.owners.tolist(), strict=True):
        if consumer >= 0:
            owned[group.instance_of[consumer]].add(task)
    reported: list[set[int]] = [set() for _ in group.instances]
    whole = np.array([whole_sum(None, records) for records in group.end_offset_sums], dtype=np.int64)
    lags = np.repeat(whole[:, None], len(group.instances), axis=1)
    for task, copy in (
        (stateful_task, copy) for stateful_task in group.stateful for copy in state.copies[stateful_task]
    ):
        if copy.lag is not None:
            lags[task, copy.instance] = min(copy.lag, MAX_LONG)
            reported[copy.instance].add(task)
    subtopologies = {name: number for number, name in enumerate(dict.fromkeys(t.task_id.group for t in group.tasks))}
    leader = None if state.leader is None else group.instances[state.leader].consumers[0].consumer_id
    return MembersAndTasks(
        application=group.application_id,
        leader=leader,
        task_ids=tuple(str(task.task_id) for task in group.tasks),
        subtopologies=tuple(subtopologies[task.task_id.group] for task in group.tasks),
        stateful=group.stateful,
        members=tuple(
            Member(
                process_id=instance.process_id,
                threads=instance.capacity,
                owned=frozenset(owned[place]),
                state=frozenset(reported[place] - owned[place]),
                tags=dict(instance.client_tags),
                host=instance.host,
                consumer_ids=tuple(_member_ids(instance)),
            )
            for place, instance in enumerate(group.instances)
        ),
        lags=lags,
        acceptable_recovery_lag=config.acceptable_recovery_lag,
        max_warmup_replicas=config.max_warmup_replicas,
        num_standby_replicas=config.num_standby_replicas,
        probing_rebalance_interval_ms=config.probing_rebalance_interval_ms,
        rack_aware_assignment_tags=config.rack_aware_assignment_tags,
    )


def _member_ids(instance: Instance) -> Iterable[str]:
    """Yield what brokers call an instance's threads; of static members whose id is unknown, one like theirs."""
    for consumer in instance.consumers:
        yield consumer.consumer_id
        if consumer.group_instance_id is not None and not _OF_STATIC_MEMBER.search(consumer.consumer_id):
            yield f"{consumer.group_instance_id}-{_UUID}"


def _holdings(group: Group, decision: PlannedDecision) -> Holdings:
    places = range(len(group.instances))
    active: list[list[int]] = [[] for _ in places]
    standby: list[list[int]] = [[] for _ in places]
    warmup: list[list[int]] = [[] for _ in places]
    for task in group.stateful:
        active[decision.running[task]].append(task)
        for place in decision.standby[task]:
            standby[place].append(task)
    for task, place in sorted(decision.warmups):
        warmup[place].append(task)
    stateful = tuple(Holding(*map(tuple, roles)) for roles in zip(active, standby, warmup, strict=True))
    owners = no_owners(group)
    for number, task in enumerate(group.stateless):
        owners[number] = decision.running[task]
    return Holdings(stateful, group.stateless, owners)


def _target(group: Group, target: PlannedTarget, decision: PlannedDecision) -> Target:
    """Return where the stateful tasks go in the end; those that are meant for nobody here stay."""
    active: list[list[int]] = [[] for _ in group.instances]
    standby: list[list[int]] = [[] for _ in group.instances]
    for task in group.stateful:
        place = target.active[task]
        active[decision.running[task] if place == NOBODY else place].append(task)
        for holder in target.standby[task]:
            standby[holder].append(task)
    return Target(tuple(map(tuple, active)), tuple(map(tuple, standby)))


def _movements(members: MembersAndTasks, target: PlannedTarget, decision: PlannedDecision) -> Iterable[Movement]:
    """Yield what waits, tasks before standbys, in the order in which copies are given out."""
    warm = set(decision.warmups)

    def movement(task: int, kind: str, source: int, place: int) -> Movement:
        verb = "swap" if place in decision.standby[task] else "move"
        any_caught_up = bool((members.ranks[task] == 0).any())
        way = f"{verb}_caught_up" if any_caught_up else f"{verb}_most_caught_up"
        return Movement(task, kind, way, source, place, (task, place) in warm)

    for task in decision.tasks_waiting:
        yield movement(task, "active", decision.running[task], target.active[task])
    for task, place in decision.standbys_waiting:
        yield movement(task, "standby", _standby_source(target, decision, task), place)


def _standby_source(target: PlannedTarget, decision: PlannedDecision, task: int) -> int:
    """Return who keeps a standby meanwhile that is to be elsewhere, else who runs the task."""
    surplus: Sequence[int] = [place for place in decision.standby[task] if place not in target.standby[task]]
    return surplus[0] if surplus else decision.running[task]
