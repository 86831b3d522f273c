"""Lag rows → how applications went on over time: one narrow pass leaves the ends of each copy and step.

Everything below is of that: as many rows as copies times steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import pyarrow
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.errors import SnapshotError
from kstream_plan.model.state import LATEST
from kstream_plan.snapshots.rows.fields import FieldError, printable
from kstream_plan.snapshots.rows.lag_course import (
    FIGURES,
    NOTABLE,
    STEPS,
    InstanceCourse,
    LagCourse,
    Progress,
    TaskCourse,
    is_silent,
    sum_of,
    total_progress,
)
from kstream_plan.snapshots.rows.tasks_and_members import parsed_task_id
from kstream_plan.snapshots.spark.failures import explained, plain_path
from kstream_plan.snapshots.spark.lag_rows import LagFiles, Times
from kstream_plan.snapshots.spark.newest_lags import POINT
from kstream_plan.snapshots.spark.texts import file_name

_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
#: Process ids are compared by value.
_PROCESS = f"CASE WHEN process_id RLIKE '{_UUID}' THEN lower(process_id) ELSE process_id END"

#: Of a copy: the first and last figure that is known, by the number of the step, which counts back from the newest.
_LAST = "min_by({0}, step) FILTER (WHERE {0} IS NOT NULL)"
_FIRST = "max_by(first_{0}, step) FILTER (WHERE first_{0} IS NOT NULL)"
#: Of a store in a step: the first and last figure that is known. Without the first,
#: what grows within the first step would not be seen.
_FIRST_IN_STEP = "min_by({0}, at) FILTER (WHERE {0} IS NOT NULL)"
_LAST_IN_STEP = "max_by({0}, at) FILTER (WHERE {0} IS NOT NULL)"
#: What was written, and restored besides, between them.
_WRITTEN = f"{_LAST.format('log_end')} - {_FIRST.format('log_end')}"
#: A topic that was made anew is shorter; what is not known stays so, for which ``greatest`` has no eye.
_NOT_BELOW_0 = "IF({0} < 0, 0, {0})"
#: A row about the whole task beats those about its stores, of which all must be known.
_WHOLE = (
    "coalesce(max({0}) FILTER (WHERE store IS NULL),"
    " IF(count_if(store IS NOT NULL AND {0} IS NOT NULL) = max(stores),"
    " sum({0}) FILTER (WHERE store IS NOT NULL), NULL))"
)
#: A store is as it was until it is heard of again, in the steps of its copy; what is said of the whole task is not.
_UNTIL_HEARD = "IF(store IS NULL, array(step), filter(steps, one -> one <= step AND one > coalesce(heard, -1)))"
#: A running active task is caught up, and nothing is restored of a store without a changelog. An offset beyond the end,
#: which was read before it, is no lag that makes up for that of others.
_BEHIND = f"""CASE WHEN lag = {LATEST} OR offset = {LATEST} OR NOT logged THEN 0
    WHEN {POINT["behind"]} < 0 THEN 0 ELSE {POINT["behind"]} END"""

#: What a row needs to count.
_NEEDED = ("application_id", "at", "process_id", "task_id")

#: By how much a copy's lag fell, the least, and its task: of the copy that fell behind most.
_MOST_BEHIND = "min(struct(first - last AS fell, task_id)) FILTER (WHERE first IS NOT NULL AND last IS NOT NULL)"

#: What an instance's copies add up to, as :data:`FIGURES`.
_FIGURES = ("last", "first", "written", "restored")


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
            complete = F.expr(" AND ".join(f"{name} IS NOT NULL" for name in _NEEDED))
            counts = frame.rows.groupBy("application_id").agg(
                F.max(F.when(complete, F.col("at"))).alias("at"), F.count_if(~complete).alias("passed_over")
            )
            for row in counts.toArrow().to_pylist():
                app, at_us = row["application_id"], row["at"]
                passed_over += row["passed_over"]
                if app is not None and at_us is not None:
                    newest[app] = max(at_us, newest.get(app, at_us))
    return Known(newest, passed_over)


def lag_courses(spark: SparkSession, files: LagFiles, newest_us: Mapping[str, int], over_us: int) -> list[LagCourse]:
    """Return how applications went on until their newest rows, in the order of their names.

    Args:
        spark: the session.
        files: the files.
        newest_us: the applications, each with the time of its newest row that counts.
        over_us: how far back from there.

    Raises:
        SnapshotError: a file cannot be read, a row has a task id that is none.
        SparkError: Spark gave up.
    """
    times = Times(min(newest_us.values()) - over_us + 1, max(newest_us.values()))
    columns = ("application_id", "process_id", "task_id", "store", "at", "offset", "end_offset", "lag", "logged")
    names = {plain_path(file.path): file.name for file in files.inputs}
    with explained(names):
        frames = [frame.rows.select(*columns) for frame in files.rows(newest_us, times, with_file=False)]
        copies = _by_copy_and_step(reduce(DataFrame.unionByName, frames), _table(spark, newest_us), over_us).persist()
        try:
            series, instances, tasks = (_rows(find(copies)) for find in (_series, _instances, _tasks))
        finally:
            copies.unpersist()
        _check_task_ids(files, tasks, names)
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
    rows = rows.withColumns({"log_end": F.expr(POINT["log_end"]), "behind": F.expr(_BEHIND)})
    stores = rows.groupBy("application_id", "process_id", "task_id", "store", "step").agg(
        F.expr(_LAST_IN_STEP.format("behind")).alias("behind"),
        F.expr(_LAST_IN_STEP.format("log_end")).alias("log_end"),
        F.expr(_FIRST_IN_STEP.format("behind")).alias("first_behind"),
        F.expr(_FIRST_IN_STEP.format("log_end")).alias("first_log_end"),
        F.min("at").alias("first_at"),
        F.max("at").alias("at"),
        F.count("*").alias("rows"),
    )
    return (
        _in_all_steps(stores.withColumn("process", F.expr(_PROCESS)))
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


def _in_all_steps(stores: DataFrame) -> DataFrame:
    """Put each store, with how many its copy has, into every step of the copy from where it is first heard of."""
    copy = ("application_id", "process", "task_id")
    of_store = Window.partitionBy(*copy, "store").orderBy(F.desc("step"), "at", "process_id")
    stores = stores.withColumns(
        {
            "steps": F.collect_set("step").over(Window.partitionBy(*copy)),
            "stores": F.size(F.collect_set("store").over(Window.partitionBy(*copy))),
            "heard": F.lead("step").over(of_store),
        }
    )
    as_it_was = {
        "first_behind": "IF(in_step < step, behind, first_behind)",
        "first_log_end": "IF(in_step < step, log_end, first_log_end)",
        **{name: f"IF(in_step < step, NULL, {name})" for name in ("first_at", "at", "rows")},
    }
    spread = stores.withColumn("in_step", F.explode(F.expr(_UNTIL_HEARD)))
    spread = spread.withColumns({name: F.expr(sql) for name, sql in as_it_was.items()})
    return spread.withColumn("step", F.col("in_step"))


def _series(copies: DataFrame) -> DataFrame:
    """Return the steps of every instance, unknown where a copy's lag is that is known in another one."""
    known_lags = F.count("behind").over(Window.partitionBy("application_id", "process", "task_id"))
    series = copies.withColumn("known", known_lags).where("known > 0").groupBy("application_id", "process", "step")
    return series.agg(F.expr("IF(count(behind) = count(*), sum(behind), NULL)").alias("behind"))


def _of_copies(copies: DataFrame) -> DataFrame:
    """Return the first and last lag of every copy, and the records that were written meanwhile."""
    return copies.groupBy("application_id", "process", "task_id").agg(
        F.expr(_LAST.format("behind")).alias("last"),
        F.expr(_FIRST.format("behind")).alias("first"),
        F.expr(f"IF(min(first_at) < max(at), {_NOT_BELOW_0.format(_WRITTEN)}, NULL)").alias("written"),
        F.expr("coalesce(min(first_at) FILTER (WHERE first_log_end IS NOT NULL), min(first_at))").alias("begin"),
        F.max("at").alias("end"),
        F.sum("rows").alias("rows"),
    )


def _instances(copies: DataFrame) -> DataFrame:
    return (
        _of_copies(copies)
        .withColumn("restored", F.expr(_NOT_BELOW_0.format("(written + first - last)")))
        .groupBy("application_id", "process")
        .agg(
            F.count("*").alias("copies"),
            F.sum("rows").alias("rows"),
            F.expr(f"count_if(last - first > {NOTABLE})").alias("copies_behind"),
            F.expr(_MOST_BEHIND).alias("most_behind"),
            *(F.sum(name).alias(name) for name in _FIGURES),
            *(F.count(name).alias(f"{name}_known") for name in _FIGURES),
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
            F.count("last").alias("last_known"),
            F.expr("max(written / ((end - begin) / 1000000.0)) FILTER (WHERE end > begin)").alias("per_second"),
        )
    )


def _rows(frame: DataFrame) -> dict[str, list[dict[str, Any]]]:
    rows_by_application: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in frame.toArrow().to_pylist():
        rows_by_application[row["application_id"]].append(row)
    return rows_by_application


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
    courses = [_instance(row, lags[row["process"]], newest_us, over_us) for row in instances]
    courses.sort(key=_behind_most)
    of_tasks = [_task(row) for row in tasks]
    of_tasks.sort(key=lambda task: (-(task.written_per_second or 0), -(task.lag or 0), task.task_id))
    return LagCourse(
        app,
        (newest_us - over_us) // 1000,
        newest_us // 1000,
        sum(row["rows"] for row in instances),
        sum(row["copies"] for row in instances),
        total_progress([course.progress for course in courses]),
        sum_of(courses),
        tuple(courses),
        tuple(of_tasks),
        min(row["begin"] for row in instances) // 1000,
    )


def _instance(row: Mapping[str, Any], lags: Sequence[int | None], newest_us: int, over_us: int) -> InstanceCourse:
    silent_ms, step_ms = (newest_us - row["end"]) // 1000, over_us // 1000 // STEPS
    most = row["most_behind"] if row["copies_behind"] else None
    return InstanceCourse(
        row["process"],
        row["copies"],
        row["end"] // 1000,
        _progress(row),
        tuple(lags),
        row["copies_behind"],
        None if most is None else (most["task_id"], -most["fell"]),
        is_silent(tuple(lags), silent_ms, step_ms),
    )


def _behind_most(course: InstanceCourse) -> tuple[int, int, int, str]:
    """Sort by: falls behind, or may; grew most; is furthest behind; process id."""
    progress = course.progress
    return (
        (True, None, False).index(course.falls_behind),
        -(progress.growth or 0),
        -(progress.lag or 0),
        course.process_id,
    )


def _progress(row: Mapping[str, Any]) -> Progress:
    seconds = (row["end"] - row["begin"]) / 1e6
    rate: Callable[[int | None], float | None] = lambda n: None if n is None or seconds <= 0 else n / seconds  # noqa: E731
    least = (figure for name, figure in zip(_FIGURES, FIGURES, strict=True) if 0 < row[f"{name}_known"] < row["copies"])
    return Progress(row["last"], row["first"], rate(row["written"]), rate(row["restored"]), tuple(least))


def _task(row: Mapping[str, Any]) -> TaskCourse:
    least = ("lag",) if 0 < row["last_known"] < row["copies"] else ()
    return TaskCourse(row["task_id"], row["copies"], row["last"], _number(row["per_second"]), least)


def _check_task_ids(
    files: LagFiles, tasks: Mapping[str, Sequence[Mapping[str, Any]]], names: Mapping[str, str]
) -> None:
    for app, rows in sorted(tasks.items()):
        for task_id in sorted(row["task_id"] for row in rows):
            try:
                parsed_task_id("task_id", task_id)
            except FieldError as error:
                is_row_of_task = (F.col("application_id") == app) & (F.col("task_id") == task_id)
                first_files = [
                    frame.rows.where(is_row_of_task).agg(F.min("file")).head() for frame in files.rows([app], Times())
                ]
                file = min(row[0] for row in first_files if row is not None and row[0] is not None)
                raise SnapshotError(
                    f"{error.path} {error.problem}", where=printable(file_name(file, names)), fix=error.fix
                ) from None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
