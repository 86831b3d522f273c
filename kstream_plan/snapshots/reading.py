"""Files → snapshots: what ``read`` does, step by step."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.files.content import reading_within, temporary_folder
from kstream_plan.snapshots.files.kinds import BrokenFileError
from kstream_plan.snapshots.files.newest_rows import NewestRow, Selection, selection
from kstream_plan.snapshots.files.sources import Form, Input, Paths, check_paths, local_input, spool
from kstream_plan.snapshots.rows.fields import FieldError, Row, parse_time, printable, shown
from kstream_plan.snapshots.rows.json_text import parse_row, refuse_written
from kstream_plan.snapshots.rows.measured_rates import INTERVALS_OVER
from kstream_plan.snapshots.rows.snapshot_row import lags_wanted, snapshot_error, snapshot_from_row
from kstream_plan.snapshots.rows.stalled_copies import copies_behind, with_no_closer

if TYPE_CHECKING:
    from pyspark import SparkContext

    from kstream_plan.snapshots.metrics.measurements import Measurements
    from kstream_plan.snapshots.rows.lag_history import LagHistory
    from kstream_plan.snapshots.spark.newest_lags import LagText

#: One application: its snapshot, or what is wrong with it.
Outcome: TypeAlias = Snapshot | SnapshotError

#: Up to this size inputs count as little; what is packed counts more, by what it typically unpacks to.
LITTLE_BYTES = 16 << 20
#: Up to this many files of little are read sooner without Spark SQL: it takes long to start, and less for each file.
A_FEW = 100
_UNPACKED = {Form.LINES: 1, Form.DOCUMENT: 1, Form.PARQUET: 20}
_UNZIPPED = 10


def read(
    paths: Sequence[str],
    *,
    lags: Sequence[str] = (),
    as_of: str | None = None,
    application_ids: Sequence[str] = (),
    lags_tolerance_ms: int = 60_000,
    lags_as_reported: bool = False,
    rates_over_ms: int | None = None,
    measured: Measurements | None = None,
    keep_going: bool = False,
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    java_home: str | None = None,
    debug: bool = False,
    stdin: BinaryIO | None = None,
    meanwhile: Callable[[int, SparkContext], AbstractContextManager[Any]] = lambda _number, _context: nullcontext(),
    then: Callable[[Iterator[Outcome], SparkContext], Sequence[Outcome]] | None = None,
) -> tuple[Outcome, ...]:
    """Read the newest snapshot of every application that is selected (page ``snapshots``).

    Args:
        paths: files, folders and globs, of any file system Spark can read; ``-`` is standard input.
        lags: lag snapshots that stand in for the snapshots' own lags, paths like the others.
        as_of: the latest time that counts, RFC 3339.
        application_ids: globs; without any, every application is selected.
        lags_tolerance_ms: how much younger than the snapshot a lag row may be.
        lags_as_reported: take a copy that was caught up at its last join for as far behind as it looks by now.
        rates_over_ms: what rates of lag snapshots go over, up to their newest row; by default the last few intervals.
        measured: what applications said of their copies since; it lies over the snapshots' own lags.
        keep_going: return what is wrong with an application beside the others' snapshots, instead of raising it.
        master: where Spark runs, by default on all cores of this machine.
        spark_conf: Spark's settings.
        java_home: the Java installation to use.
        debug: let what Spark and Java write through to standard error.
        stdin: what ``-`` stands for, by default the process's standard input.
        meanwhile: called with the number of rows that count and the Spark that runs; within the context that it returns
            they become snapshots, and ``then`` is called.
        then: called with what is returned, each made when it is asked for, and the Spark that runs, before that ends;
            what it returns is returned instead.

    Returns:
        One outcome per application, sorted by its id. With ``keep_going`` some may be errors; an error that cannot be
        told an application's comes first, its ``application_id`` is ``None``.

    Raises:
        SnapshotError: the input is missing, unreadable, or breaks the contract.
        SparkError: Spark or Java cannot be started or gave up.
        UsageError: ``as_of`` is no time, no path is given, or standard input is given twice.
    """
    row_selection = selection(application_ids, as_of)
    snapshot_paths, lag_paths = _check_arguments(paths, lags)
    with reading_within(), temporary_folder() as folder:
        snapshots = look_into(snapshot_paths, Path(folder, "snapshots"), stdin, keep_going)
        histories = look_into(lag_paths, Path(folder, "lags"), stdin, keep_going=False)
        from kstream_plan.snapshots.spark.session import open_context  # noqa: PLC0415 - loads Spark

        little_work = snapshots.little and histories.little
        sql = bool(lags) or not snapshots.without_sql
        with open_context(
            master, spark_conf, java_home=java_home, debug=debug, little_work=little_work, sql=sql
        ) as context:
            snapshot_rows = _snapshot_rows(context, snapshots, row_selection, keep_going)
            if lags:
                snapshot_rows = _with_lags(context, histories, snapshot_rows, lags_tolerance_ms, rates_over_ms)
            with meanwhile(len(snapshot_rows.rows), context):
                by_application, errors = _by_application(snapshot_rows.rows), snapshot_rows.errors
                del snapshot_rows  # a row lives no longer than until its snapshot is made
                outcomes = _outcomes(by_application, errors, lags_as_reported, measured, keep_going)
                return tuple(outcomes) if then is None else tuple(then(outcomes, context))


class Files(NamedTuple):
    """Files on this machine, looked into; paths that are not; what cannot be read; about how many bytes."""

    inputs: Sequence[Input] = ()
    remote: Sequence[str] = ()
    errors: Sequence[SnapshotError] = ()
    size: int = 0

    @property
    def little(self) -> bool:
        """Whether they are read sooner by a Java that starts quickly than by one that works fast."""
        return self.size <= LITTLE_BYTES and not self.remote

    @property
    def without_sql(self) -> bool:
        """Whether they are read sooner without Spark SQL."""
        if not self.little or len(self.inputs) > A_FEW:
            return False
        if all(file.form is not Form.PARQUET for file in self.inputs):
            return True
        from kstream_plan.snapshots.files.parquet_rows import has_plain_columns  # noqa: PLC0415 - only for Parquet

        return all(file.form is not Form.PARQUET or has_plain_columns(file.path) for file in self.inputs)


class _SnapshotRow(NamedTuple):
    """A snapshot row as text, where it is from, its application as Spark read it, and texts of rows before it.

    Text takes a quarter of the memory of what it is parsed to.
    """

    text: bytes
    file: str
    key: str
    config_as_text: bool
    older: int | None = None
    lags: LagHistory | None = None
    earlier: tuple[bytes, ...] = ()

    @property
    def group(self) -> tuple[str, str]:
        """What stands for its application, or for its file if that is unknown."""
        return self.key, "" if self.key else self.file

    def parse(self) -> Row:
        """Return what is in the row.

        Raises:
            SnapshotError: it is no JSON object.
        """
        try:
            return parse_row(self.text, self.file)
        except SnapshotError as error:
            error.application_id = self.key or None
            raise


class _SnapshotRows(NamedTuple):
    """The rows that count, and what is wrong with others."""

    rows: Sequence[_SnapshotRow]
    errors: Sequence[SnapshotError]


def _check_arguments(paths: Sequence[str], lags: Sequence[str]) -> tuple[Paths, Paths]:
    for argument in (paths, lags):
        if isinstance(argument, str):
            raise UsageError(f"{argument!r} is one path, and several may be given", fix=f"give a list: [{argument!r}]")
    if not paths:
        raise UsageError("no snapshot is given", fix="name files, folders or globs, or - for standard input")
    snapshot_paths, lag_paths = check_paths(paths), check_paths(lags)
    if snapshot_paths.stdin and lag_paths.stdin:
        raise UsageError("standard input is given twice", fix="give - once")
    return snapshot_paths, lag_paths


def look_into(paths: Paths, folder: Path, stdin: BinaryIO | None, keep_going: bool) -> Files:
    """Look into the files before Spark starts; one that it cannot open as it is gets another name in ``folder``.

    Raises:
        SnapshotError: a file cannot be read, unless it is to ``keep_going``.
    """
    folder.mkdir()
    files = list(paths.local)
    if paths.stdin:
        files.append(spool(stdin or sys.stdin.buffer, folder))
    inputs, errors = [], []
    for number, file in enumerate(files):
        try:
            inputs.append(local_input(file, folder, number, _is_a_log))
        except BrokenFileError as error:
            if not keep_going:
                raise
            errors.append(error)
    return Files(inputs, paths.remote, errors, sum(map(_unpacked_size, inputs)))


def _is_a_log(head: bytes) -> bool:
    from kstream_plan.snapshots.leader_log.kinds_of_logs import is_a_log  # noqa: PLC0415 - only for what is no snapshot

    return is_a_log(head)


def _unpacked_size(file: Input) -> int:
    return Path(file.path).stat().st_size * _UNPACKED[file.form] * (_UNZIPPED if file.path.endswith(".gz") else 1)


def _snapshot_rows(context: SparkContext, files: Files, row_selection: Selection, keep_going: bool) -> _SnapshotRows:
    from kstream_plan.snapshots.spark.newest_snapshots import (  # noqa: PLC0415 - Spark
        known_applications,
        newest_little_snapshots,
        newest_snapshots,
    )
    from kstream_plan.snapshots.spark.session import sql_session  # noqa: PLC0415 - loads Spark

    inputs, errors = all_inputs(context, files, keep_going)
    texts: list[NewestRow] = []
    while inputs:
        try:
            if files.without_sql or all(file.long_rows for file in inputs):
                texts = newest_little_snapshots(context, inputs, row_selection)
            else:
                texts = newest_snapshots(sql_session(context), inputs, row_selection)
            break
        except BrokenFileError as error:
            if not keep_going or all(file.name != error.name for file in inputs):
                raise
            errors.append(error)
            inputs = [file for file in inputs if file.name != error.name]
    rows = [
        _SnapshotRow(
            text.text, text.file, text.application_id or "", text.config_as_text, text.older, earlier=text.earlier
        )
        for text in texts
    ]
    application_ids = {row.key for row in rows} | {error.application_id or "" for error in errors}
    unmatched = row_selection.unmatched_globs(application_ids)
    if unmatched or not (rows or errors):
        known_ids = known_applications(sql_session(context), inputs) if inputs else []
        errors += row_selection.nothing_found(unmatched, known_ids, [file.name for file in inputs])
    return _SnapshotRows(rows, errors)


def all_inputs(context: SparkContext, files: Files, keep_going: bool) -> tuple[list[Input], list[SnapshotError]]:
    """Return all files, those too that only Spark can look into, and what cannot be read.

    Raises:
        SnapshotError: a file cannot be read, unless it is to ``keep_going``.
        SparkError: there is no file system for such paths, or it does not answer.
    """
    inputs, errors = list(files.inputs), list(files.errors)
    if files.remote:
        from kstream_plan.snapshots.spark.remote import remote_inputs  # noqa: PLC0415 - loads Spark
        from kstream_plan.snapshots.spark.session import sql_session  # noqa: PLC0415 - loads Spark

        remote, remote_errors = remote_inputs(sql_session(context), files.remote)
        if remote_errors and not keep_going:
            raise remote_errors[0]
        inputs += remote
        errors += remote_errors
    return inputs, errors


def _with_lags(
    context: SparkContext, files: Files, snapshot_rows: _SnapshotRows, tolerance_ms: int, rates_over_ms: int | None
) -> _SnapshotRows:
    """Put the lag snapshots' rows beside the snapshots they are about."""
    from kstream_plan.snapshots.spark.newest_lags import newest_lags  # noqa: PLC0415 - loads Spark
    from kstream_plan.snapshots.spark.session import sql_session  # noqa: PLC0415 - loads Spark

    inputs, _ = all_inputs(context, files, keep_going=False)
    errors, requests, broken_groups = list(snapshot_rows.errors), {}, set()
    for row in snapshot_rows.rows:
        try:
            content = row.parse()
            requests[row.key] = lags_wanted(content, _limit_us(content, tolerance_ms), rates_over_ms)
        except SnapshotError as error:
            errors.append(error)
            broken_groups.add(row.group)
    texts, earliest = newest_lags(sql_session(context), inputs, requests, rates_over_ms)
    by_key: dict[str, list[LagText]] = defaultdict(list)
    for text in texts:
        if text.application_id is None:
            errors.append(nameless_lag_row(text))
        else:
            by_key[text.application_id].append(text)
    rows = []
    for row in snapshot_rows.rows:
        if row.group in broken_groups:
            continue
        try:
            history = lag_history(by_key[row.key], earliest.get(row.key))
            if rates_over_ms is not None:
                history = history._replace(most_intervals=INTERVALS_OVER)
            rows.append(row._replace(lags=history))
        except SnapshotError as error:
            error.application_id = row.key
            errors.append(error)
    return _SnapshotRows(rows, errors)


def _limit_us(row: Row, tolerance_ms: int) -> int | None:
    """Return the last microsecond at which a lag row of this snapshot may be, ``None`` if there is no limit."""
    try:
        return min((parse_time(row["captured_at"]) + tolerance_ms) * 1000 + 999, MAX_LONG)
    except (KeyError, TypeError, ValueError):
        return None  # what is wrong with the time is found when the row is read


def _by_application(rows: Sequence[_SnapshotRow]) -> dict[tuple[str, str], list[_SnapshotRow]]:
    by_application: dict[tuple[str, str], list[_SnapshotRow]] = defaultdict(list)
    for row in rows:
        by_application[row.group].append(row)
    return by_application


def _outcomes(
    by_application: dict[tuple[str, str], list[_SnapshotRow]],
    errors: Sequence[SnapshotError],
    lags_as_reported: bool,
    measurements: Measurements | None,
    keep_going: bool,
) -> Iterator[Outcome]:
    """Yield what comes of the rows of each application, which are gone then.

    Raises:
        SnapshotError: the first one, unless it is to ``keep_going``.
    """
    outcome_of = partial(_outcome_of, lags_as_reported, measurements)
    first_outcomes: list[tuple[str, Outcome]] = [(error.application_id or "", error) for error in errors]
    first_outcomes += [("", outcome_of(by_application.pop(group))) for group in list(by_application) if not group[0]]
    first_outcomes.sort(
        key=lambda outcome: (outcome[0], str(outcome[1]) if isinstance(outcome[1], SnapshotError) else "")
    )
    by_id = ((group[0], outcome_of(by_application.pop(group))) for group in sorted(by_application))
    for _, outcome in merge(first_outcomes, by_id, key=itemgetter(0)):
        if isinstance(outcome, SnapshotError) and not keep_going:
            raise outcome
        yield outcome


def _outcome_of(lags_as_reported: bool, measurements: Measurements | None, rows: Sequence[_SnapshotRow]) -> Outcome:
    """Return the only snapshot of an application, or what is wrong with it."""
    try:
        contents = [row.parse() for row in rows]
        snapshots = list(map(partial(_read_row, lags_as_reported), rows, contents))
        if len(snapshots) == 1 and measurements is not None:
            return _measured_snapshot(rows[0], contents[0], lags_as_reported, measurements)
    except SnapshotError as error:
        return error
    if len(snapshots) == 1:
        return snapshots[0]
    application_id = snapshots[0].state.group.application_id
    captured_at = snapshots[0].captured_at or "no time"
    files = " and ".join(sorted({printable(row.file) for row in rows}))
    problem = f"has {len(rows)} snapshots of {captured_at}, generation {snapshots[0].state.generation}"
    fix = "keep one of them"
    return SnapshotError(
        problem, where=f"{files}: application {shown(application_id)}", fix=fix, application_id=application_id
    )


def _read_row(lags_as_reported: bool, row: _SnapshotRow, content: Row) -> Snapshot:
    is_counted = bool(row.older) and content.get("generation") is None  # as a history's are, from 0
    snapshot = snapshot_from_row(
        {**content, "generation": row.older} if is_counted else content,
        row.file,
        lags=row.lags,
        lags_as_reported=lags_as_reported,
        config_as_text=row.config_as_text,
    )
    if row.lags is None:
        snapshot = with_no_closer(snapshot, _earlier(row, snapshot))
    return replace(snapshot, older=row.older)


def _earlier(row: _SnapshotRow, newest: Snapshot) -> list[Snapshot]:
    """Read the rows before a row, if copies are behind in it; what cannot be read does not matter."""
    snapshots: list[Snapshot] = []
    if not copies_behind(newest):
        return snapshots
    for text in row.earlier:
        try:
            earlier = parse_row(text, row.file)
            snapshots.append(
                snapshot_from_row(earlier, row.file, lags_as_reported=True, config_as_text=row.config_as_text)
            )
        except SnapshotError:
            continue
    return snapshots


def _measured_snapshot(row: _SnapshotRow, content: Row, lags_as_reported: bool, measurements: Measurements) -> Snapshot:
    """Read a row, which can be read, with the lags that were measured."""
    from kstream_plan.snapshots.metrics.overlay import with_measured_lags  # noqa: PLC0415 - not without --metrics

    overlay = with_measured_lags(content, measurements)
    snapshot = _read_row(lags_as_reported, row, overlay.row)
    return replace(snapshot, warnings=(*overlay.warnings, *snapshot.warnings))


def nameless_lag_row(text: LagText) -> SnapshotError:
    """Return what is wrong with a row that names no application."""
    try:
        refuse_written(parse_row(text.text, text.file))
    except SnapshotError as error:
        return error
    except FieldError as error:
        return snapshot_error(error, text.file)
    return SnapshotError("a lag row has no application_id", where=printable(text.file), fix="give it")


def lag_history(texts: Sequence[LagText], earliest_us: int | None) -> LagHistory:
    """Return the newest rows of one application and the last intervals of its stores.

    Args:
        texts: the rows.
        earliest_us: if there is none of them, the earliest time of a row beyond the limit (microseconds since 1970).

    Raises:
        SnapshotError: a row is no JSON object.
    """
    from kstream_plan.snapshots.rows.lag_history import (  # noqa: PLC0415 - not without lag rows
        HistoryRow,
        LagHistory,
        StoreHistory,
    )

    rows = [HistoryRow(parse_row(text.text, text.file), text.file, text.has_duplicate) for text in texts]
    stores = [
        StoreHistory(
            text.process_id or "",
            text.task_id or "",
            text.store,
            tuple(sorted(text.intervals)),
        )
        for text in texts
    ]
    earliest = None if earliest_us is None else format_time(earliest_us // 1000)
    return LagHistory(sorted(rows, key=repr), sorted(stores, key=repr), earliest)
