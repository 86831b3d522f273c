"""Compiled code comes to what the modules that it follows come to, part by part."""

from __future__ import annotations

import random
import uuid

import pytest

from kstream_plan.assignors.threads.consumer_split import split_over_consumers
from kstream_plan.model import Consumer, Group, Holding, Instance, Task, TaskId

_WHY = "made at installation, if there is a C compiler"


def _group(capacities: list[int], tasks: int, rng: random.Random) -> Group:
    ids = sorted(str(uuid.UUID(int=rng.getrandbits(128))) for _ in capacities)
    instances = [
        Instance(
            process_id=process_id, consumers=tuple(Consumer(consumer_id=f"{process_id}-{n}") for n in range(threads))
        )
        for process_id, threads in zip(ids, capacities, strict=True)
    ]
    numbers = [Task(task_id=TaskId(n % 3, n // 3), stateful=True, end_offset_sum=1000) for n in range(tasks)]
    return Group.of("orders", numbers, instances)


@pytest.mark.parametrize("seed", range(200))
def test_the_compiled_split_is_that_over_consumers(seed: int) -> None:
    compiled = pytest.importorskip("kstream_plan.designs.classic.compiled.thread_split", reason=_WHY)
    rng = random.Random(seed)
    threads = rng.randint(2, 9)
    group = _group([threads], rng.choice([6, 30, 120]), rng)
    placed = sorted(rng.sample(group.stateful, rng.randint(1, len(group.tasks))))
    active = [task for task in placed if rng.random() < 0.5]
    copies = [task for task in placed if task not in active]
    known = rng.choice([0.5, 0.9, 1])
    few = rng.randint(1, threads)  # reported uneven shares, mostly
    reporter_of = {task: rng.randrange(few) for task in group.stateful if rng.random() < known}
    lag_of = {task: rng.choice([0, 0, 5, 700]) for task in group.stateful}
    reported = [{task for task, by in reporter_of.items() if by == thread} for thread in range(threads)]
    standbys, warmups = tuple(copies[::2]), tuple(copies[1::2])
    placement = Holding(tuple(active), standbys, warmups)
    expected = split_over_consumers(range(threads), placement, reported, lag_of.__getitem__, group)
    split = compiled.ThreadSplit([group.table_hashes[task] for task in group.stateful], threads)
    load = [0] * threads
    for tasks, as_hash_set in ((active, True), (copies, False)):
        reporters, lags = [reporter_of.get(task, -1) for task in tasks], [lag_of[task] for task in tasks]
        given = split.dealt(tasks, reporters, lags, load, as_hash_set)
        for thread, held in enumerate(expected):
            mine = [task for task, by in zip(tasks, given, strict=True) if by == thread]
            assert mine == list(held.active) if as_hash_set else mine == sorted(held.standby + held.warmup)
            load[thread] += len(mine)
