"""The newest row and the last intervals of every copy of a lag history, read by us and by hand.

Usage: ``python tests/benchmarks/lag_history.py [MILLIONS [PAIRS]]`` (default 10 and 3). 1,000 tasks with 3 copies each
on 50 instances, heard of every five seconds. Each reading has a session of its own, ``spark.driver.memory=1g``, two
cores; what it takes is CPU time, of Java and Python. ``one statement`` is what one writes first, ``two passes`` the
best we know: it asks how often copies are heard of, then reads only their last rows, as we do. It need not see rows
without a time or an application, nor files whose columns differ, all of which we do. All must find the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.rows.lag_window import LagsWanted
from kstream_plan.snapshots.spark.newest_lags import newest_lags
from kstream_plan.snapshots.spark.session import open_session

TASKS, COPIES, INSTANCES, SECONDS = 1_000, 3, 50, 5
LAST = 1_800_000_000
KEYS = ("application_id", "process_id", "task_id", "store")
CONF = {"spark.driver.memory": "1g"}
#: Without Kafka's markers, which are below 0.
POINT = """struct(unix_micros(captured_at) AS at, IF(end_offset >= 0, end_offset, NULL) AS end_offset,
    IF(lag >= 0, lag, NULL) AS lag)"""
WANTED = f"captured_at <= timestamp_seconds({LAST}) AND application_id = 'orders'"


def generate(spark: Any, folder: str, millions: int) -> None:
    """Write the history, in the order of its times: lags of actives 0, of standbys small, of warm-ups falling."""
    stores = TASKS * COPIES
    times = millions * 1_000_000 // stores
    rows = spark.range(0, times * stores, 1, max(2, millions // 2))
    rows.selectExpr(f"id DIV {stores} AS n", f"CAST(id % {stores} AS INT) AS k").selectExpr(
        f"timestamp_seconds({LAST} - ({times} - 1 - n) * {SECONDS}) AS captured_at",
        "'orders' AS application_id",
        f"concat('00000000-0000-4000-8000-', lpad(CAST((k * 7 + k DIV {TASKS} * 13) % {INSTANCES} AS STRING), 12, '0'))"
        " AS process_id",
        f"concat('0_', k % {TASKS}) AS task_id",
        "CAST(NULL AS STRING) AS store",
        f"n * (50 + k % {TASKS}) + 100000 AS end_offset",
        f"CASE k DIV {TASKS} WHEN 0 THEN 0L WHEN 1 THEN pmod(hash(n, k), 20) + 0L ELSE greatest(5000000L - n * 300, 0L)"
        " END AS lag",
        "true AS logged",
    ).write.parquet(folder)


def one_statement(spark: Any, folder: str) -> list[Any]:
    last = f"slice(sort_array(collect_list({POINT}), false), 1, 11) AS points"
    rows = spark.read.parquet(folder).where(WANTED)
    return _digest(rows.groupBy(*KEYS).agg(_expr(f"max(struct({POINT}, logged)) AS newest"), _expr(last)))


def two_passes(spark: Any, folder: str) -> list[Any]:
    rows = spark.read.parquet(folder).where(WANTED)
    ends = "unix_micros(min(captured_at)) AS oldest", "unix_micros(max(captured_at)) AS newest", "count(*) AS rows"
    stores = rows.groupBy(*KEYS).agg(*map(_expr, ends)).toArrow().to_pylist()
    since = min(one["newest"] - (one["newest"] - one["oldest"]) * 11 // (one["rows"] - 1) for one in stores)
    lately = rows.where(f"captured_at >= timestamp_micros({since})").groupBy(*KEYS)
    points = f"slice(sort_array(collect_list({POINT}), false), 1, 11) AS points"
    found = _digest(lately.agg(_expr(f"max(struct({POINT}, logged)) AS newest"), _expr(points)))
    assert len(found) == len(stores)
    assert all(len(points) == 11 for *_, points in found)
    return found


def ours(spark: Any, folder: str) -> list[Any]:
    files = [str(path) for path in sorted(Path(folder).glob("*.parquet"))]
    inputs = [Input(file, file, Form.PARQUET) for file in files]
    texts, _ = newest_lags(spark, inputs, {"orders": LagsWanted(LAST * 1_000_000)})
    found = []
    for text in texts:
        lags = [(one.at_ms, one.end, one.lag) for one in text.intervals]
        first = text.intervals[-1]
        before = (first.at_ms - first.elapsed_ms, first.end_before, first.lag_before)
        row = json.loads(text.text)
        found.append([text.process_id, text.task_id, row["end_offset"], row["lag"], [*map(list, lags), list(before)]])
    return sorted(found)


def _expr(sql: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812 - its customary name

    return F.expr(sql)


def _digest(frame: Any) -> list[Any]:
    return sorted(
        [
            row["process_id"],
            row["task_id"],
            row["points"][0]["end_offset"],
            row["points"][0]["lag"],
            [[point["at"] // 1000, point["end_offset"], point["lag"]] for point in row["points"]],
        ]
        for row in frame.toArrow().to_pylist()
    )


READINGS: dict[str, Callable[[Any, str], list[Any]]] = {
    "one statement": one_statement,
    "two passes": two_passes,
    "ours": ours,
}


def reading(name: str, folder: str, out: str) -> None:
    """Read in this process, and write what it took and what was found."""
    with open_session("local[2]", CONF) as spark:
        jvm: Any = spark._jvm

        def cpu() -> float:
            java = jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toMillis() / 1000
            return float(java) + time.process_time()

        before, start = cpu(), time.perf_counter()
        found = READINGS[name](spark, folder)
        Path(out).write_text(json.dumps([cpu() - before, time.perf_counter() - start, found]))


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in READINGS:
        reading(*sys.argv[1:])
        return
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    names = [name for name in READINGS if name != "one statement" or millions <= 10]
    with tempfile.TemporaryDirectory() as scratch:
        folder = f"{scratch}/lags"
        with open_session("local[2]", CONF) as spark:
            generate(spark, folder, millions)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(f"{millions} million rows, {size / 1e6:.0f} MB")
        took: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(pairs):
            results = []
            for name in names:
                out = f"{scratch}/out.json"
                subprocess.run([sys.executable, __file__, name, folder, out], check=True)
                cpu, clock, found = json.loads(Path(out).read_text())
                took[name].append(cpu)
                results.append(found)
                print(f"{name}: CPU {cpu:.1f} s, {clock:.1f} s (load {os.getloadavg()[0]:.1f})", flush=True)
            assert all(result == results[0] for result in results), "they find the same"
        best = min(median(took[name]) for name in names if name != "ours")
        print(f"ours: {median(took['ours']) / best:.2f} of the best by hand")


if __name__ == "__main__":
    main()
