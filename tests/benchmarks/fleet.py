"""A fleet planned by one process and on the executors, in turn: seconds, CPU time each, and that they say the same.

Usage: ``python tests/benchmarks/fleet.py [APPLICATIONS [PAIRS]]`` (default 2,000 and 3). The first of each pair runs
with ``spark.master=local[1]``, where nothing is spread. Everything is timed, the start of Java too.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.helpers.fleets import write_fleet

CORES = len(os.sched_getaffinity(0))


class Times(NamedTuple):
    """Seconds by the clock, and of CPU time, Java's too; of executors Python's workers are not in it."""

    clock: float
    cpu: float


def times(fleet: Path, master: str, out: Path) -> Times:
    command = [sys.executable, "-m", "kstream_plan", "assign", str(fleet), "-q", "--out", str(out)]
    command += ["--spark-conf", f"spark.master={master}"]
    start, cpu = time.perf_counter(), _cpu()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return Times(time.perf_counter() - start, _cpu() - cpu)


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    applications = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fleet(folder / "fleet.jsonl", applications)
        ratios = []
        for _ in range(pairs):
            alone = times(folder / "fleet.jsonl", "local[1]", folder / "alone")
            spread = times(folder / "fleet.jsonl", f"local[{CORES}]", folder / "spread")
            assert (folder / "alone").read_bytes() == (folder / "spread").read_bytes()
            ratios.append(alone.clock / spread.clock)
            load = os.getloadavg()[0]
            clock = f"one process {alone.clock:.1f} s, {CORES} cores {spread.clock:.1f} s: {ratios[-1]:.2f} times"
            print(f"{clock}; alone {1_000 * alone.cpu / applications:.1f} ms of CPU each (load {load:.1f})", flush=True)
        print(f"{applications:,} applications: {statistics.median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
