"""One decision for a large group: CPU time of Kafka's own ``assign()`` and of ours, on the same inputs.

usage: python tests/benchmarks/assignor_vs_kafka.py [--runs 5] [--only 10000x50]

Kafka runs in a warmed-up JVM and is timed by the CPU time of the assigning thread (its garbage collector's threads
are not counted); ours by the CPU time of the process. Inputs are parsed beforehand on both sides. Kafka's assign()
does not split an instance's tasks over its consumers, so our split is timed apart.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

from kstream_plan.assignors.high_availability.assign import decide
from kstream_plan.assignors.threads import split
from tests.benchmarks.large_cases import kafka_cases, large_case
from tests.benchmarks.oracle_process import ask

SIZES = ((10_000, 50, 10), (50_000, 200, 20))
SCENARIOS = ("steady", "scale-out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the case's name")
    options = parser.parse_args()
    print(f"{'case':24} {'Kafka ms':>10} {'ours ms':>9} {'ratio':>7} {'goal':>6} {'split ms':>9}  same")
    for tasks, instances, goal in SIZES:
        for scenario in SCENARIOS:
            case = large_case(scenario, tasks=tasks, instances=instances)
            if options.only in case["id"]:
                _compare(case, options.runs, goal)


def _compare(case: dict[str, Any], runs: int, goal: int) -> None:
    state, config = kafka_cases.state_of(case), kafka_cases.config_of(case)
    decision = decide(state, config)
    ours = _cpu_ms(lambda: decide(state, config), runs)
    apart = _cpu_ms(lambda: split(state, decision.instances, None), runs)
    # A large case takes Kafka a minute: fewer runs, and fewer to warm up.
    times = ("3", "1") if len(case["tasks"]) > 20_000 else (str(runs), "5")
    kafka = ask("bench", [case], *times)[0]
    same = kafka["followup_probing_rebalance"] == decision.probing_rebalance
    ratio = kafka["median_cpu_ms"] / ours
    print(
        f"{case['id']:24} {kafka['median_cpu_ms']:10.0f} {ours:9.1f} {ratio:6.0f}x {goal:5}x {apart:9.1f}  {same}",
        flush=True,
    )


def _cpu_ms(run: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        run()
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


if __name__ == "__main__":
    main()
