"""Random streams groups whose next target is asked for: members that hold anything, and processes of several."""

from __future__ import annotations

import base64
import random
import uuid
from typing import Any

from tests.helpers.replayed_streams import tasks_of


def random_streams_case(seed: int) -> dict[str, Any]:
    """Return a case as in ``vectors/streams-single.jsonl.gz``: anybody has a task, and others standbys of it."""
    chance = random.Random(seed)
    topology = [
        {"id": str(number), "partitions": chance.choice((1, 2, 3, 6, 12)), "stateful": chance.random() < 0.7}
        for number in range(chance.randint(1, 5))
    ]
    processes = [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(chance.randint(1, 8))]
    members: list[dict[str, Any]] = [
        {"id": _member_id(chance), "process": chance.choice(processes), "active": [], "standby": []}
        for _ in range(chance.randint(1, 14))
    ]
    standbys, owned = chance.randint(0, 3), chance.choice((0.0, 0.5, 0.95, 1.0))
    stateful = {item["id"] for item in topology if item["stateful"]}
    had = members[: chance.randint(1, len(members))]  # the others have just joined
    for task in tasks_of(topology).names:
        if chance.random() >= owned:
            continue
        owner = chance.choice(had)
        owner["active"].append(task)
        others = [member for member in had if member is not owner] if task.partition("_")[0] in stateful else []
        for member in chance.sample(others, min(len(others), chance.randint(0, standbys))):
            member["standby"].append(task)
    return {"id": f"group-{seed}", "config": {"num_standby": standbys}, "topology": topology, "members": members}


def _member_id(chance: random.Random) -> str:
    return base64.urlsafe_b64encode(chance.randbytes(16)).decode().rstrip("=")
