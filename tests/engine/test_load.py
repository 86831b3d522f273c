"""The load that is counted change by change is the one that is counted at once, compiled and as plain Python."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kstream_plan.model import Consumer, Group, Instance, Task, TaskId
from tests.helpers.engine_modes import both_modes, engine_module


def _spread(counts: list[int]) -> int:
    return max(counts) - min(counts) if counts else 0


@both_modes
@pytest.mark.parametrize("seed", range(30))
def test_only_what_changes_is_counted(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    instances = [
        Instance(
            process_id=f"i{number}",
            consumers=tuple(Consumer(consumer_id=f"i{number}-{c}") for c in range(1 + seed % 3)),
        )
        for number in range(rng.randint(1, 6))
    ]
    tasks = [Task(task_id=TaskId(number % 4, number // 4), stateful=rng.random() < 0.7) for number in range(20)]
    group = Group.of("orders", tasks, instances)
    load = engine_module("load", mode).Load(group)
    number, active, copies = len(group.instances), Counter[tuple[int, int]](), Counter[int]()
    for _ in range(60):
        task, instance = rng.randrange(20), rng.randrange(number)
        if rng.random() < 0.3:
            copies[instance] += 1
            load.count(task, False, instance, 1)
        else:
            change = -1 if active[task, instance] else 1
            active[task, instance] += change
            load.count(task, True, instance, change)
        if rng.random() < 0.5:
            continue
        present = sorted(rng.sample(range(number), rng.randint(1, number)))
        load.present(present)
        of_instance = [sum(active[task, i] for task in range(20)) for i in range(number)]
        stateful = [sum(active[task, i] for task in group.stateful) for i in range(number)]
        by_subtopology = [
            [sum(active[task, i] for task in range(20) if group.subtopologies[task] == name) for i in present]
            for name in dict.fromkeys(group.subtopologies)
        ]
        executed = [counts for counts in by_subtopology if any(counts)]
        all_tasks = [of_instance[i] + copies[i] for i in range(number)]
        assert load.figures() == {
            "active": tuple(of_instance),
            "standby": tuple(copies[i] for i in range(number)),
            "load_per_thread": tuple(all_tasks[i] / group.capacities[i] for i in range(number)),
            "instance_spread": _spread([stateful[i] for i in present]),
            "balance_factor": _spread([of_instance[i] for i in present]),
            "subtopology_spread": _spread([sum(count > 0 for count in counts) for counts in executed]),
            "subtopology_task_spread": max(map(_spread, executed), default=0),
        }
