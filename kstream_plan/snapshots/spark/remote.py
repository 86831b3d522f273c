"""Files that only Hadoop can open (``s3a://…``, ``hdfs://…``): which there are, and what is in them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.kinds import HEAD_BYTES, BrokenFileError, unzipped_head
from kstream_plan.snapshots.files.sources import PARQUET_MAGIC, Form, Input, form_of, may_be_empty
from kstream_plan.snapshots.leader_log.kinds_of_logs import is_a_log
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.json_text import COLUMNS_OF_RESULTS, kind_of
from kstream_plan.snapshots.spark.failures import explained, spark_failure
from kstream_plan.snapshots.spark.private_names import hadoop

#: The kinds of documents that are read by ``show``, ``check``, ``diff`` and ``fleet``.
_PLANS = {"plan", "result"}

_LOG = logging.getLogger(__name__)


class _File(NamedTuple):
    """A file, and whether there is nothing in it."""

    name: str
    is_empty: bool


def remote_inputs(spark: SparkSession, paths: Sequence[str]) -> tuple[list[Input], list[BrokenFileError]]:
    """Expand paths, folders and globs as Hadoop does and look into every file.

    In a folder empty files are passed over with a warning, as they are on this machine.

    Returns:
        The files, each once, and an error for each that is neither JSON nor Parquet.

    Raises:
        SnapshotError: a path that does not exist, or a folder without a file.
        SparkError: there is no file system for such paths, or it does not answer.
    """
    inputs: dict[str, Input] = {}
    errors = []
    try:
        for path in paths:
            files = _passing_over_empty(list(_files(spark, path)))
            if not files:
                raise SnapshotError("does not exist or holds no file", where=printable(path), fix="check the path")
            for file in files:
                try:
                    inputs[file] = Input(file, file, _form(spark, file))
                except BrokenFileError as error:
                    errors.append(error)
    except Py4JError as error:
        raise spark_failure(str(error), {}) from None
    return [inputs[file] for file in sorted(inputs)], errors


def fetched_plans(spark: SparkSession, path: str, folder: Path) -> dict[str, str]:
    """Copy saved plans and results into ``folder``, and return their names and the copies; none if there is more there.

    Of the Parquet files of a folder one is looked into.

    Raises:
        SparkError: there is no file system for such paths, or it does not answer.
    """
    kinds: dict[str, bool] = {}
    copies: dict[str, str] = {}
    with explained({}):
        files = sorted(_files(spark, path))
        for number, (file, is_empty) in enumerate(files):
            if is_empty:
                continue
            if not _holds_plans(spark, file, kinds):
                return {}
            copies[file] = str(folder / f"{number:06d}-{file.rpartition('/')[2]}")
        jvm, configuration = hadoop(spark)
        for file, copy in copies.items():
            source, target = (jvm.org.apache.hadoop.fs.Path(name) for name in (file, f"file://{copy}"))
            source.getFileSystem(configuration).copyToLocalFile(False, source, target, True)
    if copies:
        _passing_over_empty(files)
    return copies


def _holds_plans(spark: SparkSession, file: str, kinds: dict[str, bool]) -> bool:
    head = _first_bytes(spark, file)
    if not head.startswith(PARQUET_MAGIC):
        try:
            return kind_of(unzipped_head(head, file).content) in _PLANS
        except BrokenFileError:
            return False
    parent = file.rpartition("/")[0]
    if parent not in kinds:
        kinds[parent] = set(spark.read.parquet(file).columns) >= COLUMNS_OF_RESULTS
    return kinds[parent]


def _passing_over_empty(files: Sequence[_File]) -> list[str]:
    """Return the names of those that are not empty; those that are, are told as warnings."""
    for file in sorted(files):
        if file.is_empty and not may_be_empty(file.name):
            _LOG.warning("%s is empty: it is passed over", printable(file.name))
    return sorted(file.name for file in files if not file.is_empty)


def _files(spark: SparkSession, path: str) -> Iterator[_File]:
    jvm, configuration = hadoop(spark)
    pattern = jvm.org.apache.hadoop.fs.Path(path)
    system = pattern.getFileSystem(configuration)
    for status in system.globStatus(pattern) or ():
        if not status.isDirectory():
            yield _File(status.getPath().toString(), is_empty=False)  # whoever names it is told of it as an error
            continue
        statuses = system.listFiles(status.getPath(), True)
        start = len(status.getPath().toString()) + 1
        while statuses.hasNext():
            file = statuses.next()
            name = file.getPath().toString()
            is_hidden = any(part.startswith((".", "_")) for part in name[start:].split("/"))
            if not is_hidden:
                yield _File(name, is_empty=file.getLen() == 0)


def _form(spark: SparkSession, file: str) -> Form:
    head = unzipped_head(_first_bytes(spark, file), file)
    form = form_of(head, file, is_a_log)
    if form is not Form.PARQUET and head.zipped != file.endswith(".gz"):
        problem = "is gzip under another name" if head.zipped else "is named .gz but is not gzip"
        raise BrokenFileError(file, problem, "rename it: Spark goes by the name")
    return form


def _first_bytes(spark: SparkSession, file: str) -> bytes:
    jvm, configuration = hadoop(spark)
    path = jvm.org.apache.hadoop.fs.Path(file)
    stream = path.getFileSystem(configuration).open(path)
    try:
        head = jvm.org.apache.commons.io.input.BoundedInputStream(stream, HEAD_BYTES)
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(head))
    finally:
        stream.close()
