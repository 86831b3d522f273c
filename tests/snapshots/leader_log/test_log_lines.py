"""The lines that matter are found wherever blocks end, with their numbers."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.snapshots.leader_log import lines
from kstream_plan.snapshots.leader_log.lines import LogLine, LogLines, text_blocks

MARKERS = (b"ab", b"cde")
TEXTS = st.lists(st.text("abcde x", max_size=12).map(str.encode), max_size=30)


def marked(content: bytes) -> list[LogLine]:
    log = LogLines(text_blocks(io.BytesIO(content), "log"), "log", MARKERS)
    found = []
    while line := log.next_marked():
        found.append(line)
    return found


@given(TEXTS, st.booleans(), st.sampled_from([2, 3, 5, 13, 1 << 20]), st.booleans())
def test_the_marked_lines_are_those_with_a_marker(texts: list[bytes], ended: bool, block: int, packed: bool) -> None:
    content = b"\n".join(texts) + (b"\n" if ended else b"")
    expected = [
        LogLine(number, text)
        for number, text in enumerate(content.split(b"\n"), 1)
        if any(marker in text for marker in MARKERS)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        assert marked(gzip.compress(content) if packed else content) == expected


@given(TEXTS, st.lists(st.booleans(), min_size=60, max_size=60))
def test_marked_lines_and_all_lines_may_be_asked_for_in_turn(texts: list[bytes], turns: list[bool]) -> None:
    content = b"".join(text + b"\r\n" for text in texts)
    log = LogLines(text_blocks(io.BytesIO(content), "log"), "log", MARKERS)
    last = 0
    for is_marked in turns:
        line = log.next_marked() if is_marked else log.next_line()
        if line is None:
            break
        assert line.text == texts[line.number - 1]
        between = texts[last : line.number - 1]
        assert not between or (is_marked and not any(marker in text for text in between for marker in MARKERS))
        last = line.number


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_a_log_that_powershell_wrote_is_read(encoding: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    assert marked("\ufeffx\r\nä ab\r\n".encode(encoding)) == [LogLine(2, "ä ab".encode())]


def test_a_long_line_that_matters_is_whole() -> None:
    text = b"ab" + b"x" * (12 << 20)
    assert marked(b"y" * (9 << 20) + b"\n" + text + b"\nz\n") == [LogLine(2, text)]


def test_several_zipped_files_in_one_are_read_to_the_end() -> None:
    assert marked(gzip.compress(b"1 ab\n2") + gzip.compress(b" ab\n3\n4 cde")) == [
        LogLine(1, b"1 ab"),
        LogLine(2, b"2 ab"),
        LogLine(4, b"4 cde"),
    ]
