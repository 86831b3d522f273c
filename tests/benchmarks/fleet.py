"""A fleet planned by one process and on the executors, in turn: seconds, CPU time each, and that they say the same.

Usage: ``python tests/benchmarks/fleet.py [APPLICATIONS [PAIRS]]`` (default 2,000 and 3). The first of each pair runs
with ``spark.master=local[1]``, where nothing is spread. Everything is timed: the start of Java, Java, Python's workers.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.helpers.fleets import write_fleet

CORES = len(os.sched_getaffinity(0))
_SECONDS_BETWEEN_LOOKS = 0.1


class Times(NamedTuple):
    """Seconds by the clock, and of CPU time of all processes, but for what they take after the last look at them."""

    clock: float
    cpu: float


def times(fleet: Path, master: str, out: Path) -> Times:
    command = [sys.executable, "-m", "kstream_plan", "assign", str(fleet), "-q", "--out", str(out)]
    command += ["--spark-conf", f"spark.master={master}"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    cpu: dict[str, float] = {}
    while process.poll() is None:
        cpu |= _cpu(process.pid)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    assert process.returncode == 0
    return Times(time.perf_counter() - start, sum(cpu.values()))


def _cpu(session: int) -> dict[str, float]:
    """Return the CPU seconds of each process that belongs to a session."""
    seconds = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                seconds[path.parent.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


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
            each = " and ".join(f"{1_000 * run.cpu / applications:.1f}" for run in (alone, spread))
            busy = spread.cpu / spread.clock / CORES
            print(f"{clock}; {each} ms of CPU each, {CORES} cores {busy:.0%} busy (load {load:.1f})", flush=True)
        print(f"{applications:,} applications: {statistics.median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
