"""What was measured of copies, as a command is given it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kstream_plan.cli.actions.per_application import PerApplication, per_application
from kstream_plan.cli.options.groups import Measuring
from kstream_plan.cli.output import talk
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.snapshots.files.sources import STDIN

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.topology_text import Topology
    from kstream_plan.snapshots.metrics.measurements import Measurements


def check_measuring(asked: Measuring, *, reads_stdin: bool, others: Sequence[str] = ()) -> None:
    """Check what does not need the input.

    Args:
        asked: the options.
        reads_stdin: whether standard input is read for something else.
        others: what is given beside: a scrape among it is one that the shell has made of a glob.

    Raises:
        UsageError: options that do not go together.
    """
    if asked.metrics:
        _check_no_scrape(others)
    for option, given in (("--end-offsets", asked.end_offsets), ("--start-offsets", asked.start_offsets)):
        if given and not asked.metrics:
            raise UsageError(f"{option} goes with --metrics", fix="give --metrics, or leave it out")
    paths = [
        *(asked.metrics or ()),
        *(asked.end_offsets or ()),
        *(asked.start_offsets or ()),
        *(asked.store_lags or ()),
    ]
    if paths.count(STDIN) + reads_stdin > 1:
        raise UsageError("standard input is given twice", fix="give - once")


def _check_no_scrape(paths: Sequence[str]) -> None:
    from kstream_plan.snapshots.metrics.exposition import holds_metrics  # noqa: PLC0415 - only where it is needed

    for path in paths:
        if path != STDIN and holds_metrics(path):
            fix = "repeat the option (--metrics A --metrics B), give the folder, or put the glob in quotes"
            raise UsageError("holds metrics, and --metrics takes one path", where=path, fix=fix)


def measurements(asked: Measuring, now_ms: int | None) -> Measurements | None:
    """Read what was measured, ``None`` if nothing is given; ``now_ms`` is what options tell is now, since 1970.

    Raises:
        SnapshotError: a file cannot be read or is of another form.
    """
    if not (asked.metrics or asked.store_lags):
        return None
    from kstream_plan.snapshots.metrics.measurements import read_measurements  # noqa: PLC0415 - only where it is needed

    return read_measurements(
        metrics=asked.metrics or (),
        end_offsets=asked.end_offsets or (),
        start_offsets=asked.start_offsets or (),
        store_lags=asked.store_lags or (),
        topology_of=topologies(asked).of,
        clock_ms=time.time_ns() // 1_000_000,
        now_ms=now_ms,
    )


def measured_rows(rows: Iterable[tuple[Mapping[str, Any], Measurements | None]]) -> list[Mapping[str, Any]]:
    """Return snapshot rows with the lags that were measured, and say what is known of them and what is not.

    What is strange about a scrape is so for every group, and said once.

    Raises:
        SnapshotError: what was measured is not of these groups.
    """
    found, said = list[Mapping[str, Any]](), set[str]()
    for row, measured in rows:
        if measured is None:
            found.append(row)
            continue
        from kstream_plan.snapshots.metrics.overlay import with_measured_lags  # noqa: PLC0415 - only where needed
        from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row  # noqa: PLC0415

        overlaid = with_measured_lags(row, measured)
        tell_coverage(snapshot_from_row(overlaid.row, ""), measured.now_ms)
        for message in dict.fromkeys(note.message for note in overlaid.warnings):
            if message not in said:
                talk(f"warning: {message}")
                said.add(message)
        found.append(overlaid.row)
    return found


def tell_coverage(snapshot: Snapshot, now_ms: int | None) -> None:
    """Say of how many copies the lag was measured; ``now_ms``: since 1970, ``None`` for the snapshot's own now."""
    from kstream_plan.snapshots.rows.fields import printable  # noqa: PLC0415 - loaded by now

    if snapshot.coverage is not None:
        at_ms, until_ms = snapshot.captured_at_ms, snapshot.known_until_ms
        then_ms = until_ms if now_ms is None or at_ms is None else now_ms - at_ms
        talk(f"{printable(snapshot.state.group.application_id)}: {snapshot.coverage.told(then_ms)}")


def topologies(asked: Measuring) -> PerApplication[Topology]:
    """Return the texts of ``Topology.describe()`` that are given, by application.

    Raises:
        SnapshotError: one cannot be read.
        UsageError: two are for the same application.
    """
    return per_application(asked.topology, "--topology", _topology_in)


_TEXT_OF_TOPOLOGY = "name a file that the text of Topology.describe() was written to"


def _topology_in(path: Path) -> Topology:
    from kstream_plan.snapshots.broker.topology_text import read_topology  # noqa: PLC0415 - only where it is needed
    from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file  # noqa: PLC0415

    try:
        text = read_file(path, SETTINGS_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8"
        raise SnapshotError(f"cannot be read: {reason}", where=f"--topology {path}", fix=_TEXT_OF_TOPOLOGY) from None
    return read_topology(text, str(path))
