"""One `balanced` decision for a large scale-out: CPU time, peak memory, and the moves beside Kafka's.

usage: python tests/benchmarks/balanced_target.py [--tasks 50000] [--before 200] [--after 250] [--subtopologies 500]
                                                  [--standbys 1] [--profile]

The group is settled under Kafka's own target before the new instances join; lags differ task by task.
"""

from __future__ import annotations

import argparse
import cProfile
import random
import resource
import time

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.assignors.high_availability import assign as high_availability
from kstream_plan.model import LATEST, Assignment, Consumer, Copy, Group, GroupState, Holding, Instance, Task, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import seated


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--before", type=int, default=200)
    parser.add_argument("--after", type=int, default=250)
    parser.add_argument("--subtopologies", type=int, default=500)
    parser.add_argument("--standbys", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    config = AssignmentConfig(num_standby_replicas=options.standbys)
    state = _joined(options, config)
    profile = cProfile.Profile()
    for name in ("high-availability", "balanced"):
        start = time.process_time()
        if options.profile and name == "balanced":
            profile.enable()
        decision = ASSIGNORS[name](state, config)
        profile.disable()
        print(f"{name}: {time.process_time() - start:.2f} s, {_moves(state, decision):,} tasks move", end="")
        print(f", peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    if options.profile:
        profile.print_stats("cumulative")


def _joined(options: argparse.Namespace, config: AssignmentConfig) -> GroupState:
    rng = random.Random(1)
    tasks = [
        Task(
            task_id=TaskId(number % options.subtopologies, number // options.subtopologies),
            stateful=True,
            end_offset_sum=rng.randrange(100_000, 10_000_000),
        )
        for number in range(options.tasks)
    ]
    names = [f"i{number:04}" for number in range(options.after)]
    rng.shuffle(names)
    instances = [Instance(process_id=name, consumers=(Consumer(consumer_id=f"{name}-1"),)) for name in names]
    start = Group.of("orders", tasks, instances[: options.before])
    empty = GroupState(
        group=start, generation=0, at_ms=0, holdings=(Holding(),) * options.before, copies=((),) * options.tasks
    )
    settled = high_availability.assign(empty, config)
    group = Group.of("orders", tasks, instances)
    holdings, copies = [Holding()] * options.after, [list[Copy]() for _ in tasks]
    for old, held in enumerate(settled.consumers):
        new = group.instance_index[start.instances[old].process_id]
        holdings[new] = held
        for task in held.active:
            copies[task].append(Copy(new, LATEST, (new,)))
        for task in held.standby:
            copies[task].append(Copy(new, rng.randrange(5_000), (new,)))
    return seated(
        GroupState(
            group=group,
            generation=1,
            at_ms=0,
            holdings=tuple(holdings),
            copies=tuple(tuple(sorted(copy)) for copy in copies),
        )
    )


def _moves(state: GroupState, decision: Assignment) -> int:
    return sum(
        task not in state.holdings[instance].active
        for instance, tasks in enumerate(decision.target.active)
        for task in tasks
    )


if __name__ == "__main__":
    main()
