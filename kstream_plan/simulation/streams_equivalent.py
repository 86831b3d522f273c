"""What a classic group would be as a streams group: the same instances, tasks and disks, and a broker that decides."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.errors import UsageError
from kstream_plan.model import LATEST, Consumer, Copy, Group, GroupState, Holding, Snapshot
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import seated
from kstream_plan.model.streams_group import BROKER_VERSIONS, GROUP_SETTINGS, BrokerGroup, BrokerMember, TaskNames

_STABLE = "STABLE"


def check_tasks(group: Group) -> None:
    """Check that a broker could deal out these tasks.

    Raises:
        UsageError: it could not: there are named topologies, or tasks of a subtopology are missing or unlike.
    """
    of_each: dict[str, list[tuple[int, bool]]] = {}
    for task in group.tasks:
        if getattr(task.task_id, "topology_name", None) is not None:
            message = f"{task.task_id} is of a named topology, and streams groups have none"
            raise UsageError(message, where=group.application_id, fix="the application cannot switch as it is")
        of_each.setdefault(task.task_id.group, []).append((getattr(task.task_id, "partition", 0), task.stateful))
    for subtopology, tasks in of_each.items():
        if [partition for partition, _ in tasks] != list(range(len(tasks))):
            message = (
                f"not all tasks of subtopology {subtopology} are in the snapshot, and the broker assigns all of them"
            )
            raise UsageError(message, where=group.application_id, fix="give a snapshot with all of them")
        if len({stateful for _, stateful in tasks}) > 1:
            message = f"some tasks of subtopology {subtopology} are stateful, some not"
            raise UsageError(message, where=group.application_id, fix="declare all of them stateful, or none")


def starting(snapshot: Snapshot, broker_version: str, standbys: int, draw: int) -> Snapshot:
    """Return the group as all start anew at such a broker: there are no members yet, the disks are as they are.

    Member ids are random at every start: they are drawn here, from the application's id and the number of the draw.
    Settings of the group are the defaults of brokers, but for ``standbys``. Of stores in memory nothing is left.
    """
    state = snapshot.state
    copies = [[] if snapshot.stores == "in-memory" else list(task_copies) for task_copies in seated(state).copies]
    left_over = tuple(
        tuple(copy._replace(reporters=(), consumer=None, active=False, lost_at_ms=0) for copy in task_copies)
        for task_copies in copies
    )
    group = _with_new_members(state.group, broker_version, draw)
    memory = BrokerGroup(
        broker_version=broker_version,
        group_epoch=1,
        target_epoch=1,
        target_age_ms=None,
        state=None,
        members=(),
        ordered=True,
    )
    return replace(
        _bare(snapshot),
        state=GroupState(
            group=group,
            generation=1,
            at_ms=0,
            holdings=tuple(Holding() for _ in group.consumer_ids),
            copies=left_over,
            leader=None,
            memory=memory,
        ),
        config=_group_config(snapshot.config, standbys),
        group_protocol="streams",
    )


def running(snapshot: Snapshot, holdings: Sequence[Holding]) -> Snapshot:
    """Return a streams group that was started once it is Stable and holds this, every copy caught up."""
    group, memory = snapshot.state.group, snapshot.state.memory
    assert isinstance(memory, BrokerGroup)
    return replace(
        snapshot,
        state=replace(
            snapshot.state,
            holdings=tuple(holdings),
            copies=tuple(() for _ in group.tasks),
            memory=replace(memory, members=_members(group, holdings)),
        ),
    )


def settled_classic(snapshot: Snapshot, holdings: Sequence[Holding], standbys: int) -> Snapshot:
    """Return the classic group that holds this, every copy caught up, with so many standbys asked for."""
    group = snapshot.state.group
    copies: list[list[Copy]] = [[] for _ in group.tasks]
    for consumer, holding in enumerate(holdings):
        instance = group.instance_of[consumer]
        for task in holding.active:
            if group.stateful_flags[task]:
                copies[task].append(Copy(instance, LATEST, (consumer,), 0, consumer, True))
        for task in holding.standby:
            copies[task].append(Copy(instance, 0, (consumer,), 0, consumer, False))
    state = replace(snapshot.state, holdings=tuple(holdings), copies=tuple(tuple(sorted(copy)) for copy in copies))
    config = replace(snapshot.config, num_standby_replicas=standbys)
    return replace(_bare(snapshot), state=state, config=config)


def _bare(snapshot: Snapshot) -> Snapshot:
    """Return only what still counts of a snapshot whose group has settled since."""
    usual = Snapshot(state=snapshot.state, config=snapshot.config)
    return replace(
        usual,
        captured_at=snapshot.captured_at,
        rates=snapshot.rates,
        stores=snapshot.stores,
        streams_version=snapshot.streams_version,
        group_protocol=snapshot.group_protocol,
    )


def _with_new_members(old: Group, broker_version: str, draw: int) -> Group:
    """Return the group with members of other ids, as clients make them: 128 random bits as text."""
    seed = f"{old.application_id}/streams/{draw}".encode("utf-8", "surrogatepass")
    static = BROKER_VERSIONS[broker_version]

    def member(consumer: int, old_consumer: Consumer) -> Consumer:
        bits = random.Random(seed + b"/%d" % consumer).getrandbits(128)
        text = base64.urlsafe_b64encode(bits.to_bytes(16, "big")).decode("ascii").rstrip("=")
        return Consumer(consumer_id=text, group_instance_id=old_consumer.group_instance_id if static else None)

    instances = [
        replace(instance, consumers=tuple(map(member, old.consumers_of[place], instance.consumers)))
        for place, instance in enumerate(old.instances)
    ]
    return Group.of(old.application_id, list(old.tasks), instances)


def _members(group: Group, holdings: Sequence[Holding]) -> tuple[BrokerMember, ...]:
    members, names = [], [str(task.task_id) for task in group.tasks]
    for (process_id, member_id), holding in zip(group.consumer_index, holdings, strict=True):
        target = TaskNames(*(tuple(sorted(names[task] for task in role)) for role in (holding.active, holding.standby)))
        members.append(
            BrokerMember(
                member_id=member_id, process_id=process_id, epoch=1, state=_STABLE, target=target, revoking=TaskNames()
            )
        )
    return tuple(members)


def _group_config(config: AssignmentConfig, standbys: int) -> AssignmentConfig:
    defaults = {field: default for field, default, _, _ in GROUP_SETTINGS.values()}
    kept_settings = {"state_cleanup_delay_ms": config.state_cleanup_delay_ms}
    return replace(AssignmentConfig(), **defaults | kept_settings | {"num_standby_replicas": standbys})  # type: ignore[arg-type]
