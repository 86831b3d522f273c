"""Write a large group as a snapshot: 200 pods, 3,000 stateful tasks with a standby each, settled by its own plan.

    python examples/large/make_group.py large.json
    kstream-plan assign large.json
    kstream-plan drain large.json pod-7

``--joining 20``: so many pods have just joined and hold nothing. The other options give another size.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import uuid
from pathlib import Path
from typing import Any

import kstream_plan

THREADS = 4
ZONES = ("a", "b", "c")


def main() -> None:
    """Write the snapshot of the settled group."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=3_000)
    parser.add_argument("--subtopologies", type=int, default=20)
    parser.add_argument("--standbys", type=int, default=1)
    parser.add_argument("--joining", type=int, default=0)
    asked = parser.parse_args()
    rng = random.Random(7)
    tasks = _tasks(rng, asked.tasks, asked.subtopologies)
    group = _settled(_group(tasks, [_pod(rng, n) for n in range(asked.pods)], asked.standbys))
    group["instances"] += [_pod(rng, asked.pods + n) for n in range(asked.joining)]
    asked.file.write_text(json.dumps(group) + "\n", encoding="utf-8")


def _group(tasks: list[dict[str, Any]], pods: list[dict[str, Any]], standbys: int) -> dict[str, Any]:
    return {
        "format_version": "1.0",
        "application_id": "large",
        "generation": 41,
        "captured_at": "2026-11-21T12:00:00Z",
        "streams_version": "4.3.1",
        "config": {"num_standby_replicas": standbys, "max_warmup_replicas": 2},
        "tasks": tasks,
        "instances": pods,
        "lags": [],
    }


def _tasks(rng: random.Random, count: int, subtopologies: int) -> list[dict[str, Any]]:
    names = [(n % subtopologies, n // subtopologies) for n in range(count)]
    return [
        {
            "task_id": f"{subtopology}_{partition}",
            "stateful": True,
            "end_offset_sum": rng.randrange(100_000, 10_000_000),
            "source_partitions": [{"topic": f"input-{subtopology}", "partition": partition}],
        }
        for subtopology, partition in sorted(names)
    ]


def _pod(rng: random.Random, number: int) -> dict[str, Any]:
    return {
        "process_id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "host": f"pod-{number}",
        "client_tags": {"zone": ZONES[number % len(ZONES)]},
        "consumers": [{"consumer_id": f"pod-{number}-StreamThread-{thread + 1}"} for thread in range(THREADS)],
    }


def _settled(group: dict[str, Any]) -> dict[str, Any]:
    """Let the group's own plan deal the tasks; everybody is caught up on what it then holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "group.json")
        path.write_text(json.dumps(group), encoding="utf-8")
        (snapshot,) = kstream_plan.read([str(path)])
    final = json.loads(kstream_plan.to_json(kstream_plan.plan(snapshot)))["final"]
    for pod in group["instances"]:
        held = final[pod["process_id"]]
        for consumer in pod["consumers"]:
            consumer.update(held["consumers"][consumer["consumer_id"]])
            consumer.pop("temporary", None)
        group["lags"] += [
            {"process_id": pod["process_id"], "task_id": task, "lag": 0, "consumer_ids": [consumer["consumer_id"]]}
            for consumer in pod["consumers"]
            for task in consumer["standby"]
        ]
    return group


if __name__ == "__main__":
    main()
