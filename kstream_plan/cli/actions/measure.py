"""What was measured of copies, as a command is given it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kstream_plan.cli.actions.overrides import PerApplication, per_application
from kstream_plan.cli.options.groups import Measuring
from kstream_plan.cli.output import write_stderr
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.snapshots.files.kinds import naming_its_file
from kstream_plan.snapshots.files.sources import STDIN

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.topology_text import Topology
    from kstream_plan.snapshots.metrics.measurements import Measurements


def check_measuring(options: Measuring, *, reads_stdin: bool, other_options: Sequence[str] = ()) -> None:
    """Check what does not need the input.

    ``reads_stdin``: for something else. ``other_options``: a scrape among them is one that the shell made of a glob.
    """
    if not options.metrics:
        return
    from kstream_plan.snapshots.metrics.measured_files import split_mark  # noqa: PLC0415 - only where it is needed

    _check_no_scrape(other_options)
    if [split_mark(text).path for text in options.metrics].count(STDIN) + reads_stdin > 1:
        raise UsageError("standard input is given twice", fix="give - once")


def _check_no_scrape(paths: Sequence[str]) -> None:
    from kstream_plan.snapshots.metrics.exposition import holds_metrics  # noqa: PLC0415 - only where it is needed

    for path in paths:
        if path != STDIN and holds_metrics(path):
            fix = "repeat the option (--metrics A --metrics B), give the folder, or put the glob in quotes"
            raise UsageError("holds metrics, and --metrics takes one path", where=path, fix=fix)


def measurements(options: Measuring, now_ms: int | None) -> Measurements | None:
    """Read what was measured, ``None`` if nothing is given; ``now_ms`` is what options tell is now, since 1970."""
    if not options.metrics:
        return None
    from kstream_plan.snapshots.metrics.measured_files import measured_files  # noqa: PLC0415 - only where it is needed
    from kstream_plan.snapshots.metrics.measurements import read_measurements  # noqa: PLC0415 - only where it is needed

    topology_of = topologies(options).value_for
    with naming_its_file("what was measured", "a text of metrics", "a file of offsets", "a page of HTML"):
        return read_measurements(
            **measured_files(options.metrics),
            topology_of=topology_of,
            clock_ms=time.time_ns() // 1_000_000,
            now_ms=now_ms,
        )


def measured_rows(rows: Iterable[tuple[Mapping[str, Any], Measurements | None]]) -> list[Mapping[str, Any]]:
    """Return snapshot rows with the lags that were measured, and say what is known of them and what is not.

    What is strange about a scrape is so for every group, and said once.
    """
    rows_with_lags, texts = list[Mapping[str, Any]](), set[str]()
    for row, measures in rows:
        if measures is None:
            rows_with_lags.append(row)
            continue
        from kstream_plan.snapshots.metrics.overlay import with_measured_lags  # noqa: PLC0415 - only where needed
        from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row  # noqa: PLC0415

        row_with_lags = with_measured_lags(row, measures)
        tell_coverage(snapshot_from_row(row_with_lags.row, ""), measures.now_ms)
        for message in dict.fromkeys(note.message for note in row_with_lags.warnings):
            if message not in texts:
                write_stderr(f"warning: {message}")
                texts.add(message)
        rows_with_lags.append(row_with_lags.row)
    return rows_with_lags


def tell_coverage(snapshot: Snapshot, now_ms: int | None) -> None:
    """Say of how many copies the lag was measured; ``now_ms``: since 1970, ``None`` for the snapshot's own now."""
    from kstream_plan.snapshots.rows.fields import printable  # noqa: PLC0415 - loaded by now

    if snapshot.coverage is not None:
        at_ms, until_ms = snapshot.captured_at_ms, snapshot.known_until_ms
        then_ms = until_ms if now_ms is None or at_ms is None else now_ms - at_ms
        write_stderr(f"{printable(snapshot.state.group.application_id)}: {snapshot.coverage.told(then_ms)}")


def topologies(options: Measuring) -> PerApplication[Topology]:
    """Return the texts of ``Topology.describe()`` that are given, by application."""
    return per_application(options.topology, "--topology", _topology_in)


_TEXT_OF_TOPOLOGY = "name a file that the text of Topology.describe() was written to"


def _topology_in(path: Path) -> Topology:
    from kstream_plan.snapshots.broker.topology_text import read_topology  # noqa: PLC0415 - only where it is needed
    from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file, text_in  # noqa: PLC0415

    with naming_its_file("a topology", "a log"):
        try:
            text = text_in(read_file(path, SETTINGS_BYTES))
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise SnapshotError(problem, where=f"--topology {path}", fix=_TEXT_OF_TOPOLOGY) from None
        return read_topology(text, str(path))
