"""Rounds → snapshot rows: the group as it is after a round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kstream_plan.model.connect_group import ConnectItems
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.connect_log.course import Course
from kstream_plan.snapshots.connect_log.memory import CONNECTOR, ItemKey, Remembered
from kstream_plan.snapshots.connect_log.rounds import LoggedGroup, WorkerAnswer
from kstream_plan.snapshots.leader_log.running_release import oldest

_DEFAULT_CLIENT = "connect-"
_PROTOCOLS = ("eager", "compatible", "sessioned")


def row_of(
    course: Course, group: LoggedGroup, hosts: Mapping[str, str], since_1970_ms: int | None, config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a group after a round.

    Args:
        course: the round.
        group: what its logs say of all rounds.
        hosts: workers by member id, as REST calls them.
        since_1970_ms: what to add to the leader's times; ``None``: unknown.
        config: settings, by the names of the snapshot's ``config``.
    """
    answer = course.round.answer
    row: dict[str, Any] = {"format_version": "1.0", "application_id": group.group_id, "group_protocol": "connect"}
    row["generation"] = course.round.number
    stamp = course.round.answers[answer.leader].answered_at
    if since_1970_ms is not None and stamp is not None:
        row["captured_at"] = format_time(stamp.ms + since_1970_ms)
    release = oldest(group.releases[member] for member in course.members if member in group.releases)
    if release is not None:
        row["streams_version"] = release
    row["config"] = {**config, "connect_protocol": protocol_of(answer.version)}
    row["connectors"] = _connectors(course.configured)
    row["instances"] = [_instance(member, course, group, hosts, since_1970_ms) for member in course.members]
    return row


def protocol_of(version: int) -> str:
    """Return the protocol that workers speak, by its number."""
    return _PROTOCOLS[version] if version < len(_PROTOCOLS) else str(version)


def hosts_of(group: LoggedGroup) -> dict[str, str]:
    """Return where workers' REST interfaces are, by member id: as leaders say it, else as their client ids do."""
    hosts: dict[str, str] = {}
    for number in sorted(group.rounds):
        for member, worker_answer in group.rounds[number].answers.items():
            hosts.setdefault(member, _host(worker_answer))
            if worker_answer.answer.leader_url:
                hosts[worker_answer.answer.leader] = urlsplit_host(worker_answer.answer.leader_url)
    return hosts


def urlsplit_host(url: str) -> str:
    """Return ``host:port`` of an address, all of it if it is none."""
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url


def _host(worker_answer: WorkerAnswer) -> str:
    client = worker_answer.voice.client_id
    address = client.removeprefix(_DEFAULT_CLIENT)
    return address if address != client and ":" in address else worker_answer.host or client


def _connectors(configured: frozenset[ItemKey]) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for connector, number in configured:
        counts[connector] = max(counts.get(connector, 0), number + 1)
    return [{"name": name, "task_count": counts[name]} for name in sorted(counts, key=java_string_key)]


def _instance(
    member: str, course: Course, group: LoggedGroup, hosts: Mapping[str, str], since_1970_ms: int | None
) -> dict[str, Any]:
    answer = course.round.answers[member].answer
    instance: dict[str, Any] = {"process_id": member, "host": hosts[member], "leader": member == answer.leader}
    if member in group.java:
        instance["java"] = group.java[member]
    instance |= {
        "last_completed": course.round.number,
        "config_offset": answer.offset,
        "held": _in_order(answer.held_items),
    }
    if member in course.memories and answer.version:  # by the eager protocol nothing is remembered
        instance["memory"] = _memory(course.memories[member], since_1970_ms)
    return instance


def _in_order(items: ConnectItems) -> list[dict[str, Any]]:
    """Return items by connector where that keeps their order, else piece by piece."""
    groups: dict[str, list[int]] = {connector: [CONNECTOR] for connector in items.connectors}
    for connector, number in items.tasks:
        groups.setdefault(connector, []).append(number)
    regrouped_tasks = [
        (connector, number)
        for connector, connector_numbers in groups.items()
        for number in connector_numbers
        if number != CONNECTOR
    ]
    if tuple(regrouped_tasks) == items.tasks:
        return _wire(groups.items())
    pieces = [(connector, [CONNECTOR]) for connector in items.connectors]
    for place, (connector, number) in enumerate(items.tasks):
        if place and items.tasks[place - 1][0] == connector:
            pieces[-1][1].append(number)
        else:
            pieces.append((connector, [number]))
    return _wire(pieces)


def _memory(memory: Remembered, since_1970_ms: int | None) -> dict[str, Any]:
    scheduled_ms = memory.scheduled_ms
    return {
        "previous": _sorted(memory.previous),
        "revocation": _sorted(memory.revocation),
        "revoked_in_previous": memory.revoked_in_previous,
        "candidates": list(memory.candidates),
        "scheduled_at": None
        if scheduled_ms is None or since_1970_ms is None
        else format_time(scheduled_ms + since_1970_ms),
        "delay_ms": memory.delay_ms,
        "generation": memory.generation,
        "members": sorted(memory.members),
        "successive": memory.successive,
    }


def _sorted(items: Iterable[ItemKey]) -> list[dict[str, Any]]:
    groups: dict[str, list[int]] = {}
    for connector, number in sorted(items, key=lambda item: (java_string_key(item[0]), item[1])):
        groups.setdefault(connector, []).append(number)
    return _wire(groups.items())


def _wire(groups: Iterable[tuple[str, list[int]]]) -> list[dict[str, Any]]:
    return [{"connector": connector, "items": numbers} for connector, numbers in groups]
