"""Groups in which many stateless tasks go back and forth, from a seed."""

from __future__ import annotations

import random
import uuid

from kstream_plan.model import Consumer, Group, GroupState, Holding, Instance, Snapshot, Task, TaskId
from kstream_plan.model.settings import AssignmentConfig
from tests.helpers import memberships


def joined(seed: int) -> Snapshot:
    """A settled group that two instances have just joined."""
    rng = random.Random(seed)
    results = [
        Task(task_id=TaskId(s, p), stateful=s < 3, end_offset_sum=50_000 if s < 3 else 0)
        for s in range(6)
        for p in range(rng.randint(5, 20))
    ]
    threads = rng.choice([lambda: 3, lambda: 4, lambda: rng.randint(1, 4)])
    members = [
        Instance(
            process_id=(item := str(uuid.UUID(int=rng.getrandbits(128), version=4))),
            consumers=tuple(Consumer(consumer_id=f"{item}-StreamThread-{t}") for t in range(threads())),
        )
        for _ in range(rng.randint(4, 7))
    ]
    first = Group.of("orders", results, members[:-2])
    empty = GroupState(
        group=first,
        generation=0,
        at_ms=0,
        holdings=(Holding(),) * len(first.consumer_ids),
        copies=((),) * len(results),
        leader=0,
    )
    config = AssignmentConfig(
        max_warmup_replicas=rng.randint(1, 3), num_standby_replicas=rng.choice([0, 0, 0, 1]), acceptable_recovery_lag=0
    )
    settled = memberships.settled(Snapshot(state=empty, config=config))
    return memberships.with_members(settled, members)
