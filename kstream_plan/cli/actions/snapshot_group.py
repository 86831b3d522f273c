"""The half of ``snapshot`` that asks a Kafka cluster for a group's rows or its history."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kstream_plan.cli.actions.measure import measurements, topology_in
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.documents.client_properties import load_client_properties
from kstream_plan.errors import UsageError
from kstream_plan.model import Note
from kstream_plan.render.generations import HistoryLine
from kstream_plan.snapshots.broker.source import Taken, group_decisions, group_history, running_group
from kstream_plan.snapshots.leader_log.naming import client_of
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.times import format_time

if TYPE_CHECKING:
    from kstream_plan.snapshots.metrics.overlay import Measurements

#: An address of IPv6 is in brackets.
_SERVER = re.compile(r"(?:\[[^\s\[\]]+\]|[^\s:\[\]]+):(?P<port>\d{1,5})")

_NO_CONFIG = (
    "a group does not tell its application's configuration: Kafka's defaults will count (acceptable.recovery.lag "
    "10000, max.warmup.replicas 2, num.standby.replicas 0, probing every 10m), and with other settings the plan is "
    "wrong. Give --streams-config"
)


class RunningGroup(NamedTuple):
    """A group, and the brokers to ask for it."""

    servers: str
    group_id: str


def running_group_of(asked: SnapshotOptions) -> RunningGroup | None:
    """Return the group that is to be asked for, ``None`` where logs are read: one source, and what belongs to it.

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
            fix = "name the application's logs: --leader-log FILE; or ask its cluster: --bootstrap-server, --group"
            raise UsageError("nothing to make a snapshot of is given", fix=fix)
        return None
    if not asked.group:
        raise UsageError("--bootstrap-server says where, not what", fix="name the application's id: --group ID")
    if len(asked.group) > 1:
        raise UsageError("--group is given more than once", fix="ask for one group at a time")
    if asked.application_id:
        raise UsageError("--group names the application already", fix="leave --application-id out")
    _check_servers(servers)
    past = _of_history(asked)
    if past and not asked.offsets_topic:
        raise UsageError(f"{past[0]} is about a history", fix="read it from the broker's own topic: --offsets-topic")
    return RunningGroup(servers, asked.group[0])


def _of_group(asked: SnapshotOptions) -> list[str]:
    """Return which of the options are given that are about a group."""
    options = {
        "--group": asked.group,
        "--command-config": asked.command_config,
        "--topology": None if asked.metrics or asked.store_lags else asked.topology,
        "--offsets-topic": asked.offsets_topic,
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


def take_group(
    group: RunningGroup,
    asked: SnapshotOptions,
    config: Mapping[str, Any],
    names: Mapping[str, Mapping[str, str]],
    wanted: Callable[[int], bool],
) -> tuple[Taken, Measurements | None]:
    """Ask the cluster for the rows that the options want, and for the offsets of changelogs that were measured.

    Args:
        group: what is asked for, and where.
        asked: the command's options.
        config: the application's settings.
        names: host and rack by process id, client id or host.
        wanted: tells of a time, since 1970, whether it is in what the options select.

    Raises:
        KstreamPlanError: the cluster, the group or a file is not as it must be.
    """
    topology = topology_in(asked.topology)
    measured = measurements(asked, topology)
    now_ms = time.time_ns() // 1_000_000
    newest_only = not asked.wants_history
    name = group.group_id
    with _cluster(group, asked) as cluster:
        if asked.offsets_topic:
            taken = group_history(cluster, name, topology, now_ms, wanted, newest_only=newest_only, config=config)
        else:
            taken = running_group(cluster, name, topology, now_ms, config)
        if measured is not None:
            from kstream_plan.snapshots.metrics.overlay import with_asked_offsets  # noqa: PLC0415 - not without --metrics

            measured = with_asked_offsets(measured, cluster, name, time.time_ns() // 1_000_000)
    notes = [*taken.notes, *([] if config else [Note("no-config", _NO_CONFIG)]), *_unused(names, taken.rows)]
    return Taken([_named(row, names) for row in taken.rows], notes), measured


def list_group(group: RunningGroup, asked: SnapshotOptions, wanted: Callable[[int], bool]) -> list[HistoryLine]:
    """Return the generations that the broker's own records hold, one line each.

    Raises:
        KstreamPlanError: the cluster or the group is not as it must be.
    """
    with _cluster(group, asked) as cluster:
        found = group_decisions(cluster, group.group_id, wanted)
    return [
        HistoryLine(
            group.group_id,
            format_time(decision.at_ms),
            decision.generation,
            decision.trigger,
            decision.processes,
            decision.consumers,
            decision.moved_tasks,
            decision.withheld_tasks,
            decision.probing,
        )
        for decision in found
    ]


def _cluster(group: RunningGroup, asked: SnapshotOptions) -> Any:
    from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster  # noqa: PLC0415 - only where it is needed

    path = asked.command_config
    return KafkaCluster(group.servers, {} if path is None else load_client_properties(path), asked.limits.wait_ms)


def _named(row: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {**row, "instances": [{**instance, **_names_of(instance, names)} for instance in row["instances"]]}


def _names_of(instance: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """What is given under its host, then under a client id, then under its process id; the last one counts."""
    found: dict[str, str] = {}
    for key in _keys(instance):
        found |= names.get(key, {})
    return found


def _keys(instance: Mapping[str, Any]) -> list[str]:
    clients = [client for consumer in instance["consumers"] if (client := client_of(consumer["consumer_id"]))]
    return [instance["host"], *clients, instance["process_id"]]


def _unused(names: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Note]:
    keys = {key for row in rows for instance in row["instances"] for key in _keys(instance)}
    unused = tuple(name for name in names if name not in keys)
    if not unused:
        return []
    message = f"nobody has names that --names gives, {printable(unused[0])} first: ids change at a restart"
    return [Note("unused-names", message, unused)]
