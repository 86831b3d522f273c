"""Of one real log, in whatever layout, store, order or state: its decisions come out or are told as missing.

A part of the shapes is tried; ``KSTREAM_PLAN_LOG_SHAPES`` says how many (1000000 on demand), and
``KSTREAM_PLAN_LOG_SHAPES_FROM`` from which number on.
"""

from __future__ import annotations

import gzip
import io
import os
from collections import Counter
from functools import cache

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.leader_log.generations import FoundDecision, LoggedGeneration, generations_of
from kstream_plan.snapshots.leader_log.messages import MARKERS
from kstream_plan.snapshots.leader_log.records import read_records
from tests.helpers import log_shapes
from tests.helpers.log_shapes import Shape

SHAPES = int(os.environ.get("KSTREAM_PLAN_LOG_SHAPES", "10000"))
FIRST = int(os.environ.get("KSTREAM_PLAN_LOG_SHAPES_FROM", "0"))
PARTS = 8


def read(content: bytes) -> FoundDecision:
    return generations_of(list(read_records(io.BytesIO(content), "log")))


def essence(generation: LoggedGeneration) -> object:
    members = {process_id: frozenset(consumers) for process_id, consumers in generation.consumers.items()}
    return repr((generation.clients, generation.probing, sorted(generation.splits.items()), sorted(members.items())))


@cache
def originals() -> dict[object, LoggedGeneration]:
    text = "".join(
        f"{record.at}Z {record.level} - {line}\n" if not number else f"{line}\n"
        for record in log_shapes.original()
        for number, line in enumerate(record.message.split("\n"))
    )
    found = read(text.encode())
    assert len(found.generations) == log_shapes.GENERATIONS
    assert not found.incomplete
    assert not found.gaps
    assert [generation.number for generation in found.generations] == [1, 2, 3]
    return {essence(generation): generation for generation in found.generations}


def check(shape: Shape) -> str:
    """What came out: all of it, a part that is told, or a refusal."""
    try:
        found = read(shape.content)
    except SnapshotError:
        return "refused"
    essences = [essence(generation) for generation in found.generations]
    for generation, its_essence in zip(found.generations, essences, strict=True):
        original = originals()[its_essence]
        assert generation.number in (None, original.number)
        assert original.at is not None
        if generation.at is not None and shape.precision_us is not None:
            # of a header that is cut off the time of what stands around it is left
            assert abs(generation.at.us - original.at.us) < 1_000_000
    assert len(set(essences)) == len(essences)
    text = gzip.decompress(shape.content) if shape.content.startswith(b"\x1f\x8b") else shape.content
    used = Counter(dict.fromkeys(MARKERS[:3], 0))
    for generation in found.generations:
        used += Counter({MARKERS[0]: 1, MARKERS[1]: 1, MARKERS[2]: len(generation.splits)})
    is_left = any(text.count(marker) > used[marker] for marker in MARKERS[:3])
    assert not is_left or found.incomplete or found.gaps
    return "all" if len(found.generations) == log_shapes.GENERATIONS else "a part"


@pytest.mark.parametrize("part", range(PARTS))
def test_decisions_come_out_or_are_told_as_missing_and_never_others(part: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(FIRST + part, FIRST + SHAPES, PARTS):
        shape = log_shapes.shape(seed)
        try:
            outcome = check(shape)
        except Exception as error:
            raise AssertionError(f"shape {seed}: {shape.described}") from error
        assert outcome == "all" or not shape.described.endswith(", whole"), (
            f"shape {seed}: {shape.described}: {outcome}"
        )
        outcomes[outcome] += 1
    assert outcomes["all"] > outcomes.total() / 4
    assert outcomes["a part"] > outcomes.total() / 10
