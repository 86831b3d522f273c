"""Snapshot rows to change one thing in, and what is read from them."""

from __future__ import annotations

import copy
from typing import Any

from kstream_plan.model import Copy, Snapshot
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

P0 = "1d296588-571c-4eee-96be-fa395e3c536c"
P1 = "8d296588-571c-4eee-96be-fa395e3c536c"

#: A group of two instances: 0_0 (stateful) runs on the second, with a standby on the first; 1_0 (stateless) runs there.
#: In Kafka's order the second instance, 8d…, is number 0.
ROW: dict[str, Any] = {
    "format_version": "1.0",
    "application_id": "orders",
    "generation": 7,
    "captured_at": "2026-11-21T12:00:00.000Z",
    "group_protocol": "classic",
    "config": {"num_standby_replicas": 1, "rack_aware_assignment_tags": ["zone"]},
    "tasks": [
        {
            "task_id": "0_0",
            "stateful": True,
            "end_offset_sum": 150_000,
            "source_partitions": [{"topic": "orders", "partition": 0, "racks": ["a", "b"]}],
            "changelog_partitions": [{"topic": "orders-changelog", "partition": 0, "end_offset": 150_000}],
        },
        {"task_id": "1_0", "stateful": False},
    ],
    "instances": [
        {
            "process_id": P0,
            "host": "orders-0",
            "rack": "a",
            "client_tags": {"zone": "a"},
            "leader": True,
            "consumers": [
                {
                    "consumer_id": "orders-0-1",
                    "group_instance_id": None,
                    "protocols": ["cooperative"],
                    "active": ["1_0"],
                    "standby": ["0_0"],
                    "warmup": [],
                }
            ],
        },
        {
            "process_id": P1,
            "host": "orders-1",
            "rack": "b",
            "client_tags": {"zone": "b"},
            "consumers": [{"consumer_id": "orders-1-1", "active": ["0_0"]}, {"consumer_id": "orders-1-2"}],
        },
    ],
    "lags": [{"process_id": P0, "task_id": "0_0", "offset": 149_000, "consumer_ids": ["orders-0-1"]}],
}


def row(**changes: Any) -> dict[str, Any]:
    """A copy of :data:`ROW` with some fields set anew."""
    return {**copy.deepcopy(ROW), **changes}


def changed(path: str, value: Any) -> dict[str, Any]:
    """A copy of :data:`ROW` with the field at ``path`` (``instances.1.rack``) set anew."""
    whole = copy.deepcopy(ROW)
    *parents, last = path.split(".")
    place: Any = whole
    for name in parents:
        place = place[int(name) if name.isdigit() else name]
    place[int(last) if last.isdigit() else last] = value
    return whole


def lag(process_id: str = P0, task_id: str = "0_0", **fields: Any) -> dict[str, Any]:
    """A lag row, by default about the standby of 0_0."""
    return {"process_id": process_id, "task_id": task_id, **fields}


def read(item: dict[str, Any], **how: Any) -> Snapshot:
    return snapshot_from_row(item, "file.json", **how)


def copies(snapshot: Snapshot, task: int = 0) -> dict[str, Copy]:
    """The copies of a task by process id."""
    group = snapshot.state.group
    return {group.instances[copy.instance].process_id: copy for copy in snapshot.state.copies[task]}


def codes(snapshot: Snapshot) -> list[str]:
    return [note.code for note in snapshot.warnings]
