"""Whatever becomes of a log on its way, it is read or refused with one clear error, in memory bounded by its size."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.leader_log.message_values import Decided, Ended, Gap
from kstream_plan.snapshots.leader_log.messages import MARKERS
from kstream_plan.snapshots.leader_log.records import read_records
from tests.helpers import log_layouts

MUTATED_MESSAGES = 8_000
MUTATED_LOGS = 120

_NASTY = (
    b"\xff\xfe",
    b"\x00",
    b"}",
    b"]",
    b"[",
    b"{",
    b", ",
    b"=",
    b"9" * 30,
    b"-3",
    b"\n",
    b"\r\n",
    b"\\u",
    b'"',
    b"0_0",
)


def _cut(rng: random.Random, text: bytes) -> bytes:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randrange(1, 200) :]


def _end(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text))]


def _flip(rng: random.Random, text: bytes) -> bytes:
    found = bytearray(text)
    for _ in range(rng.randrange(1, 4)):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _insert(rng: random.Random, text: bytes) -> bytes:
    start = rng.randrange(len(text))
    return text[:start] + rng.choice(_NASTY) + text[start:]


def _repeat(rng: random.Random, text: bytes) -> bytes:
    start = rng.randrange(len(text))
    piece = text[start : start + rng.randrange(1, 100)]
    return text[:start] + piece * rng.randrange(2, 5) + text[start:]


def _count(rng: random.Random, text: bytes) -> bytes:
    """Another number in place of one that is there."""
    places = [place for place, byte in enumerate(text) if 48 <= byte <= 57]
    place = rng.choice(places) if places else 0
    return text[:place] + str(rng.choice((0, 10**9, 2**63, 10**30))).encode() + text[place + 1 :]


MUTATIONS = (_cut, _end, _flip, _insert, _repeat, _count)


def _mutated(rng: random.Random, originals: list[bytes]) -> Iterator[bytes]:
    while True:
        text = rng.choice(originals)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            text = rng.choice(MUTATIONS)(rng, text or b"0")
        yield text


def _messages(layout: Callable[[log_layouts.Logged], list[str]]) -> list[bytes]:
    """The records of the first generations, each a log of its own."""
    found = [record for record in log_layouts.finished("scale-out-standbys") if record.level == "INFO"][:110]
    return [log_layouts.laid_out([record], layout) for record in found]


def test_a_mutated_message_is_read_or_a_gap() -> None:
    rng = random.Random(441)
    originals = [
        text
        for layout in log_layouts.LAYOUTS
        for text in _messages(layout)
        if any(marker in text for marker in MARKERS)
    ]
    outcomes: Counter[str] = Counter()
    for _, text in zip(range(MUTATED_MESSAGES), _mutated(rng, originals), strict=False):
        try:
            records = list(read_records(io.BytesIO(text), "fuzz.log"))
        except SnapshotError:  # the century of its only date is gone
            continue
        for record in records:
            is_gap = isinstance(record.message, Gap)
            outcomes["gap" if is_gap else "read"] += 1
            assert not is_gap or str(record.place).startswith("fuzz.log, ")
    assert min(outcomes.values()) > MUTATED_MESSAGES / 20, outcomes


def test_a_decision_that_lost_whole_offsets_of_running_tasks_is_a_gap() -> None:
    decided = next(text for text in _messages(log_layouts.logback) if b"=-2, " in text)
    start = decided.index(b"changelogOffsetTotalsByTask: ([") + len(b"changelogOffsetTotalsByTask: ([")
    lost = decided[:start] + decided[decided.index(b", ", start) + 2 :]
    records = list(read_records(io.BytesIO(lost), "cut.log"))
    assert [type(record.message) for record in records if not isinstance(record.message, Ended)] == [Gap]


def test_a_message_in_a_column_without_a_name_is_read() -> None:
    decided = next(text for text in _messages(log_layouts.logback) if b"Decided on assignment" in text)
    cut = b"log\tlevel\n2026-11-21T13:00:00Z\ti1\t" + decided.rstrip(b"\n") + b"\tINFO\n"
    records = list(read_records(io.BytesIO(cut), "cut.csv"))
    assert [type(record.message) for record in records if not isinstance(record.message, Ended)] == [Decided]


@pytest.mark.parametrize("layout", log_layouts.LAYOUTS, ids=lambda item: item.__name__)
def test_a_log_with_a_mutated_message_gives_good_snapshots_or_one_error(
    layout: Callable[[log_layouts.Logged], list[str]],
) -> None:
    rng = random.Random(layout.__name__)
    originals = _messages(layout)
    whole = [entry.row["tasks"] for entry in _history(b"".join(originals)).entries]
    outcomes: Counter[str] = Counter()
    refusals = []
    for _ in range(MUTATED_LOGS // len(log_layouts.LAYOUTS)):
        place = rng.randrange(len(originals))
        text = next(_mutated(rng, originals[place : place + 1]))
        try:
            checked_rows(_history(b"".join([*originals[:place], text, *originals[place + 1 :]])).entries)
            outcomes["read"] += 1
        except SnapshotError as error:
            outcomes["refused"] += 1
            refusals.append(error)
    assert len(whole) > 1
    assert outcomes["read"]
    assert all(error.where.startswith("standard input") and error.fix for error in refusals)


def _history(log: bytes):  # type: ignore[no-untyped-def]
    return read_leader_logs(["-"], stdin=io.BytesIO(log))


def test_memory_is_bounded_by_the_size_of_a_message() -> None:
    rng = random.Random(7)
    originals = _messages(log_layouts.compose) + _messages(log_layouts.cri)
    for _, text in zip(range(300), _mutated(rng, originals), strict=False):
        tracemalloc.start()
        try:
            list(read_records(io.BytesIO(text), "fuzz.log"))
        except SnapshotError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < 2_000_000 + 100 * len(text)


_PART = b"2026-11-21T13:00:00.000000000Z stdout P "


@pytest.mark.parametrize(
    "line",
    [b"x" * 1000 + b"\n", b"x" * 1000, _PART + b"x" * 1000 + b"\n", _PART + b"x" * 9000 + b"\n"],
    ids=["lines", "one line", "split line", "split line, fewer parts"],
)
def test_memory_does_not_grow_with_what_does_not_matter(line: bytes) -> None:
    class Endless(io.RawIOBase):
        """32 MB without a message."""

        left = 32_000_000 // len(line)

        def read(self, size: int = -1) -> bytes:
            lines = min(self.left, size // len(line))
            self.left -= lines
            return line * lines

    tracemalloc.start()
    found = list(read_records(Endless(), "endless"))  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [record for record in found if not isinstance(record.message, Ended)] == []
    assert peak < 24 << 20
