"""Saved plans and results on other file systems (``s3a://…``, ``hdfs://…``), fetched before they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kstream_plan.cli.options.running import Spark
from kstream_plan.snapshots.files.content import keep_fetched, temporary_folder
from kstream_plan.snapshots.files.sources import STDIN, local_path


@contextmanager
def download_plans(paths: Sequence[str], options: Spark, *, debug: bool) -> Iterator[None]:
    """Let saved plans and results be read by whoever reads files; a session is open meanwhile, if one is needed.

    A path under which there is anything else is left to those who read snapshots.
    """
    remote_paths = [path for path in dict.fromkeys(paths) if path != STDIN and local_path(path) is None]
    if not remote_paths:
        yield
        return
    from kstream_plan.snapshots.spark.remote import fetched_plans  # noqa: PLC0415 - loads Spark
    from kstream_plan.snapshots.spark.session import open_session  # noqa: PLC0415

    with temporary_folder() as folder, open_session(**options.session, debug=debug) as spark:
        for number, path in enumerate(remote_paths):
            subfolder = folder / str(number)
            subfolder.mkdir()
            keep_fetched(path, fetched_plans(spark, path, subfolder))
        yield
