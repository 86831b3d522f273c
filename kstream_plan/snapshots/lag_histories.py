"""Lag rows → how applications went on over time: what ``history`` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model.note import name_list
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.files.content import reading_within, temporary_folder
from kstream_plan.snapshots.files.newest_rows import selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths, is_of_another_kind
from kstream_plan.snapshots.reading import all_inputs, look_into
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.lag_course import LagCourse


class LagCourses(NamedTuple):
    """The applications of some lag rows.

    courses: how each went on.
    passed_over: how many rows say too little: no application, process, task or time that can be read.
    skipped: the files whose names say that they hold no lag rows.
    """

    courses: Sequence[LagCourse]
    passed_over: int
    skipped: Sequence[str] = ()


def read_lag_courses(
    paths: Sequence[str],
    *,
    over_ms: int = 86_400_000,
    as_of: str | None = None,
    application_ids: Sequence[str] = (),
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    java_home: str | None = None,
    debug: bool = False,
    stdin: BinaryIO | None = None,
) -> LagCourses:
    """Read how applications went on until their newest lag rows (page ``history``).

    Args:
        paths: lag rows: files, folders and globs; ``-`` is standard input.
        over_ms: how far back from there.
        as_of: the latest time that counts, RFC 3339.
        application_ids: globs; without any, every application is selected.
        master: where Spark runs, by default on all cores of this machine.
        spark_conf: Spark's settings.
        java_home: the Java installation to use.
        debug: let what Spark and Java write through to standard error.
        stdin: what ``-`` stands for, by default the process's standard input.

    Raises:
        SnapshotError: the input is missing, unreadable, or has no lag row of what is asked for.
        SparkError: Spark or Java cannot be started or gave up.
        UsageError: ``as_of`` is no time, or no path is given.
    """
    row_selection = selection(application_ids, as_of)
    if not paths:
        raise UsageError("no lag rows are given", fix="name files, folders or globs, or - for standard input")
    sources = check_paths(paths)
    skipped = [file for file in sources.local if is_of_another_kind(file)]
    to_read = sources._replace(local=tuple(file for file in sources.local if file not in skipped))
    if not any(to_read):  # the error says what is wrong with each
        to_read = sources
    with reading_within(), temporary_folder() as folder:
        files = look_into(to_read, Path(folder, "lags"), stdin, keep_going=False)
        from kstream_plan.snapshots.spark.session import open_session  # noqa: PLC0415 - loads Spark

        with open_session(master, spark_conf, java_home=java_home, debug=debug, little_work=files.little) as spark:
            from kstream_plan.snapshots.spark.lag_courses import (  # noqa: PLC0415 - loads Spark
                known_applications,
                lag_courses,
            )
            from kstream_plan.snapshots.spark.lag_rows import LagFiles  # noqa: PLC0415 - loads Spark

            inputs, _ = all_inputs(spark.sparkContext, files, keep_going=False)
            lag_files = LagFiles(spark, inputs)
            applications = known_applications(lag_files, row_selection.as_of_us)
            unmatched = row_selection.unmatched_globs(applications.newest_us)
            if unmatched or not applications.newest_us:
                raise _nothing_found(paths, unmatched, sorted(applications.newest_us), row_selection.as_of_us)
            newest = {app: at_us for app, at_us in sorted(applications.newest_us.items()) if row_selection.wants(app)}
            courses = lag_courses(spark, lag_files, newest, over_ms * 1000)
            return LagCourses(courses, applications.passed_over, [file.name for file in skipped])


def _nothing_found(
    paths: Sequence[str], unmatched: Sequence[str], known_ids: Sequence[str], as_of_us: int | None
) -> SnapshotError:
    limit_text = "" if as_of_us is None else f" at or before {format_time(as_of_us // 1000)}"
    place = printable(name_list(["standard input" if path == STDIN else path for path in paths]))
    if unmatched and known_ids:
        known_names = name_list(list(map(shown, known_ids)), 6)
        problem = f"no application matches {shown(unmatched[0])} with a lag row{limit_text}"
        return SnapshotError(problem, where=place, fix=f"the input holds {known_names}")
    problem = f"holds no lag row with application_id, process_id, task_id and captured_at{limit_text}"
    fix = "check --as-of" if limit_text else "give lag rows, see: kstream-plan schema lags"
    return SnapshotError(problem, where=place, fix=fix)
