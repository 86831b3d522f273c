"""Rows of results: described whole, and read back as they were written, whatever the form."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.files import each_saved_in, is_plan_file, read_plan_file
from kstream_plan.documents.plan.read import NoPlanError, SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.results import RESULT, each_result, is_results_file, row_of, schema, spark_columns
from kstream_plan.errors import PlanFileError
from kstream_plan.plans.result import Result, result_of
from tests.helpers import plan_cases

PLAN = plan_cases.case("scale-out")
ROWS = [
    replace(result_of(PLAN), plan=plan_json(PLAN)),
    Result(application_id="broken", outcome="unreadable", error="it is broken"),
    Result(application_id=None, outcome="unreadable", error="it is worse"),
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:  # as Spark writes it: without what is null
        lines = ({name: value for name, value in row.items() if value is not None} for row in rows)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture(params=["rows.parquet", "rows.json"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path / request.param, [asdict(row) for row in ROWS])


def test_rows_are_read_as_they_were_written(file: Path) -> None:
    assert is_results_file(file)
    assert is_plan_file(file)
    assert list(each_result(file, with_plan=True)) == ROWS
    assert list(each_result(file, with_plan=False)) == [replace(row, plan=None) for row in ROWS]


def test_the_plan_in_a_row_is_the_plan(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    saved, *others = each_saved_in(file)
    assert isinstance(saved, SavedPlan)
    assert saved.plan == PLAN
    assert [type(of) for of in others] == [NoPlanError] * 2
    assert read_plan_file(file) == [PLAN]
    assert "row 2: has no plan: it is broken" in caplog.text


def test_the_schema_has_every_column_and_describes_every_row() -> None:
    names = [one.name for one in fields(Result)]
    described: Any = schema()
    assert list(described["properties"]) == names
    assert all("description" in of for of in described["properties"].values())
    assert [column.split()[0] for column in spark_columns().split(", ")] == names
    for row in ROWS:
        jsonschema_rs.validator_for(described).validate(RESULT.to_json(row))
        assert len(row_of(row)) == len(names)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format_version": "2.0"}, "this version reads 1.0"),
        ({"kind": "other"}, "is not a row of results"),
        ({"cold_handovers_most": "some"}, "cold_handovers_most"),
        ({"outcome": "gone"}, "outcome"),
    ],
)
def test_a_row_that_is_none_is_told(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.json", [{**asdict(ROWS[0]), **change}])
    (found,) = each_result(file, with_plan=False)
    assert isinstance(found, PlanFileError)
    assert said in str(found)


def test_a_file_that_is_cut_short_is_told(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.json", [asdict(ROWS[0])])
    file.write_text(file.read_text()[:-100])
    (found,) = each_result(file, with_plan=False)
    assert isinstance(found, PlanFileError)


@pytest.mark.parametrize(
    ("draws", "settled", "surely", "all_settle"),
    [
        (None, None, False, True),
        (9, 9, False, True),
        (9, 8, False, False),
        (9, None, True, True),
        (9, None, False, False),
    ],
)
def test_whether_every_draw_settles_is_told_by_rows_of_before_too(
    draws: int | None,
    settled: int | None,
    surely: bool,
    all_settle: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = replace(ROWS[0], draws=draws, draws_settled=settled, settles_surely=surely)
    written = {name: value for name, value in asdict(row).items() if name != "draws_settled" or settled is not None}
    file = write(tmp_path / "rows.parquet", [written])
    [found] = each_result(file, with_plan=False)
    assert isinstance(found, Result)
    assert found.every_draw_settles is all_settle
    assert run(["fleet", str(file)]) == (0 if all_settle else 4)
    assert ("does not settle in 1 of 9 simulations" in capsys.readouterr().out) is (settled == 8)
