"""Rows of Connect groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kstream_plan.model import Consumer, Instance, Snapshot
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row


def row(
    connectors: Mapping[str, int], workers: Mapping[str, Mapping[str, Sequence[int]]], **fields: Any
) -> dict[str, Any]:
    """A group led by the first worker; each holds these items of connectors, -1 for the connector itself."""
    config = {"scheduled_rebalance_max_delay_ms": 300_000, **fields.pop("config", {})}
    return {
        "format_version": "1.0",
        "application_id": "live",
        "group_protocol": "connect",
        "generation": 12,
        "captured_at": "2026-11-22T12:00:00Z",
        "config": config,
        "connectors": [{"name": name, "task_count": number} for name, number in connectors.items()],
        "instances": [
            {
                "process_id": name,
                "leader": place == 0,
                "java": 17,
                "held": [{"connector": item, "items": list(items)} for item, items in held.items()],
            }
            for place, (name, held) in enumerate(workers.items())
        ],
        **fields,
    }


def snapshot(item: Mapping[str, Any]) -> Snapshot:
    """The group of a row."""
    return snapshot_from_row(item, "row")


def even(workers: int = 2, **fields: Any) -> dict[str, Any]:
    """A connector for each worker with four tasks, all of which that one runs."""
    names = [f"c{number}" for number in range(workers)]
    held = {f"w{number}": {f"c{number}": (-1, 0, 1, 2, 3)} for number in range(workers)}
    return row(dict.fromkeys(names, 4), held, **fields)


def worker(name: str) -> Instance:
    """A worker."""
    return Instance(process_id=name, consumers=(Consumer(consumer_id=name),))
