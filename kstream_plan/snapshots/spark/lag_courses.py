"""Lag rows → how applications went on over time: one narrow pass leaves the ends of each copy and step.

Everything below is of that: as many rows as copies times steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.rows.lag_course import (
    STEPS,
    InstanceCourse,
    LagCourse,
    Progress,
    TaskCourse,
    sum_of,
    together,
)
from kstream_plan.snapshots.spark.failures import plain_path
from kstream_plan.snapshots.spark.lag_rows import LagFiles, Times
from kstream_plan.snapshots.spark.newest_lags import POINT
from kstream_plan.snapshots.spark.texts import explained

_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
#: Process ids are compared by value.
_PROCESS = f"CASE WHEN process_id RLIKE '{_UUID}' THEN lower(process_id) ELSE process_id END"

#: Of a copy: the first and last figure that is known, by the number of the step, which counts back from the newest.
_LAST = "min_by({0}, step) FILTER (WHERE {0} IS NOT NULL)"
_FIRST = "max_by(first_{0}, step) FILTER (WHERE first_{0} IS NOT NULL)"
#: Of a store in a step: the first figure. Without it, what grows within the first step would not be seen.
_FIRST_IN_STEP = "min_by({0}, at) FILTER (WHERE {0} IS NOT NULL)"
#: What was written, and restored besides, between them.
_WRITTEN = f"{_LAST.format('log_end')} - {_FIRST.format('log_end')}"
#: A topic that was made anew is shorter; what is not known stays so, for which ``greatest`` has no eye.
_NOT_BELOW_0 = "IF({0} < 0, 0, {0})"
#: A row about the whole task beats those about its stores.
_WHOLE = "coalesce(max({0}) FILTER (WHERE store IS NULL), sum({0}) FILTER (WHERE store IS NOT NULL))"


class Known(NamedTuple):
    """What there is: the newest time of each application, in microseconds since 1970; rows that say too little."""

    newest_us: Mapping[str, int]
    passed_over: int


def known_applications(files: LagFiles, until_us: int | None) -> Known:
    """Return which applications there are at or before a time.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    newest: dict[str, int] = {}
    passed_over = 0
    with explained({plain_path(file.path): file.name for file in files.inputs}):
        for frame in files.rows(None, Times(until_us=until_us), with_file=False):
            complete = F.expr("at IS NOT NULL AND process_id IS NOT NULL AND task_id IS NOT NULL")
            found = frame.rows.groupBy("application_id").agg(
                F.max(F.when(complete, F.col("at"))).alias("at"), F.count_if(~complete).alias("passed_over")
            )
            for row in found.toArrow().to_pylist():
                app, at = row["application_id"], row["at"]
                passed_over += row["passed_over"]
                if app is not None and at is not None:
                    newest[app] = max(at, newest.get(app, at))
    return Known(newest, passed_over)


def lag_courses(spark: SparkSession, files: LagFiles, newest_us: Mapping[str, int], over_us: int) -> list[LagCourse]:
    """Return how applications went on until their newest rows, in the order of their names.

    Args:
        spark: the session.
        files: the files.
        newest_us: the applications, each with the time of its newest row that counts.
        over_us: how far back from there.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    times = Times(min(newest_us.values()) - over_us + 1, max(newest_us.values()))
    columns = ("application_id", "process_id", "task_id", "store", "at", "offset", "end_offset", "lag")
    with explained({plain_path(file.path): file.name for file in files.inputs}):
        frames = [frame.rows.select(*columns) for frame in files.rows(newest_us, times, with_file=False)]
        copies = _by_copy_and_step(reduce(DataFrame.unionByName, frames), _table(spark, newest_us), over_us).persist()
        try:
            series, instances, tasks = (_rows(find(copies)) for find in (_series, _instances, _tasks))
        finally:
            copies.unpersist()
    return [
        _course(app, series[app], instances[app], tasks[app], at_us, over_us)
        for app, at_us in sorted(newest_us.items())
    ]


def _table(spark: SparkSession, newest_us: Mapping[str, int]) -> DataFrame:
    return spark.createDataFrame(
        pyarrow.table({"application_id": list(newest_us), "newest_us": pyarrow.array(newest_us.values())})
    )


def _by_copy_and_step(rows: DataFrame, newest: DataFrame, over_us: int) -> DataFrame:
    """Return the newest and the first figures of every copy in every step, step 0 the newest."""
    rows = rows.join(F.broadcast(newest), "application_id").where("process_id IS NOT NULL AND task_id IS NOT NULL")
    rows = rows.where(f"at > newest_us - {over_us} AND at <= newest_us")
    rows = rows.withColumn("step", F.expr(f"CAST((newest_us - at) * {STEPS} DIV {over_us} AS INT)"))
    rows = rows.withColumns({name: F.expr(sql) for name, sql in POINT.items()})
    stores = rows.groupBy("application_id", "process_id", "task_id", "store", "step").agg(
        F.expr("max_by(behind, at)").alias("behind"),
        F.expr("max_by(log_end, at)").alias("log_end"),
        F.expr(_FIRST_IN_STEP.format("behind")).alias("first_behind"),
        F.expr(_FIRST_IN_STEP.format("log_end")).alias("first_log_end"),
        F.min("at").alias("first_at"),
        F.max("at").alias("at"),
        F.count("*").alias("rows"),
    )
    return (
        stores.withColumn("process", F.expr(_PROCESS))
        .groupBy("application_id", "process", "task_id", "step")
        .agg(
            F.expr(_WHOLE.format("behind")).alias("behind"),
            F.expr(_WHOLE.format("log_end")).alias("log_end"),
            F.expr(_WHOLE.format("first_behind")).alias("first_behind"),
            F.expr(_WHOLE.format("first_log_end")).alias("first_log_end"),
            F.min("first_at").alias("first_at"),
            F.max("at").alias("at"),
            F.sum("rows").alias("rows"),
        )
    )


def _series(copies: DataFrame) -> DataFrame:
    return copies.groupBy("application_id", "process", "step").agg(F.expr("sum(behind)").alias("behind"))


def _of_copies(copies: DataFrame) -> DataFrame:
    """Return first and last of every copy; what it restored is what was written, and by how much its lag fell."""
    return copies.groupBy("application_id", "process", "task_id").agg(
        F.expr(_LAST.format("behind")).alias("last"),
        F.expr(_FIRST.format("behind")).alias("first"),
        F.expr(_NOT_BELOW_0.format(_WRITTEN)).alias("written"),
        F.min("first_at").alias("begin"),
        F.max("at").alias("end"),
        F.sum("rows").alias("rows"),
    )


def _instances(copies: DataFrame) -> DataFrame:
    return (
        _of_copies(copies)
        .groupBy("application_id", "process")
        .agg(
            F.count("*").alias("copies"),
            F.sum("rows").alias("rows"),
            F.sum("last").alias("last"),
            F.sum("first").alias("first"),
            F.sum("written").alias("written"),
            F.expr(f"sum({_NOT_BELOW_0.format('(written + first - last)')})").alias("restored"),
            F.min("begin").alias("begin"),
            F.max("end").alias("end"),
        )
    )


def _tasks(copies: DataFrame) -> DataFrame:
    return (
        _of_copies(copies)
        .groupBy("application_id", "task_id")
        .agg(
            F.count("*").alias("copies"),
            F.max("last").alias("last"),
            F.expr("max(written / ((end - begin) / 1000000.0)) FILTER (WHERE end > begin)").alias("per_second"),
        )
    )


def _rows(frame: DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in frame.toArrow().to_pylist():
        found[row["application_id"]].append(row)
    return found


def _course(
    app: str,
    series: Sequence[Mapping[str, Any]],
    instances: Sequence[Mapping[str, Any]],
    tasks: Sequence[Mapping[str, Any]],
    newest_us: int,
    over_us: int,
) -> LagCourse:
    lags: dict[str, list[int | None]] = {row["process"]: [None] * STEPS for row in instances}
    for row in series:
        lags[row["process"]][STEPS - 1 - row["step"]] = row["behind"]
    found = [
        InstanceCourse(row["process"], row["copies"], row["end"] // 1000, _progress(row), tuple(lags[row["process"]]))
        for row in instances
    ]
    found.sort(key=lambda one: (-_growth(one.progress), -(one.progress.lag or 0), one.process_id))
    of_tasks = [TaskCourse(row["task_id"], row["copies"], row["last"], _number(row["per_second"])) for row in tasks]
    of_tasks.sort(key=lambda task: (-(task.written_per_second or 0), -(task.lag or 0), task.task_id))
    return LagCourse(
        app,
        (newest_us - over_us) // 1000,
        newest_us // 1000,
        sum(row["rows"] for row in instances),
        sum(row["copies"] for row in instances),
        together([one.progress for one in found]),
        sum_of([one.lags for one in found]),
        tuple(found),
        tuple(of_tasks),
    )


def _progress(row: Mapping[str, Any]) -> Progress:
    seconds = (row["end"] - row["begin"]) / 1e6
    rate: Callable[[int | None], float | None] = lambda n: None if n is None or seconds <= 0 else n / seconds  # noqa: E731
    return Progress(row["last"], row["first"], rate(row["written"]), rate(row["restored"]))


def _growth(progress: Progress) -> int:
    return 0 if progress.lag is None or progress.lag_before is None else progress.lag - progress.lag_before


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
