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
from kstream_plan.snapshots.connect_log.rounds import LoggedGroup, Told
from kstream_plan.snapshots.leader_log.running_release import oldest

_DEFAULT_CLIENT = "connect-"
_PROTOCOLS = ("eager", "compatible", "sessioned")


def row_of(
    of: Course, group: LoggedGroup, hosts: Mapping[str, str], since_1970_ms: int | None, config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a group after a round.

    Args:
        of: the round.
        group: what its logs say of all rounds.
        hosts: workers by member id, as REST calls them.
        since_1970_ms: what the leader's times are to be put later by; ``None``: nobody knows.
        config: settings, by the names of the snapshot's ``config``.
    """
    answer = of.round.answer
    row: dict[str, Any] = {"format_version": "1.0", "application_id": group.group_id, "group_protocol": "connect"}
    row["generation"] = of.round.number
    at = of.round.told[answer.leader].at
    if since_1970_ms is not None and at is not None:
        row["captured_at"] = format_time(at.ms + since_1970_ms)
    release = oldest(group.releases[member] for member in of.members if member in group.releases)
    if release is not None:
        row["streams_version"] = release
    row["config"] = {**config, "connect_protocol": protocol_of(answer.version)}
    row["connectors"] = _connectors(of.configured)
    row["instances"] = [_instance(member, of, group, hosts, since_1970_ms) for member in of.members]
    return row


def protocol_of(version: int) -> str:
    """Return the protocol that workers speak, by its number."""
    return _PROTOCOLS[version] if version < len(_PROTOCOLS) else str(version)


def hosts_of(group: LoggedGroup) -> dict[str, str]:
    """Return where workers' REST interfaces are, by member id: as leaders say it, else as their client ids do."""
    found: dict[str, str] = {}
    for number in sorted(group.rounds):
        for member, told in group.rounds[number].told.items():
            found.setdefault(member, _host(told))
            if told.answer.leader_url:
                found[told.answer.leader] = urlsplit_host(told.answer.leader_url)
    return found


def urlsplit_host(url: str) -> str:
    """Return ``host:port`` of an address, all of it if it is none."""
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url


def _host(told: Told) -> str:
    client = told.voice.client_id
    at = client.removeprefix(_DEFAULT_CLIENT)
    return at if at != client and ":" in at else told.host or client


def _connectors(configured: frozenset[ItemKey]) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for connector, number in configured:
        counts[connector] = max(counts.get(connector, 0), number + 1)
    return [{"name": name, "task_count": counts[name]} for name in sorted(counts, key=java_string_key)]


def _instance(
    member: str, of: Course, group: LoggedGroup, hosts: Mapping[str, str], since_1970_ms: int | None
) -> dict[str, Any]:
    answer = of.round.told[member].answer
    instance: dict[str, Any] = {"process_id": member, "host": hosts[member], "leader": member == answer.leader}
    if member in group.java:
        instance["java"] = group.java[member]
    instance |= {"last_completed": of.round.number, "config_offset": answer.offset, "held": _in_order(answer.held)}
    if member in of.memories and answer.version:  # by the eager protocol nothing is remembered
        instance["memory"] = _memory(of.memories[member], since_1970_ms)
    return instance


def _in_order(items: ConnectItems) -> list[dict[str, Any]]:
    """Return items by connector where that keeps their order, else piece by piece."""
    groups: dict[str, list[int]] = {connector: [CONNECTOR] for connector in items.connectors}
    for connector, number in items.tasks:
        groups.setdefault(connector, []).append(number)
    read = [(connector, number) for connector, of in groups.items() for number in of if number != CONNECTOR]
    if tuple(read) == items.tasks:
        return _wire(groups.items())
    pieces = [(connector, [CONNECTOR]) for connector in items.connectors]
    for place, (connector, number) in enumerate(items.tasks):
        if place and items.tasks[place - 1][0] == connector:
            pieces[-1][1].append(number)
        else:
            pieces.append((connector, [number]))
    return _wire(pieces)


def _memory(of: Remembered, since_1970_ms: int | None) -> dict[str, Any]:
    at = of.scheduled_ms
    return {
        "previous": _sorted(of.previous),
        "revocation": _sorted(of.revocation),
        "revoked_in_previous": of.revoked_in_previous,
        "candidates": list(of.candidates),
        "scheduled_at": None if at is None or since_1970_ms is None else format_time(at + since_1970_ms),
        "delay_ms": of.delay_ms,
        "generation": of.generation,
        "members": sorted(of.members),
        "successive": of.successive,
    }


def _sorted(items: Iterable[ItemKey]) -> list[dict[str, Any]]:
    groups: dict[str, list[int]] = {}
    for connector, number in sorted(items, key=lambda item: (java_string_key(item[0]), item[1])):
        groups.setdefault(connector, []).append(number)
    return _wire(groups.items())


def _wire(groups: Iterable[tuple[str, list[int]]]) -> list[dict[str, Any]]:
    return [{"connector": connector, "items": numbers} for connector, numbers in groups]
