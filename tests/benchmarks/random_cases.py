"""Random cases of many shapes, in the form of the recorded vectors: meant to be awkward, not likely."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass
from typing import Any

MAX_LONG = 2**63 - 1
SHAPES = ("plain", "small", "crowded", "crowded", "tags", "racks", "tags-racks", "huge", "tiny", "unequal", "unknown")
RACKS = ("a", "b", "c")


@dataclass
class _Shape:
    """What the parts of one case have to agree on."""

    rng: random.Random
    name: str
    standbys: int
    limit: int

    @property
    def tagged(self) -> bool:
        return "tags" in self.name

    @property
    def racked(self) -> bool:
        return "racks" in self.name


def random_case(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    name = rng.choice(SHAPES)
    limits = [0, 100, 10_000, 2**62, MAX_LONG - 1, MAX_LONG] if name in ("huge", "tiny") else [0, 100, 10_000, 10_000]
    shape = _Shape(rng, name, rng.choice([0, 0, 1, 1, 2, 3, 5]), rng.choice(limits))
    tasks = _tasks(shape)
    clients = _clients(shape)
    _hand_out_state(shape, tasks, clients)
    case_id = f"random-{name}-{seed}"
    return {
        "id": case_id,
        "assignor": "high_availability",
        "config": _config(shape),
        "tasks": tasks,
        "clients": clients,
    }


def _config(shape: _Shape) -> dict[str, Any]:
    rng = shape.rng
    config: dict[str, Any] = {
        "acceptable_recovery_lag": shape.limit,
        "max_warmup_replicas": rng.choice([1, 1, 2, 3, 5, 100]),
        "num_standby_replicas": shape.standbys,
    }
    if shape.tagged:
        config["rack_aware_assignment_tags"] = rng.sample(["zone", "cluster", "unset"], rng.randint(1, 3))
    if shape.racked:
        config["rack_aware_assignment_strategy"] = rng.choice(["min_traffic", "balance_subtopology"])
        if rng.random() < 0.5:
            config["rack_aware_assignment_traffic_cost"] = rng.choice([0, 1, 5, 10, 100])
            config["rack_aware_assignment_non_overlap_cost"] = rng.choice([0, 1, 5, 50])
    return config


def _tasks(shape: _Shape) -> list[dict[str, Any]]:
    rng = shape.rng
    tasks = []
    for subtopology in range(rng.randint(1, 6)):
        stateful = rng.random() < 0.8
        for partition in range(
            rng.randint(1, 10 if shape.racked else 50 if shape.name in ("plain", "crowded") else 20)
        ):
            task: dict[str, Any] = {"id": f"{subtopology}_{partition}", "stateful": stateful}
            if stateful:
                task["end_offset_sum"] = _end_offset_sum(shape)
            if shape.racked:
                task["source_partitions"] = [_partition(rng, "source", subtopology, partition)]
                if rng.random() < 0.3:
                    task["source_partitions"].append(_partition(rng, "other", subtopology, partition))
                if stateful:
                    task["changelog_partitions"] = [_partition(rng, "changelog", subtopology, partition)]
            tasks.append(task)
    if shape.racked and rng.random() < 0.1:
        rng.choice(tasks)["source_partitions"][0]["racks"] = [None]
    rng.shuffle(tasks)
    return tasks


def _end_offset_sum(shape: _Shape) -> int:
    rng = shape.rng
    if shape.name == "tiny":
        return rng.choice([0, 1, 5, 100, 10_000])
    if shape.name == "huge":
        return rng.choice([MAX_LONG, MAX_LONG - 1, MAX_LONG - 5, 2**62, 2**53 + 1, 2**53])
    return rng.choice([0, 3, 100, 150_000]) if rng.random() < 0.2 else rng.randrange(20_000, 10**6)


def _partition(rng: random.Random, kind: str, subtopology: int, partition: int) -> dict[str, Any]:
    racks = [rng.choice(RACKS) for _ in range(rng.randint(1, 2))]
    return {"topic": f"{kind}-{subtopology}", "partition": partition, "racks": racks}


def _clients(shape: _Shape) -> list[dict[str, Any]]:
    rng = shape.rng
    number = rng.randint(8, 24) if shape.name == "crowded" else rng.randint(1, 7 if shape.racked else 14)
    threads = rng.choice([[1], [rng.randint(1, 5)], [1, 2, 3, 4]]) if shape.name != "unequal" else [1, 2, 3, 7, 16]
    counted = rng.random() < 0.2
    clients = []
    for index in range(number):
        process_id = uuid.UUID(int=index + 1 if counted else rng.getrandbits(128))
        client: dict[str, Any] = {
            "process_id": str(process_id),
            "consumers": [f"c{index:02d}-StreamThread-{thread + 1}" for thread in range(rng.choice(threads))],
            "task_lags": {},
            "prev_active": [],
            "prev_standby": [],
        }
        if shape.tagged:
            values = "pqrs"[: rng.randint(1, 4)]
            client["client_tags"] = {k: rng.choice(values) for k in ("zone", "cluster", "x") if rng.random() < 0.85}
        if shape.racked and rng.random() < 0.99:
            client["rack_id"] = rng.choice(RACKS)
        clients.append(client)
    return clients


def _hand_out_state(shape: _Shape, tasks: list[dict[str, Any]], clients: list[dict[str, Any]]) -> None:
    """Give each stateful task some copies, the first of them usually running; some instances are new and have none."""
    rng = shape.rng
    old = clients[: max(1, len(clients) - rng.choice([0, 0, 0, 1, 2, len(clients) // 2]))]
    copies = rng.choice([(1, 1), (1 + shape.standbys, 1 + shape.standbys), (0, len(old)), (1, 4)])
    hot = rng.choice([0.3, 0.8, 0.95])
    for task in tasks:
        if not task["stateful"]:
            rng.choice(old)["prev_active"].append(task["id"])
            continue
        for place, client in enumerate(rng.sample(old, min(len(old), rng.randint(*copies)))):
            running = place == 0 and rng.random() < 0.9
            client["task_lags"][task["id"]] = -2 if running else _lag(shape, task["end_offset_sum"], hot)
            client["prev_active" if running else "prev_standby"].append(task["id"])
    if rng.random() < 0.5:
        for client in clients:
            client["prev_tasks_by_consumer"] = _by_consumer(rng, client)


def _lag(shape: _Shape, whole: int, hot: float) -> int:
    rng = shape.rng
    if rng.random() < hot:
        return rng.randint(0, min(whole, shape.limit))
    if rng.random() < (0.5 if shape.name == "unknown" else 0.1):
        return -3
    return rng.choice([whole, rng.randint(0, whole), min(whole, shape.limit + 1)])


def _by_consumer(rng: random.Random, client: dict[str, Any]) -> dict[str, list[str]]:
    reported: dict[str, list[str]] = {consumer: [] for consumer in client["consumers"]}
    for task in dict.fromkeys([*client["task_lags"], *client["prev_active"]]):
        if rng.random() < 0.9:
            reported[rng.choice(client["consumers"])].append(task)
    return reported
