"""How fast a long log is read of which little matters, as a ratio to ``grep -c``, and how much memory that takes.

    python tests/benchmarks/leader_log.py [--megabytes 1024] [--gzip]

The log is written to a temporary folder: the lines that a busy application logs, and between them the messages of eight
captured generations. Both commands get CPU time of one core; the page cache is warm.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

CAPTURED = Path(__file__).parents[1] / "real" / "scale-out" / "leader.log.gz"
GENERATIONS = 8


class Run(NamedTuple):
    """CPU seconds (user and system), peak resident memory in MB, and what was printed."""

    cpu_s: float
    peak_mb: float
    output: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024, help="size of the log, unzipped")
    parser.add_argument("--gzip", action="store_true", help="zip it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "app.log")
        relevant = write(log, options.megabytes << 20)
        size_mb = log.stat().st_size / 1e6
        grep = ["grep", "-c", "followup rebalance", str(log)]
        if options.gzip:
            packed = log.with_suffix(".log.gz")
            with log.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
                shutil.copyfileobj(source, target)
            grep = ["zgrep", *grep[1:-1], str(packed)]
            log = packed
        ours = [sys.executable, "-m", "kstream_plan", "snapshot", str(log), "--list"]
        measured(grep)  # warms the page cache
        base, run = measured(grep), measured(ours)
        assert len(re.findall(r"(?m)^\d{4}-", run.output)) == GENERATIONS, run.output
        print(f"{size_mb:,.0f} MB, {relevant} messages of the assignor")
        print(f"{grep[0]:12} {base.cpu_s:6.2f} s CPU {size_mb / base.cpu_s:6,.0f} MB/s {base.peak_mb:6.0f} MB peak")
        print(f"{'snapshot':12} {run.cpu_s:6.2f} s CPU {size_mb / run.cpu_s:6,.0f} MB/s {run.peak_mb:6.0f} MB peak")
        print(f"ratio {run.cpu_s / base.cpu_s:.1f}")


def write(path: Path, size: int) -> int:
    """Write the log; return how many messages in it are the assignor's."""
    rng = random.Random(1)
    text = gzip.decompress(CAPTURED.read_bytes()).decode()
    starts = [match.start() for match in re.finditer(r"^.*Constructed client metadata", text, re.MULTILINE)]
    pieces = [text[start:end].encode() for start, end in pairwise(starts[: GENERATIONS + 1])]
    pieces = [b"".join(line for line in piece.splitlines(True) if b" DEBUG " not in line) for piece in pieces]
    filler = "".join(_ordinary(rng, number) for number in range(5000)).encode()
    blocks = max(size // len(filler), GENERATIONS + 1)
    with path.open("wb") as file:
        for block in range(blocks):
            file.write(filler)
            if block % (blocks // GENERATIONS) == 0 and pieces:
                file.write(pieces.pop(0))
        for piece in pieces:
            file.write(piece)
    return text[starts[0] : starts[GENERATIONS]].count(" INFO ")


def _ordinary(rng: random.Random, number: int) -> str:
    thread = f"orders-4e008b6e-87cd-4480-aca4-a9941a960de5-StreamThread-{number % 2 + 1}"
    message = rng.choice(
        (
            f"stream-thread [{thread}] Processed {rng.randrange(10**6)} total records, ran 0 punctuators, and "
            f"committed {rng.randrange(1000)} total tasks since the last update",
            f"[Consumer clientId={thread}-restore-consumer, groupId=null] Subscribed to partition(s): "
            f"orders-store-changelog-{number % 12}",
            f"order {rng.randrange(10**9)} of {rng.randrange(10**6)} was accepted after {rng.randrange(900)} ms",
        )
    )
    return (
        f"i2| 2026-11-21T13:00:{number % 60:02d}.{number % 1000:03d}Z [{thread}] INFO com.example.Orders - {message}\n"
    )


def measured(command: list[str]) -> Run:
    """Run a command to its end and measure it alone."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{command[0]} failed")
        output.seek(0)
        text = output.read().decode()
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


if __name__ == "__main__":
    main()
