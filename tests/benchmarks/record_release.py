"""Records what a release's own assignor decides, for ``tests/vectors``: 300 decisions, and 40 groups until they settle.

usage: python tests/benchmarks/record_release.py --kafka-version 3.1.2 [--connect] [--seed 70000] OUT.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

from kstream_plan.model.releases import RACKS, numbers_of
from tests.benchmarks.connect_cases import random_decision, random_sequence
from tests.benchmarks.connect_vs_kafka import oracle
from tests.benchmarks.oracle_process import ask
from tests.benchmarks.random_cases import random_case
from tests.helpers.kafka_cases import next_case

_DECISIONS, _CONVERGENCES, _MOST_ROUNDS = 300, 40, 60
#: So files stay small.
_MOST_TASKS, _MOST_CLIENTS, _MOST_CONNECT_BYTES = 70, 9, 6000


def small_cases(seed: int, kafka_version: str) -> Iterator[dict[str, Any]]:
    """Yield random cases that are not large; without racks where the release goes by them otherwise."""
    for case in map(random_case, count(seed)):
        racked = "rack_aware_assignment_strategy" in case["config"]
        if len(case["tasks"]) > _MOST_TASKS or len(case["clients"]) > _MOST_CLIENTS:
            continue
        if not racked or not RACKS.is_in(kafka_version) or numbers_of(kafka_version) >= (3, 7, 0):
            yield case


def streams_records(seed: int, kafka_version: str) -> Iterator[dict[str, Any]]:
    """Yield decisions and convergences of Kafka Streams' own assignor."""
    cases = small_cases(seed, kafka_version)
    decided, settling = list(islice(cases, _DECISIONS)), list(islice(cases, _CONVERGENCES))
    answers = ask("assign", decided, kafka_version=kafka_version) + convergences(settling, kafka_version)
    for case, answer in zip(decided + settling, answers, strict=True):
        yield {"case": case, "result": answer}


def convergences(cases: list[dict[str, Any]], kafka_version: str) -> list[dict[str, Any]]:
    """Return what each group comes to: decide, apply at once, again, until nothing is to follow."""
    history: list[list[dict[str, Any]]] = [[] for _ in cases]
    now, going = list(cases), list(range(len(cases)))
    for _ in range(_MOST_ROUNDS):
        if not going:
            break
        for place, answer in zip(
            going, ask("assign", (now[i] for i in going), kafka_version=kafka_version), strict=True
        ):
            history[place].append(answer)
            now[place] = next_case(now[place], answer)
        going = [place for place in going if history[place][-1]["followup_probing_rebalance"]]
    return [
        {"id": case["id"], "rounds": len(rounds), "converged": place not in going, "history": rounds}
        for place, (case, rounds) in enumerate(zip(cases, history, strict=True))
    ]


def connect_records(seed: int, kafka_version: str) -> Iterator[dict[str, Any]]:
    """Yield decisions and histories of Connect's workers that are not large."""
    for mode, make, number in (
        ("assign", random_decision, _DECISIONS),
        ("sequence", random_sequence, _CONVERGENCES),
    ):
        small = (case for case in map(make, count(seed)) if len(json.dumps(case)) <= _MOST_CONNECT_BYTES)
        cases = list(islice(small, number))
        answers = oracle([mode], "".join(json.dumps(case) + "\n" for case in cases), kafka_version)
        yield from ({"in": case, "out": answer} for case, answer in zip(cases, answers, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka-version", required=True)
    parser.add_argument("--connect", action="store_true")
    parser.add_argument("--seed", type=int, default=70_000)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    make = connect_records if options.connect else streams_records
    records = make(options.seed, options.kafka_version)
    lines = "".join(json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n" for record in records)
    options.out.write_bytes(gzip.compress(lines.encode(), mtime=0))


if __name__ == "__main__":
    main()
