"""Payloads that something went wrong with: each parses or is refused with one clear error, in bounded memory."""

from __future__ import annotations

import contextlib
import random
import tracemalloc
from collections.abc import Callable

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.broker.byte_reader import PayloadError
from kstream_plan.snapshots.broker.history import OffsetsRecord, generations
from tests.helpers.captured_cluster import CapturedCluster
from tests.helpers.wire_payloads import Payload, payloads

MUTATIONS = 20_000
#: A value of a payload takes at most so many bytes of memory per byte of the payload, and so many at the least.
BYTES_PER_BYTE, LEAST_BYTES = 100, 20_000

HUGE = [
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\x00\x0f\xff\xff",
    b"\x7f\xff",
    b"\x00\x00\x00\x00",
]
NOT_UTF_8 = [b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc0\x80"]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, chance: random.Random) -> bytes:
    """A wrong length, a huge count, or text that is not UTF-8 at any place."""
    put = chance.choice(HUGE + NOT_UTF_8)
    at = chance.randrange(len(data))
    return data[:at] + put + data[at + len(put) :]


def shift(data: bytes, chance: random.Random) -> bytes:
    """Bytes too many or too few in the middle."""
    at, size = chance.randrange(len(data)), chance.randint(1, 9)
    return data[:at] + (chance.randbytes(size) + data[at:] if chance.random() < 0.5 else data[at + size :])


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [cut, flip, overwrite, shift]


def mutated(chance: random.Random, sound: list[Payload]) -> tuple[Payload, bytes]:
    payload = chance.choice(sound)
    data = payload.data
    for _ in range(chance.randint(1, 2)):
        data = chance.choice(CHANGES)(data or b"\x00", chance)
    return payload, data


def test_a_mutated_payload_parses_or_is_refused_with_one_error() -> None:
    chance, sound = random.Random(20_261_121), payloads()
    refused = []
    for _ in range(MUTATIONS - MUTATIONS // 10):
        payload, data = mutated(chance, sound)
        try:
            payload.read(data)
        except PayloadError as error:
            refused.append(error.problem)
    assert all(0 < len(what) < 200 and what.isprintable() for what in refused)
    assert MUTATIONS / 3 < len(refused) < MUTATIONS


def test_memory_stays_bounded_by_the_payload() -> None:
    chance, sound = random.Random(7), payloads()
    tracemalloc.start()
    try:
        for _ in range(MUTATIONS // 20):
            payload, data = mutated(chance, sound)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            with contextlib.suppress(PayloadError):
                payload.read(data)
            assert tracemalloc.get_traced_memory()[1] - before < LEAST_BYTES + BYTES_PER_BYTE * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_record_of_the_offsets_topic_names_itself_and_the_member(seed: int) -> None:
    """Real records: the member's payloads lie inside the group's."""
    chance, group = random.Random(seed), CapturedCluster("scale-out")
    records = list(group.group_records(group.group_id))
    refused = []
    for _ in range(MUTATIONS // 80):
        record = chance.choice(records)
        value = chance.choice(CHANGES)(record.value or b"\x00", chance)
        try:
            list(generations(group.group_id, [OffsetsRecord(record.at_ms, record.offset, record.key, value)]))
        except SnapshotError as error:
            refused.append(error)
    assert refused
    assert all("S1" in error.where and error.fix and error.application_id == "S1" for error in refused)
    assert all(str(error).isprintable() for error in refused)
