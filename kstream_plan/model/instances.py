"""Who works: Kafka Streams processes, their stream threads, and Kafka's order of process ids.

Source: page ``rules``, "Orders".
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from kstream_plan.model.java_hash import java_string_key

#: Only this text form counts as a UUID: Java and Python read more forms, and not the same ones.
_CANONICAL_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_THREAD = re.compile(r"-StreamThread-(\d{1,9})(?:-|$)", re.ASCII)


def thread_number(consumer_id: str) -> str:
    """Return the number of the stream thread that a consumer id names; empty: it names none."""
    match = _THREAD.search(consumer_id)
    return "" if match is None else match[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One stream thread: a member of the consumer group."""

    consumer_id: str
    group_instance_id: str | None = None
    protocols: tuple[str, ...] = ("cooperative",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One Kafka Streams process; its capacity is the number of its consumers."""

    process_id: str
    consumers: tuple[Consumer, ...]
    host: str | None = None
    rack: str | None = None
    client_tags: tuple[tuple[str, str], ...] = ()

    @property
    def capacity(self) -> int:
        """The number of stream threads."""
        return len(self.consumers)

    @property
    def is_static(self) -> bool:
        """Whether all its threads are static members."""
        return all(consumer.group_instance_id is not None for consumer in self.consumers)


def is_uuid(process_id: str) -> bool:
    """Tell whether a process id is a UUID in its canonical text form; any other id is plain text."""
    return _CANONICAL_UUID.fullmatch(process_id) is not None


def process_order(process_ids: list[str]) -> list[str]:
    """Sort process ids as Kafka does.

    Java UUIDs compare by high, then low 64 bits, both signed (so ``8…`` sorts before ``0…``). If any id is not a
    UUID, all of them sort as plain strings.
    """

    def signed_halves(process_id: str) -> tuple[int, int]:
        value = uuid.UUID(process_id).int
        high, low = value >> 64, value & (2**64 - 1)
        return (high ^ 2**63) - 2**63, (low ^ 2**63) - 2**63

    return sorted(process_ids, key=signed_halves if all(map(is_uuid, process_ids)) else java_string_key)
