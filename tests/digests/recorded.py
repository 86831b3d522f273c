"""The digests that were recorded: ``recorded/KIND.txt``, a case a line, its number and its digest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path

from tests.digests.cases import KINDS, kind_of
from tests.digests.digest import digest

FOLDER = Path(__file__).parent / "recorded"
_AT_ONCE = 20


def read() -> dict[int, str]:
    """Return every recorded digest by its case."""
    lines = (line.split() for kind in KINDS for line in _lines(kind.name))
    return {int(number): recorded for number, recorded in lines}


def write(digests: Mapping[int, str]) -> None:
    """Record these digests; those of other cases stay."""
    digests = dict(sorted((read() | digests).items()))
    FOLDER.mkdir(exist_ok=True)
    for kind, numbers in groupby(digests, lambda number: kind_of(number).name):
        text = "".join(f"{number} {digests[number]}\n" for number in numbers)
        (FOLDER / f"{kind}.txt").write_text(text, encoding="ascii", newline="\n")


def computed(numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield cases with their digests, in order, made by as many processes as there are processors."""
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        yield from zip(numbers, processes.map(digest, numbers, chunksize=_AT_ONCE), strict=True)


def differing(digests: Iterable[tuple[int, str]]) -> list[int]:
    """Return the cases whose digest is not the recorded one."""
    recorded = read()
    return [number for number, found in digests if recorded.get(number) != found]


def _lines(kind: str) -> list[str]:
    path = FOLDER / f"{kind}.txt"
    return path.read_text(encoding="ascii").splitlines() if path.exists() else []
