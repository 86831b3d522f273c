"""The half of ``snapshot`` that asks a Kafka cluster for a group's rows or its history."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kstream_plan.cli.actions.per_application import PerApplication
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.documents.client_properties import load_client_properties
from kstream_plan.documents.streams_config import StreamsConfigFile
from kstream_plan.errors import ClusterError, KstreamPlanError, UsageError
from kstream_plan.model import Note
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.model.times import format_time
from kstream_plan.render.generations import HistoryLine
from kstream_plan.snapshots.broker.source import Cluster, Taken, group_decisions, group_history, running_group
from kstream_plan.snapshots.broker.streams_rows import GivenOfGroup
from kstream_plan.snapshots.leader_log.naming import client_of
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.topology_text import Topology
    from kstream_plan.snapshots.metrics.measurements import Measurements

T = TypeVar("T")

#: An address of IPv6 is in brackets.
_SERVER = re.compile(r"(?:\[[^\s\[\]]+\]|[^\s:\[\]]+):(?P<port>\d{1,5})")

_NO_CONFIG = (
    "a group does not tell its application's configuration: Kafka's defaults will count (acceptable.recovery.lag "
    "10000, max.warmup.replicas 2, num.standby.replicas 0, probing every 10m), and with other settings the plan is "
    "wrong. Give --streams-config"
)


class RunningGroups(NamedTuple):
    """Groups, and the brokers to ask for them; without ``group_ids`` every one of Kafka Streams that runs there."""

    servers: str
    group_ids: tuple[str, ...]

    @property
    def several(self) -> bool:
        """Whether there may be more than one."""
        return len(self.group_ids) != 1


def running_groups_of(asked: SnapshotOptions) -> RunningGroups | None:
    """Return the groups that are to be asked for, ``None`` where logs are read: one source, and what belongs to it.

    Raises:
        UsageError: no source or both; an option that does not go with the source; an address that is none.
    """
    servers, logs = asked.bootstrap_server, asked.leader_log or asked.more_logs
    if servers is not None and logs:
        raise UsageError("a log and a cluster are two sources", fix="give --leader-log or --bootstrap-server")
    if servers is None:
        if lonely := _of_group(asked):
            fix = "say where it runs: --bootstrap-server HOST:PORT"
            raise UsageError(f"{lonely[0]} is about a running group", fix=fix)
        if not asked.leader_log:
            raise UsageError("no source of a snapshot is given", fix=_with_a_source(asked.more_logs or ()))
        return None
    if not asked.group and not asked.all_groups:
        fix = "name the application's id: --group ID; or take them all: --all-groups"
        raise UsageError("--bootstrap-server needs a group", fix=fix)
    if asked.group and asked.all_groups:
        raise UsageError("--all-groups takes in every --group", fix="give one of them")
    if asked.application_id:
        raise UsageError("--group names the application already", fix="leave --application-id out")
    _check_servers(servers)
    if asked.broker_version is not None:
        check_broker_version(asked.broker_version)
    past = _of_history(asked)
    if past and not asked.offsets_topic:
        raise UsageError(f"{past[0]} is about a history", fix="read it from the broker's own topic: --offsets-topic")
    return RunningGroups(servers, tuple(dict.fromkeys(asked.group or ())))


def check_broker_version(release: str) -> None:
    """Check that streams groups of brokers of a release are known.

    Raises:
        UsageError: they are not.
    """
    if release not in BROKER_VERSIONS:
        what = f"{shown(release)} is no release of brokers whose streams groups are known"
        raise UsageError(what, where="--broker-version", fix=f"give one of {', '.join(BROKER_VERSIONS)}")


def _with_a_source(logs: Sequence[str]) -> str:
    """Return the command line that makes a snapshot of these logs; of none, how to name a source."""
    command = shlex.join(["kstream-plan", "snapshot", "--leader-log", *(logs or ["FILE"])])
    return command if logs else f"{command}; of a running group: --bootstrap-server HOST:PORT --group ID"


def _of_group(asked: SnapshotOptions) -> list[str]:
    """Return which of the options are given that are about a group."""
    options = {
        "--group": asked.group,
        "--all-groups": asked.all_groups,
        "--command-config": asked.command_config,
        "--topology": None if asked.metrics or asked.store_lags else asked.topology,
        "--offsets-topic": asked.offsets_topic,
        "--broker-version": asked.broker_version,
    }
    return [option for option, value in options.items() if value]


def _of_history(asked: SnapshotOptions) -> list[str]:
    """Return which of the options are given that are about a history."""
    options = {
        "--list": asked.listed,
        "--as-of": asked.as_of,
        "--from": asked.from_time,
        "--to": asked.to_time,
        "--all": asked.everything,
    }
    return [option for option, value in options.items() if value]


def _check_servers(servers: str) -> None:
    for server in servers.split(","):
        match = _SERVER.fullmatch(server.strip())
        if match is None or not 0 < int(match["port"]) < 1 << 16:
            fix = "write it as broker-1:9092,broker-2:9092"
            raise UsageError(f"{shown(server)} is no HOST:PORT", where="--bootstrap-server", fix=fix)


def each_group(
    groups: RunningGroups, asked: SnapshotOptions, answer: Callable[[Cluster, str], T]
) -> tuple[list[T], list[KstreamPlanError]]:
    """Ask the cluster about one group after the other, in the order given; all of them by name.

    What goes wrong with one of several does not stop the others.

    Raises:
        KstreamPlanError: the cluster, or the only group, is not as it must be.
    """
    answers: list[T] = []
    errors: list[KstreamPlanError] = []
    with _cluster(groups, asked) as cluster:
        for group_id in groups.group_ids or _all_groups(cluster, groups.servers):
            try:
                answers.append(answer(cluster, group_id))
            except KstreamPlanError as error:
                if not groups.several:
                    raise
                errors.append(error)
    return answers, errors


def _all_groups(cluster: Cluster, servers: str) -> list[str]:
    found = cluster.streams_groups()
    if not found:
        fix = "start an application, or name a group that has run: --group ID --offsets-topic"
        raise ClusterError("no group of Kafka Streams runs there", where=printable(servers), fix=fix)
    return found


class GroupFiles(NamedTuple):
    """What is known of groups beside what the cluster tells; ``settings`` are what ``configs`` are made of."""

    configs: PerApplication[Mapping[str, Any]]
    settings: PerApplication[StreamsConfigFile]
    topologies: PerApplication[Topology]
    measured: Measurements | None

    def check(self, groups: RunningGroups) -> None:
        """Check that nothing that is of one group counts for several, or for none.

        Raises:
            UsageError: a single topology for several groups.
        """
        if groups.several and self.topologies.others is not None:
            fix = "give --topology ID=FILE for each, or a folder of files named by their groups"
            raise UsageError("a topology is of one application, and there are several groups", fix=fix)
        for files in (self.configs, self.topologies) if groups.group_ids else ():
            files.check_used(groups.group_ids)


class GroupSnapshots(NamedTuple):
    """A group's rows, what is not known of them, and what was measured of its copies."""

    group_id: str
    taken: Taken
    measured: Measurements | None


def take_group(
    cluster: Cluster, group_id: str, asked: SnapshotOptions, files: GroupFiles, wanted: Callable[[int], bool]
) -> GroupSnapshots:
    """Ask the cluster for the rows that the options want, and for the offsets of changelogs that were measured.

    Args:
        cluster: where the group is.
        group_id: the group.
        asked: the command's options.
        files: what is known beside.
        wanted: tells of a time, since 1970, whether it is in what the options select.

    Raises:
        KstreamPlanError: the cluster, the group or a file is not as it must be.
    """
    topology, config, measured = files.topologies.of(group_id), files.configs.of(group_id), files.measured
    now_ms, newest_only = time.time_ns() // 1_000_000, not asked.wants_history
    if asked.offsets_topic:
        newest = newest_only
        taken = group_history(cluster, group_id, topology, now_ms, wanted, newest_only=newest, config=config or {})
    else:
        given = _given(asked, files.settings.of(group_id))
        taken = running_group(cluster, group_id, topology, now_ms, config or {}, given)
    if measured is not None:
        from kstream_plan.snapshots.metrics.measurements import with_asked_offsets  # noqa: PLC0415 - not without --metrics

        measured = with_asked_offsets(measured, cluster, group_id, time.time_ns() // 1_000_000)
    of_streams_protocol = [row for row in taken.rows if row.get("group_protocol") == "streams"]
    for row in of_streams_protocol:
        snapshot_from_row(row, f"group {printable(group_id)}")  # whatever the brokers told can be planned
    notes = [] if config is not None or of_streams_protocol else [Note("no-config", _NO_CONFIG)]
    if of_streams_protocol and topology is not None and measured is None:
        message = f"--topology is not used for {printable(group_id)}: the brokers tell the topology of a streams group"
        notes.append(Note("topology-unused", message))
    return GroupSnapshots(group_id, Taken(taken.rows, [*taken.notes, *notes]), measured)


def _given(asked: SnapshotOptions, settings: StreamsConfigFile | None) -> GivenOfGroup:
    """Return what counts of the options if the group is of the streams protocol."""
    if settings is None:
        return GivenOfGroup(asked.broker_version)
    return GivenOfGroup(asked.broker_version, settings.group, tuple(settings.overrides))


def list_group(cluster: Cluster, group_id: str, wanted: Callable[[int], bool]) -> list[HistoryLine]:
    """Return the generations that the broker's own records hold, one line each.

    Raises:
        KstreamPlanError: the cluster or the group is not as it must be.
    """
    return [
        HistoryLine(
            group_id,
            format_time(decision.at_ms),
            decision.generation,
            decision.trigger,
            decision.processes,
            decision.consumers,
            decision.moved_tasks,
            decision.withheld_tasks,
            decision.probing,
        )
        for decision in group_decisions(cluster, group_id, wanted)
    ]


def _cluster(groups: RunningGroups, asked: SnapshotOptions) -> Any:
    from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster  # noqa: PLC0415 - only where it is needed

    path = asked.command_config
    return KafkaCluster(groups.servers, {} if path is None else load_client_properties(path), asked.limits.wait_ms)


def with_names(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, Mapping[str, str]]
) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return rows with the hosts and racks that are given, and which of these are nobody's.

    ``names`` are by process id, client id or host.
    """
    return [_named(row, names) for row in rows], _unused(names, rows)


def _named(row: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {**row, "instances": [{**instance, **_names_of(instance, names)} for instance in row["instances"]]}


def _names_of(instance: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """What is given under its host, then under a client id, then under its process id; the last one counts."""
    found: dict[str, str] = {}
    for key in _keys(instance):
        found |= names.get(key, {})
    return found


def _keys(instance: Mapping[str, Any]) -> list[str]:
    clients = [client for consumer in instance["consumers"] if (client := _client_of(consumer))]
    return [instance["host"], *clients, instance["process_id"]]


def _client_of(consumer: Mapping[str, Any]) -> str | None:
    """Return the client id of a consumer's instance; members of streams groups have a random id beside it."""
    if "client_id" in consumer:
        return str(consumer["client_id"]).rpartition("-StreamThread-")[0] or None
    return client_of(consumer["consumer_id"])


def _unused(names: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Note]:
    keys = {key for row in rows for instance in row["instances"] for key in _keys(instance)}
    unused = tuple(name for name in names if name not in keys)
    if not unused:
        return []
    message = f"no instance has a name that --names gives, {printable(unused[0])} first: ids change at a restart"
    return [Note("unused-names", message, unused)]
