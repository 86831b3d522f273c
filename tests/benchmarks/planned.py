"""How long one decision by a target file takes, and one without, by the size of the group.

usage: python tests/benchmarks/planned.py
"""

from __future__ import annotations

import random
import time
import uuid

import numpy as np

from kstream_plan.assignors.planned.decide import Followed, PlannedDecision, decide
from kstream_plan.assignors.planned.members import Member, MembersAndTasks
from kstream_plan.assignors.planned.target_file import Slot, TargetFile, target_text
from kstream_plan.model import LATEST, NOBODY
from kstream_plan.model.group import process_order


def group_of(tasks: int, members: int, standbys: int = 1) -> MembersAndTasks:
    """Return a group of which a sixth of the members has joined just now, its tasks in three subtopologies."""
    chance = random.Random(1)
    ids = process_order([str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(members)])
    there = members - members // 6
    names = [(subtopology, partition) for subtopology in range(3) for partition in range(tasks // 3)]
    lags = np.full((len(names), members), 100_000, dtype=np.int64)
    owned: list[set[int]] = [set() for _ in ids]
    state: list[set[int]] = [set() for _ in ids]
    for task in range(len(names)):
        owner = task % there
        owned[owner].add(task)
        lags[task, owner] = LATEST
        for number in range(standbys):
            holder = (owner + 1 + number) % there
            state[holder].add(task)
            lags[task, holder] = 0
    return MembersAndTasks(
        application="large",
        leader=None,
        task_ids=tuple(f"{subtopology}_{partition}" for subtopology, partition in names),
        subtopologies=tuple(subtopology for subtopology, _ in names),
        stateful=tuple(range(len(names))),
        members=tuple(
            Member(
                process_id=process_id,
                threads=4,
                owned=frozenset(owned[place]),
                state=frozenset(state[place]),
                tags={},
                host=None,
                consumer_ids=(f"large-{process_id}-StreamThread-1-consumer",),
            )
            for place, process_id in enumerate(ids)
        ),
        lags=lags,
        acceptable_recovery_lag=100,
        max_warmup_replicas=2,
        num_standby_replicas=standbys,
        probing_rebalance_interval_ms=60_000,
        rack_aware_assignment_tags=(),
    )


def file_of(group: MembersAndTasks, followed: Followed) -> bytes:
    """Return a file with the target that counts without one."""
    active: list[list[str]] = [[] for _ in group.members]
    standby: list[list[str]] = [[] for _ in group.members]
    for task, place in enumerate(followed.target.active):
        assert place != NOBODY
        active[place].append(group.task_ids[task])
        for holder in followed.target.standby[task]:
            standby[holder].append(group.task_ids[task])
    file = TargetFile(
        plan="0" * 12,
        application="large",
        expires_ms=1_900_000_000_000,
        waits_for_more=False,
        warmups=2,
        probe_ms=5_000,
        order=(),
        slots=tuple(
            Slot(
                name=f"s{place}",
                match=f"process:{member.process_id}",
                active=tuple(active[place]),
                standby=tuple(standby[place]),
            )
            for place, member in enumerate(group.members)
        ),
    )
    return target_text(file).encode()


def seconds(group: MembersAndTasks, content: bytes | None) -> tuple[float, Followed, PlannedDecision]:
    """Return the processor time of one decision, and the decision."""
    begun = time.process_time()
    followed, decision = decide(group, content, 0)
    return time.process_time() - begun, followed, decision


def main() -> None:
    for tasks, members in ((750, 60), (1_500, 60), (3_000, 120), (6_000, 120), (3_000, 240), (10_000, 250)):
        without, followed, _ = seconds(group_of(tasks, members), None)
        content = file_of(group_of(tasks, members), followed)
        by_file, _, decision = seconds(group_of(tasks, members), content)
        print(
            f"{tasks:,} tasks, {members} members: {by_file:.3f} s by a file of {len(content):,} bytes, "
            f"{without:.3f} s without; {len(decision.tasks_waiting)} tasks wait"
        )


if __name__ == "__main__":
    main()
