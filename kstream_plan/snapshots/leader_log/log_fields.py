"""Where log stores and JSON layouts have the message, the time and the source of a record: one table for all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

#: In small letters. The first one that is there counts; ``a.b`` is ``b`` inside ``a``, wherever ``a`` stands.
TEXT_FIELDS = (
    *("message", "msg", "log", "line", "@message", "textpayload", "_raw", "content", "log message", "logmessage"),
    *("logentry", "log_processed", "short_message", "full_message", "event.original", "event_message", "body", "text"),
    "_msg",
)
TIME_FIELDS = (
    *("@timestamp", "timestamp", "time", "ts", "_time", "date", "datetime", "eventtime", "instant", "timemillis"),
    *("timegenerated", "timegenerated [utc]", "timegenerated_utc", "__realtime_timestamp", "timestamp_ms", "tsns"),
    *("receivetimestamp", "timestamp (utc)", "ingestiontime", "_messagetimems", "_messagetime", "dt"),
)
HOST_FIELDS = (
    *("kubernetes.pod_name", "kubernetes.pod.name", "pod.name", "pod_name", "podname", "pod name", "pod"),
    "k8s.pod.name",
    *("resource.labels.pod_name", "k8s_pod_name", "kubernetes_pod_name", "instance", "hostname", "host.name", "host"),
    *("_hostname", "source_host", "_sourcehost", "computer", "logstreamname", "@logstream", "logstream", "source"),
)
_MAX_DEPTH = 5
#: Labels as JSON in a text are shorter; messages that are JSON are opened elsewhere.
_LONGEST_LABELS = 4_000


def fields_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return all fields of a record by name in small letters; what stands farther outside comes first.

    A name with dots counts by its ends, too: ``_source.message`` is how OpenSearch exports ``message``.
    """
    fields: dict[str, Any] = {}
    level: list[tuple[str, Any]] = [("", row)]
    for _ in range(_MAX_DEPTH):
        deeper: list[tuple[str, Any]] = []
        for parent, value in level:
            for name, inner in _items(value):
                fields.setdefault(name, _single(inner))
                if parent:
                    fields.setdefault(f"{parent}.{name}", _single(inner))
                deeper.append((name, inner))
        level = deeper
    for name in [name for name in fields if "." in name]:
        parts = name.split(".")
        for start in range(1, len(parts)):
            fields.setdefault(".".join(parts[start:]), fields[name])
    return fields


def is_named(name: str, table: tuple[str, ...]) -> bool:
    """Tell whether a column's name is one of a table's, in any letters, whole or from one of its dots on."""
    parts = name.strip().lower().split(".")
    return any(".".join(parts[start:]) in table for start in range(len(parts)))


def _single(value: Any) -> Any:
    """Return the text of a list that has one text alone: so are all ``fields`` of a search in Kibana."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values, also out of a text that is JSON.

    Of an object, of tags as ``pod_name:orders-1``, of ``{"field": …, "value": …}``.
    """
    if isinstance(value, str) and value.startswith(("{", "[")) and len(value) < _LONGEST_LABELS:
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        yield from ((str(name).strip().lower(), inner) for name, inner in value.items())
    elif isinstance(value, list):
        for item in value[:100]:
            if isinstance(item, str) and ":" in item:
                name, _, text = item.partition(":")
                yield name.strip().lower(), text
            elif isinstance(item, Mapping) and item.keys() >= {"field", "value"}:
                yield str(item["field"]).lower(), item["value"]


def text_of(value: Any) -> str | None:
    """Return a text; the journal has one that is no UTF-8, or longer, as a list of bytes."""
    if isinstance(value, str):
        return value
    is_bytes = isinstance(value, list) and value and all(type(item) is int and 0 <= item < 256 for item in value)
    return bytes(value).decode("utf-8", "replace") if is_bytes else None
