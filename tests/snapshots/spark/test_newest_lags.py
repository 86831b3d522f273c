"""The newest rows and last intervals of lag histories that are heard of unevenly, beside a slow reference."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.rows.lag_history import StoreInterval
from kstream_plan.snapshots.rows.lag_window import LagsWanted
from kstream_plan.snapshots.spark.newest_lags import LagText, newest_lags
from tests.helpers.snapshot_rows import P0, P1

pytestmark = pytest.mark.spark

NOON_S = 1_795_262_400
HOUR_S = 3_600
_NUMBERS = ("offset", "end_offset", "lag")

#: When a copy is heard of, in seconds before noon.
_HEARD: Sequence[Callable[[random.Random], list[int]]] = (
    lambda order: list(range(order.randrange(5), 9_000, order.choice((10, 30, 300)))),
    lambda order: [0, *range(8_000, 8_040), 9_000],  # often, and then for long not at all
    lambda order: [order.randrange(9_000)],
    lambda order: sorted(order.sample(range(-300, 9_000), 15)),  # some after the limit
    lambda order: list(range(5_000 + order.randrange(900), 9_000, 60)),  # it moved away
)


def _history(order: random.Random) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for app in ("orders", "payments"):
        for copy in range(8):
            heard = order.choice(_HEARD)(order) if copy else list(range(0, 9_000, 30))
            for ago in heard:
                end = 1_000_000 - 7 * ago
                known = order.choice(({"lag": ago % 911}, {"offset": end - ago % 911}, {"lag": -2}))
                process_id = order.choice((P0, P0.upper())) if copy % 2 else P1
                fields = {"application_id": app, "process_id": process_id, "task_id": f"0_{copy // 4}"}
                more = {"store": order.choice((None, "s")) if copy % 4 == 3 else f"s{copy}", "end_offset": end, **known}
                rows.append({**fields, "at": NOON_S - ago, **more})
    different = {str([str(value).lower() for value in list(row.values())[:5]]): row for row in rows}
    found = list(different.values())
    order.shuffle(found)
    return found


def _timed(row: dict[str, Any], text: bool) -> dict[str, Any]:
    at = datetime.fromtimestamp(row["at"], UTC)
    return {name: value for name, value in row.items() if name != "at"} | {
        "captured_at": at.isoformat() if text else at
    }


def _save(rows: Sequence[dict[str, Any]], form: str, path: Path) -> Input:
    if form == "json":
        path.write_text("".join(json.dumps(_timed(row, text=True)) + "\n" for row in rows))
        return Input(str(path), str(path), Form.LINES)
    time = pa.string() if form == "parquet with texts" else pa.timestamp("us", "UTC")
    columns = [(name, pa.string()) for name in ("application_id", "process_id", "task_id", "store")]
    schema = pa.schema([*columns, ("captured_at", time), *((name, pa.int64()) for name in _NUMBERS)])
    timed = [_timed(row, text=form == "parquet with texts") for row in rows]
    pq.write_table(pa.Table.from_pylist(timed, schema=schema), path, row_group_size=100)
    return Input(str(path), str(path), Form.PARQUET)


def _points(rows: list[dict[str, Any]]) -> list[tuple[int, int, int | None]]:
    def behind(row: dict[str, Any]) -> int | None:
        if "offset" in row:
            return int(row["end_offset"] - row["offset"])
        return row["lag"] if row["lag"] >= 0 else None

    return sorted((row["at"] * 1000, row["end_offset"], behind(row)) for row in rows)


def _expected(rows: list[dict[str, Any]], until_s: dict[str, int], over_s: int | None) -> dict[Any, Any]:
    """The newest row of each store and the intervals of its last points, one by one."""
    stores: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["at"] <= until_s[row["application_id"]]:
            stores[row["application_id"], row["process_id"].lower(), row["task_id"], row["store"]].append(row)
    newest = {app: max(row["at"] for key in stores if key[0] == app for row in stores[key]) for app in until_s}
    found = {}
    for key, item in stores.items():
        points = _points(item)
        if over_s is None:
            points = points[-11:]
        else:
            step_ms = over_s * 1000 // 60
            lately = [point for point in points if point[0] >= (newest[key[0]] - over_s) * 1000]
            steps = {(newest[key[0]] * 1000 - point[0]) // step_ms: point for point in sorted(lately)}
            points = sorted(steps.values())
        intervals = [
            StoreInterval(point[0], point[0] - before[0], before[2], point[2], before[1], point[1])
            for before, point in pairwise(points)
        ]
        found[key] = (max(row["at"] for row in item), max(item, key=lambda row: row["at"])["end_offset"], intervals)
    return found


def _read(text: LagText) -> tuple[Any, Any]:
    row = json.loads(text.text)
    assert not text.has_duplicate
    at = int(datetime.fromisoformat(row["captured_at"]).replace(tzinfo=UTC).timestamp())
    key = (text.application_id, text.process_id, text.task_id, text.store)
    return key, (at, row["end_offset"], sorted(text.intervals))


@pytest.mark.parametrize(
    ("forms", "seed", "over_s"),
    [
        (("parquet",), 1, None),
        (("parquet", "parquet with texts", "json"), 2, None),
        (("parquet",), 3, HOUR_S),
        (("json",), 4, None),
    ],
)
def test_uneven_histories_are_read_as_one_by_one(
    forms: Sequence[str], seed: int, over_s: int | None, tmp_path: Path, spark: Any
) -> None:
    rows = _history(random.Random(seed))
    inputs = [_save(rows[n :: len(forms)], form, tmp_path / f"{n}.x") for n, form in enumerate(forms)]
    until_s = {"orders": NOON_S, "payments": NOON_S - 600 * (seed % 2)}
    wanted = {app: LagsWanted(at * 1_000_000) for app, at in until_s.items()}
    texts, earliest = newest_lags(spark, inputs, wanted, None if over_s is None else over_s * 1000)
    assert earliest == {}
    assert dict(map(_read, texts)) == _expected(rows, until_s, over_s)


def test_copies_that_are_heard_of_evenly_are_read_without_a_table_of_them(tmp_path: Path, spark: Any) -> None:
    """What is picked goes by one time, so that nothing is joined; what there is of it is the same."""
    rows = [
        {"application_id": app, "process_id": process, "task_id": task, "store": None, "at": NOON_S - ago, **figures}
        for app in ("orders", "payments")
        for process in (P0, P1)
        for task in ("0_0", "0_1")
        for ago in range(0, 3_000, 30)
        for figures in ({"end_offset": 100_000 - ago, "lag": ago},)
    ]
    before = spark._jsparkSession.sharedState().statusStore().executionsCount()
    texts, _ = newest_lags(spark, [_save(rows, "parquet", tmp_path / "x")], {"orders": LagsWanted(NOON_S * 1_000_000)})
    expected = _expected([row for row in rows if row["application_id"] == "orders"], {"orders": NOON_S}, None)
    assert dict(map(_read, texts)) == expected
    assert spark._jsparkSession.sharedState().statusStore().executionsCount() - before == 2, "one to count, one to read"


#: What Spark calls what a scan has read.
_FILES, _ROWS = "number of files read", "number of output rows"


def _scans(spark: Any, before: int) -> list[dict[str, int]]:
    """What each scan of files has read, in the queries after so many, by Spark's own metrics."""
    store = spark._jsparkSession.sharedState().statusStore()
    found = []
    for number in range(before, store.executionsCount()):
        query = store.executionsList(number, 1).head().executionId()
        values, nodes = store.executionMetrics(query), store.planGraph(query).allNodes()
        for node in (nodes.apply(place) for place in range(nodes.size())):
            if node.name().startswith("Scan parquet"):
                metrics = [node.metrics().apply(place) for place in range(node.metrics().size())]
                known = {one.name(): values.get(one.accumulatorId()) for one in metrics}
                found.append({name: int(known[name].get().replace(",", "")) for name in (_FILES, _ROWS)})
    return found


def test_of_a_year_in_folders_by_day_only_the_last_day_before_a_time_is_read(tmp_path: Path, spark: Any) -> None:
    """From noon to noon that is two folders; a third may hold rows of it if days begin elsewhere than in UTC."""
    copies, inputs = [(process, task) for process in (P0, P1) for task in ("0_0", "0_1")], []
    for day in range(365):
        times = [NOON_S + HOUR_S * (11 - hour - 24 * day) for hour in range(24)]
        rows = [
            {
                "application_id": "orders",
                "process_id": process,
                "task_id": task,
                "store": None,
                "at": at,
                "lag": at % 97,
            }
            for at in times
            for process, task in copies
        ]
        folder = tmp_path / f"date={datetime.fromtimestamp(times[-1], UTC):%Y-%m-%d}"
        folder.mkdir()
        inputs.append(_save(rows, "parquet", folder / "part.parquet"))
    before = spark._jsparkSession.sharedState().statusStore().executionsCount()
    noon_us = (NOON_S - 100 * 24 * HOUR_S) * 1_000_000
    texts, _ = newest_lags(spark, inputs, {"orders": LagsWanted(noon_us)})
    assert len(texts) == len(copies)
    scans = _scans(spark, before)
    assert len(scans) == 2, "one to count, one to read"
    a_day = 24 * len(copies)
    assert all(scan[_FILES] <= 3 and 0 < scan[_ROWS] <= 2 * a_day for scan in scans)
