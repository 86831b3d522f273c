"""A planner's work on a large group: one decision after the other, each with the one before at hand.

usage: python tests/benchmarks/many_rounds.py [--rounds 200] [--standbys 0] [--warmups 30]

10,000 stateful tasks; 50 instances become 60. After every decision all warm-ups are caught up, so that a few dozen
copies change from call to call while thousands of movements are pending. CPU time of this process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

from kstream_plan.assignors.high_availability.assign import HighAvailabilityDecision, decide
from kstream_plan.assignors.threads.split import split
from kstream_plan.model import LATEST, Assignment, Copy, GroupState
from tests.benchmarks.large_cases import kafka_cases, large_case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--standbys", type=int, default=0)
    parser.add_argument("--warmups", type=int, default=30)
    options = parser.parse_args()
    case = large_case("scale-out", tasks=10_000, instances=60, standbys=options.standbys, warmups=options.warmups)
    state, config = kafka_cases.state_of(case), kafka_cases.config_of(case)
    previous: tuple[GroupState, Assignment] | None = None
    decided, divided = [], []
    for number in range(options.rounds):
        start = time.process_time()
        decision = decide(state, config, previous)
        middle = time.process_time()
        consumers = split(state, decision.instances, previous)
        decided.append(1000 * (middle - start))
        divided.append(1000 * (time.process_time() - middle))
        if number in (0, 1, options.rounds // 2, options.rounds - 1):
            print(f"call {number + 1}: decide {decided[-1]:.1f} ms, split {divided[-1]:.1f} ms", end="")
            print(f", {len(decision.movements)} movements pending")
        assignment = Assignment(consumers=consumers, **decision._asdict())
        previous, state = (state, assignment), _applied(state, decision, previous and previous[1])
    print(f"later calls, median: decide {statistics.median(decided[1:]):.1f} ms", end="")
    print(f", split {statistics.median(divided[1:]):.1f} ms")


def _applied(state: GroupState, decision: HighAvailabilityDecision, before: Assignment | None) -> GroupState:
    """Everything is done as decided, and every copy is caught up at once; only what changed is made anew."""
    group = state.group
    touched = set(group.stateful)
    if before is not None:
        pairs = zip(before.instances, decision.instances, strict=True)
        touched &= {
            t for old, new in pairs if old is not new for role in range(3) for t in set(old[role]) ^ set(new[role])
        }
    copies: dict[int, list[Copy]] = {task: [] for task in sorted(touched)}
    for instance, held in enumerate(decision.instances):
        first = group.consumers_of[instance].start
        for lag, tasks in ((LATEST, held.active), (0, held.standby), (0, held.warmup)):
            for task in touched.intersection(tasks):
                copies[task].append(Copy(instance, lag, (first,)))
    now = list(state.copies)
    for task, rows in copies.items():
        now[task] = tuple(sorted(rows))
    return replace(state, copies=tuple(now))


if __name__ == "__main__":
    main()
