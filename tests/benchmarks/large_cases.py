"""Large groups for benchmarks: what an earlier decision left behind, then the same or other members."""

from __future__ import annotations

import random
import uuid
from typing import Any

from kstream_plan.assignors.high_availability.assign import decide
from tests.helpers import kafka_cases


def large_case(
    scenario: str, *, tasks: int, instances: int, threads: int = 4, standbys: int = 1, warmups: int = 2, seed: int = 1
) -> dict[str, Any]:
    """Make one case: every task stateful, lags only where copies exist, nothing else known.

    The state is what a cold start of the earlier members would have led to, all caught up. ``steady``: the same
    members; ``scale-out``: a tenth of the instances is new; ``scale-in``: a tenth is gone.
    """
    rng = random.Random(seed)
    subtopologies = 20
    rows = [
        {"id": f"{s}_{p}", "stateful": True, "end_offset_sum": rng.randrange(100_000, 10_000_000)}
        for s in range(subtopologies)
        for p in range(tasks // subtopologies)
    ]
    tenth = max(1, instances // 10)
    clients = [
        {
            "process_id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            "consumers": [f"c{number:04d}-t{thread:02d}" for thread in range(threads)],
            "task_lags": {},
        }
        for number in range(instances + (tenth if scenario == "scale-in" else 0))
    ]
    config = {"acceptable_recovery_lag": 10_000, "max_warmup_replicas": warmups, "num_standby_replicas": standbys}
    case = {"id": f"{scenario}-{tasks}x{instances}", "config": config, "tasks": rows}
    earlier = clients[:-tenth] if scenario == "scale-out" else clients
    _settle(case | {"clients": earlier}, rng)
    return case | {"clients": clients[:-tenth] if scenario == "scale-in" else clients}


def _settle(case: dict[str, Any], rng: random.Random) -> None:
    """Give the case's clients the state that the group's first decision leads to."""
    state = kafka_cases.state_of(case)
    decision = decide(state, kafka_cases.config_of(case))
    clients = {client["process_id"]: client for client in case["clients"]}
    for instance, held in zip(state.group.instances, decision.instances, strict=True):
        client = clients[instance.process_id]
        client["prev_active"] = [str(state.group.tasks[t].task_id) for t in held.active]
        client["prev_standby"] = [str(state.group.tasks[t].task_id) for t in held.standby]
        client["task_lags"] = dict.fromkeys(client["prev_active"], -2) | {
            task: rng.randrange(5_000) for task in client["prev_standby"]
        }
