"""A data set written by Spark, at any path it can write: there whole at the end, or not at all."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import DataFrame

from kstream_plan.errors import KstreamPlanError
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.spark.failures import explained, writing_failure
from kstream_plan.snapshots.spark.private_names import hadoop

#: How Spark calls the forms, and what it is told besides.
_FORMS = {"parquet": ("parquet", {"compression": "zstd"}), "jsonl": ("json", {})}
#: Spark leaves it in a folder that it has written whole.
_WHOLE = "_SUCCESS"


class DataSet:
    """The folder that a data set goes to. It is checked before the work, and written after it."""

    def __init__(self, context: SparkContext, path: str, *, overwrite: bool) -> None:
        self._jvm, configuration = hadoop(context)
        self._name, self._overwrite = path, overwrite
        with explained({}, writing_failure(path)):
            self._path = self._jvm.org.apache.hadoop.fs.Path(path)
            self._files = self._path.getFileSystem(configuration)
            self._path = self._files.makeQualified(self._path)

    def check(self) -> None:
        """Check that it may be written.

        Raises:
            KstreamPlanError: there is something, and it is not to be, or must not be, overwritten.
            SparkError: it is unknown.
        """
        with explained({}, writing_failure(self._name)):
            if not self._files.exists(self._path):
                return
            whole = self._files.exists(self._jvm.org.apache.hadoop.fs.Path(self._path, _WHOLE))
        place = f"--out {printable(self._name)}"
        if not self._overwrite:
            fix = "name another folder, or replace it with --set overwrite=true"
            raise KstreamPlanError("exists already", where=place, fix=fix)
        if not whole:
            raise KstreamPlanError(
                "exists, and is no data set that was written so", where=place, fix="name another folder"
            )

    def write(self, rows: DataFrame, form: str) -> None:
        """Write the rows beside it, then put them in its place.

        Raises:
            SparkError: they cannot be written; then everything is as it was.
        """
        spark_form, options = _FORMS[form]
        new_path, old_path = self._sibling("new"), self._sibling("old")
        with explained({}, writing_failure(self._name)):
            try:
                rows.write.format(spark_form).options(**options).save(new_path.toString())
                replaces = self._files.exists(self._path)
                if replaces:
                    self._rename(self._path, old_path)
                try:
                    self._rename(new_path, self._path)
                except BaseException:
                    if replaces:
                        self._rename(old_path, self._path)
                    raise
            except BaseException:
                with suppress(Py4JError, OSError):
                    self._files.delete(new_path, True)
                raise
            if replaces:
                self._files.delete(old_path, True)

    def _sibling(self, role: str) -> Any:
        """Return a place beside it, which readers of folders pass over."""
        name = f".{self._path.getName()}.{role}-{uuid.uuid4().hex}"
        return self._jvm.org.apache.hadoop.fs.Path(self._path.getParent(), name)

    def _rename(self, source: Any, target: Any) -> None:
        if not self._files.rename(source, target):
            place = f"--out {printable(self._name)}"
            raise KstreamPlanError("cannot be put in its place", where=place, fix="check who may write there")
