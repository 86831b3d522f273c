"""Hypothesis strategies for groups, their states and their settings."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Partition,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.settings import MAX_LONG, RACK_STRATEGIES, AssignmentConfig

RACKS = ("a", "b", "c")
TAGS = ("zone", "cluster")

end_offset_sums = st.one_of(
    st.integers(0, 200), st.integers(0, 10**6), st.integers(MAX_LONG - 2, MAX_LONG), st.just(2**53 + 1)
)


@st.composite
def tasks(draw: st.DrawFn, max_tasks: int = 12) -> list[Task]:
    """Up to three subtopologies, of a named topology or not; where partitions lie is drawn as a whole, for speed."""
    results: list[Task] = []
    rng = random.Random(draw(st.integers(0, 255)))
    partitions = st.integers(1, max(1, max_tasks // 2))
    for subtopology, (number, stateful, name) in enumerate(
        draw(st.lists(st.tuples(partitions, st.booleans(), st.sampled_from([None, None, "left"])), max_size=3))
    ):
        for partition in range(number):
            task_id = TaskId(subtopology, 3 * partition, name)
            results.append(
                Task(
                    task_id=task_id,
                    stateful=stateful,
                    end_offset_sum=draw(end_offset_sums) if stateful else 0,
                    source_partitions=(_partition(rng, "source", task_id),),
                    changelog_partitions=(_partition(rng, "changelog", task_id),) if stateful else (),
                )
            )
    return results[:max_tasks]


def _partition(rng: random.Random, kind: str, task_id: TaskId) -> Partition:
    return Partition(f"{kind}-{task_id.group}", task_id.partition, tuple(rng.sample(RACKS, rng.randint(1, 2))))


@st.composite
def instances(draw: st.DrawFn, min_instances: int = 1, max_instances: int = 6) -> list[Instance]:
    process_ids = draw(st.lists(st.uuids(), min_size=min_instances, max_size=max_instances, unique=True))
    equal = draw(st.one_of(st.none(), st.integers(1, 3)))
    return [
        Instance(
            process_id=str(process_id),
            consumers=tuple(
                Consumer(consumer_id=f"{process_id}-StreamThread-{number}", protocols=protocols)
                for number in range(1, 1 + (equal or draw(st.integers(1, 4))))
            ),
            rack=draw(st.sampled_from(RACKS)),
            client_tags=tuple((key, draw(st.sampled_from("xyz"))) for key in TAGS if draw(st.booleans())),
        )
        for process_id in process_ids
        for protocols in [draw(st.sampled_from([("cooperative",), ("cooperative", "eager")]))]
    ]


@st.composite
def groups(draw: st.DrawFn, max_tasks: int = 12, min_instances: int = 1, max_instances: int = 6) -> Group:
    return Group.of("orders", draw(tasks(max_tasks)), draw(instances(min_instances, max_instances)))


@st.composite
def configs(draw: st.DrawFn, *, racks: bool = True, standbys: bool = True) -> AssignmentConfig:
    return AssignmentConfig(
        acceptable_recovery_lag=draw(st.sampled_from([0, 100, 10_000, MAX_LONG])),
        max_warmup_replicas=draw(st.integers(1, 4)),
        num_standby_replicas=draw(st.sampled_from([0, 0, 1, 2, 3])) if standbys else 0,
        rack_aware_assignment_tags=draw(st.sampled_from([(), (), ("zone",), ("cluster", "zone")])),
        rack_aware_assignment_strategy=draw(st.sampled_from(RACK_STRATEGIES)) if racks else "none",
    )


@st.composite
def copies_of(draw: st.DrawFn, group: Group, task: int) -> tuple[Copy, ...]:
    """Copies of a stateful task: one at most runs, the others lag by anything."""
    if not group.tasks[task].stateful:
        return ()
    whole = group.tasks[task].end_offset_sum
    held_by = sorted(draw(st.sets(st.integers(0, len(group.instances) - 1), max_size=4)))
    running = draw(st.sampled_from([None, *held_by]))
    lags = st.one_of(st.none(), st.just(UNKNOWN), st.integers(0, min(whole, 200)), st.integers(0, whole))
    found = []
    for instance in held_by:
        lag = LATEST if instance == running else draw(lags)
        consumers = group.consumers_of[instance]
        reporters = () if lag is None else (consumers[task % len(consumers)], *consumers[:1])
        found.append(Copy(instance, lag, tuple(sorted(set(reporters)))))
    return tuple(found)


@st.composite
def group_states(draw: st.DrawFn, group: st.SearchStrategy[Group] | None = None) -> GroupState:
    drawn = draw(groups() if group is None else group)
    return GroupState(
        group=drawn,
        generation=3,
        at_ms=0,
        holdings=tuple(Holding() for _ in drawn.consumer_ids),
        copies=tuple(draw(copies_of(drawn, task)) for task in range(len(drawn.tasks))),
    )


@st.composite
def successors(draw: st.DrawFn, state: GroupState, most: int = 3) -> GroupState:
    """The same group with other copies of a few of its tasks."""
    copies = list(state.copies)
    if copies:
        for task in draw(st.sets(st.integers(0, len(copies) - 1), max_size=most)):
            copies[task] = draw(copies_of(state.group, task))
    return replace(state, copies=tuple(copies))


@st.composite
def first_starts(
    draw: st.DrawFn,
    *,
    standbys: bool = True,
    groups: st.SearchStrategy[Group] = groups(),  # noqa: B008
) -> Snapshot:
    """A group that starts for the first time: nobody holds or has anything."""
    group = draw(groups)
    state = GroupState(
        group=group,
        generation=draw(st.integers(0, 50)),
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=((),) * len(group.tasks),
        leader=draw(st.one_of(st.none(), st.integers(0, len(group.instances) - 1))),
    )
    return Snapshot(state=state, config=draw(configs(standbys=standbys)))


@st.composite
def snapshots(draw: st.DrawFn, groups: st.SearchStrategy[Group] = groups()) -> Snapshot:  # noqa: B008
    """A group in any state at all: tasks owned or orphaned, copies behind, unknown, unreported or left over."""
    start = draw(first_starts(groups=groups))
    group = start.state.group
    active: list[list[int]] = [[] for _ in group.consumer_ids]
    standby: list[list[int]] = [[] for _ in group.consumer_ids]
    copies = []
    for task in range(len(group.tasks)):
        owner = draw(st.one_of(st.none(), st.integers(0, len(group.consumer_ids) - 1)))
        found = [c for c in draw(copies_of(group, task)) if owner is None or c.instance != group.instance_of[owner]]
        for copy in found:
            if draw(st.booleans()):
                standby[draw(st.sampled_from(group.consumers_of[copy.instance]))].append(task)
        if owner is not None:
            active[owner].append(task)
            if group.tasks[task].stateful:
                found.append(Copy(group.instance_of[owner], LATEST, (owner,)))
        copies.append(tuple(sorted(_behind(group, task, copy) for copy in found)))
    holdings = tuple(Holding(tuple(a), tuple(s)) for a, s in zip(active, standby, strict=True))
    return replace(start, state=replace(start.state, holdings=holdings, copies=tuple(copies)))


def _behind(group: Group, task: int, copy: Copy) -> Copy:
    """The copy with what it has still to restore; one that says it runs elsewhere is just caught up."""
    if copy.lag == LATEST and not copy.remaining:
        return copy._replace(lag=0) if copy.consumer is None and not copy.reporters else copy
    whole = group.tasks[task].end_offset_sum
    return copy._replace(remaining=whole if copy.lag is None or copy.lag < 0 else copy.lag)


@st.composite
def changed_members(draw: st.DrawFn, group: Group) -> list[Instance]:
    """The group's instances with some gone, or some more (never nobody)."""
    if len(group.instances) > 1 and draw(st.booleans()):
        count = draw(st.integers(1, len(group.instances) - 1))
        return list(draw(st.permutations(group.instances)))[count:]
    known = {instance.process_id for instance in group.instances}
    return [*group.instances, *(new for new in draw(instances(1, 3)) if new.process_id not in known)]


def _thread_rejoined(instance: Instance) -> Instance:
    """The instance with another member id of its first thread."""
    first, *others = instance.consumers
    return replace(instance, consumers=(replace(first, consumer_id=f"{first.consumer_id}-again"), *others))


@st.composite
def two_snapshots(draw: st.DrawFn) -> tuple[Snapshot, Snapshot]:
    """Two states of one group, of one whose members changed, or of two groups that have only task ids in common."""
    first = draw(snapshots())
    group = first.state.group
    if draw(st.booleans()):
        members = draw(st.one_of(st.just(list(group.instances)), changed_members(group)))
        if draw(st.booleans()):
            members = [_thread_rejoined(instance) for instance in members]
        again = Group.of("orders", list(group.tasks), members)
        return first, draw(snapshots(st.just(again)))
    return first, draw(snapshots())
