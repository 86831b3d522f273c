"""A broker on the wire that knows one streams group; kafka-python's own classes encode what that knows."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

_STREAMS_GROUP_DESCRIBE = 89


@dataclass
class WireBroker:
    """What it answers; a test changes what it needs.

    ``answers`` are bodies of the answers to ``StreamsGroupDescribe``, one after the other, the last one for good;
    ``newest`` its newest version, ``None`` if the broker does not know it. ``listed`` is what the group is listed as,
    ``settings`` its own, ``topics`` partitions by topic, ``ends`` the end offset of every partition. ``coordinator``
    are error codes of ``FindCoordinator``, one after the other, then 0. ``silent`` requests get no answer.
    """

    group_id: str
    answers: Sequence[bytes]
    newest: int | None = 0
    listed: tuple[str, str] = ("streams", "Stable")
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_error: int = 0
    topics: Mapping[str, int] = field(default_factory=dict)
    ends: int = 0
    coordinator: Sequence[int] = ()
    silent: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)
    address: tuple[str, int] = ("", 0)

    def answer(self, name: str, request: Any, output: type[Any], version: int) -> Any:
        """Return the answer to a request that kafka-python knows."""
        element, host, port = _Fields(output), *self.address
        broker = {"node_id": 1, "broker_id": 1, "host": host, "port": port, "rack": None}
        fields: dict[str, Any] = {}
        if name == "ApiVersions":
            keys = [element.api_keys(api_key=key, min_version=0, max_version=top) for key, top in self._versions()]
            fields = {"error_code": 0, "api_keys": keys}
        elif name == "Metadata":
            wanted = self.topics if request.topics is None else [topic.name for topic in request.topics]
            fields = {"topics": [self._topic(element, topic) for topic in wanted]}
        elif name == "FindCoordinator":
            codes = self.coordinator[self.asked.count(name) - 1 :]
            found = {"key": self.group_id, "error_code": codes[0] if codes else 0, **broker}
            fields = {"coordinators": [element.coordinators(**_only(element.coordinators, found))]}
        elif name == "DescribeGroups":
            gone = {"error_code": 69, "group_id": self.group_id, "group_state": "Dead"}
            fields = {"groups": [element.groups(**gone, protocol_type="", protocol_data="", members=[])]}
        elif name == "ListGroups":
            group_type, state = self.listed
            kind = {"protocol_type": group_type, "group_state": state, "group_type": group_type}
            fields = {"error_code": 0, "groups": [element.groups(group_id=self.group_id, **kind)] if group_type else []}
        elif name == "DescribeConfigs":
            fields = {"results": [self._settings(element)]}
        elif name == "ListOffsets":
            fields = {"topics": [self._offsets(element, topic) for topic in request.topics]}
        if name in ("Metadata", "DescribeCluster"):
            fields |= {
                "cluster_id": "c",
                "controller_id": 1,
                "brokers": [element.brokers(**_only(element.brokers, broker))],
            }
        return output(version=version, **fields)

    def streams_groups(self) -> bytes:
        """Return the next answer to ``StreamsGroupDescribe``."""
        return self.answers[min(self.asked.count("StreamsGroupDescribe"), len(self.answers)) - 1]

    def _versions(self) -> Iterator[tuple[int, int]]:
        for key, (_, request, _) in _known().items():
            yield key, request.max_version
        if self.newest is not None:
            yield _STREAMS_GROUP_DESCRIBE, self.newest

    def _topic(self, member_of: _Fields, name: str) -> Any:
        made = member_of.topics
        partitions = [
            _Fields(made).partitions(
                error_code=0, partition_index=number, leader_id=1, replica_nodes=[1], isr_nodes=[1]
            )
            for number in range(self.topics.get(name, 0))
        ]
        return made(error_code=0 if name in self.topics else 3, name=name, is_internal=False, partitions=partitions)

    def _settings(self, item: _Fields) -> Any:
        result = item.results
        settings = [
            _Fields(result).configs(name=name, value=value, read_only=False, config_source=8)
            for name, value in self.settings.items()
        ]
        asked = {"resource_type": 32, "resource_name": self.group_id}
        return result(error_code=self.settings_error, configs=[] if self.settings_error else settings, **asked)

    def _offsets(self, entry: _Fields, topic: Any) -> Any:
        outcome = entry.topics
        partitions = [
            _Fields(outcome).partitions(partition_index=asked.partition_index, error_code=0, offset=self.ends)
            for asked in topic.partitions
        ]
        return outcome(name=topic.name, partitions=partitions)


class _Fields:
    """Gives the class of a list's items by the list's name."""

    def __init__(self, result: Any) -> None:
        self._struct = result._struct

    def __getattr__(self, name: str) -> Any:
        return self._struct.fields[name].data_class


def _only(result: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in result._struct.fields}


def _known() -> dict[int, tuple[str, Any, Any]]:
    """Api key → name, request and response; what is missing the broker does not support."""
    from kafka.protocol import admin, consumer, metadata

    names = {
        metadata: ("ApiVersions", "Metadata", "FindCoordinator"),
        admin: ("DescribeGroups", "ListGroups", "DescribeConfigs", "DescribeCluster"),
        consumer: ("ListOffsets",),
    }
    found = [
        (name, getattr(module, f"{name}Request"), getattr(module, f"{name}Response"))
        for module, of_module in names.items()
        for name in of_module
    ]
    return {request.API_KEY: (name, request, response) for name, request, response in found}


@contextmanager
def serving(broker: WireBroker) -> Iterator[str]:
    """Let a broker answer on the loopback, and give its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    broker.address = listener.getsockname()
    connections: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=_answer_all, args=(broker, connection), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"{broker.address[0]}:{broker.address[1]}"
    finally:
        listener.close()
        for connection in connections:
            connection.close()


def _answer_all(broker: WireBroker, connection: socket.socket) -> None:
    with suppress(OSError), connection.makefile("rb") as requests:
        while size := requests.read(4):
            frame = requests.read(int.from_bytes(size, "big"))
            key, version, correlation = struct.unpack_from(">hhi", frame)
            if key == _STREAMS_GROUP_DESCRIBE:
                broker.asked.append("StreamsGroupDescribe")
                body = struct.pack(">i", correlation) + b"\0" + broker.streams_groups()
                answer, name = struct.pack(">i", len(body)) + body, "StreamsGroupDescribe"
            else:
                name, request, response = _known()[key]
                broker.asked.append(name)
                result = broker.answer(name, request.decode(frame, version=version, header=True), response, version)
                result.with_header(correlation_id=correlation)
                answer = result.encode(header=True, framed=True)
            if name not in broker.silent:
                connection.sendall(answer)


def streams_group_answer(
    row: Mapping[str, Any],
    subtopologies: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    version: int,
    **fields: Any,
) -> bytes:
    """Encode a description: the row's group, its members in the order of their positions.

    Args:
        row: a row of a streams group.
        subtopologies: id → the topics it reads, and its changelogs.
        version: of the answer.
        **fields: ``error_code``, ``error_message``, ``assignor``, ``is_classic``, ``topology_epoch``, of the members.
    """
    seats = [(instance, seat) for instance in row["instances"] for seat in instance["consumers"]]
    members = [_member(item, seat, fields) for item, seat in sorted(seats, key=lambda one: one[1]["position"])]
    topology = struct.pack(">bi", 1, 0) + _array(_subtopology(*one) for one in subtopologies.items()) + b"\0"
    group = struct.pack(">h", fields.get("error_code", 0)) + _text(fields.get("error_message"))
    group += _text(row["application_id"]) + _text(row["group_state"])
    group += struct.pack(">ii", row["generation"], row["target_epoch"])
    group += (topology if subtopologies else b"\xff") + _array(members) + struct.pack(">i", -(2**31))
    if version >= 1:
        group += b"\xff\0" + _text(fields.get("assignor", "sticky"))
    return struct.pack(">i", 0) + _array([group + b"\0"]) + b"\0"


def _subtopology(name: str, topics: tuple[Sequence[str], Sequence[str]]) -> bytes:
    sources, changelogs = topics
    internal = [_text(changelog) + struct.pack(">ih", 0, 1) + _array([]) + b"\0" for changelog in changelogs]
    return _text(name) + _array(map(_text, sources)) + _array([]) + _array(internal) + _array([]) + b"\0"


def _member(item: Mapping[str, Any], seat: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
    offsets = [_task(task["task_id"], ">iq", task["offset"]) for task in seat.get("task_offsets", ())]
    parts = [
        _text(seat["consumer_id"]) + struct.pack(">i", seat["member_epoch"]) + _text(None) + _text(item.get("rack")),
        _text(seat["client_id"]) + _text("/10.0.0.1") + struct.pack(">i", fields.get("topology_epoch", 0)),
        _text(item["process_id"]) + b"\xff" + _array([]) + _array(offsets) + _array([]),
        _assignment(seat) + _assignment(seat["target"]) + bytes([fields.get("is_classic", False)]) + b"\0",
    ]
    return b"".join(parts)


def _assignment(roles: Mapping[str, Sequence[str]]) -> bytes:
    """Every task by itself: a subtopology may be there several times."""
    return b"".join(
        _array(
            _text(task.rpartition("_")[0]) + _array([struct.pack(">i", int(task.rpartition("_")[2]))]) + b"\0"
            for task in roles[role]
        )
        for role in ("active", "standby", "warmup")
    ) + (b"\0")


def _task(name: str, form: str, *values: int) -> bytes:
    subtopology, _, partition = name.rpartition("_")
    return _text(subtopology) + struct.pack(form, int(partition), *values) + b"\0"


def _text(text: str | None) -> bytes:
    data = None if text is None else text.encode()
    return b"\0" if data is None else _varint(len(data) + 1) + data


def _array(items: Iterable[bytes]) -> bytes:
    found = list(items)
    return _varint(len(found) + 1) + b"".join(found)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
