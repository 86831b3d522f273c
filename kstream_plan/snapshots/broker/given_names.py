"""Hosts and racks that are given by hand, in rows of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kstream_plan.model import Note
from kstream_plan.snapshots.leader_log.naming import client_of, notes_on_unused_names


def with_names(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, Mapping[str, str]]
) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return rows with the hosts and racks that are given, and notes on names that match no instance.

    ``names`` are by process id, client id or host.
    """
    return [_with_names(row, names) for row in rows], _notes_on_names(names, rows)


def _with_names(row: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {**row, "instances": [{**instance, **_names_of(instance, names)} for instance in row["instances"]]}


def _names_of(instance: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the host and rack given for its host, a client id or its process id; the last of these counts."""
    names_by_id: dict[str, str] = {}
    for key in _keys(instance):
        names_by_id |= names.get(key, {})
    return names_by_id


def _keys(instance: Mapping[str, Any]) -> list[str]:
    clients = [client for consumer in instance["consumers"] if (client := _client_of(consumer))]
    return [instance["host"], *clients, instance["process_id"]]


def _client_of(consumer: Mapping[str, Any]) -> str | None:
    """Return the client id of a consumer's instance; members of streams groups have a random id beside it."""
    if "client_id" in consumer:
        return str(consumer["client_id"]).rpartition("-StreamThread-")[0] or None
    return client_of(consumer["consumer_id"])


def _notes_on_names(names: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Note]:
    keys = {key for row in rows for instance in row["instances"] for key in _keys(instance)}
    return notes_on_unused_names([name for name in names if name not in keys])
