"""Random cases of at most 40 tasks, in the form of the vectors: many ties, few of a kind, hardly anything likely."""

from __future__ import annotations

import random
import uuid
from typing import Any

from hypothesis import strategies as st

MAX_TASKS = 40
MAX_LONG = 2**63 - 1
RACKS = ("a", "b", "c")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Sizes and settings are drawn one by one, so that they shrink; who has which copy from a seed, for speed."""
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))
    racked = draw(st.sampled_from([False, False, False, False, True]))
    limit = draw(st.sampled_from([100, 100, 100, 0, 10_000, MAX_LONG]))
    most = 12 if racked else MAX_TASKS
    sizes = draw(st.lists(st.tuples(st.integers(1, most), st.integers(0, 4)), min_size=1, max_size=4))
    names = draw(st.sampled_from([("",), ("",), ("b__", "a__", "Ünï__")]))
    stride = draw(st.sampled_from([1, 1, 31]))  # hashes of different subtopologies collide
    tasks = [
        _task(rng, f"{name}{number}_{stride * partition}", stateful > 0, racked)
        for number, (size, stateful) in enumerate(sizes)
        for name in [rng.choice(names)]
        for partition in range(size)
    ][:most]
    clients = [_client(rng, number, racked) for number in range(draw(st.integers(1, 5 if racked else 14)))]
    _threads(rng, clients, draw(st.sampled_from([(1,), (2,), (1, 2, 3), (1, 4, 7)])))
    _copies(rng, tasks, clients, limit)
    standbys, rate = draw(st.sampled_from([0, 1, 1, 2, 3])), draw(st.sampled_from([-1, 0, 60, 5_000]))
    config: dict[str, Any] = {
        "acceptable_recovery_lag": limit,
        "max_warmup_replicas": draw(st.sampled_from([1, 2, 2, 5, 100])),
        "num_standby_replicas": standbys,
        "rack_aware_assignment_tags": draw(st.sampled_from([[], [], [], ["zone"], ["zone", "cluster"]])),
    }
    if racked:
        config["rack_aware_assignment_strategy"] = draw(st.sampled_from(["min_traffic", "balance_subtopology"]))
        config["rack_aware_assignment_traffic_cost"] = draw(st.sampled_from([None, 0, 1, 5]))
        config["rack_aware_assignment_non_overlap_cost"] = draw(st.sampled_from([None, 0, 1, 5]))
    case = {"id": "random", "assignor": "high_availability", "config": config, "tasks": tasks, "clients": clients}
    return case | {"restore_rate_per_round": rate, "active_offset": draw(st.sampled_from(["latest", "caught_up"]))}


def _task(rng: random.Random, task_id: str, stateful: bool, racked: bool) -> dict[str, Any]:
    task: dict[str, Any] = {"id": task_id, "stateful": stateful}
    if stateful:
        task["end_offset_sum"] = rng.choice([0, 50, 5_000, 5_000, 5_000, MAX_LONG])
    for kind in ("source", "changelog") if racked else ():
        racks = rng.sample(RACKS, rng.randint(1, 2))
        task[f"{kind}_partitions"] = [{"topic": f"{kind}-{task_id}", "partition": 0, "racks": racks}]
    return task


def _client(rng: random.Random, number: int, racked: bool) -> dict[str, Any]:
    process_id = uuid.UUID(int=rng.choice([number + 1, rng.getrandbits(128)]))
    client: dict[str, Any] = {"process_id": str(process_id), "task_lags": {}}
    client["client_tags"] = {key: rng.choice("pqr") for key in ("zone", "cluster", "other") if rng.random() < 0.9}
    return client | ({"rack_id": rng.choice(RACKS)} if racked else {})


def _threads(rng: random.Random, clients: list[dict[str, Any]], numbers: tuple[int, ...]) -> None:
    for number, client in enumerate(clients):
        client["consumers"] = [f"c{number}-{thread}" for thread in range(rng.choice(numbers))]


def _copies(rng: random.Random, tasks: list[dict[str, Any]], clients: list[dict[str, Any]], limit: int) -> None:
    """Give each task copies on some clients, of which several may say to be running; two threads report some."""
    old = clients[: rng.randint(1, len(clients))]
    for task in tasks:
        whole = task.get("end_offset_sum")
        for client in rng.sample(old, min(len(old), rng.choice([0, 1, 2, 2, 3, 9]))):
            lags = [-2, -3, 0, 0, 0, 40, limit, limit + 1, whole]
            if whole is not None:
                client["task_lags"][task["id"]] = min(rng.choice(lags), whole)
    for client in old if rng.random() < 0.7 else ():
        client["prev_tasks_by_consumer"] = {
            consumer: [task for task in client["task_lags"] if rng.random() < 0.6] for consumer in client["consumers"]
        }
