"""Rows of streams groups from saved text of ``kafka-streams-groups.sh --describe``.

The text is that of ``--members``, ``--state`` and ``--offsets``, each with ``--verbose``, in any order, one after the
other; what is not part of a table is passed over. The members stay in the order in which the broker listed them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.snapshots.broker.topology_text import Topology
from kstream_plan.snapshots.rows.fields import printable, shown

_MEMBERS = (
    "GROUP TARGET-ASSIGNMENT-EPOCH TOPOLOGY-EPOCH MEMBER MEMBER-PROTOCOL MEMBER-EPOCH PROCESS CLIENT-ID ASSIGNMENTS"
)
_STATE = "GROUP COORDINATOR (ID) STATE GROUP-EPOCH TARGET-ASSIGNMENT-EPOCH #MEMBERS"
_OFFSETS = "GROUP TOPIC PARTITION CURRENT-OFFSET LEADER-EPOCH LOG-END-OFFSET OFFSET-LAG"
_TOOL = "kafka-streams-groups.sh --describe --group ID --members --verbose"
_ROLE = re.compile(r"(?P<role>(?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP)): (?P<tasks>(?:[^\s:;]+:\[[\d,]*\];? ?)+)")
_TASKS = re.compile(r"([^\s:;]+):\[([\d,]*)\]")
_NO_TASKS = ("active", "standby", "warmup")


class _Member(NamedTuple):
    member_id: str
    epoch: int
    process_id: str
    client_id: str
    roles: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class _Group:
    """What the text holds of one group."""

    where: str
    members: list[_Member] = field(default_factory=list)
    state: str | None = None
    group_epoch: int | None = None
    target_epoch: int | None = None
    members_target_epoch: int | None = None
    partitions: dict[str, int] = field(default_factory=dict)


class DescribedRow(NamedTuple):
    """A group's row, and what is not known of it."""

    row: dict[str, Any]
    notes: tuple[Note, ...]


def rows_from_text(
    texts: Iterable[tuple[str, str]],
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
        SnapshotError: a line cannot be read, no group's members are there, or nobody knows which tasks keep state.
    """
    groups: dict[str, _Group] = {}
    for where, text in texts:
        _read(where, text, groups)
    found = {group_id: group for group_id, group in groups.items() if group.members}
    if not found:
        places = ", ".join(where for where, _ in texts) if isinstance(texts, Sequence) else ""
        raise SnapshotError(
            "holds no table of a streams group's members", where=places, fix=f"save what {_TOOL} prints"
        )
    return [
        _row(group_id, group, broker_version, topology_of(group_id), settings_of(group_id))
        for group_id, group in found.items()
    ]


def _read(where: str, text: str, groups: dict[str, _Group]) -> None:
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("$"):
            table = ""
        elif words[0] == "GROUP":
            table = " ".join(words)
            if table not in (_MEMBERS, _STATE, _OFFSETS):
                what = "is not the table that --members, --state or --offsets print with --verbose"
                raise SnapshotError(what, where=f"{where}, line {number}", fix=f"save what {_TOOL} prints")
            started = set[str]()
        elif table:
            group = groups.setdefault(words[0], _Group(where))
            if table == _MEMBERS and words[0] not in started:
                group.members.clear()  # an earlier table of the same group
            started.add(words[0])
            try:
                _add(table, words, line, group)
            except (ValueError, IndexError):
                fix = "save the tool's text as it is, lines whole"
                raise SnapshotError(
                    f"{shown(line[:80])} cannot be read", where=f"{where}, line {number}", fix=fix
                ) from None


def _add(table: str, words: list[str], line: str, group: _Group) -> None:
    if table == _STATE:
        group.state, group.group_epoch, group.target_epoch = words[-4], int(words[-3]), int(words[-2])
    elif table == _OFFSETS:
        group.partitions[words[1]] = max(group.partitions.get(words[1], 0), int(words[2]) + 1)
    else:
        cells = line.split(None, 8)
        group.members_target_epoch, epoch = int(cells[1]), int(cells[5])
        group.members.append(_Member(cells[3], epoch, cells[6], cells[7], _roles(cells[8] if len(cells) > 8 else "")))


def _roles(text: str) -> dict[str, tuple[str, ...]]:
    found = {}
    for match in _ROLE.finditer(text):
        found[match["role"].lower()] = tuple(
            f"{of}_{partition}"
            for of, numbers in _TASKS.findall(match["tasks"])
            for partition in numbers.split(",")
            if numbers
        )
    if text.strip() and not found:
        raise ValueError(text)
    return found


def _row(
    group_id: str, group: _Group, broker_version: str, topology: Topology | None, settings: Mapping[str, Any] | None
) -> DescribedRow:
    names = {field_name: name for name, (field_name, *_) in GROUP_SETTINGS.items()}
    tasks, notes = _tasks(group_id, group, topology)
    listed = _when_listed(group)
    notes += listed.notes
    row: dict[str, Any] = {
        "format_version": "1.0",
        "application_id": group_id,
        "group_protocol": "streams",
        "broker_version": broker_version,
        "generation": listed.group_epoch,
        "target_epoch": listed.target_epoch,
        "group_state": listed.state,
        "config": {names[name]: value for name, value in (settings or {}).items()},
        "tasks": tasks,
        "instances": _instances(group),
    }
    if settings is None:
        standbys = _standbys(group)
        row["config"] = {"streams_num_standby_replicas": standbys}
        message = (
            f"the tool does not tell the group's settings: {standbys} standbys, as members have them, and the brokers' "
            "defaults will count. Give --streams-config"
        )
        notes.append(Note("no-config", message))
    if listed.state is not None and listed.state != "Stable":
        message = f"the group is {printable(listed.state)}: how far each member has come is not in the tool's text"
        notes.append(Note("not-stable", message))
    if group.state is None:
        notes.append(Note("no-state", "--state --verbose is not there: the group counts as Stable"))
    return DescribedRow(row, tuple(notes))


class _Moment(NamedTuple):
    """The group when its members were listed; ``state`` is ``None`` if nobody told it then."""

    state: str | None
    group_epoch: int
    target_epoch: int
    notes: tuple[Note, ...] = ()


def _when_listed(group: _Group) -> _Moment:
    """Return the group when its members were listed: what they hold and are to hold is of then, and counts."""
    target_epoch = group.members_target_epoch or 0
    group_epoch = max(target_epoch, group.group_epoch or 0)
    if group.target_epoch in (None, target_epoch):
        return _Moment(group.state, group_epoch, target_epoch)
    message = (
        f"--state tells of target {group.target_epoch}, --members of target {target_epoch}: they are of two moments. "
        "The members count, and what has come since is not known: save both again, one right after the other"
    )
    state = "Assigning" if group_epoch > target_epoch else None
    return _Moment(state, group_epoch, target_epoch, (Note("two-moments", message),))


def _standbys(group: _Group) -> int:
    """Return how many standbys a task is to have at most."""
    copies = Counter(task for member in group.members for task in member.roles.get("target-standby", ()))
    return max(copies.values(), default=0)


def _instances(group: _Group) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for position, member in enumerate(group.members):
        found.setdefault(member.process_id, []).append(
            {
                "consumer_id": member.member_id,
                "client_id": member.client_id,
                "position": position,
                "member_epoch": member.epoch,
                **{role: list(member.roles.get(role, ())) for role in _NO_TASKS},
                "target": {role: list(member.roles.get(f"target-{role}", ())) for role in _NO_TASKS},
            }
        )
    return [{"process_id": process_id, "consumers": consumers} for process_id, consumers in found.items()]


def _tasks(group_id: str, group: _Group, topology: Topology | None) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return all tasks: as many of a subtopology as anybody has, or is to have, or its topics have partitions."""
    number, copied = dict[str, int](), set[str]()
    for member in group.members:
        for role, names in member.roles.items():
            for name in names:
                of, _, partition = name.rpartition("_")
                number[of] = max(number.get(of, 0), int(partition) + 1)
                if role.removeprefix("target-") != "active":
                    copied.add(of)
    notes: list[Note] = []
    if topology is not None:
        subtopologies = {str(key.number): of for key, of in topology.subtopologies.items()}
        for of, known in subtopologies.items():
            topics = (t for topic in known.source_topics for t in (topic, f"{group_id}-{topic}"))
            number[of] = max([number.get(of, 0), *(group.partitions.get(topic, 0) for topic in topics)])
        unknown = sorted(of for of in number if of not in subtopologies)
        if unknown:
            what, fix = f"has no sub-topology {unknown[0]}", "give the topology that the group runs"
            raise SnapshotError(what, where=topology.where, fix=fix)
        stateful = {of for of, known in subtopologies.items() if known.stores}
    elif copied:
        stateful = copied
        notes.append(Note("stateful-by-standbys", "What has standbys counts as stateful, all else as stateless"))
    else:
        what = "does not tell which tasks are stateful, and there is no standby"
        raise SnapshotError(what, where=group.where, fix="give Topology.describe() of the application: --topology FILE")
    tasks = [
        {"task_id": f"{of}_{partition}", "stateful": of in stateful}
        for of, count in sorted(number.items())
        for partition in range(count)
    ]
    return tasks, notes
