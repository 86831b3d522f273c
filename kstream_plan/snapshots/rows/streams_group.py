"""What a row of a streams group has beside other rows: the group's settings, its epochs, and its members' targets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.not_modelled import DECIDING_IN_STREAMS_GROUPS
from kstream_plan.model.setting_texts import number_from_text
from kstream_plan.model.settings import CONFIG_NAMES, DEFAULT_SETTINGS, AssignmentConfig
from kstream_plan.model.streams_group import (
    BROKER_VERSIONS,
    CONTRADICTORY,
    GROUP_SETTINGS,
    NO_EPOCHS,
    NOT_READY,
    STATE_UNKNOWN,
    BrokerGroup,
    BrokerMember,
    TaskNames,
)
from kstream_plan.model.times import duration
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.config import unknown_key
from kstream_plan.snapshots.rows.fields import FieldError, checked_integer, printable, shown, time_ms
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id

_STABLE, _NOT_READY = "stable", "notready"
_WITH_MEMBERS, _WITHOUT_MEMBERS = (_STABLE, "reconciling", "assigning", _NOT_READY), ("empty", "dead")
#: The largest value of a setting: Kafka's ``int``.
_MOST = 2**31 - 1
_STANDBYS = "streams_num_standby_replicas"
_RELEASE = re.compile(r"(\d{1,4}\.\d{1,4})(?:[.-].*)?", re.ASCII)


def read_group_config(settings: Mapping[str, Any], *, as_text: bool = False) -> tuple[AssignmentConfig, list[Note]]:
    """Read the ``config`` of a streams group: the group's own settings, by the brokers' names; defaults are theirs.

    Returns:
        The settings, and a warning for every key that is none of them, and every value that brokers take only where
        their own limits have been changed.

    Raises:
        FieldError: a value of the wrong type, or that no broker takes.
    """
    values: dict[str, int] = {}
    notes = []
    for name, (field, default, low, high) in GROUP_SETTINGS.items():
        value = settings.get(name)
        value = number_from_text(value) if as_text else value
        values[field] = default if value is None else _setting(name, value, low, high)
        if not low <= values[field] <= high:
            message = f"config.{name} is {values[field]}: brokers take {low} to {high} unless their limits are changed"
            notes.append(Note("unusual-group-setting", message, (name,)))
    for key in sorted(set(settings).difference(GROUP_SETTINGS, DECIDING_IN_STREAMS_GROUPS)):
        if key in CONFIG_NAMES:
            message = f"config.{key} is a setting of the application: it has no effect in a streams group"
            notes.append(Note("no-effect-in-streams-group", message, (key,)))
        else:
            notes.append(unknown_key(key, GROUP_SETTINGS))
    return replace(AssignmentConfig(), **values), notes  # type: ignore[arg-type]


def no_group_settings(settings: Mapping[str, Any], config: AssignmentConfig) -> tuple[Note, ...]:
    """Say that the brokers' defaults, which are those of ``config``, count where a row has no settings of its group."""
    known_names = {name for name, value in settings.items() if value is not None}
    if known_names & (GROUP_SETTINGS.keys() - {_STANDBYS}):
        return ()
    assumed = [name for name in GROUP_SETTINGS if name not in known_names]
    values = ", ".join(f"{name.replace('_', '.')} {_shown_value(name, config)}" for name in assumed)
    but = " but streams.num.standby.replicas" if _STANDBYS in known_names else ""
    message = (
        f"The snapshot holds no settings of the group{but}: the brokers' defaults are assumed ({values}); "
        "--streams-config gives those of the group"
    )
    return (Note(DEFAULT_SETTINGS, message),)


def _shown_value(name: str, config: AssignmentConfig) -> str:
    value = getattr(config, GROUP_SETTINGS[name][0])
    return duration(value) if name.endswith("_ms") else str(value)


def read_broker_group(row: written.Snapshot, group: Group, generation: int, captured_at_ms: int | None) -> BrokerGroup:
    """Read what the broker knows of the group beside the tasks of each member.

    Raises:
        FieldError: the release of the brokers is unknown, the positions are no order, or a target is missing though
            the group is not Stable.
    """
    state, target_at_ms = row.group_state, time_ms(row.target_at)
    if None not in (target_at_ms, captured_at_ms) and target_at_ms > captured_at_ms:  # type: ignore[operator]
        problem = f"is {shown(row.target_at)}, after captured_at"
        raise FieldError("target_at", problem, "give the time that the newest target was computed at, or leave it out")
    target_epoch = generation if row.target_epoch is None else row.target_epoch
    if target_epoch > generation:
        problem = f"is {target_epoch}, and the group's own (generation) is {generation}"
        raise FieldError("target_epoch", problem, "give the epoch that the newest target was computed at")
    broker_version = _broker_version(row.broker_version)
    _check_state(state)
    _check_tasks(group)
    members, positions = [], []
    stable = _is_stable(state) and target_epoch == generation
    for number, instance in enumerate(row.instances):
        process_id = normal_process_id(instance.process_id)
        for position, consumer_row in enumerate(instance.consumers or ()):
            try:
                members.append(_member(consumer_row, process_id, group, target_epoch, broker_version, stable=stable))
                positions.append(consumer_row.position)
            except FieldError as error:
                raise error.inside(f"instances[{number}].consumers[{position}]") from None
    _check_targets(members, group)
    return BrokerGroup(
        broker_version=broker_version,
        group_epoch=generation,
        target_epoch=target_epoch,
        target_age_ms=None if None in (target_at_ms, captured_at_ms) else captured_at_ms - target_at_ms,  # type: ignore[operator]
        state=state,
        members=tuple(_in_table_order(members, positions)),
        ordered=None not in positions,
        tells_state=state is not None or _tells_arrival(row),
    )


def _tells_arrival(row: written.Snapshot) -> bool:
    """Tell whether a row has all epochs and targets, so that it shows itself whether its members have arrived."""
    consumer_rows = [consumer_row for instance in row.instances for consumer_row in instance.consumers or ()]
    all_known = all(
        consumer_row.target is not None and consumer_row.member_epoch is not None for consumer_row in consumer_rows
    )
    return row.target_epoch is not None and all_known


def _check_state(state: str | None) -> None:
    if state is None or state.lower() in _WITH_MEMBERS:
        return
    if state.lower() in _WITHOUT_MEMBERS:
        problem = f"is {shown(state)}, but there are members"
        raise FieldError("group_state", problem, "describe the group while it runs")
    raise FieldError("group_state", f"is {shown(state)}, which no streams group is", "write Stable or Reconciling, say")


def group_notes(memory: BrokerGroup, group: Group, holdings: Sequence[Holding]) -> Iterator[Note]:
    """Warn of brokers that assign nothing, of contradictions in the group, and of tasks without an owner.

    Raises:
        FieldError: a task that a member revokes has an owner, or a target that members have not reached leaves out a
            task.
    """
    if (memory.state or "").lower() == _NOT_READY:
        message = (
            "The group is NotReady: its brokers assign nothing until the topics of its topology exist. The plan shows "
            "what they do then"
        )
        yield Note(NOT_READY, message)
    if not memory.tells_state:
        message = (
            "Neither group_state nor the epochs and targets of all members tell whether the group is Stable; the plan "
            "assumes that it is. Describe the group again"
        )
        yield Note(STATE_UNKNOWN, message)
    names = [str(task.task_id) for task in group.tasks]
    held_tasks = {
        member_id: TaskNames(
            *(tuple(sorted(names[task] for task in role)) for role in (holding.active, holding.standby))
        )
        for member_id, holding in zip(group.consumer_ids, holdings, strict=True)
    }
    _check_revoking(memory.members, held_tasks)
    members = tuple(
        member.member_id for member in memory.members if _contradicts(member, held_tasks[member.member_id], memory)
    )
    if members:
        is_, holds = ("is", "it holds is") if len(members) == 1 else ("are", "they hold is")
        state_text = (
            f"the group is said to be {memory.state}" if memory.state else "no group_state says otherwise than Stable"
        )
        if not _is_stable(memory.state):
            state_text = f"{is_} said to be STABLE"
        message = (
            f"{', '.join(members)}: {state_text}, but what {holds} not what a target gives that all members have "
            "reached. The group was described at two moments, or the row was edited: what follows, and how long that "
            "takes, is uncertain. Describe the group again"
        )
        yield Note(CONTRADICTORY, message, members)
    dealt_out = {task for member in memory.members for task in member.target.active}
    left_out = tuple(name for name in names if name not in dealt_out)
    if left_out and memory.group_epoch == memory.target_epoch:
        if not all(_arrived(member, held_tasks[member.member_id], memory) for member in memory.members):
            problem = f"gives {shown(left_out[0])} to no member, though it is the newest target"
            fix = "give what each member is to hold, or describe the group again once it is Stable"
            raise FieldError("instances[].consumers[].target", problem, fix)
        message = (
            f"{', '.join(left_out)}: unassigned, and in no target: the "
            "brokers know fewer tasks by now, or the row is not whole. What follows counts from a target that has all"
        )
        yield Note("not-dealt-out", message, left_out)


def no_epochs(group_id: str) -> Note:
    """Return the warning of a group whose epochs are unknown."""
    message = (
        "No epoch of the group or its members is known, as in tables without --verbose: whether the members follow the "
        f"newest target is unknown. Save what kafka-streams-groups.sh --describe --group {printable(group_id)} "
        "--members --verbose prints"
    )
    return Note(NO_EPOCHS, message)


def _arrived(member: BrokerMember, held_tasks: TaskNames, group: BrokerGroup) -> bool:
    """Tell whether a member has reached the newest target."""
    has_reached_target = member.epoch == group.target_epoch and member.state in (None, "STABLE")
    return has_reached_target and member.target == held_tasks


def _is_stable(state: str | None) -> bool:
    """Tell whether a group is Stable; one without a state counts as Stable."""
    return state is None or state.lower() == _STABLE


def _contradicts(member: BrokerMember, held_tasks: TaskNames, group: BrokerGroup) -> bool:
    """Tell whether a member's tasks contradict its state, or its group's."""
    arrived = _arrived(member, held_tasks, group)
    if _is_stable(group.state):
        return not arrived
    return member.state == "STABLE" and member.epoch == group.target_epoch and not arrived


def _broker_version(text: str | None) -> str:
    if text is None:
        raise FieldError(
            "broker_version", "is missing", f"give the release of the brokers: {', '.join(BROKER_VERSIONS)}"
        )
    match = _RELEASE.fullmatch(text)
    if match is None or match[1] not in BROKER_VERSIONS:
        versions = ", ".join(BROKER_VERSIONS)
        problem = f"is {shown(text)}; streams groups of other brokers than {versions} are not modelled"
        raise FieldError("broker_version", problem, f"give the release of the brokers, if it is one of {versions}")
    return match[1]


def _check_tasks(group: Group) -> None:
    """Check that every subtopology has the tasks 0 to one less than their number, all with state or none."""
    places: dict[str, int] = {}
    stateful: dict[str, bool] = {}
    for task in group.tasks:
        subtopology, partition = task.task_id.group, getattr(task.task_id, "partition", 0)
        if getattr(task.task_id, "topology_name", None) is not None:
            problem = f"holds {shown(str(task.task_id))}, but streams groups have no named topologies"
            raise FieldError("tasks", problem, "write subtopology_partition as in 0_3")
        if partition != places.get(subtopology, 0):
            problem = f"holds {shown(str(task.task_id))} and not {shown(f'{subtopology}_{places.get(subtopology, 0)}')}"
            raise FieldError("tasks", problem, "give all tasks of every subtopology: the broker assigns all of them")
        places[subtopology] = partition + 1
        if stateful.setdefault(subtopology, task.stateful) != task.stateful:
            problem = f"gives {shown(str(task.task_id))} another stateful than {shown(f'{subtopology}_0')}"
            raise FieldError("tasks", problem, "all tasks of a subtopology have state, or none")


def _member(
    consumer_row: written.Consumer,
    process_id: str,
    group: Group,
    target_epoch: int,
    broker_version: str,
    *,
    stable: bool,
) -> BrokerMember:
    if consumer_row.group_instance_id is not None and not BROKER_VERSIONS[broker_version]:
        problem = f"is {shown(consumer_row.group_instance_id)}, but brokers of {broker_version} refuse static members"
        raise FieldError("group_instance_id", problem, "leave it out, or give the brokers' release if it is 4.4")
    _no_warmups(consumer_row)
    current = TaskNames(*(tuple(sorted(getattr(consumer_row, role) or ())) for role in TaskNames._fields))
    target = _roles(consumer_row.target, "target", group)
    if target is None:
        if not stable:
            problem = "is missing, though the group is not Stable"
            raise FieldError(
                "target", problem, "give what each member is to hold, or capture the group when it is Stable"
            )
        target = current
    state: str | None = consumer_row.member_state
    revoking = _roles(consumer_row.revoking, "revoking", group) or TaskNames()
    if any(revoking) and state not in (None, "UNREVOKED_TASKS"):
        problem = f"is {shown(state)}, but the member is revoking tasks"
        raise FieldError("member_state", problem, "write UNREVOKED_TASKS, or leave revoking empty")
    state = "UNREVOKED_TASKS" if any(revoking) else state
    epoch = consumer_row.member_epoch
    if epoch is not None and epoch > target_epoch:
        problem = f"is {epoch}, and the newest target's (target_epoch) is {target_epoch}: the group went on in between"
        raise FieldError("member_epoch", problem, "describe the group again, all of it at one moment")
    if epoch == target_epoch and state == "UNREVOKED_TASKS":
        problem = f"is {epoch}, the newest target's, which no member that still revokes (UNREVOKED_TASKS) has reached"
        raise FieldError("member_epoch", problem, "describe the group again, all of it at one moment")
    return BrokerMember(
        member_id=consumer_row.consumer_id,
        process_id=process_id,
        epoch=_likely_epoch(target_epoch, state, stable=stable, arrived=target == current) if epoch is None else epoch,
        state=state,
        target=target,
        revoking=revoking,
        offsets=_offsets(consumer_row.task_offsets or (), group),
    )


def _likely_epoch(target_epoch: int, state: str | None, *, stable: bool, arrived: bool) -> int:
    """Return the epoch of a member without one: a member that may have to revoke tasks counts as behind."""
    has_reached_target = state == "UNRELEASED_TASKS" or (arrived and (stable or state == "STABLE"))
    return target_epoch if has_reached_target else target_epoch - 1


def _no_warmups(seat: written.Consumer | written.ByRole) -> None:
    if seat.warmup:
        problem = "is not empty: brokers up to 4.4 place no warm-ups in a streams group"
        raise FieldError("warmup", problem, "leave it empty, or move the tasks to standby")


def _roles(roles: written.ByRole | None, name: str, group: Group) -> TaskNames | None:
    if roles is None:
        return None
    try:
        _no_warmups(roles)
        return TaskNames(*(_tasks(getattr(roles, role) or (), role, group) for role in TaskNames._fields))
    except FieldError as error:
        raise error.inside(name) from None


def _tasks(names: Sequence[str], role: str, group: Group) -> tuple[str, ...]:
    for index, name in enumerate(names):
        _check_known(name, f"{role}[{index}]", "add the task to tasks, or take it out here", group)
    if len(set(names)) < len(names):
        raise FieldError(role, "names a task twice", "keep one of them")
    return tuple(sorted(names))


def _offsets(offset_rows: Sequence[written.TaskOffset], group: Group) -> tuple[tuple[str, int], ...]:
    for index, offset_row in enumerate(offset_rows):
        place = f"task_offsets[{index}].task_id"
        _check_known(offset_row.task_id, place, "add the task to tasks, or leave it out", group)
    return tuple(sorted((offset_row.task_id, offset_row.offset) for offset_row in offset_rows))


def _check_known(name: str, place: str, fix: str, group: Group) -> None:
    if name not in group.task_index_by_text:
        raise FieldError(place, f"is {shown(name)}, which is not in tasks", fix)


def _setting(name: str, value: object, low: int, high: int) -> int:
    try:
        return checked_integer(f"config.{name}", value, min(low, 1), _MOST)
    except FieldError as error:
        raise FieldError(
            error.path, error.problem, f"give a whole number, {low} to {high} by the brokers' usual limits"
        ) from None


def _check_targets(members: Sequence[BrokerMember], group: Group) -> None:
    """Check that a target gives a task to one active owner, and to a process once; what has no state has no standby."""
    owners: dict[str, str] = {}
    copies: dict[tuple[str, str], str] = {}
    for member in members:
        for task in member.target.active:
            if task in owners:
                problem = f"gives {shown(task)} to {shown(owners[task])} and {shown(member.member_id)}"
                raise FieldError("target", problem, "a task is to have one active owner: keep one of them")
            owners[task] = member.member_id
        for task in member.target.standby:
            if not group.tasks[group.task_index_by_text[task]].stateful:
                problem = f"gives {shown(member.member_id)} a standby of {shown(task)}, which is stateless"
                raise FieldError("target", problem, "take it out, or say that the task is stateful")
        for task in (*member.target.active, *member.target.standby):
            if (member.process_id, task) in copies:
                member_ids = f"{shown(copies[member.process_id, task])} and {shown(member.member_id)}"
                problem = f"gives {shown(task)} twice to process {shown(member.process_id)} (to {member_ids})"
                raise FieldError("target", problem, "a process is to have a task once, in one role: keep one of them")
            copies[member.process_id, task] = member.member_id


def _check_revoking(members: Sequence[BrokerMember], held_tasks: Mapping[str, TaskNames]) -> None:
    """Check that a task being revoked has no other owner: the revoking member owns it until it acknowledges.

    Since 4.4 a member can get a standby of a task at once whose active copy it revokes.
    """
    owners = {task: member_id for member_id, roles in held_tasks.items() for task in roles.active}
    process = {member.member_id: member.process_id for member in members}
    copies = {
        (process[member_id], task): member_id
        for member_id, roles in held_tasks.items()
        for role in roles
        for task in role
    }
    for member in members:
        for task in member.revoking.active:
            if task in owners:
                raise _still_held(task, member, owners[task])
            owners[task] = member.member_id
        own_standbys = held_tasks[member.member_id].standby
        revoked_tasks = (task for task in member.revoking.active if task not in own_standbys)
        for task in (*revoked_tasks, *member.revoking.standby):
            if (member.process_id, task) in copies:
                raise _still_held(task, member, copies[member.process_id, task])
            copies[member.process_id, task] = member.member_id


def _still_held(task: str, member: BrokerMember, holder_id: str) -> FieldError:
    problem = (
        f"says that {shown(member.member_id)} gives up {shown(task)}, which {shown(holder_id)} holds, or gives up, too"
    )
    return FieldError("instances[].consumers[].revoking", problem, "keep one of them, or describe the group again")


def _in_table_order(members: Sequence[BrokerMember], positions: Sequence[int | None]) -> Sequence[BrokerMember]:
    known_positions = [position for position in positions if position is not None]
    if not known_positions:
        return sorted(members, key=lambda member: java_string_key(member.member_id))
    if sorted(known_positions) != list(range(len(members))):
        problem = "are not 0 to one less than the number of consumers, each once"
        raise FieldError(
            "instances[].consumers[].position", problem, "give every consumer its row in the table, or none"
        )
    return [member for _, member in sorted(zip(known_positions, members, strict=True), key=lambda row: row[0])]
