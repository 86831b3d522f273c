"""Rows of streams groups from saved text of ``kafka-streams-groups.sh --describe``.

The text is that of ``--members``, ``--state`` and ``--offsets``, in any order, one after the other; what is not part of
a table is passed over. The members stay in the order in which the broker listed them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.snapshots.broker.describe_tables import WHOLE_LINES, TableKind, TableRow, failure_in, read_tables
from kstream_plan.snapshots.broker.streams_rows import ASSIGNOR, SINCE_4_4, refuse_unmodelled
from kstream_plan.snapshots.broker.topology_text import Topology
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.streams_group import no_epochs

_TOOL = "kafka-streams-groups.sh --describe --group ID --members --verbose"
_ROLE = re.compile(r"((?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP)): ")
_TASKS = re.compile(r"([^\s:;]+):\[([\d,]*)\]")
_NO_TASKS = ("active", "standby", "warmup")


class _Member(NamedTuple):
    """A member; without --verbose its epoch is unknown, and its roles are those that it has."""

    member_id: str
    epoch: int | None
    process_id: str
    client_id: str
    roles: Mapping[str, tuple[str, ...]]
    is_classic: bool


@dataclass(slots=True)
class _Group:
    """What the text holds of one group."""

    file: str
    members: list[_Member] = field(default_factory=list)
    state: str | None = None
    member_count: int | None = None
    assignor: str | None = None
    group_epoch: int | None = None
    target_epoch: int | None = None
    members_target_epoch: int | None = None
    partitions: dict[str, int] = field(default_factory=dict)
    members_before: list[_Member] = field(default_factory=list)
    has_older_table: bool = False

    @property
    def has_targets(self) -> bool:
        """Whether the text tells what members are to hold."""
        target_roles = (role for member in self.members for role in member.roles if role.startswith("target-"))
        return self.members_target_epoch is not None or any(target_roles)


class DescribedRow(NamedTuple):
    """A group's row, and what is not known of it."""

    row: dict[str, Any]
    notes: tuple[Note, ...]


def rows_from_text(
    texts: Sequence[tuple[str, str]],
    broker_version: str,
    topology_of: Callable[[str], Topology | None],
    settings_of: Callable[[str], Mapping[str, Any] | None],
) -> list[DescribedRow]:
    """Return a row for every group in the texts, in the order in which they come.

    Args:
        texts: each with the file it is from.
        broker_version: the release of the brokers, which the tool does not tell.
        topology_of: group → its topology, if one is given.
        settings_of: group → its own settings, by the fields of ``AssignmentConfig``, if they are given.

    Raises:
        SnapshotError: a line cannot be read, no streams group's members are there, or what they are to hold or which
            tasks keep state is unknown.
    """
    groups: dict[str, _Group] = {}
    other_rows: list[TableRow] = []
    for file, text in texts:
        _read(file, text, groups, other_rows)
    groups_with_members = {group_id: group for group_id, group in groups.items() if group.members}
    if not groups_with_members:
        raise _without_members(groups, other_rows, texts)
    rows = [
        _row(group_id, group, broker_version, topology_of(group_id), settings_of(group_id))
        for group_id, group in groups_with_members.items()
    ]
    left_out = {group_id for group_id, group in groups.items() if not group.members and group.member_count != 0}
    left_out |= {row.cells["GROUP"] for row in other_rows} - groups_with_members.keys() - groups.keys()
    if left_out:
        names = ", ".join(map(printable, sorted(left_out)))
        message = f"left out, as no members of a streams group are listed: {names}. Save what {_TOOL} prints of each"
        rows[-1] = rows[-1]._replace(notes=(*rows[-1].notes, Note("groups-left-out", message)))
    return rows


def _without_members(
    groups: Mapping[str, _Group], other_rows: list[TableRow], texts: Sequence[tuple[str, str]]
) -> SnapshotError:
    """Return the error about texts without members of a streams group; it names what they hold instead."""
    cut = next((row for row in other_rows if row.kind is TableKind.CUT), None)
    if cut is not None:
        return SnapshotError(f"is {cut.kind.value}", where=cut.place, fix=WHOLE_LINES)
    if groups and all(row.kind is not TableKind.EARLY_MEMBERS for row in other_rows):
        group_id, group = next(iter(groups.items()))
        problem = f"holds the state or the offsets of group {shown(group_id)}, and not its members"
        return SnapshotError(
            problem, where=group.file, fix=f"add what {_TOOL.replace('ID', printable(group_id))} prints"
        )
    if not other_rows:
        first_failure = next((failure for _, text in texts if (failure := failure_in(text)) is not None), None)
        problem = "holds no table of a streams group's members"
        problem = problem if first_failure is None else f"{problem}: the tool failed: {printable(first_failure[:200])}"
        return SnapshotError(problem, where=", ".join(file for file, _ in texts), fix=f"save what {_TOOL} prints")
    row = next((row for row in other_rows if row.kind is TableKind.EARLY_MEMBERS), other_rows[0])
    group_id = printable(row.cells["GROUP"]) or "ID"
    fix = f"save what {_TOOL.replace('ID', group_id)} prints"
    if row.kind is TableKind.SHARE or row.cells.get("TYPE", "Streams") != "Streams":
        fix = f"kafka-streams-groups.sh --list names the groups that have tasks: save what {_TOOL} prints of one"
    strategy = row.cells.get("ASSIGNMENT-STRATEGY", "-")
    if strategy not in ("-", "stream"):
        problem = f"is a group with the assignor {shown(strategy)}, not stream: it is not one of Kafka Streams"
        return SnapshotError(problem, where=row.place, fix="give the group of a Kafka Streams application")
    if row.kind is TableKind.CLASSIC:
        fix = (
            "tasks and standbys of a classic group are in its logs (kstream-plan snapshot FILE) and at "
            f"its brokers (kstream-plan snapshot --bootstrap-server HOST:PORT --group {group_id})"
        )
    return SnapshotError(f"is {row.kind.value}", where=row.place, fix=fix)


def _read(file: str, text: str, groups: dict[str, _Group], other_rows: list[TableRow]) -> None:
    """Add the tables of a text to the groups, and those of no streams group to ``other_rows``."""
    tables_read, older_tables = set[tuple[int, str]](), set[tuple[int, str]]()
    for row in read_tables(file, text):
        group_id = row.cells["GROUP"]
        if row.kind not in (TableKind.MEMBERS, TableKind.STATE, TableKind.OFFSETS):
            other_rows.append(row)
            continue
        group = groups.setdefault(group_id, _Group(file))
        table = row.table, group_id
        if row.kind is TableKind.MEMBERS and table not in tables_read and group.members:
            if _is_older(row.number("TARGET-ASSIGNMENT-EPOCH"), group.members_target_epoch):
                older_tables.add(table)
                group.has_older_table = True
            else:
                group.members_before, group.members = group.members, []
        if row.kind is TableKind.STATE and _is_older(row.number("GROUP-EPOCH"), group.group_epoch):
            older_tables.add(table)
        tables_read.add(table)
        if table not in older_tables:
            _add(row, group)


def _is_older(epoch: int | None, known_epoch: int | None) -> bool:
    return epoch is not None and known_epoch is not None and epoch < known_epoch


def _add(row: TableRow, group: _Group) -> None:
    cells = row.cells
    if row.kind is TableKind.STATE:
        group.state, group.assignor = cells["STATE"], cells.get("ASSIGNOR")
        group.member_count = row.number("#MEMBERS")
        group.group_epoch, group.target_epoch = row.number("GROUP-EPOCH"), row.number("TARGET-ASSIGNMENT-EPOCH")
    elif row.kind is TableKind.OFFSETS:
        partition = row.number("PARTITION")
        group.partitions[cells["TOPIC"]] = max(group.partitions.get(cells["TOPIC"], 0), (partition or 0) + 1)
    else:
        group.members_target_epoch = row.number("TARGET-ASSIGNMENT-EPOCH")
        is_classic = cells.get("MEMBER-PROTOCOL") == "classic"
        member_id, process_id, client_id = (cells[column] for column in ("MEMBER", "PROCESS", "CLIENT-ID"))
        roles, epoch = _roles(cells["ASSIGNMENTS"]), row.number("MEMBER-EPOCH")
        group.members.append(_Member(member_id, epoch, process_id, client_id, roles, is_classic))


def _roles(text: str) -> dict[str, tuple[str, ...]]:
    parts = _ROLE.split(text)[1:]
    return {
        role.lower(): tuple(
            f"{subtopology}_{partition}"
            for subtopology, numbers in _TASKS.findall(tasks)
            for partition in numbers.split(",")
            if numbers
        )
        for role, tasks in zip(parts[::2], parts[1::2], strict=True)
    }


def _row(
    group_id: str, group: _Group, broker_version: str, topology: Topology | None, settings: Mapping[str, Any] | None
) -> DescribedRow:
    classic = next((member.member_id for member in group.members if member.is_classic), None)
    refuse_unmodelled(group_id, group.file, group.assignor, classic)
    names = {field_name: name for name, (field_name, *_) in GROUP_SETTINGS.items()}
    tasks, notes = _tasks(group_id, group, topology)
    listing = _when_listed(group)
    notes += listing.notes
    if group.has_older_table or group.members_before not in ([], group.members):
        counted_table = (
            "last one" if group.members_target_epoch is None else f"one of target {group.members_target_epoch}"
        )
        message = f"--members is there more than once: the {counted_table} counts. Give the texts of one moment"
        notes.append(Note("members-again", message))
    row: dict[str, Any] = {
        "format_version": "1.0",
        "application_id": group_id,
        "group_protocol": "streams",
        "broker_version": broker_version,
        "generation": listing.group_epoch,
        "target_epoch": listing.target_epoch,
        "group_state": listing.state,
        "config": {names.get(name, name): value for name, value in (settings or {}).items()},
        "tasks": tasks,
        "instances": _instances(group),
    }
    if settings is None:
        standbys = _standbys(group)
        row["config"] = {"streams_num_standby_replicas": standbys}
        message = (
            f"the tool does not print the group's settings: {standbys} standbys, as the members have, and the "
            "brokers' defaults are assumed. Give --streams-config"
        )
        notes.append(Note("no-config", message))
    if listing.state is not None and listing.state != "Stable":
        message = f"the group is {printable(listing.state)}: the progress of each member is not in the tool's text"
        notes.append(Note("not-stable", message))
    notes += _assumptions(group, broker_version)
    if listing.state == group.state and group.state in (None, "Stable", "Reconciling"):
        notes += _cut(group, tasks)
    if listing.group_epoch is None:
        notes.append(no_epochs(group_id))
    return DescribedRow(row, tuple(notes))


def _cut(group: _Group, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Note]:
    """Yield a note if lines of members seem to be cut between two tasks.

    Raises:
        SnapshotError: no member is to run a task: a coordinator that has assigned tasks leaves none out.
    """
    prefix = "target-" if group.has_targets else ""
    running = {task for member in group.members for task in member.roles.get(f"{prefix}active", ())}
    unassigned_ids = [task["task_id"] for task in tasks if task["task_id"] not in running]
    if unassigned_ids:
        problem = f"no member is to run task {unassigned_ids[0]}" + (
            f" and {len(unassigned_ids) - 1} more" if unassigned_ids[1:] else ""
        )
        fix = f"{WHOLE_LINES}; where they are whole, members have just left: save it again when --state says Stable"
        raise SnapshotError(problem, where=group.file, fix=fix)
    standbys = _copies(group)
    numbers = sorted({standbys[task["task_id"]] for task in tasks if task["stateful"]})
    if numbers[1:]:
        message = (
            f"stateful tasks have {numbers[0]} to {numbers[-1]} standbys, and the coordinator gives each the same "
            f"number: lines may be cut, and tasks look unprotected that are not. If so, {WHOLE_LINES}"
        )
        yield Note("standbys-differ", message)


def _assumptions(group: _Group, broker_version: str) -> Iterator[Note]:
    """Yield notes on missing tables and columns, and on what is assumed instead.

    Raises:
        SnapshotError: the number of members is not that of the group's state.
        SnapshotError: the targets of members are missing, and do not follow from the group's state.
    """
    is_one_moment = None in (group.target_epoch, group.members_target_epoch) or (
        group.target_epoch == group.members_target_epoch
    )
    if group.member_count not in (None, len(group.members)) and is_one_moment:
        problem = f"--state says {group.member_count} members, and --members has {len(group.members)}"
        raise SnapshotError(problem, where=group.file, fix=f"{WHOLE_LINES}, of both tables at one time")
    if not group.has_targets:
        if group.state != "Stable":
            problem = "does not tell what members are to hold: --members was saved without --verbose, and "
            problem += "--state is missing" if group.state is None else f"the group is {printable(group.state)}"
            raise SnapshotError(problem, where=group.file, fix=f"save what {_TOOL} prints")
        message = (
            "--members was saved without --verbose: what members are to hold is taken to be what they hold, since "
            "--state says that the group is Stable. If it was not when its members were listed, the plan is wrong"
        )
        yield Note("no-targets", message)
    if group.state is None:
        yield Note("no-state", "--state --verbose is missing: the group is assumed to be Stable")
    elif broker_version == SINCE_4_4 and group.assignor in (None, "", "-"):
        message = (
            f"--state does not name the group's assignor (ASSIGNOR, since the tool of 4.4): {ASSIGNOR}, the default, "
            "is assumed"
        )
        yield Note("assignor-unknown", message)


class _Moment(NamedTuple):
    """The group when its members were listed; ``state`` is ``None`` if it is unknown for then."""

    state: str | None
    group_epoch: int | None
    target_epoch: int | None
    notes: tuple[Note, ...] = ()


def _when_listed(group: _Group) -> _Moment:
    """Return the group when its members were listed: what they hold and are to hold is of then, and counts."""
    target_epoch = group.target_epoch if group.members_target_epoch is None else group.members_target_epoch
    if target_epoch is None:
        return _Moment(group.state, None, None)
    is_assigning = group.state == "Assigning" and group.group_epoch is None
    group_epoch = max(target_epoch + is_assigning, group.group_epoch or 0)
    if group.target_epoch in (None, target_epoch):
        return _Moment(group.state, group_epoch, target_epoch)
    message = (
        f"--state shows target {group.target_epoch}, --members target {target_epoch}: they are of two moments. The "
        "plan uses the members, and what has changed since is unknown: save both again, one right after the other"
    )
    state = "Assigning" if group_epoch > target_epoch else None
    return _Moment(state, group_epoch, target_epoch, (Note("two-moments", message),))


def _standbys(group: _Group) -> int:
    """Return how many standbys a task is to have at most."""
    return max(_copies(group).values(), default=0)


def _copies(group: _Group) -> Counter[str]:
    """Return how many standbys each task is to have."""
    role = "target-standby" if group.has_targets else "standby"
    return Counter(task for member in group.members for task in member.roles.get(role, ()))


def _instances(group: _Group) -> list[dict[str, Any]]:
    consumers_by_process: dict[str, list[dict[str, Any]]] = {}
    for position, member in enumerate(group.members):
        consumers_by_process.setdefault(member.process_id, []).append(
            {
                "consumer_id": member.member_id,
                "client_id": member.client_id,
                "position": position,
                "member_epoch": member.epoch,
                **{role: list(member.roles.get(role, ())) for role in _NO_TASKS},
                "target": {role: list(member.roles.get(f"target-{role}", ())) for role in _NO_TASKS}
                if group.has_targets
                else None,
            }
        )
    return [
        {"process_id": process_id, "consumers": consumers} for process_id, consumers in consumers_by_process.items()
    ]


def _tasks(group_id: str, group: _Group, topology: Topology | None) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return all tasks of the subtopologies: those of the members and their targets, and of all source partitions."""
    task_counts, copied = dict[str, int](), set[str]()
    for member in group.members:
        for role, names in member.roles.items():
            for name in names:
                subtopology_id, _, partition = name.rpartition("_")
                task_counts[subtopology_id] = max(task_counts.get(subtopology_id, 0), int(partition) + 1)
                if role.removeprefix("target-") != "active":
                    copied.add(subtopology_id)
    notes: list[Note] = [] if topology is None else [*topology.notes]
    if topology is not None:
        subtopologies = {str(key.number): subtopology for key, subtopology in topology.subtopologies.items()}
        for subtopology_id, subtopology in subtopologies.items():
            topics = (t for topic in subtopology.source_topics for t in (topic, f"{group_id}-{topic}"))
            partition_counts = [group.partitions.get(topic, 0) for topic in topics]
            task_counts[subtopology_id] = max([task_counts.get(subtopology_id, 0), *partition_counts])
        unknown = sorted(task_counts.keys() - subtopologies.keys())
        if unknown:
            problem, fix = f"has no sub-topology {unknown[0]}", "give the topology that the group runs"
            raise SnapshotError(problem, where=topology.file, fix=fix)
        stateful = {subtopology_id for subtopology_id, subtopology in subtopologies.items() if subtopology.stores}
    elif copied:
        stateful = copied
        notes.append(Note("stateful-by-standbys", "Tasks with standbys are assumed to be stateful, others stateless"))
    else:
        problem = "does not tell which tasks are stateful, and there is no standby"
        raise SnapshotError(
            problem, where=group.file, fix="give Topology.describe() of the application: --topology FILE"
        )
    tasks = [
        {"task_id": f"{subtopology_id}_{partition}", "stateful": subtopology_id in stateful}
        for subtopology_id, count in sorted(task_counts.items())
        for partition in range(count)
    ]
    return tasks, notes
