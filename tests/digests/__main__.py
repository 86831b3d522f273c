"""Records the digests of the cases, compares with those that are recorded, or shows what of a case is digested.

usage: python -m tests.digests record|compare [--cases N] [--kind KIND] [--only NUMBER...] [--before COMMIT]
       python -m tests.digests show NUMBER...

``compare`` prints which cases differ, and of the first ten where, by the code of ``--before`` (by default the commit
that recorded them last); the exit code is 1 then. A change of behaviour on purpose records anew the cases that it
names, by ``record --only``, with their number in the message of its commit; a change of words or of form records none.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.digests.cases import KINDS, cases_of, kind_of
from tests.digests.digest import document, first_difference
from tests.digests.recorded import computed, differing, write

_REPOSITORY = Path(__file__).parents[2]
_MOST_SHOWN = 10


def _shown(numbers: Sequence[int]) -> None:
    for number in numbers:
        print(json.dumps(document(number), sort_keys=True))


def _documents_before(commit: str, numbers: Sequence[int]) -> list[Any]:
    """Return what is digested of cases by the code of a commit, without compiled parts."""
    with TemporaryDirectory() as folder:
        files = subprocess.run(
            ["git", "archive", commit, "kstream_plan", "tests"], cwd=_REPOSITORY, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x"], cwd=folder, input=files.stdout, check=True)
        command = [sys.executable, "-m", "tests.digests", "show", *map(str, numbers)]
        shown = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
    return [json.loads(line) for line in shown.stdout.splitlines()]


def _last_record() -> str:
    command = ["git", "log", "-1", "--format=%H", "--", "tests/digests/recorded"]
    return subprocess.run(command, cwd=_REPOSITORY, capture_output=True, check=True, text=True).stdout.strip()


def _explain(numbers: Sequence[int], commit: str) -> None:
    for number, before in zip(numbers, _documents_before(commit, numbers), strict=True):
        difference = first_difference(before, document(number))
        if difference is None:
            print(f"{number}: the same by {commit[:8]}: something else made the recorded digest")
        else:
            path, old, new = difference
            print(f"{number}: {path}: {json.dumps(old):.200} → {json.dumps(new):.200}")


def _compare(numbers: Sequence[int], before: str | None) -> int:
    found = differing(computed(numbers))
    print(f"{len(numbers) - len(found):,} of {len(numbers):,} cases have the digest that is recorded")
    for kind, count in Counter(kind_of(number).name for number in found).items():
        print(f"  {kind}, {count} differ: {' '.join(str(item) for item in found if kind_of(item).name == kind)}")
    if found:
        _explain(found[:_MOST_SHOWN], before or _last_record())
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "compare", "show"])
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="cases to show")
    parser.add_argument("--cases", type=int, help="so many at even distances, about")
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS])
    parser.add_argument("--only", nargs="+", type=int, metavar="NUMBER")
    parser.add_argument("--before", metavar="COMMIT")
    options = parser.parse_args()
    if options.command == "show":
        _shown(options.numbers)
        return 0
    numbers, started = options.only or cases_of(options.kind, options.cases), time.monotonic()
    if options.command == "compare":
        result = _compare(numbers, options.before)
    else:
        write(dict(computed(numbers)))
        result = 0
    print(f"{len(numbers):,} cases in {time.monotonic() - started:.0f} s")
    return result


if __name__ == "__main__":
    sys.exit(main())
