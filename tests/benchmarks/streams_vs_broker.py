"""One target for a large streams group: CPU time of the broker's own assignor and of ours, on the same inputs.

usage: python tests/benchmarks/streams_vs_broker.py [--tasks 50000] [--members 200] [--runs 7]

cold: nobody has had anything. grow: one more process of 4 threads in a group that is balanced. 1 standby. The broker's
class runs in a JVM that has done it before (the first runs do not count), and is timed by the CPU time of its thread,
without that of the compiler and the garbage collector. Inputs are parsed beforehand on both sides. It also says whether
both came to the same target.
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import random
import statistics
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kstream_plan.designs.streams.sticky import assign
from kstream_plan.model.releases import numbers_of
from tests.helpers.kafka_jars import class_path
from tests.helpers.replayed_streams import RELEASES, assigned_members, shown_targets, sorted_targets, tasks_of

_ORACLE = Path(__file__).parent / "oracle" / "streams"
_MAIN = "org.apache.kafka.coordinator.group.streams.StreamsOracle"
#: The JVM has compiled what it will by then.
_WARMING_RUNS = 20
_THREADS, _SUBTOPOLOGIES = 4, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    cases = large_cases(options.tasks, options.members)
    print(f"{'case':24} {'broker ms':>9} {'ours ms':>8} {'ratio':>6}  same")
    for release in RELEASES:
        for case, broker in zip(cases, asked(cases, release, _WARMING_RUNS + options.runs), strict=True):
            _compare(case, broker, release, options.runs)


def large_cases(tasks: int, members: int) -> list[dict[str, Any]]:
    """A cold start, and a group that one process joins."""
    chance = random.Random(1)
    topology = [
        {"id": str(item), "partitions": tasks // _SUBTOPOLOGIES, "stateful": True} for item in range(_SUBTOPOLOGIES)
    ]
    seats: list[dict[str, Any]] = []
    while len(seats) < members:
        process = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        ids = (base64.urlsafe_b64encode(chance.randbytes(16)).decode().rstrip("=") for _ in range(_THREADS))
        seats += [{"id": member, "process": process, "active": [], "standby": []} for member in ids]
    grown = [{**seat, "active": [], "standby": []} for seat in seats]
    old = grown[:-_THREADS]
    for at, task in enumerate(tasks_of(topology).names):
        old[at % len(old)]["active"].append(task)
        old[(at + _THREADS + 1) % len(old)]["standby"].append(task)
    shared = {"config": {"num_standby": 1}, "topology": topology}
    return [
        {"id": f"{kind}-{tasks}x{members}", "members": item, **shared}
        for kind, item in (("cold", seats), ("grow", grown))
    ]


def asked(cases: list[dict[str, Any]], release: str, runs: int) -> list[dict[str, Any]]:
    """Return the answers of a release's own class: the target, and the CPU time of each run."""
    rules = "since_4_4" if numbers_of(release) >= (4, 4, 0) else "since_4_2"
    sources = [_ORACLE / "StreamsOracle.java", _ORACLE / rules / "ReleasedAssignor.java"]
    command = ["java", "-cp", class_path(sources, release, _ORACLE / "pom.xml"), _MAIN, str(runs)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _compare(case: Mapping[str, Any], broker: Mapping[str, Any], release: str, runs: int) -> None:
    tasks, by_current = tasks_of(case["topology"]), RELEASES[release]
    members = assigned_members(case, tasks)
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        target = assign(tasks, members, case["config"]["num_standby"], by_current=by_current)
        times.append(1000 * (time.process_time() - start))
    same = shown_targets(tasks, target) == sorted_targets(broker["members"])
    theirs, ours = 1000 * statistics.median(broker["cpu_s"][_WARMING_RUNS:]), statistics.median(times)
    name = f"{case['id']} {release}"
    print(f"{name:24} {theirs:9.0f} {ours:8.0f} {theirs / ours:5.2f}x  {same}", flush=True)


if __name__ == "__main__":
    main()
