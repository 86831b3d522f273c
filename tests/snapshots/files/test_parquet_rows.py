"""Rows of little Parquet files without Spark SQL: what is read, and what is left to it."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstream_plan.snapshots.files import parquet_rows as module
from kstream_plan.snapshots.files.parquet_rows import has_plain_columns, parquet_rows


def saved(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def texts(path: Path) -> list[Any]:
    rows = parquet_rows("a file", path.read_bytes())
    assert rows is not None
    assert {row.file for row in rows} <= {"a file"}
    return [json.loads(row.text) for row in rows]


def test_fields_that_are_null_are_left_out_and_elements_are_not(tmp_path: Path) -> None:
    tasks = [[{"task_id": "0_0", "stateful": None}, None]]
    path = saved(tmp_path / "a", {"application_id": ["a"], "generation": pa.array([None], pa.int32()), "tasks": tasks})
    assert has_plain_columns(str(path))
    assert texts(path) == [{"application_id": "a", "tasks": [{"task_id": "0_0"}, None]}]


def test_a_map_of_texts_is_known_as_one(tmp_path: Path) -> None:
    config = pa.array([[("a", "1"), ("b", None)]], pa.map_(pa.string(), pa.string()))
    rows = parquet_rows("a file", saved(tmp_path / "a", {"application_id": ["a"], "config": config}).read_bytes())
    assert rows is not None
    assert rows[0].config_as_text
    assert json.loads(rows[0].text)["config"] == {"a": "1", "b": None}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_are_text_in_utc(unit: str, zone: str | None, tmp_path: Path) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([1_774_000_000 * per_second, None], pa.timestamp(unit, zone))
    path = saved(tmp_path / "a", {"application_id": ["a", "a"], "captured_at": times})
    assert texts(path) == [
        {"application_id": "a", "captured_at": "2026-03-20 09:46:40+00:00"},
        {"application_id": "a"},
    ]


@pytest.mark.parametrize(
    "column",
    [
        {"application_id": [b"a"]},
        {"application_id": pa.array(["a"]).dictionary_encode()},
        {"generation": [1.5]},
        {"generation": [Decimal("1")]},
        {"generation": pa.array([1], pa.uint32())},
        {"tasks": [[{"task_id": "0_0", "TASK_ID": "0_0"}]]},
        {"Application_Id": ["a"]},
        {"instances": [[{"process_id": date(2026, 11, 21)}]]},
        {"kind": ["result"], "outcome": ["settled"], "plan": ["{}"]},
        {"note": ["nothing of a snapshot"]},
    ],
    ids="-".join,
)
def test_other_columns_and_mistakes_are_left_to_spark(column: dict[str, Any], tmp_path: Path) -> None:
    path = saved(tmp_path / "a", column)
    assert not has_plain_columns(str(path))
    assert parquet_rows("a file", path.read_bytes()) is None


@pytest.mark.parametrize(
    "column",
    [
        {"captured_at": pa.array([2**62], pa.timestamp("us"))},
        {"config": pa.array([[("a", "1"), ("a", "2")]], pa.map_(pa.string(), pa.string()))},
        {"rates": [[{"per_second": float("nan")}]]},
    ],
    ids="-".join,
)
def test_values_that_no_json_has_are_left_to_spark(column: dict[str, Any], tmp_path: Path) -> None:
    assert parquet_rows("a file", saved(tmp_path / "a", {"application_id": ["a"], **column}).read_bytes()) is None


def test_what_unpacks_to_much_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "a", {"application_id": ["a" * 100_000] * 20_000})
    assert path.stat().st_size < 200_000
    assert not has_plain_columns(str(path))
    monkeypatch.setattr(module, "_MOST_EXPANDED", 1 << 62)
    assert has_plain_columns(str(path))


def test_what_is_no_parquet_is_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PAR1 and nothing else PAR1")
    assert not has_plain_columns(str(tmp_path / "a"))
    assert not has_plain_columns(str(tmp_path / "absent"))
    assert parquet_rows("a file", b"PAR1 and nothing else PAR1") is None
