"""A running streams group, as its coordinator describes it → one row of the assignment snapshot's schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note, TaskId
from kstream_plan.model.note import name_list
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.setting_texts import number_from_text
from kstream_plan.model.streams_group import BROKER_VERSIONS, GROUP_SETTINGS
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.broker.group_rows import EndOffsets, task_row
from kstream_plan.snapshots.broker.group_tasks import GroupTask, Topics, ends_of_stores
from kstream_plan.snapshots.broker.streams_describe import (
    NEWEST_VERSION,
    DescribedMember,
    DescribedStreamsGroup,
    DescribedSubtopology,
)
from kstream_plan.snapshots.broker.streams_group import StreamsGroupAnswer, is_gone, no_members
from kstream_plan.snapshots.rows.fields import printable, shown

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.source import Cluster

#: Brokers of 4.4 answer this version.
_ANSWERED_SINCE_4_4 = 1
#: Groups of brokers of 4.3 have this setting.
_SETTING_SINCE_4_3 = "streams.assignment.interval.ms"
#: The release of brokers since which groups name their assignor, and the one that is modelled.
SINCE_4_4, ASSIGNOR = "4.4", "sticky"


class GivenOfGroup(NamedTuple):
    """The options for a streams group, beside the answers of its brokers.

    ``settings`` are the group's own by the fields of ``AssignmentConfig``, and count where the brokers give none;
    ``of_application`` are names of settings that have no effect there.
    """

    broker_version: str | None = None
    settings: Mapping[str, SettingValue] = MappingProxyType({})
    of_application: Sequence[str] = ()


def running_streams_group(
    cluster: Cluster, group_id: str, now_ms: int, options: GivenOfGroup
) -> tuple[dict[str, Any], list[Note]]:
    """Return a group's row as it is now, and notes on what is unknown of it.

    Members and their tasks stay in the order in which the broker listed them: that of its own table.

    Raises:
        SnapshotError: the group is empty, has no topology, another assignor or members of another protocol, or its
            brokers are newer than what is known.
        ClusterError: the cluster cannot be reached or refuses.
    """
    place = f"group {printable(group_id)}"
    answer = cluster.describe_streams_group(group_id)
    if is_gone(answer.group.state):
        raise no_members(group_id, place)
    subtopologies = _subtopologies(answer.group, place)
    settings = cluster.group_settings(group_id)
    release = options.broker_version or _release(answer, settings, place)
    names = dict.fromkeys(
        topic for subtopology in subtopologies for topic in (*subtopology.input_topics, *subtopology.changelogs)
    )
    topics = cluster.topics(list(names))
    tasks = [task for subtopology in subtopologies for task in _tasks(subtopology, topics, place)]
    ends = ends_of_stores(cluster, group_id, tasks)
    config, differing = _config(settings, options)
    row = {**_row(answer.group, tasks, topics, ends), "broker_version": release, "config": config}
    notes = [
        *_release_notes(answer, release, options),
        *differing,
        *_state_notes(answer.group),
        *_missing_changelogs(subtopologies, topics),
    ]
    return {**row, "captured_at": format_time(now_ms)}, notes


def _subtopologies(group: DescribedStreamsGroup, place: str) -> Sequence[DescribedSubtopology]:
    if not group.subtopologies:
        problem, fix = f"has no topology yet, and is {shown(group.state)}", "try again when it is Stable"
        raise SnapshotError(problem, where=place, fix=fix, application_id=group.group_id)
    classic = next((member.member_id for member in group.members if member.is_classic), None)
    refuse_unmodelled(group.group_id, place, group.assignor, classic)
    return group.subtopologies


def refuse_unmodelled(group_id: str, place: str, assignor: str | None, classic_member: str | None) -> None:
    """Refuse a group that another assignor decides, or that has a member of the classic protocol.

    Raises:
        SnapshotError: it does.
    """
    if assignor not in (None, "", "-", ASSIGNOR):
        problem = f"is decided by the assignor {shown(assignor)}; only {ASSIGNOR} is modelled"
        fix = f"set streams.assignor.name={ASSIGNOR}, or do without a plan"
    elif classic_member is not None:
        problem = f"has the member {shown(classic_member)} of the classic protocol"
        fix = "take the snapshot when every instance has moved to the streams protocol"
    else:
        return
    raise SnapshotError(problem, where=place, fix=fix, application_id=group_id)


def _release(answer: StreamsGroupAnswer, settings: Mapping[str, str], place: str) -> str:
    """Return the release of the brokers, by the version of their answer and the group's settings there."""
    if answer.newest_version > NEWEST_VERSION:
        versions = ", ".join(BROKER_VERSIONS)
        problem = f"its brokers are newer than {versions}, and may decide otherwise"
        fix = "update kstream-plan; to treat them as one of these releases: --set broker.version"
        raise SnapshotError(problem, where=place, fix=fix, application_id=answer.group.group_id)
    if answer.version >= _ANSWERED_SINCE_4_4:
        return SINCE_4_4
    return "4.3" if _SETTING_SINCE_4_3 in settings else "4.2"


def _tasks(subtopology: DescribedSubtopology, topics: Topics, place: str) -> Iterator[GroupTask]:
    """Return all tasks of a subtopology: as many as its largest topic has partitions."""
    missing_topic = next((topic for topic in subtopology.input_topics if topic not in topics), None)
    if missing_topic is not None:
        reads = f"reads topic {printable(missing_topic)} in sub-topology {subtopology.subtopology_id}"
        problem = f"{reads}, which the cluster does not have"
        raise SnapshotError(problem, where=place, fix="create the topic, or wait until the application has")
    for number in range(max((len(topics[topic]) for topic in subtopology.input_topics), default=0)):
        try:
            task_id = TaskId.parse(f"{subtopology.subtopology_id}_{number}")
        except ValueError:
            problem = f"has sub-topology {shown(subtopology.subtopology_id)}, which is no number"
            raise SnapshotError(problem, where=place, fix="update kstream-plan") from None
        sources = tuple((topic, number) for topic in subtopology.input_topics if number < len(topics[topic]))
        changelogs = tuple((topic, number) for topic in subtopology.changelogs if number < len(topics.get(topic, ())))
        yield GroupTask(task_id, bool(subtopology.changelogs), sources, changelogs)


def _row(group: DescribedStreamsGroup, tasks: Sequence[GroupTask], topics: Topics, ends: EndOffsets) -> dict[str, Any]:
    names = frozenset(str(task.task_id) for task in tasks)
    members_by_process: dict[str, list[tuple[int, DescribedMember]]] = {}
    for position, member in enumerate(group.members):
        members_by_process.setdefault(member.process_id, []).append((position, member))
    return {
        "format_version": "1.0",
        "application_id": group.group_id,
        "group_protocol": "streams",
        "generation": group.group_epoch,
        "target_epoch": group.target_epoch,
        "group_state": group.state,
        "tasks": [task_row(task, topics, ends) for task in tasks],
        "instances": [
            {
                "process_id": process_id,
                "host": members[0][1].end_point_host or members[0][1].client_host.removeprefix("/") or None,
                "rack": next((member.rack for _, member in members if member.rack), None),
                "client_tags": dict(members[0][1].client_tags),
                "consumers": [_consumer(member, position, names) for position, member in members],
            }
            for process_id, members in members_by_process.items()
        ],
    }


def _consumer(member: DescribedMember, position: int, names: frozenset[str]) -> dict[str, Any]:
    """Return a member's part; what is negative among its offsets is a mark of Kafka Streams, and no offset."""
    offsets = [
        {"task_id": task, "offset": offset} for task, offset in member.task_offsets if task in names and offset >= 0
    ]
    return {
        "consumer_id": member.member_id,
        "client_id": member.client_id,
        "group_instance_id": member.instance_id,
        "position": position,
        "member_epoch": member.epoch,
        **{role: list(tasks) for role, tasks in member.current._asdict().items()},
        "target": {role: list(tasks) for role, tasks in member.target._asdict().items()},
        "task_offsets": offsets,
    }


def _config(settings: Mapping[str, str], options: GivenOfGroup) -> tuple[dict[str, Any], list[Note]]:
    """Return the row's ``config``: the brokers' values, and those of the options for settings that they leave out."""
    config: dict[str, Any] = {}
    differing = []
    for name, (field, *_) in GROUP_SETTINGS.items():
        kafka_name = name.replace("_", ".")
        broker_value, option_value = number_from_text(settings.get(kafka_name)), options.settings.get(field)
        if broker_value is not None and option_value not in (None, broker_value):
            differing.append(f"{kafka_name}={printable(str(broker_value))} ({option_value} is given)")
        if broker_value is not None or option_value is not None:
            config[name] = option_value if broker_value is None else broker_value
    notes = []
    if differing:
        notes.append(Note("settings-differ", f"the brokers' settings of the group are used: {', '.join(differing)}"))
    notes += without_effect(options.of_application)
    return config, notes


def without_effect(names_without_effect: Sequence[str]) -> list[Note]:
    """Warn of settings of the application, by fields of ``AssignmentConfig``, that are given for a streams group."""
    if not names_without_effect:
        return []
    names = ", ".join(name.replace("_", ".") for name in names_without_effect)
    message = f"{names}: settings of the application have no effect in a streams group"
    return [Note("no-effect-in-streams-group", message, tuple(names_without_effect))]


def _release_notes(answer: StreamsGroupAnswer, release: str, options: GivenOfGroup) -> Iterator[Note]:
    if options.broker_version is None:
        message = (
            f"the brokers answer like release {release}, and plans use the rules of that release: if it is another, "
            "give --set broker.version"
        )
        yield Note("broker-release", message)
    if answer.version >= _ANSWERED_SINCE_4_4 and answer.group.assignor is None:
        message = f"the brokers do not name the group's assignor: {ASSIGNOR}, the default, is assumed"
        yield Note("assignor-unknown", message)


def _state_notes(group: DescribedStreamsGroup) -> Iterator[Note]:
    if group.state != "Stable":
        message = (
            f"the group is {printable(group.state)}: brokers do not show the progress of each member, nor what it is "
            "giving up, so the next seconds of a plan are a guess. Take the snapshot when the group is Stable"
        )
        yield Note("not-stable", message)
    other_ids = tuple(member.member_id for member in group.members if member.topology_epoch != group.topology_epoch)
    if other_ids:
        message = f"{len(other_ids)} of {len(group.members)} members run a topology other than the group's"
        yield Note("other-topology", message, other_ids)


def _missing_changelogs(subtopologies: Iterable[DescribedSubtopology], topics: Topics) -> Iterator[Note]:
    missing_topics = tuple(
        topic for subtopology in subtopologies for topic in subtopology.changelogs if topic not in topics
    )
    if missing_topics:
        message = f"the cluster has no topic {name_list(missing_topics, 1)}: how much its store restores is unknown"
        yield Note("changelog-missing", message, missing_topics)
