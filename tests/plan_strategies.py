"""Hypothesis strategies for whole snapshots: groups in any state, and changes of members."""

from __future__ import annotations

import uuid

from hypothesis import strategies as st

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Snapshot,
    Task,
    TaskId,
)

#: Few values, so that equal ones are met often.
_LAGS = st.sampled_from([0, 1, 100, 101, 10_000, 2**62])
_ZONES = st.sampled_from(["a", "b", "c"])


@st.composite
def instances(draw: st.DrawFn, min_size: int = 1, max_size: int = 6) -> list[Instance]:
    """Instances with random ids (their order decides ties), one to four threads and a zone."""
    ids = draw(st.lists(st.uuids(version=4), min_size=min_size, max_size=max_size, unique=True))
    return [_instance(draw, process_id) for process_id in ids]


def _instance(draw: st.DrawFn, process_id: uuid.UUID) -> Instance:
    threads = draw(st.integers(1, 4))
    return Instance(
        process_id=str(process_id),
        consumers=tuple(Consumer(consumer_id=f"{process_id}-StreamThread-{t + 1}") for t in range(threads)),
        client_tags=(("zone", draw(_ZONES)),),
    )


@st.composite
def tasks(draw: st.DrawFn) -> list[Task]:
    """Up to three subtopologies of up to eight partitions, stateful or not."""
    found = []
    for subtopology in range(draw(st.integers(1, 3))):
        stateful = draw(st.booleans()) or subtopology == 0
        for partition in range(draw(st.integers(1, 8))):
            end = draw(_LAGS) if stateful else 0
            found.append(Task(task_id=TaskId(subtopology, partition), stateful=stateful, end_offset_sum=end))
    return found


@st.composite
def configs(draw: st.DrawFn, standbys: bool = True) -> AssignmentConfig:
    """Settings that change decisions, with or without standbys."""
    return AssignmentConfig(
        acceptable_recovery_lag=draw(st.sampled_from([0, 100, 10_000, 2**63 - 1])),
        max_warmup_replicas=draw(st.integers(1, 5)),
        num_standby_replicas=draw(st.integers(0, 2)) if standbys else 0,
        rack_aware_assignment_tags=draw(st.sampled_from([(), ("zone",)])),
    )


@st.composite
def empty_groups(draw: st.DrawFn, standbys: bool = True) -> Snapshot:
    """A group that starts for the first time: nobody holds or has anything."""
    group = Group.of("orders", draw(tasks()), draw(instances()))
    state = GroupState(
        group=group,
        generation=draw(st.integers(0, 50)),
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=((),) * len(group.tasks),
        leader=draw(st.one_of(st.none(), st.integers(0, len(group.instances) - 1))),
    )
    return Snapshot(state=state, config=draw(configs(standbys)))


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A group in any state at all: tasks owned or orphaned, copies behind, unknown, unreported or left over."""
    empty = draw(empty_groups())
    group = empty.state.group
    active: list[list[int]] = [[] for _ in group.consumer_ids]
    standby: list[list[int]] = [[] for _ in group.consumer_ids]
    copies: list[list[Copy]] = [[] for _ in group.tasks]
    members = st.integers(0, len(group.consumer_ids) - 1)
    for task, definition in enumerate(group.tasks):
        owner = draw(st.one_of(st.none(), members))
        if owner is not None:
            active[owner].append(task)
        for consumer in draw(st.lists(members, max_size=3, unique_by=lambda c: group.instance_of[c])):
            instance = group.instance_of[consumer]
            if definition.stateful and (owner is None or group.instance_of[owner] != instance):
                if draw(st.booleans()):
                    standby[consumer].append(task)
                lag = draw(
                    st.sampled_from([0, definition.end_offset_sum, definition.end_offset_sum // 2, UNKNOWN, None])
                )
                remaining = definition.end_offset_sum if lag in (None, UNKNOWN) else lag
                reporters = () if lag is None else (consumer,)
                copies[task].append(Copy(instance, lag, reporters, remaining))
        if owner is not None and definition.stateful:
            copies[task].append(Copy(group.instance_of[owner], LATEST, (owner,)))
    state = GroupState(
        group=group,
        generation=empty.state.generation,
        at_ms=0,
        holdings=tuple(Holding(tuple(a), tuple(s)) for a, s in zip(active, standby, strict=True)),
        copies=tuple(tuple(sorted(of, key=lambda copy: copy.instance)) for of in copies),
        leader=empty.state.leader,
    )
    return Snapshot(state=state, config=empty.config)


@st.composite
def changed_members(draw: st.DrawFn, group: Group) -> list[Instance]:
    """The group's instances with some gone, or some more (never nobody)."""
    if len(group.instances) > 1 and draw(st.booleans()):
        count = draw(st.integers(1, len(group.instances) - 1))
        return list(draw(st.permutations(group.instances)))[count:]
    known = {instance.process_id for instance in group.instances}
    joining = [new for new in draw(instances(max_size=3)) if new.process_id not in known]
    return [*group.instances, *joining]
