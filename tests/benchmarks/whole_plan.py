"""How long a whole plan takes, and what deciding anew in every round instead would cost.

usage: python tests/benchmarks/whole_plan.py [TASKS] [INSTANCES] [JOINING] [MAX_WARMUP_REPLICAS] [STATELESS]
       [--standbys N] [--restore-rate RATE] [--rounds N] [--learner] [--unchecked]

Default 10000 50 10 20 0: about 480 probing rebalances. CPU seconds of this process, and its peak memory; the snapshot
is made before. TASKS are stateful; with STATELESS ones beside them, thousands of these change places in a round.
``--rounds`` ends the plan early, ``--unchecked`` leaves out its invariants.
``--restore-rate``: what each instance restores, in records per second, by default not known; ``--learner``: by
KIP-441's draft, 10,000 a second. Played once: neither the least time nor ranges are looked for, which play it again.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from kstream_plan.assignors import ASSIGNORS, Assignor
from kstream_plan.designs.classic import design
from kstream_plan.model import Consumer, Group, GroupState, Holding, Instance, Rates, Snapshot, Task, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.simulation.one_plan import plan
from tests.helpers import memberships

SUBTOPOLOGIES = 20
THREADS = 4

T = TypeVar("T")


def scale_out(
    tasks: int, instances: int, joining: int, max_warmup_replicas: int, stateless: int = 0, standbys: int = 0
) -> Snapshot:
    """A settled group of stateful tasks (and stateless ones) that empty instances have just joined."""
    rng = random.Random(1)
    group = Group.of("bench", _tasks(rng, tasks) + _stateless(stateless), [_instance(rng) for _ in range(instances)])
    empty = GroupState(
        group=group,
        generation=0,
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=((),) * len(group.tasks),
        leader=0,
    )
    config = AssignmentConfig(max_warmup_replicas=max_warmup_replicas, num_standby_replicas=standbys)
    settled = memberships.settled(Snapshot(state=empty, config=config))
    return memberships.with_members(settled, [*group.instances, *(_instance(rng) for _ in range(joining))])


def _tasks(rng: random.Random, count: int) -> list[Task]:
    return [
        Task(task_id=TaskId(s, p), stateful=True, end_offset_sum=rng.randrange(100_000, 10_000_000))
        for s in range(SUBTOPOLOGIES)
        for p in range(count // SUBTOPOLOGIES)
    ]


def _stateless(count: int) -> list[Task]:
    return [Task(task_id=TaskId(SUBTOPOLOGIES, partition), stateful=False) for partition in range(count)]


def _instance(rng: random.Random) -> Instance:
    process_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    consumers = tuple(Consumer(consumer_id=f"{process_id}-StreamThread-{t + 1}") for t in range(THREADS))
    return Instance(process_id=process_id, consumers=consumers)


def cpu_seconds(work: Callable[[], T]) -> tuple[float, T]:
    """CPU time of this process for one call, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*")
    parser.add_argument("--standbys", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--restore-rate", type=float, default=None)
    parser.add_argument("--learner", action="store_true")
    parser.add_argument("--unchecked", action="store_true")
    options = parser.parse_args()
    sizes = [*options.sizes, *[10_000, 50, 10, 20, 0][len(options.sizes) :]]
    snapshot = scale_out(*sizes, standbys=options.standbys)
    design_name, restored = "classic", options.restore_rate
    if options.learner:
        design_name, restored = "learner", 10_000.0
    snapshot = replace(snapshot, rates=Rates(restore_per_instance=restored))
    plan_options = PlanOptions(design=design_name, max_rounds=options.rounds)
    seconds, result = cpu_seconds(lambda: plan(snapshot, plan_options, floor=False, ranges=False))
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    checked = ""
    if not options.unchecked:
        checking, _ = cpu_seconds(lambda: broken_invariants(result))
        checked = f"; checking every invariant {checking:.1f} s"
    rounds = len(result.rounds)
    print(
        f"{sizes[0]} stateful and {sizes[4]} stateless tasks, {options.standbys} standbys, "
        f"{sizes[1]} -> {sizes[1] + sizes[2]} instances, max_warmup_replicas {sizes[3]}: "
        f"{seconds:.1f} s for {rounds} rounds ({1000 * seconds / rounds:.2f} ms each), "
        f"{result.summary.probing_rebalances} of them probing ({result.summary.hops} hops, "
        f"{sum(len(rnd.steps) for rnd in result.rounds)} steps), peak {peak_mib:.0f} MiB{checked}"
    )
    if options.standbys or options.learner:
        return
    small = scale_out(2_000, 10, 2, 20)
    incremental, first = cpu_seconds(lambda: plan(small))
    assign = ASSIGNORS["high-availability"]
    design.ASSIGNORS = {"high-availability": Assignor(lambda state, config, previous=None: assign(state, config))}
    anew, second = cpu_seconds(lambda: plan(small))
    assert first == second
    print(f"2000 tasks, 10 -> 12 instances: deciding anew in every round takes {anew / incremental:.1f} times as long")


if __name__ == "__main__":
    main()
