"""Rows as files: the same rows are the same bytes, and the reader's own words for them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import UsageError
from kstream_plan.snapshots.files.sources import Form, LocalFile, form_of, read_head
from kstream_plan.snapshots.leader_log.kinds_of_logs import is_a_log
from kstream_plan.snapshots.rows.write import ENDINGS, check_ending, file_bytes, row_lines

ROWS = st.lists(
    st.dictionaries(st.text(max_size=3), st.recursive(st.integers() | st.text(), st.lists, max_leaves=4), max_size=4),
    min_size=1,
    max_size=4,
)


def loaded(content: bytes, name: str) -> list[object]:
    text = (gzip.decompress(content) if name.endswith(".gz") else content).decode("ascii")
    if ".jsonl" in name:
        return [json.loads(line) for line in text.splitlines()]
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


@given(ROWS, st.sampled_from(ENDINGS))
def test_what_was_written_is_read_back(rows: list[dict[str, object]], ending: str) -> None:
    assert loaded(file_bytes(rows, f"x{ending}"), f"x{ending}") == rows


@given(ROWS, st.sampled_from(ENDINGS))
def test_the_order_of_keys_does_not_show(rows: list[dict[str, object]], ending: str) -> None:
    other = [dict(reversed(row.items())) for row in rows]
    assert file_bytes(rows, f"x{ending}") == file_bytes(other, f"x{ending}")


def test_zipped_content_has_neither_time_nor_name() -> None:
    content = file_bytes([{"a": 1}], "secret.json.gz")
    assert content[3:8] == b"\0\0\0\0\0"
    assert b"secret" not in content


def test_a_row_is_one_line() -> None:
    assert list(row_lines([{"b": "\n", "a": [1]}, {}])) == ['{"a": [1], "b": "\\n"}\n', "{}\n"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_reader_takes_every_ending(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(file_bytes([{"application_id": "a"}, {"application_id": "b"}], path.name))
    head = read_head(LocalFile(str(path), path.name))
    assert form_of(head, path.name, is_a_log) is (Form.LINES if ".jsonl" in ending else Form.DOCUMENT)


@pytest.mark.parametrize("name", ["x", "x.gz", "x.parquet", "json"])
def test_another_ending_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="does not say what to write"):
        check_ending(name)
