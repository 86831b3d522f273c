"""Spark narrows which snapshot rows may count, and that changes none of what Python decides."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kstream_plan.model.times import format_time
from kstream_plan.snapshots.files.newest_rows import MOST_ROWS, RowText, keyed_row, newest_rows, selection
from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.spark.newest_snapshots import newest_snapshots

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

_NOON_MS = 1_795_262_400_000


def _random_row(chance: random.Random, application_id: str | None) -> str:
    """A row of an application; many are of one time or generation, few have none or one that cannot be read."""
    fields: dict[str, Any] = {"application_id": application_id, "n": chance.randrange(3)}
    if chance.random() < 0.95:
        fields["captured_at"] = format_time(_NOON_MS + 20_000 * chance.randrange(12))
    if chance.random() < 0.9:
        fields["generation"] = chance.randrange(4)
    if chance.random() < 0.01:
        fields |= chance.choice([{"captured_at": "noon"}, {"generation": 1.5}, {"kind": "plan"}])
    return json.dumps(fields)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), as_of=st.sampled_from([None, format_time(_NOON_MS + 100_000)]))
def test_narrowing_changes_no_decision(
    seed: int, as_of: str | None, tmp_path_factory: pytest.TempPathFactory, spark: Any
) -> None:
    chance = random.Random(seed)
    names = [None, *(f"{chance.choice('ab')}{number}" for number in range(100))]
    lines = [_random_row(chance, name) for name in names for _ in range(chance.choice([1, 5, 3 * MOST_ROWS]))]
    chance.shuffle(lines)
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    wanted = selection(("a*",), as_of)
    of_all = newest_rows((keyed_row(RowText(path.name, line.encode())) for line in lines), wanted)
    narrowed = newest_snapshots(spark, [Input(str(path), path.name, Form.LINES)], wanted)
    assert sorted(narrowed, key=repr) == sorted((row._replace(older=None) for row in of_all), key=repr)


def test_of_a_long_history_few_rows_come_to_python(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[int] = []
    monkeypatch.setattr(
        "kstream_plan.snapshots.spark.newest_snapshots.newest_rows",
        lambda rows, wanted: newest_rows([came.append(1) or row for row in rows], wanted),  # type: ignore[func-returns-value]
    )
    times = [format_time(_NOON_MS + 60_000 * number) for number in range(500)]
    path = tmp_path / "history.jsonl"
    path.write_text("".join(f"{json.dumps({'application_id': 'orders', 'captured_at': time})}\n" for time in times))
    path.open("a").writelines("{}\n" * 500)
    newest_snapshots(spark, [Input(str(path), path.name, Form.LINES)], selection((), None))
    assert len(came) == 2 * MOST_ROWS
