"""Fuzz what Spark reads: folders of snapshots, nearly right, by both ways in which Spark reads them, in one session.

usage: python tests/fuzz/spark.py [--files 2000] [--seed TEXT]

Each file is read with others in one folder, so that one session and one call read a hundred. Whatever is wrong with one
is told of that one; and the two ways, for little and for much to read, tell the same.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2]))

from kstream_plan import snapshots
from kstream_plan.model import Snapshot
from kstream_plan.snapshots import reading
from tests.fuzz import mutations
from tests.helpers.snapshot_rows import row

_TOGETHER = 100


#: No JSON, though most read it; Spark makes text of it in an array, so that the error has other words.
_NO_JSON = re.compile(rb"-?Infinity|NaN")


#: Places in a text, which is a file for one way and its part for the other.
_NUMBER = re.compile(r"(?<=(?:byte|char|cter|line|lumn) )\d+")


def _content(chance: random.Random, number: int) -> bytes:
    return _NO_JSON.sub(b"0.5", _any_content(chance, number))


def _any_content(chance: random.Random, number: int) -> bytes:
    rows = [mutations.changed({**row(), "application_id": f"a{number}"}, chance) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.3:
        return mutations.packed(mutations.json_bytes(rows, chance), chance)
    return mutations.packed(b"\n".join(mutations.json_bytes(one, chance) for one in rows), chance)


def _told(folder: Path, little_bytes: int) -> list[str]:
    """What is told of each application and file."""
    with mock.patch.object(reading, "LITTLE_BYTES", little_bytes):
        found = snapshots.read([str(folder)], keep_going=True)
    return sorted(
        item.state.group.application_id if isinstance(item, Snapshot) else _NUMBER.sub("N", str(item)) for item in found
    )


def together(contents: Sequence[bytes]) -> list[str]:
    """Read these files together, in both ways; return what is wrong."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as top:
        for place, content in enumerate(contents):
            Path(top, f"{place:04d}.json").write_bytes(content or b" ")
        try:
            little, much = _told(Path(top), 1 << 30), _told(Path(top), 0)
        except Exception as error:
            return [f"{type(error).__name__}: {str(error)[:300]}"]
    return [f"for little only: {one}" for one in little if one not in much] + [
        f"for much only: {one}" for one in much if one not in little
    ]


def fuzz(files: int, seed: str) -> list[str]:
    """Try so many files, and return what is wrong."""
    chance = random.Random(f"{seed} spark")
    found: list[str] = []
    for first in range(0, files, _TOGETHER):
        numbers = range(first, min(first + _TOGETHER, files))
        found += together([_content(chance, number) for number in numbers])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    from kstream_plan.snapshots.spark.session import open_session

    with open_session(little_work=True):
        found = fuzz(options.files, options.seed)
    for what in found:
        print(ascii(what)[:400])
    print(f"{options.files:,} files, {len(found)} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
