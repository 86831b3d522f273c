"""A fleet of generated applications: snapshots of small groups, many with instances that have just joined."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

THREADS = 2


def fleet(applications: int, *, tasks: int = 12, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Make snapshot rows: applications of about so many stateful tasks with one standby each on 3 to 8 instances.

    In two of three one or two instances have joined and hold nothing; the others stay as they are, or nearly so.
    """
    rng = random.Random(seed)
    for number in range(applications):
        yield _application(rng, f"application-{number:05d}", rng.randint(max(1, tasks // 2), tasks * 3 // 2))


def _application(rng: random.Random, name: str, tasks: int) -> dict[str, Any]:
    settled, joining = rng.randint(3, 6), rng.choice([0, 1, 2])
    instances = [_instance(rng, f"{name}-{number}") for number in range(settled + joining)]
    names = [f"{number % 3}_{number // 3}" for number in range(tasks)]
    lags = []
    for number, task in enumerate(names):
        active, standby = instances[number % settled], instances[(number + 1) % settled]
        active["consumers"][number // settled % THREADS]["active"].append(task)
        holder = standby["consumers"][number // settled % THREADS]
        holder["standby"].append(task)
        lags.append(
            {
                "process_id": standby["process_id"],
                "task_id": task,
                "lag": rng.randrange(5_000),
                "consumer_ids": [holder["consumer_id"]],
            }
        )
    return {
        "application_id": name,
        "generation": rng.randint(1, 50),
        "captured_at": "2026-11-21T12:00:00Z",
        "config": {"num_standby_replicas": 1},
        "tasks": [{"task_id": task, "end_offset_sum": rng.randrange(100_000, 10_000_000)} for task in names],
        "instances": instances,
        "lags": lags,
    }


def _instance(rng: random.Random, host: str) -> dict[str, Any]:
    consumers = [
        {"consumer_id": f"{host}-StreamThread-{thread + 1}", "active": [], "standby": []} for thread in range(THREADS)
    ]
    return {"process_id": str(uuid.UUID(int=rng.getrandbits(128), version=4)), "host": host, "consumers": consumers}


def write_fleet(path: Path, applications: int, **how: int) -> None:
    """Write a fleet as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in fleet(applications, **how))
