"""A captured scenario as a cluster that answers what ``snapshot`` asks: the broker's bytes of ``tests/real``."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kstream_plan.model import TaskId
from kstream_plan.snapshots.broker.consumer_protocol import MemberMetadata, TopicPartition
from kstream_plan.snapshots.broker.history import OffsetsRecord
from kstream_plan.snapshots.broker.streams_group import DescribedGroup
from kstream_plan.snapshots.broker.topology_text import Topology, read_topology
from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers.captured import REAL, rows

#: Subtopology → number of partitions of its topics.
_PARTITIONS = {0: 12, 1: 12, 2: 6}
_STORES = {"A": 0, "B": 1, "C": 1}


class CapturedCluster:
    """Answers of one scenario; ``described`` is the line of ``describe-groups.jsonl.gz`` that is the present.

    End offsets at a time are those the leader knew in the decision of then: the whole sum in the subtopology's first
    store, because the sums are all that was captured.
    """

    def __init__(self, scenario: str, described: Mapping[str, Any] | None = None) -> None:
        self._scenario = scenario
        self._described = described
        self._inputs = rows(scenario, "inputs")
        self.group_id = self._inputs[0]["application_id"]

    def describe_group(self, group_id: str) -> DescribedGroup:
        assert self._described is not None
        group = self._described["describeGroups"]
        members = [
            MemberMetadata(
                member["memberId"],
                member["groupInstanceId"],
                member["clientHost"],
                base64.b64decode(member["memberMetadata"]),
                base64.b64decode(member["memberAssignment"]),
            )
            for member in group["members"]
        ]
        return DescribedGroup(group["groupState"], group["protocolType"], group["protocolData"], members)

    def topics(self, names: Sequence[str]) -> dict[str, tuple[tuple[str | None, ...], ...]]:
        sources = {name.rpartition("-")[2]: name for name in names if not name.endswith("-changelog")}
        sizes = {"orders": 12, "clicks": 12, "audit": 6}
        counts = {sources[name]: count for name, count in sizes.items() if name in sources}
        counts |= {f"{self.group_id}-{store}-changelog": 12 for store in _STORES}
        return {name: ((None,),) * counts[name] for name in names if name in counts}

    def end_offsets(self, partitions: Sequence[TopicPartition], at_ms: int | None = None) -> dict[TopicPartition, int]:
        if self._described is not None:
            captured = self._described["changelogEndOffsets"]
            return {(topic, number): captured[topic][str(number)] for topic, number in partitions}
        sums = {task["task_id"]: task.get("end_offset_sum", 0) for task in self._decision(at_ms)["tasks"]}
        ends = {}
        for topic, number in partitions:
            store = topic.split("-")[-2]
            ends[topic, number] = 0 if store == "C" else sums[f"{_STORES[store]}_{number}"]
        return ends

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def _decision(self, at_ms: int | None) -> dict[str, Any]:
        """The newest decision at or before a time."""
        before = [row for row in self._inputs if at_ms is None or parse_time(row["captured_at"]) <= at_ms]
        return before[-1]

    def group_records(self, group_id: str) -> Iterator[OffsetsRecord]:
        for row in rows(self._scenario, "group-metadata"):
            value = None if "generation" not in row else encode_group_metadata(row)
            yield OffsetsRecord(parse_time(row["time"]), row["offset"], encode_group_key(row["group"]), value)


def topology(scenario: str) -> Topology:
    return read_topology((REAL / scenario / "topology.txt").read_text(encoding="utf-8"), "topology.txt")


def encode_group_key(group: str) -> bytes:
    return struct.pack(">h", 2) + _string(group)


def encode_group_metadata(row: Mapping[str, Any]) -> bytes:
    """A captured record's value as version 3 has it."""
    head = struct.pack(">h", 3) + _string(row["protocolType"]) + struct.pack(">i", row["generation"])
    state = _string(row["protocol"]) + _string(row["leader"]) + struct.pack(">q", row["currentStateTimestamp"])
    members = [
        b"".join(_string(member[name]) for name in ("memberId", "groupInstanceId", "clientId", "clientHost"))
        + struct.pack(">ii", member["rebalanceTimeout"], member["sessionTimeout"])
        + _sized(base64.b64decode(member["subscription"]))
        + _sized(base64.b64decode(member["assignment"]))
        for member in row["members"]
    ]
    return head + state + struct.pack(">i", len(members)) + b"".join(members)


def _string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def task_ids(tasks: Any) -> set[TaskId]:
    return {TaskId.parse(text) for text in tasks}
