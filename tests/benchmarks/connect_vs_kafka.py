"""Kafka Connect's own classes and ours, on random decisions and histories: every difference is a defect of ours.

usage: python tests/benchmarks/connect_vs_kafka.py [--decisions 10000] [--sequences 1000] [--seed 0] [--times]
                                                   [--kafka-version 4.3.1]

--times compares CPU times instead: one decision for 100 workers with 20,000 tasks and for 500 with 100,000, where
nothing has changed, a tenth joins, a tenth is gone, and its delay is over. Kafka's class runs in a JVM that has done it
before, and is timed by the CPU time of its thread, without that of the compiler and the garbage collector.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kstream_plan.designs.connect.draft import ConnectRound, LeaderMemory
from kstream_plan.designs.connect.incremental import decide
from kstream_plan.designs.connect.items import Items
from kstream_plan.model.releases import numbers_of
from tests.benchmarks.connect_cases import random_decision, random_sequence
from tests.helpers.kafka_jars import DEFAULT_VERSION, class_path
from tests.helpers.replayed_connect import difference

_ORACLE = Path(__file__).parent / "oracle" / "connect"
_PACKAGE = "org.apache.kafka.connect.runtime.distributed"
_BATCH = 500
_DELAY_MS = 300_000
#: Workers, tasks, connectors.
_SIZES = ((100, 20_000, 200), (500, 100_000, 1_000))
_RUNS, _WARMING_RUNS = 5, 5
#: A worker takes its settings one by one, and there is one protocol less.
_BEFORE_2_4 = {
    f"super({'null, ' * 10}0)": f"super({'null, ' * 3}0, 0, 0, {'null, ' * 3}0, {'null, ' * 4}0)",
    "@Override public int generationId()": "public int generationId()",
    "CONNECT_PROTOCOL_V2": "CONNECT_PROTOCOL_V1",
}


def oracle(arguments: list[str], lines: str = "", kafka_version: str = DEFAULT_VERSION) -> list[dict[str, Any]]:
    """Return what Kafka's classes answer, one line for each."""
    program = "ConnectOracle"
    if arguments[0] == "bench":
        program, arguments = "ConnectBench", arguments[1:]
    with TemporaryDirectory() as folder:
        sources = [_source(name, Path(folder), kafka_version) for name in sorted({"ConnectOracle", program})]
        jars = class_path(sources, kafka_version, _ORACLE / "pom.xml")
    command = ["java", "-cp", jars, f"{_PACKAGE}.{program}", *arguments]
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _source(name: str, folder: Path, kafka_version: str) -> Path:
    """Return a program's source, as classes before 2.4 take it."""
    path = _ORACLE / f"{name}.java"
    if numbers_of(kafka_version) >= (2, 4, 0):
        return path
    text = path.read_text(encoding="utf-8")
    for newer, older in _BEFORE_2_4.items():
        text = text.replace(newer, older)
    (folder / path.name).write_text(text, encoding="utf-8")
    return folder / path.name


def compared(
    mode: str, make: Callable[[int], dict[str, Any]], seeds: range, kafka_version: str = DEFAULT_VERSION
) -> Iterator[tuple[str, tuple[Any, Any] | None]]:
    """Yield the id of each random case, and where Kafka and we differ first."""
    for first in range(seeds.start, seeds.stop, _BATCH):
        cases = [make(seed) for seed in range(first, min(first + _BATCH, seeds.stop))]
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        for case, answer in zip(cases, oracle([mode], lines, kafka_version), strict=True):
            assert answer["id"] == case["id"]
            yield case["id"], difference({"in": case, "out": answer}, 17, kafka_version)


def times(kafka_version: str) -> Iterator[str]:
    """Yield a line for each decision: the time of Kafka's class, ours, and the ratio."""
    for workers, tasks, connectors in _SIZES:
        sizes = [str(size) for size in (workers, tasks, connectors, _RUNS + _WARMING_RUNS)]
        for theirs in oracle(["bench", *sizes], kafka_version=kafka_version):
            ours_ms, moved = _decided(theirs["scenario"], workers, tasks, connectors)
            java_ms = statistics.median(theirs["cpu_ms"][_WARMING_RUNS:])
            same = moved == (theirs["assigned"], theirs["revoked"])
            name = f"{workers} workers x {tasks:,} tasks, {theirs['scenario']}"
            yield f"{name:45} {java_ms:8.0f} ms {ours_ms:8.0f} ms {java_ms / ours_ms:6.1f}x  {same}"


def _decided(scenario: str, workers: int, tasks: int, connectors: int) -> tuple[float, tuple[int, int]]:
    """Return our time, and how many tasks are assigned and revoked."""
    counts = {f"connector-{number:05}": tasks // connectors for number in range(connectors)}
    names = [_member(number) for number in range(workers + workers // 10)]
    result, memory = _round(counts, dict.fromkeys(names[:workers], Items()), 1, 1), LeaderMemory()
    answer = decide(result, memory)
    reported = dict(answer.assigned_items)
    if scenario == "scale-out":
        reported |= dict.fromkeys(names[workers:], Items())
    if scenario.startswith("departure"):
        reported = {name: items for name, items in reported.items() if name not in names[: max(1, workers // 10)]}
    at_ms, generation = 1, 2
    if scenario == "departure-over":
        answer = decide(_round(counts, reported, generation, at_ms), answer.memory)
        at_ms, generation = at_ms + _DELAY_MS, generation + 1
    taken = []
    for _ in range(_RUNS):
        gc.collect()
        start = time.process_time()
        last = decide(_round(counts, reported, generation, at_ms), answer.memory)
        taken.append(1000 * (time.process_time() - start))
    assigned = sum(len(items.tasks) for items in last.assigned_items.values())
    return statistics.median(taken), (assigned, sum(len(items.tasks) for items in last.revoked_items.values()))


def _round(counts: Mapping[str, int], members: Mapping[str, Items], generation: int, at_ms: int) -> ConnectRound:
    return ConnectRound(
        now_ms=at_ms,
        generation=generation,
        last_completed=generation - 1,
        task_counts=counts,
        members=members,
        max_delay_ms=_DELAY_MS,
    )


def _member(number: int) -> str:
    random_part = number * 2_654_435_761 & 0xFFFFFFFF
    return f"connect-10.0.{number // 256}.{number % 256}:8083-{random_part:08x}-0000-4000-8000-{number:012x}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--sequences", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--kafka-version", default=DEFAULT_VERSION)
    options = parser.parse_args()
    if options.times:
        print(f"{'':45} {'Kafka':>11} {'ours':>11} {'ratio':>7}  same amounts")
        for line in times(options.kafka_version):
            print(line, flush=True)
        return
    differ = False
    for mode, make, number in (
        ("assign", random_decision, options.decisions),
        ("sequence", random_sequence, options.sequences),
    ):
        seeds = range(options.seed, options.seed + number)
        found = dict(compared(mode, make, seeds, options.kafka_version))
        different = [case_id for case_id, where in found.items() if where is not None]
        print(f"{mode}: {len(found) - len(different)} of {len(found)} alike {different[:10]}", flush=True)
        differ = differ or bool(different)
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
