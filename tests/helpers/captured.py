"""Groups captured from a real broker and application, generation by generation (``tests/real``)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kstream_plan.model import Group, Holding, Rates, Snapshot, TaskId
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

REAL = Path(__file__).parents[1] / "real"
SCENARIOS = ("scale-out", "scale-out-traffic", "scale-out-standbys")


def rows(scenario: str, name: str) -> list[dict[str, Any]]:
    """The rows of one captured file: ``inputs`` (what the leader knew) or ``observed`` (what it decided)."""
    return [json.loads(line) for line in _text(scenario, name).splitlines()]


@cache
def _text(scenario: str, name: str) -> str:
    return gzip.decompress((REAL / scenario / f"{name}.jsonl.gz").read_bytes()).decode()


def inputs(scenario: str) -> list[Snapshot]:
    """One snapshot per generation: exactly what the leader knew before it decided."""
    return list(_inputs(scenario))


@cache
def _inputs(scenario: str) -> tuple[Snapshot, ...]:
    """The application that was captured keeps its state in RocksDB."""
    return tuple(replace(snapshot_from_row(row, scenario), stores="persistent") for row in rows(scenario, "inputs"))


def join(scenario: str, restore_per_instance: float | None = None) -> Snapshot:
    """The input of generation 2: new instances have just joined a settled group."""
    return replace(inputs(scenario)[1], rates=Rates(restore_per_instance=restore_per_instance))


def trigger(observed: dict[str, Any]) -> str:
    """The observed trigger in the plan's words."""
    name = observed["trigger"]
    if name.startswith("cooperative follow-up"):
        return "follow-up"
    return "leave" if name == "session timeout" else name


def decided(group: Group, observed: dict[str, Any]) -> dict[str, Holding]:
    """What was decided, consumer by consumer: active (withheld ones included) and standby (warm-ups included)."""
    return _by_consumer(
        group, observed, lambda item: Holding(_tasks(group, item["active"]), _tasks(group, item["standby"]))
    )


def assigned(group: Group, observed: dict[str, Any]) -> dict[str, Holding]:
    """What the members then held: without what was withheld, temporary standbys among the standbys."""
    return _by_consumer(
        group,
        observed,
        lambda item: Holding(
            _tasks(group, set(item["active"]) - set(item["withheld"])),
            _tasks(group, item["standby"] + item["temporary"]),
        ),
    )


def copies_alike(group: Group, holdings: Sequence[Holding]) -> dict[str, Holding]:
    """Holdings by consumer id with all copies counted as standbys, as Kafka itself tells them."""
    return {
        consumer_id: Holding(held.active, tuple(sorted(held.standby + held.warmup + held.temporary)))
        for consumer_id, held in zip(group.consumer_ids, holdings, strict=True)
    }


def by_instance(group: Group, holdings: dict[str, Holding]) -> dict[str, Holding]:
    """The same instance by instance, however its threads share it."""
    return {
        instance.process_id: Holding(
            *(
                tuple(
                    sorted(
                        task
                        for consumer in instance.consumers
                        for task in getattr(holdings[consumer.consumer_id], role)
                    )
                )
                for role in ("active", "standby")
            )
        )
        for instance in group.instances
    }


def _by_consumer(group: Group, observed: dict[str, Any], holding: Any) -> dict[str, Holding]:
    return {
        consumer_id: holding(item)
        for instance in observed["decided"].values()
        for consumer_id, item in instance["consumers"].items()
    }


def _tasks(group: Group, ids: Any) -> tuple[int, ...]:
    return tuple(sorted(group.task_index[TaskId.parse(text)] for text in ids))
