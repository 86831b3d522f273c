"""Random applications of every kind planned on the executors, and each alone: the same to the last byte.

Usage: ``python tests/benchmarks/mixed_fleet.py [APPLICATIONS [SEED]]`` (default 300 and 0). What differs is an error.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.mixed_fleets import check_mixed_fleet


def _assign(arguments: Sequence[str]) -> str:
    command = [sys.executable, "-m", "kstream_plan", "assign", *arguments, "--spark-conf", "spark.master=local[2]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr
    return done.stdout


def main() -> None:
    applications = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as name:
        check_mixed_fleet(Path(name), applications, seed, _assign)
    print(f"{applications:,} applications, the classic ones by learner too: identical")


if __name__ == "__main__":
    main()
