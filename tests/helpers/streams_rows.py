"""Rows of streams groups for tests: from what a broker describes, and small ones made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kstream_plan.model import Consumer, Instance, Snapshot
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: Of the captured groups: subtopology → partitions, whether it keeps state, and the records of each task.
S8 = {"0": (12, True, 2_000), "1": (12, True, 4_000), "2": (6, False, 0)}


def tasks(topology: Mapping[str, tuple[int, bool, int]]) -> list[dict[str, Any]]:
    """All tasks of subtopologies."""
    return [
        {"task_id": f"{item}_{partition}", "stateful": stateful, "end_offset_sum": records if stateful else 0}
        for item, (partitions, stateful, records) in topology.items()
        for partition in range(partitions)
    ]


def row(
    broker_version: str,
    instances: Mapping[str, Sequence[Mapping[str, Any]]],
    topology: Mapping[str, tuple[int, bool, int]] = S8,
    *,
    standbys: int = 0,
    **fields: Any,
) -> dict[str, Any]:
    """A row: the consumers of every process."""
    return {
        "format_version": "1.0",
        "application_id": "S8",
        "group_protocol": "streams",
        "broker_version": broker_version,
        "generation": 12,
        "group_state": "Stable",
        "captured_at": "2026-11-22T12:00:00Z",
        "config": {"streams_num_standby_replicas": standbys, "streams_session_timeout_ms": 45_000},
        "tasks": tasks(topology),
        "instances": [{"process_id": process, "consumers": list(item)} for process, item in instances.items()],
        **fields,
    }


def described_row(described: Mapping[str, Any], broker_version: str, at: str, **fields: Any) -> dict[str, Any]:
    """The row of what a broker answered to a description: the capture tool wrote it down sorted by member."""
    group = described["describeStreamsGroup"]
    instances: dict[str, list[dict[str, Any]]] = {}
    for member in group["members"]:
        instances.setdefault(member["processId"], []).append(
            {
                "consumer_id": member["memberId"],
                "client_id": member["clientId"],
                "group_instance_id": member["instanceId"],
                "member_epoch": member["memberEpoch"],
                **member["assignment"],
                "target": member["targetAssignment"],
            }
        )
    return row(
        broker_version,
        instances,
        standbys=1,
        captured_at=at,
        generation=group["groupEpoch"],
        target_epoch=group["targetAssignmentEpoch"],
        group_state=group["groupState"],
        **fields,
    )


def snapshot(result: Mapping[str, Any]) -> Snapshot:
    """The snapshot of a row, in which what keeps no state has no offsets."""
    stored = [_without_offsets(task) for task in result["tasks"]]
    return snapshot_from_row({**result, "tasks": stored}, "here")


def _without_offsets(task: Mapping[str, Any]) -> dict[str, Any]:
    of_state = ("end_offset_sum", "changelog_partitions", "stores") if not task["stateful"] else ()
    return {field: value for field, value in task.items() if field not in of_state}


def joining(*names: str) -> tuple[Instance, ...]:
    """Instances of two threads."""
    return tuple(
        Instance(process_id=name, consumers=tuple(Consumer(consumer_id=f"{name}-{item}") for item in (1, 2)))
        for name in names
    )
