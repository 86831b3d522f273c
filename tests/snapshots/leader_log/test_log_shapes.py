"""Of one real log, in whatever layout, store, order or state: its decisions come out or are told as missing.

A part of the shapes is tried; ``KSTREAM_PLAN_LOG_SHAPES`` says how many (1000000 on demand), and
``KSTREAM_PLAN_LOG_SHAPES_FROM`` from which number on.
"""

from __future__ import annotations

import gzip
import io
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.leader_log.generations import LogContents, LoggedGeneration, generations_of
from kstream_plan.snapshots.leader_log.message_values import Split
from kstream_plan.snapshots.leader_log.messages import MARKERS
from kstream_plan.snapshots.leader_log.records import read_records
from tests.helpers import log_shapes
from tests.helpers.captured import REAL
from tests.helpers.log_layouts import Logged
from tests.helpers.log_shapes import Shape

SHAPES = int(os.environ.get("KSTREAM_PLAN_LOG_SHAPES", "5000"))
FIRST = int(os.environ.get("KSTREAM_PLAN_LOG_SHAPES_FROM", "0"))
PARTS = 8


def read(content: bytes) -> LogContents:
    return generations_of(list(read_records(io.BytesIO(content), "log")))


def essence(generation: LoggedGeneration) -> object:
    members = {process_id: frozenset(consumers) for process_id, consumers in generation.consumers.items()}
    return repr((generation.clients, generation.has_probe, sorted(generation.splits.items()), sorted(members.items())))


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
        assert original.decided_at is not None
        if generation.decided_at is not None and shape.precision_us is not None:
            # of a header that is cut off the time of what stands around it is left
            assert abs(generation.decided_at.us - original.decided_at.us) < 1_000_000
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


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(7011472, id="two consumers become one where a part between them is lost"),
        pytest.param(7222956, id="two processes become one where a part between them is lost"),
        pytest.param(7020393, id="the next rebalance is lost but for its end, and its number"),
        pytest.param(9962, id="lines are lost in the middle of the end of a rebalance"),
    ],
)
def test_shapes_that_once_gave_others(seed: int) -> None:
    assert check(log_shapes.shape(seed)) == "a part"


def plain(messages: Iterable[Logged]) -> bytes:
    return "".join(f"{record.at}Z {record.level} - {record.message}\n" for record in messages).encode()


@pytest.mark.parametrize("has_members", [True, False])
def test_two_consumers_that_run_together_where_a_list_has_a_hole_are_not_one(has_members: bool) -> None:
    hole = "-StreamThread-1-consumer-ed190a89-76c3-476a-ba81-944256ba6919=[], S7-dad79bc1-098a-4730-b065-4446e7d1c8d5"
    whole = [record for record in log_shapes.original() if has_members or MARKERS[0].decode() not in record.message]
    found = read(plain(record._replace(message=record.message.replace(hole, "")) for record in whole))
    assert plain(whole).count(hole.encode()) == len(found.incomplete) // 2 == log_shapes.GENERATIONS
    assert not found.generations


@pytest.mark.parametrize("has_members", [True, False])
def test_a_consumer_without_a_task_is_missed_where_its_name_is_lost(has_members: bool) -> None:
    hole = re.compile(rb", m\.app-f9ef6c9b-[\w-]+-StreamThread-2-consumer-a2c68b87-[\w-]+=\[\]")
    log = gzip.decompress((REAL / "metrics" / "leader.log.gz").read_bytes())
    if not has_members:
        log = log.replace(MARKERS[0], b"")
    whole = read(log)
    found = read(hole.sub(b"", log, count=1))
    assert len(found.generations) == len(whole.generations) - 1
    assert len(found.incomplete) == len(whole.incomplete) + 2  # the rebalance, and the list


@pytest.mark.parametrize(
    ("hole", "left"),
    [
        pytest.param("1_1=4904", "1_1=490", id="a digit of a lag that another process has whole"),
        pytest.param(" 0_2=-2, 0_3=2453", " 0_2=2, 0_3=2453", id="the sign of a marker"),
    ],
)
def test_a_lag_with_a_hole_is_no_other_lag(hole: str, left: str) -> None:
    log = plain(log_shapes.original()).decode()
    at = log.index(hole, log.index("taskLagTotals"))
    found = read(f"{log[:at]}{left}{log[at + len(hole) :]}".encode())
    assert "does not follow from its offsets" in str([record.message for record in found.gaps])
    assert {essence(generation) for generation in found.generations} < originals().keys()


def test_no_rebalance_takes_the_number_of_the_next_of_which_a_list_is_left() -> None:
    records = log_shapes.original()
    ends = [place for place, record in enumerate(records) if "Finished assignment" in record.message]
    last_list = max(place for place in range(ends[2]) if MARKERS[2].decode() in records[place].message)
    found = read(plain([*records[: ends[1]], *records[last_list : ends[2] + 1]]))
    assert [generation.number for generation in found.generations] == [1, None]
    assert [type(record.message) for record in found.incomplete] == [Split]


@pytest.mark.parametrize(
    ("number", "is_cut"),
    # of ends that are cut those within seconds may be alike
    [*((number, False) for number in range(1, 51)), *((number, True) for number in (1, 3, 5, 6, 7, 8, 10, 11, 13))],
)
def test_no_rebalance_takes_the_number_of_a_later_one_of_which_only_the_end_is_left(number: int, is_cut: bool) -> None:
    log = gzip.decompress((REAL / "more" / "big" / "leader.log.gz").read_bytes()).decode()
    end = re.compile(r"^.*Finished assignment for group at generation (\d+): .*\n", re.MULTILINE)
    found = {int(match[1]): match for match in end.finditer(log)}
    later = found[number + 1][0]
    if is_cut:
        later = later[: later.index("userDataSize")] + "\n"
    left = log[: found[number].start()] + later
    numbers = [generation.number for generation in read(left.encode()).generations]
    assert numbers[:-1] == [*range(1, number)]
    assert numbers[-1] is None


def test_of_a_later_rebalance_whose_end_names_one_consumer_no_number_is_taken() -> None:
    """The captured ends are short: all that is left of the next rebalance is said 0.8 s later than the one before."""
    records = [record for record in log_shapes.original() if "started task" not in record.message]
    ends = [place for place, record in enumerate(records) if "Finished assignment" in record.message]
    left = [*records[: ends[1]], records[ends[2]]]
    text = "".join(
        f"{record.at}Z {record.level} - {line}\n" if not number else f"{line}\n"
        for record in left
        for number, line in enumerate(record.message.split("\n"))
    )
    assert [generation.number for generation in read(text.encode()).generations] == [1, None]
