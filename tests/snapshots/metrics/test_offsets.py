"""Offsets of changelogs and lags of stores, as people have them in files."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.metrics.offsets import OffsetAt, read_offsets
from kstream_plan.snapshots.metrics.store_lags import read_store_lags

A0 = ("my.app-A-changelog", 0)


def offsets(content: str, now_ms: int = 5_000):
    return read_offsets(["-"], io.BytesIO(content.encode()), now_ms)


@pytest.mark.parametrize(
    "content",
    [
        "my.app-A-changelog:0:123\nmy.app-A-changelog:1:\n\nother:0:1\n",
        '{"my.app-A-changelog-0": 123}',
        '{"my.app-A-changelog": {"0": 123}}',
        '[{"topic": "my.app-A-changelog", "partition": 0, "offset": 123}]',
        '{"t": 5, "end": {"my.app-A-changelog-0": 123}}',
        '{"time": "1970-01-01T00:00:05Z", "offsets": {"my.app-A-changelog": {"0": 123}}}',
        '{"timestamp": 5.0, "partitions": [{"topic": "my.app-A-changelog", "partition": "0", "end_offset": 123}]}',
    ],
)
def test_every_form_tells_the_same(content: str) -> None:
    found = offsets(content)
    assert found.newest(A0) == 123
    assert found.newest(("my_app-A-changelog", 0)) == 123
    assert found.newest(("my.app-A-changelog", 1)) is None
    assert found.offset_at(A0, 5_000) == OffsetAt(123, 0)


def test_start_offsets_may_stand_beside_end_offsets() -> None:
    both = '{"t": 5, "start": {"my.app-A-changelog-0": 7}, "end": {"my.app-A-changelog-0": 123}}'
    assert offsets(both).newest(A0) == 123
    for content in (both, '{"start_offsets": {"my.app-A-changelog": {"0": 7}}}', '{"my.app-A-changelog-0": 7}'):
        assert read_offsets(["-"], io.BytesIO(content.encode()), 5_000, kind="start").newest(A0) == 7
    with pytest.raises(SnapshotError, match="holds 'end', and start offsets are asked for"):
        read_offsets(["-"], io.BytesIO(b'{"end": {"a-0": 1}}'), 5_000, kind="start")


def test_between_two_sets_an_offset_lies_between() -> None:
    found = offsets('{"t": 10, "end": {"a-0": 100}}\n{"t": 20, "end": {"a-0": 200}}\n')
    at = {ms: found.offset_at(("a", 0), ms) for ms in (9_000, 10_000, 14_000, 20_000, 23_000)}
    assert at == {
        9_000: OffsetAt(100, 1_000),
        10_000: OffsetAt(100, 0),
        14_000: OffsetAt(140, 0, difference=100, apart_ms=10_000),
        20_000: OffsetAt(200, 0, difference=100, apart_ms=10_000),
        23_000: OffsetAt(200, -3_000),
    }


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=6), st.integers(0, 70_000))
def test_what_lies_between_is_never_outside(ends: list[int], at_ms: int) -> None:
    ends.sort()
    lines = [json.dumps({"t": 10 * (n + 1), "end": {"a-0": end}}) for n, end in enumerate(ends)]
    found = offsets("\n".join(lines)).offset_at(("a", 0), at_ms)
    assert found is not None
    assert ends[0] <= found.offset <= ends[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("<html>\n", "line 1: is '<html>', not TOPIC:PARTITION:OFFSET"),
        ("a:0:-1\n", "not TOPIC:PARTITION:OFFSET"),
        ("{", "is not JSON"),
        ('{"a": 1}', "holds 'a', which is no TOPIC-PARTITION"),
        ('{"a-0": -1}', "gives -1 for a-0, which is no offset"),
        ('{"a-0": 1.5}', "gives 1.5 for a-0"),
        ('{"a": {"x": 1}}', "holds 'x' where a partition's number must be"),
        ('[{"topic": 1}]', "where an object with topic, partition and offset must be"),
        ('{"t": "soon", "end": {"a-0": 1}}', "'soon' is not a time"),
        ('{"t": true, "end": {"a-0": 1}}', "has the time true, which is none"),
        ('{"a-0": 1}\n{"a-0": \n', "line 2: is not JSON"),
        ("[1]", "holds 1 where an object"),
        ('{"a-0": 1, "a-0": 2}', "the name 'a-0' is there twice in one object"),
        ('{"a-0": 1}\n{"a-0": 1, "a-0": 2}', "line 2: is not JSON: the name 'a-0' is there twice in one object"),
        ('{"a-0": ' + "9" * 5000 + "}", "cannot be read as JSON"),
        ('{"a-0": 1}\n{"a-0": ' + "9" * 5000 + "}", "line 2: is not JSON: Exceeds the limit"),
        ("[" * 100_000, "cannot be read as JSON"),
        ('{"a-0": 1}\n' + "[" * 100_000, "line 2: is not JSON"),
        ("3\n", "not TOPIC:PARTITION:OFFSET"),
        ('{"start": {"a-0": 1}}', "holds 'start', and end offsets are asked for"),
        ('{"tiem": 5, "end": {"a-0": 1}}', "holds 'tiem' beside 'end', where only a time may be"),
    ],
)
def test_what_are_no_offsets_is_told(content: str, message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        offsets(content)
    assert message in str(caught.value)
    assert "kafka-get-offsets.sh" in str(caught.value)


def test_store_lags_with_a_name_twice_are_refused() -> None:
    with pytest.raises(SnapshotError, match="the name 'h' is there twice in one object"):
        read_store_lags(["-"], io.BytesIO(b'{"h": {}, "h": {}}'), 5_000)


def store_lags(document: Any):
    return read_store_lags(["-"], io.BytesIO(json.dumps(document).encode()), 5_000)


def test_store_lags_are_read_as_applications_publish_them() -> None:
    said = {"currentOffsetPosition": 7, "endOffsetPosition": 10, "offsetLag": 3}
    without = {"currentOffsetPosition": 7, "endOffsetPosition": 10}
    (one,) = store_lags({"host-1": {"A": {"0": said, "1": without}}})
    assert (one.name, one.at_ms, one.lags) == ("host-1", 5_000, {("A", 0): 3, ("A", 1): 3})


@pytest.mark.parametrize(("lag", "current", "lags"), [(0, 7, 3), (5, 7, 5), (0, 12, 0), (4, 12, 4)])
def test_of_store_lags_that_contradict_themselves_the_larger_counts(lag: int, current: int, lags: int) -> None:
    said = {"currentOffsetPosition": current, "endOffsetPosition": 10, "offsetLag": lag}
    (one,) = store_lags({"host-1": {"A": {"0": said}}})
    assert one.lags == {("A", 0): lags}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the file holds [] where an object must be"),
        ({"h": 1}, "h holds 1"),
        ({"h": {"A": {"0": {}}}}, "h.A.0 gives null where a number of records must be"),
        ({"h": {"A": {"x": {"offsetLag": 1}}}}, "has 'x' where a partition's number must be"),
        ({"h": {"A": {"0": {"offsetLag": -1}}}}, "h.A.0 gives -1"),
    ],
)
def test_what_are_no_store_lags_is_told(document: Any, message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        store_lags(document)
    assert message in str(caught.value)


@pytest.mark.parametrize(("which", "counts"), [("end", 900), ("start", 100)])
@pytest.mark.parametrize("order", [(100, 900), (900, 100)])
def test_of_two_offsets_of_one_time_the_one_counts_that_leaves_more_to_restore(
    which: Any, counts: int, order: tuple[int, int]
) -> None:
    lines = [json.dumps({"t": 10, which: {"a-0": offset, f"b-{place}": 5}}) for place, offset in enumerate(order)]
    found = read_offsets(["-"], io.BytesIO("\n".join(lines).encode()), kind=which)
    then, before = found.offset_at(("a", 0), 10_000), found.newest_at(("a", 0), 10_000)
    assert then is not None
    assert before is not None
    assert (then.offset, before.offset, found.newest(("a", 0))) == (counts,) * 3
    assert found.newest(("b", 0)) == found.newest(("b", 1)) == 5
    tool = "\n".join(f"a:0:{offset}" for offset in order)
    items = json.dumps([{"topic": "a", "partition": 0, "offset": offset} for offset in order])
    for text in (tool, items):
        assert read_offsets(["-"], io.BytesIO(text.encode()), 5_000, kind=which).newest(("a", 0)) == counts
