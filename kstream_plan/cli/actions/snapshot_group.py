"""The half of ``snapshot`` that asks a Kafka cluster for a group's rows or its history."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kstream_plan.cli.actions.overrides import PerApplication
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.documents.client_properties import load_client_properties
from kstream_plan.documents.streams_config import StreamsConfigFile
from kstream_plan.errors import ClusterError, KstreamPlanError, UsageError
from kstream_plan.model import Note
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.model.times import format_time
from kstream_plan.render.pages.generations import Generation
from kstream_plan.snapshots.broker.source import Cluster, Taken, group_decisions, group_history, running_group
from kstream_plan.snapshots.broker.streams_rows import GivenOfGroup
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.topology_text import Topology
    from kstream_plan.snapshots.metrics.measurements import Measurements

T = TypeVar("T")

#: An address of IPv6 is in brackets.
_SERVER = re.compile(r"(?:\[[^\s\[\]]+\]|[^\s:\[\]]+):(?P<port>\d{1,5})")

#: Options that are about a running group, beside the topology.
_OF_GROUPS = ("group", "command_config", "offsets_topic", "broker_version")
_NO_CONFIG = (
    "a group does not tell its application's configuration: Kafka's defaults will count (acceptable.recovery.lag "
    "10000, max.warmup.replicas 2, num.standby.replicas 0, probing every 10m), and with other settings the plan is "
    "wrong. Give --streams-config"
)
_WHERE_IT_RUNS = "say where it runs: --bootstrap-server HOST:PORT"


class RunningGroups(NamedTuple):
    """Groups, and the brokers to ask for them; without ``group_ids`` every one of Kafka Streams that runs there."""

    servers: str
    group_ids: tuple[str, ...]

    @property
    def are_several(self) -> bool:
        """Whether there may be more than one."""
        return len(self.group_ids) != 1


def running_groups_of(options: SnapshotOptions) -> RunningGroups | None:
    """Return the groups that are to be asked for, ``None`` where logs are read: one source, and what belongs to it."""
    logs = options.leader_log
    servers = (options.command_line if logs else options).bootstrap_server  # of a file it is for want of a log
    if servers is not None and logs:
        raise UsageError("a log and a cluster are two sources", fix="give a log or --bootstrap-server")
    if servers is None:
        is_measured = bool(options.metrics)
        if lonely := _options(options.command_line, _OF_GROUPS if is_measured else (*_OF_GROUPS, "topology")):
            options.group_files.check_there()
            is_piped = STDIN in (options.group_paths or ())
            fix = "say what standard input is: describe-text=-" if is_piped else _WHERE_IT_RUNS
            raise UsageError(f"{lonely[0]} is about a running group", fix=fix)
        if not logs:
            fix = "kstream-plan snapshot FILE; of a running group: --bootstrap-server HOST:PORT --group ID"
            raise UsageError("no source of a snapshot is given", fix=fix)
        return None
    if not options.group:
        fix = "name the application's id: --group ID; or take them all: --group '*'"
        raise UsageError("--bootstrap-server needs a group", fix=fix)
    if options.all_groups and len(options.group) > 1:
        raise UsageError("--group '*' takes in every --group", fix="give one of them")
    if options.command_line.application_id:
        raise UsageError("--group names the application already", fix="leave --application-id out")
    _check_servers(servers)
    if options.broker_version is not None:
        check_broker_version(options.broker_version)
    past = _options(options, ("listed", "as_of", "from_time", "to_time", "everything"))
    if past and not options.offsets_topic:
        raise UsageError(f"{past[0]} is about a history", fix="read it from the broker's: --set offsets.topic=true")
    return RunningGroups(servers, () if options.all_groups else tuple(dict.fromkeys(options.group or ())))


def _options(options: SnapshotOptions, names: Sequence[str]) -> list[str]:
    """Return which of these options are given, as they are written."""
    return [option_of(name) for name in names if getattr(options, name)]


def check_broker_version(release: str) -> None:
    """Check that streams groups of brokers of a release are known."""
    if release not in BROKER_VERSIONS:
        message = f"{shown(release)} is no release of brokers whose streams groups are known"
        raise UsageError(message, where="--set broker.version", fix=f"give one of {', '.join(BROKER_VERSIONS)}")


def _check_servers(servers: str) -> None:
    for server in servers.split(","):
        match = _SERVER.fullmatch(server.strip())
        if match is None or not 0 < int(match["port"]) < 1 << 16:
            fix = "write it as broker-1:9092,broker-2:9092"
            raise UsageError(f"{shown(server)} is no HOST:PORT", where="--bootstrap-server", fix=fix)


def each_group(
    groups: RunningGroups, options: SnapshotOptions, answer: Callable[[Cluster, str], T]
) -> tuple[list[T], list[KstreamPlanError]]:
    """Ask the cluster about one group after the other, in the order given; all of them by name.

    What goes wrong with one of several does not stop the others.
    """
    answers: list[T] = []
    errors: list[KstreamPlanError] = []
    with _cluster(groups, options) as cluster:
        for group_id in groups.group_ids or _all_groups(cluster, groups.servers):
            try:
                answers.append(answer(cluster, group_id))
            except KstreamPlanError as error:
                if not groups.are_several:
                    raise
                errors.append(error)
    return answers, errors


def _all_groups(cluster: Cluster, servers: str) -> list[str]:
    groups = cluster.streams_groups()
    if not groups:
        fix = "start an application, or name a group that has run: --group ID --set offsets.topic=true"
        raise ClusterError("no group of Kafka Streams runs there", where=printable(servers), fix=fix)
    return groups


class GroupFiles(NamedTuple):
    """What is known of groups beside what the cluster tells; ``settings`` are what ``configs`` are made of."""

    configs: PerApplication[Mapping[str, Any]]
    settings: PerApplication[StreamsConfigFile]
    topologies: PerApplication[Topology]
    measures: Measurements | None

    def check(self, groups: RunningGroups) -> None:
        """Check that nothing that is of one group counts for several, or for none."""
        if groups.are_several and self.topologies.common is not None:
            fix = "give --topology ID=FILE for each, or a folder of files named by their groups"
            raise UsageError("a topology is of one application, and there are several groups", fix=fix)
        for files in (self.configs, self.topologies) if groups.group_ids else ():
            files.check_used(groups.group_ids)


class GroupSnapshots(NamedTuple):
    """A group's rows, what is not known of them, and what was measured of its copies."""

    group_id: str
    history: Taken
    measures: Measurements | None


def take_group(
    cluster: Cluster, group_id: str, options: SnapshotOptions, files: GroupFiles, in_range: Callable[[int], bool]
) -> GroupSnapshots:
    """Ask the cluster for the rows that the options want, and for the offsets of changelogs that were measured.

    ``in_range`` tells of a time, since 1970, whether it is in what the options select.
    """
    topology, config, measures = files.topologies.value_for(group_id), files.configs.value_for(group_id), files.measures
    now_ms, newest_only = time.time_ns() // 1_000_000, not options.wants_history
    if options.offsets_topic:
        newest = newest_only
        history = group_history(cluster, group_id, topology, now_ms, in_range, newest_only=newest, config=config or {})
    else:
        settings_in_force = _settings_of(options, files.settings.value_for(group_id))
        history = running_group(cluster, group_id, topology, now_ms, config or {}, settings_in_force)
    if measures is not None:
        from kstream_plan.snapshots.metrics.measurements import with_asked_offsets  # noqa: PLC0415 - not without --metrics

        sources = {partition["topic"] for task in history.rows[-1]["tasks"] for partition in task["source_partitions"]}
        measures = with_asked_offsets(measures, cluster, group_id, time.time_ns() // 1_000_000, sources)
    of_streams_protocol = [row for row in history.rows if row.get("group_protocol") == "streams"]
    for row in of_streams_protocol:
        snapshot_from_row(row, f"group {printable(group_id)}")  # whatever the brokers told can be planned
    notes = [] if config is not None or of_streams_protocol else [Note("no-config", _NO_CONFIG)]
    if of_streams_protocol and topology is not None and measures is None:
        message = f"--topology is not used for {printable(group_id)}: the brokers tell the topology of a streams group"
        notes.append(Note("topology-unused", message))
    return GroupSnapshots(group_id, Taken(history.rows, [*history.notes, *notes]), measures)


def _settings_of(options: SnapshotOptions, settings: StreamsConfigFile | None) -> GivenOfGroup:
    """Return what counts of the options if the group is of the streams protocol."""
    if settings is None:
        return GivenOfGroup(options.broker_version)
    return GivenOfGroup(options.broker_version, settings.group, tuple(settings.overrides))


def list_group(cluster: Cluster, group_id: str, in_range: Callable[[int], bool]) -> list[Generation]:
    """Return the generations that the broker's own records hold."""
    return [
        Generation(
            group_id,
            format_time(decision.at_ms),
            decision.generation,
            decision.trigger,
            decision.processes,
            decision.consumers,
            decision.moved_tasks,
            decision.withheld_tasks,
            decision.has_probe,
        )
        for decision in group_decisions(cluster, group_id, in_range)
    ]


def _cluster(groups: RunningGroups, options: SnapshotOptions) -> Any:
    from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster  # noqa: PLC0415 - only where it is needed

    path = options.command_config
    return KafkaCluster(groups.servers, {} if path is None else load_client_properties(path), options.limits.wait_ms)
