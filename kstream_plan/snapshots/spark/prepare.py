"""What the first runs leave for later ones, made at once: archives of Java's classes, as images and CI want them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from kstream_plan.errors import SparkError
from kstream_plan.model import Snapshot
from kstream_plan.snapshots.files.content import temporary_folder
from kstream_plan.snapshots.reading import read
from kstream_plan.snapshots.spark.class_archive import finish_archives
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import archives_awaited, needs_sparks_scripts, sparks_jars

_PROCESS_ID = "00000000-0000-0000-0000-00000000000"
_SAMPLE = {
    "application_id": "sample",
    "captured_at": "2026-11-21T12:00:00Z",
    "tasks": [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 1000} for number in range(4)],
    "instances": [
        {"process_id": f"{_PROCESS_ID}1", "consumers": [{"consumer_id": "a", "active": [f"0_{n}" for n in range(4)]}]},
        {"process_id": f"{_PROCESS_ID}2", "consumers": [{"consumer_id": "b"}]},
    ],
}
_LAGS = [
    {
        "application_id": "sample",
        "captured_at": f"2026-11-21T{time}Z",
        "process_id": f"{_PROCESS_ID}2",
        "task_id": "0_0",
        "offset": offset,
        "end_offset": 1000,
    }
    for time, offset in (("11:59:00", 500), ("12:00:00", 600))
]


def prepare(progress: Callable[[str], None]) -> tuple[Snapshot, list[Path]]:
    """Have Java archive its classes, those of Spark SQL too, and wait for it.

    Returns:
        A small snapshot that was read meanwhile, and the archives.

    Raises:
        SparkError: Java or Spark does not start, or cannot leave archives.
    """
    if needs_sparks_scripts({}):
        problem = "Spark starts by its own scripts, which take no archive"
        raise SparkError(problem, fix="unset SPARK_HOME and what else belongs to an installed Spark")
    java, jars = find_java(), sparks_jars()
    with temporary_folder() as folder, archives_awaited():
        snapshots, parquet, lags = folder / "sample.json", folder / "sample.parquet", folder / "lags.parquet"
        snapshots.write_text(json.dumps(_SAMPLE), encoding="utf-8")
        _write_parquet(parquet, lags)
        progress("archiving the classes of Java and Spark")
        [snapshot] = read([str(snapshots)])
        progress("archiving the classes of Spark SQL")
        read([str(parquet)], lags=[str(lags)])
        archives = finish_archives(java, jars)
    if len(archives) < 2:
        problem = "Java could not leave an archive of its classes in the cache folder"
        raise SparkError(
            problem, fix="unset KSTREAM_PLAN_NO_CACHE, and let this user alone write there, 512 MiB at least"
        )
    assert isinstance(snapshot, Snapshot)
    return snapshot, archives


def _write_parquet(snapshots: Path, lags: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - takes its time
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.Table.from_pylist([_SAMPLE])
    application_id = table.column("application_id").dictionary_encode()  # which only Spark SQL reads
    pq.write_table(table.set_column(0, "application_id", application_id), snapshots)
    pq.write_table(pa.Table.from_pylist(_LAGS), lags)
