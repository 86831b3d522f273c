"""A decision that goes on from the one before is the decision from scratch: with standbys, tags and racks.

500 random groups; ``KSTREAM_PLAN_GROUPS=10000`` decides for more of them.
"""

from __future__ import annotations

import os
import random
import uuid
from dataclasses import replace

import pytest

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.assignors.high_availability.assign import target_of
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Assignment,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Partition,
    Task,
    TaskId,
)
from kstream_plan.model.settings import RACK_STRATEGIES, AssignmentConfig

GROUPS = int(os.environ.get("KSTREAM_PLAN_GROUPS", "500"))
PARTS = 20
ROUNDS = 6
LIMIT = 100
ZONES = ("a", "b", "c")

assign = ASSIGNORS["high-availability"]


@pytest.mark.parametrize("part", range(PARTS))
def test_going_on_from_the_decision_before_gives_the_decision_from_scratch(part: int) -> None:
    for seed in range(part, GROUPS, PARTS):
        rng = random.Random(seed)
        group, config = _group(rng), _config(rng)
        state, places = _state(rng, group), {task: place for place, task in enumerate(group.stateful)}
        engine, changed = _engine(group, config), list(group.stateful)
        for number in range(ROUNDS):
            engine.report_copies([places[task] for task in changed], [state.copies[task] for task in changed])
            engine.move()
            decided = assign(state, config)
            assert engine.movement_numbers() == decided.movements.numbers, f"seed {seed}, round {number + 1}"
            anew = _engine(group, config)
            anew.report_copies(range(len(places)), [state.copies[task] for task in group.stateful])
            anew.move()
            assert engine.seats() == anew.seats(), f"seed {seed}, round {number + 1}"
            before, state = state, _later(rng, state, decided)
            changed = [task for task in group.stateful if state.copies[task] != before.copies[task]]


def _engine(group: Group, config: AssignmentConfig) -> TaskMovement:
    target, _ = target_of(group, config)
    return TaskMovement(group, target, config.acceptable_recovery_lag, config.max_warmup_replicas)


def _group(rng: random.Random) -> Group:
    tasks = []
    for number in range(rng.randint(4, 40)):
        task_id, stateful = TaskId(number % 3, number // 3), rng.random() < 0.9
        partitions = [
            Partition(f"{kind}-{task_id.group}", task_id.partition, tuple(rng.sample(ZONES, 2)))
            for kind in ("source", "changelog")
        ]
        tasks.append(
            Task(
                task_id=task_id,
                stateful=stateful,
                end_offset_sum=rng.choice([50, 5_000]) if stateful else 0,
                source_partitions=(partitions[0],),
                changelog_partitions=(partitions[1],) if stateful else (),
            )
        )
    threads = rng.choice([(1,), (2,), (1, 2, 3)])
    return Group.of("orders", tasks, [_instance(rng, threads) for _ in range(rng.randint(2, 9))])


def _instance(rng: random.Random, threads: tuple[int, ...]) -> Instance:
    process_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    return Instance(
        process_id=process_id,
        consumers=tuple(Consumer(consumer_id=f"{process_id}-{t}") for t in range(rng.choice(threads))),
        rack=rng.choice(ZONES),
        client_tags=(("zone", rng.choice(ZONES)),),
    )


def _config(rng: random.Random) -> AssignmentConfig:
    return AssignmentConfig(
        acceptable_recovery_lag=LIMIT,
        max_warmup_replicas=rng.choice([1, 2, 2, 5, 50]),
        num_standby_replicas=rng.choice([0, 1, 1, 1, 2, 2, 3]),
        rack_aware_assignment_tags=rng.choice([(), (), ("zone",)]),
        rack_aware_assignment_strategy=rng.choice(["none", "none", *RACK_STRATEGIES]),
    )


def _state(rng: random.Random, group: Group) -> GroupState:
    return GroupState(
        group=group,
        generation=1,
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=tuple(_copies(rng, group) if task.stateful else () for task in group.tasks),
    )


def _copies(rng: random.Random, group: Group) -> tuple[Copy, ...]:
    """Copies of a task, most of them caught up, so that there are choices and ties."""
    held_by = sorted(rng.sample(range(len(group.instances)), min(len(group.instances), rng.randint(0, 4))))
    running = rng.choice([None, *held_by, *held_by])
    copies = []
    for instance in held_by:
        lag = LATEST if instance == running else rng.choice([0, 0, 0, LIMIT, LIMIT + 1, 4_000, None, UNKNOWN])
        consumers = group.consumers_of[instance]
        reporters = () if lag is None else (rng.choice(consumers),)
        copies.append(Copy(instance, lag, reporters))
    return tuple(copies)


def _later(rng: random.Random, state: GroupState, decided: Assignment) -> GroupState:
    """Let some copies catch up, come or go, of few tasks or of many, and members hold what was decided or not."""
    stateful = state.group.stateful
    changed = rng.sample(stateful, min(len(stateful), rng.choice([0, 1, 1, 2, 2, 3, len(stateful) // 3])))
    copies = list(state.copies)
    for task in changed:
        if rng.random() < 0.5:
            copies[task] = _copies(rng, state.group)
        else:
            copies[task] = tuple(
                copy._replace(lag=0) if copy.lag != LATEST and rng.random() < 0.7 else copy for copy in copies[task]
            )
    holdings = decided.consumers if rng.random() < 0.7 else state.holdings
    return replace(state, copies=tuple(copies), holdings=holdings)
