"""Random cases, decided by Kafka's own assignor and by ours: every difference is a defect of ours.

usage: python tests/benchmarks/differential.py [--cases 5000] [--seed 0]
"""

from __future__ import annotations

import argparse
from collections import Counter

from large_cases import kafka_cases
from oracle_process import ask
from random_cases import random_case

from kstream_plan.assignors import ASSIGNORS

BATCH = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    alike: Counter[str] = Counter()
    different = []
    for first in range(options.seed, options.seed + options.cases, BATCH):
        cases = [random_case(seed) for seed in range(first, min(first + BATCH, options.seed + options.cases))]
        for case, answer in zip(cases, ask("assign", cases, "--no-timing"), strict=True):
            state = kafka_cases.state_of(case)
            decision = ASSIGNORS["high-availability"](state, kafka_cases.config_of(case))
            if kafka_cases.rendered(state.group, decision) == kafka_cases.expected(state.group, answer):
                alike[case["id"].rpartition("-")[0]] += 1
            else:
                different.append(case["id"])
    print(f"{sum(alike.values())} alike: {dict(sorted(alike.items()))}")
    print(f"{len(different)} different: {different}")
    if different:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
