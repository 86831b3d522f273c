"""Compiled code comes to what the modules that it follows come to, part by part."""

from __future__ import annotations

import random
import uuid

import pytest

from kstream_plan.assignors.java.constrained_priority_set import PrioritySet, filled_to_above_the_end
from kstream_plan.assignors.java.priority_queue import Handled, uuid_hash, weights_of
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


@pytest.mark.parametrize("seed", range(60))
def test_every_choice_of_the_compiled_queue_is_that_of_the_set(seed: int) -> None:
    compiled = pytest.importorskip("kstream_plan.designs.classic.compiled.instance_queue", reason=_WHY)
    rng = random.Random(seed)
    number = rng.choice([3, 8, 24, 60])
    equal = rng.random() < 0.5
    group = _group([1 if equal else rng.randint(1, 3) for _ in range(number)], 1, rng)
    counts = [3 * capacity + rng.randint(0, rng.choice([1, 3])) for capacity in group.capacities]
    handled, chosen = _handled(group, counts, rng)
    hashes = [uuid_hash(instance.process_id) for instance in group.instances]
    queue = compiled.InstanceQueue(weights_of(group.capacities), hashes, filled_to_above_the_end(number))
    assert len(chosen) > 20
    assert queue.replayed(counts, handled) == chosen
    assert queue.replayed(counts, handled) == chosen  # begun anew, nothing is left of what was before


def _handled(group: Group, counts: list[int], rng: random.Random) -> tuple[list[Handled], list[int]]:
    """Make random movements; return them, and who the set chose of several candidates."""
    now, theirs = counts.copy(), PrioritySet(group, counts)
    handled, chosen = list[Handled](), list[int]()
    for _ in range(300):
        destination = rng.randrange(len(counts))
        others = [instance for instance in range(len(counts)) if instance != destination]
        candidates = sorted(rng.sample(others, min(len(others), rng.choice([0, 1, 1, 2, 2, 3]))))
        source: int | None = None
        if len(candidates) > 1:
            source = theirs.choose(candidates)
            chosen.append(source)
        elif candidates:
            source = candidates[0]
        elif rng.random() < 0.7:
            source = rng.choice(others)
        loss = int(source is not None and now[destination] > 0 and rng.random() < 0.9)
        handled.append(((candidates,), source, destination, int(source is not None), loss))
        theirs.handle(handled[-1])
        if source is not None:
            now[source] += 1
            now[destination] -= loss
    return handled, chosen


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
