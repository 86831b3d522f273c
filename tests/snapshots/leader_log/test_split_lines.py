"""What a shipper split, and says so, is recognised and joined, whatever stands between the parts."""

from __future__ import annotations

import io
import json

import pytest

from kstream_plan.snapshots.leader_log.lines import LogLines, text_blocks
from kstream_plan.snapshots.leader_log.log_times import LogTimes
from kstream_plan.snapshots.leader_log.messages import is_marked
from kstream_plan.snapshots.leader_log.split_lines import MAX_GAP, PART_SIGN, SplitLines

AT = "2026-11-21T13:00:00.000000000Z"


def cri(text: str, flag: str, stream: str = "stdout") -> str:
    return f"{AT} {stream} {flag} {text}"


def docker(text: str, separators: tuple[str, str] = (",", ":"), **more: object) -> str:
    return json.dumps({"log": text, "stream": "stderr", **more, "time": AT}, separators=separators)


def is_a_part(line: str) -> bool:
    """Whether a line is one that tells that the next continues it."""
    lines = LogLines(text_blocks(io.BytesIO(f"first\n{line}\nlast\n".encode()), "log"), "log", [], PART_SIGN)
    found = lines.next_marked()
    return found is not None and found.text == line.encode()


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_part_is_told_from_a_whole_line(separators: tuple[str, str]) -> None:
    parts = ("", "a", "n", "a\\", "{\\n", 'a"', "\\n\\n")
    assert [text for text in parts if not is_a_part(docker(text, separators))] == []
    assert is_a_part(docker("a", separators, attrs={"tag": "x"}))
    assert [
        text for text in ("\n", "a\n", 'a"\n', '","stream":"stdout"\n') if is_a_part(docker(text, separators))
    ] == []
    assert not is_a_part(json.dumps({"log": "a", "stream": "stdout", "time": AT, "pod": "x"}, separators=separators))
    assert is_a_part(cri("a", "P"))
    assert is_a_part(cri("a", "P:tag", "stderr"))
    assert not is_a_part(cri("a", "F"))


def test_a_part_is_found_behind_lines_of_another_kind() -> None:
    text = "".join(f"{'x' * 100}\n" for _ in range(20_000)) + f"{cri('a', 'F')}\n" * 20_000 + cri("b", "P")
    found = LogLines(text_blocks(io.BytesIO(text.encode()), "log"), "log", [], PART_SIGN).next_marked()
    assert found is not None
    assert (found.number, found.text) == (40_001, cri("b", "P").encode())


def joined(lines: list[str]) -> list[tuple[str, int]]:
    log = LogLines(text_blocks(io.BytesIO("\n".join(lines).encode()), "log"), "log", [])
    split = SplitLines(is_marked, LogTimes())
    found = []
    while line := log.next_line():
        found += list(split.add(line, log.previous_line()))
    return [(whole.envelope.text, whole.number) for whole in [*found, *split.rest()]]


def test_each_stream_has_its_own_parts() -> None:
    lines = [cri("a", "P"), cri("1", "P", "stderr"), "plain", cri("b", "P"), cri("2", "F", "stderr"), cri("c", "F")]
    assert joined([*lines, cri("d", "P")]) == [("plain", 3), ("12", 2), ("abc", 1), ("d", 7)]


def test_the_rest_of_a_line_is_not_awaited_forever() -> None:
    others = ["plain"] * MAX_GAP
    assert ("ab", 1) in joined([cri("a", "P"), *others[1:], cri("b", "F")])
    late = joined([cri("a", "P"), *others, cri("b", "F")])
    assert [item for item in late if item[0] != "plain"] == [("a", 1), ("b", MAX_GAP + 2)]
