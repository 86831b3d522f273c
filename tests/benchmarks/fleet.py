"""A fleet planned by one process and on the executors, in turn: wall-clock seconds, and that they say the same.

Usage: ``python tests/benchmarks/fleet.py [APPLICATIONS [PAIRS]]`` (default 2,000 and 3). The first of each pair runs
with ``spark.master=local[1]``, where nothing is spread. Everything is timed, the start of Java too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.helpers.fleets import write_fleet

CORES = len(os.sched_getaffinity(0))


def seconds(fleet: Path, master: str, out: Path) -> float:
    command = [sys.executable, "-m", "kstream_plan", "assign", str(fleet), "-q", "--out", str(out)]
    command += ["--spark-conf", f"spark.master={master}"]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    applications = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fleet(folder / "fleet.jsonl", applications)
        ratios = []
        for _ in range(pairs):
            alone = seconds(folder / "fleet.jsonl", "local[1]", folder / "alone")
            spread = seconds(folder / "fleet.jsonl", f"local[{CORES}]", folder / "spread")
            assert (folder / "alone").read_bytes() == (folder / "spread").read_bytes()
            ratios.append(alone / spread)
            load = os.getloadavg()[0]
            print(f"one process {alone:.1f} s, {CORES} cores {spread:.1f} s: {ratios[-1]:.2f} times (load {load:.1f})")
        print(f"{applications:,} applications: {statistics.median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
