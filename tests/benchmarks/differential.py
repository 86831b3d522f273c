"""Random cases, decided by Kafka's own assignor and by ours: every difference is a defect of ours.

usage: python tests/benchmarks/differential.py [--cases 5000] [--seed 0] [--kafka-version 4.3.1]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.model.releases import numbers_of
from tests.benchmarks.large_cases import kafka_cases
from tests.benchmarks.oracle_process import DEFAULT_VERSION, ask, tells_movements
from tests.benchmarks.random_cases import random_case

BATCH = 500


def compared(first_seed: int, number: int, kafka_version: str = DEFAULT_VERSION) -> Iterator[tuple[str, bool]]:
    """Yield the id of each random case, and whether that release of Kafka decides it as we do."""
    assign = ASSIGNORS["high-availability"].of_release(kafka_version)
    for first in range(first_seed, first_seed + number, BATCH):
        seeds = range(first, min(first + BATCH, first_seed + number))
        cases = [case for case in map(random_case, seeds) if is_for(kafka_version, case["config"])]
        answers = ask("assign", cases, "--no-timing", kafka_version=kafka_version)
        for case, answer in zip(cases, answers, strict=True):
            state = kafka_cases.state_of(case)
            decision = assign(state, kafka_cases.config_of(case))
            traced = tells_movements(kafka_version)
            decided = kafka_cases.rendered(state.group, decision, traced=traced)
            yield case["id"], decided == kafka_cases.expected(state.group, answer, traced=traced)


def is_for(kafka_version: str, config: Mapping[str, Any]) -> bool:
    """Tell whether a release runs with such settings: 3.6 refuses a strategy that came with 3.7."""
    strategy = config.get("rack_aware_assignment_strategy", "none")
    return strategy != "balance_subtopology" or numbers_of(kafka_version)[:2] != (3, 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kafka-version", default=DEFAULT_VERSION)
    options = parser.parse_args()
    alike: Counter[str] = Counter()
    different = []
    for case_id, same in compared(options.seed, options.cases, options.kafka_version):
        if same:
            alike[case_id.rpartition("-")[0]] += 1
        else:
            different.append(case_id)
    print(f"{sum(alike.values())} alike: {dict(sorted(alike.items()))}")
    print(f"{len(different)} different: {different}")
    if different:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
