"""Reading the snapshots that a command is given, and what was measured of their copies."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from kstream_plan import snapshots
from kstream_plan.assignors import FOLLOWS_A_FILE, module_of
from kstream_plan.cli.actions.overrides import PerApplication, per_application
from kstream_plan.cli.options.groups import Deciding, Measuring, PlansSnapshots
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.output import check_target, warn, write_stderr
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Note, Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.snapshots.files.kinds import naming_its_file
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.rows.fields import printable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark import SparkContext

    from kstream_plan.snapshots.broker.topology_text import Topology
    from kstream_plan.snapshots.metrics.measurements import Measurements
    from kstream_plan.snapshots.reading import Outcome


class SnapshotHandler(Protocol):
    """What is done with what is read while Spark is still there."""

    def __call__(self, outcomes: Iterator[Outcome], context: SparkContext) -> Sequence[Outcome]:
        """Do it; return what is still to be done. Each outcome is made when it is asked for."""
        ...

    def start_workers(self, applications: int, context: SparkContext) -> AbstractContextManager[None]:
        """Prepare for about so many applications, as long as the context lasts; the call comes within."""
        ...


#: What groups of other protocols are called, and what takes them.
_OTHER = {
    "streams": (
        "streams group (KIP-1071)",
        "assign, simulate (its event bounce restarts), simulate-scaleout, drain, check or fleet",
    ),
    "connect": (
        "Kafka Connect group",
        "drain (kstream-plan drain SNAPSHOT WORKER says what a restart pauses), assign, simulate (its "
        "event bounce restarts several), simulate-scaleout, check, fleet, diff, compare or upgrade --to sessioned",
    ),
}
#: Who decides in groups of other kinds.
_DECIDES = {"streams": "the broker", "connect": "the leading worker"}
_DEFAULTS = PlanOptions().assignor, PlanOptions().protocol
#: Options that only some designs look at.
_OF_DESIGNS = dict.fromkeys(("assignor", "protocol", "max_warmup_replicas", "probing_rebalance_interval"), ("classic",))


def check_before_reading(
    options: PlansSnapshots, out_file: Path | None, *, only_classic: bool = False, several_designs: bool = False
) -> None:
    """Check what does not need the input.

    ``only_classic``: what is asked is about groups of that design. ``several_designs``: more than one may be given.
    """
    _check_lags(options)
    if options.command_line.topology and (not options.metrics or options.lag_rows):
        raise UsageError(
            "--topology goes with measurements, not with lag rows", fix="give --metrics FILE, or leave it out"
        )
    if (
        "balance_factor" in options.command_line.setting_values
        and options.assignor != "balanced"
        and "learner" not in options.designs
    ):
        message = "--set balance.factor goes with --set assignor=balanced, or --design learner"
        raise UsageError(message, fix="give both, or leave it out")
    target = getattr(options.command_line, "target", None)
    if target is not None and FOLLOWS_A_FILE not in (options.assignor, *getattr(options, "assignors_varied", ())):
        message = f"--set target goes with --set assignor={FOLLOWS_A_FILE}"
        raise UsageError(message, fix="give both, or leave it out")
    keys = [(design.name, key) for design in options.design or () for key, _ in design.options or (("", ""),)]
    if len(set(keys)) < len(keys):
        raise UsageError("--design has a duplicate", fix="give every design once")
    designs = [design.name for design in options.design or ()]
    if len(set(designs)) > 1 and not several_designs:
        message = f"--design is given {len(designs)} times"
        raise UsageError(message, fix="give one; simulate and simulate-scaleout set several beside each other")
    other_design = next((name for name in designs if name != "classic"), None)
    if only_classic and other_design is not None:
        message = f"this is about what Kafka does, and --design {other_design} is not"
        raise UsageError(message, fix="leave out --design; compare, simulate and check take it")
    _check_design(options)
    if out_file is not None:
        check_target(out_file)


def read_snapshots(
    paths: Sequence[str],
    options: PlansSnapshots,
    stdin: BinaryIO | None = None,
    protocols: Collection[str] = ("classic",),
    handler: SnapshotHandler | None = None,
) -> Sequence[Outcome]:
    """Read what is under the paths, as a command is asked to.

    ``stdin`` is what ``-`` stands for, if it was read already. Groups of other ``protocols`` are refused. ``handler``
    is called with it, and the Spark that reads it, and returns what is left. What plans is loaded while Java starts.
    """
    check_measuring(options, reads_stdin="-" in paths, other_options=paths)
    measures = None if options.lag_rows else measurements(options, options.now_ms)
    modules = ["kstream_plan.cli.actions.plan", module_of(options.assignor)]
    if getattr(options, "out", None) or getattr(options, "uses_json", False):
        modules.append("kstream_plan.documents.plan.write")
    # one thread: two that import a package and what is in it may wait for each other
    threading.Thread(target=lambda: [import_module(module) for module in modules], daemon=True).start()

    def accept(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        if measures is not None:
            outcomes = _said_of_measures(list(outcomes), options, measures)
        return _accept_each(iter(outcomes), options, protocols)

    read = partial(
        snapshots.read,
        paths,
        lags=options.lag_rows,
        as_of=options.as_of,
        application_ids=options.application_id or (),
        measured=measures,
        keep_going=options.keep_going,
        debug=options.debug,
        stdin=stdin,
        **options.reading,
        **options.session,
    )
    if handler is None:
        return list(accept(read()))
    still_to_do: Sequence[Outcome] | None = None

    def go_on(outcomes: Iterator[Outcome], context: SparkContext) -> Sequence[Outcome]:
        nonlocal still_to_do
        still_to_do = handler(accept(outcomes), context)
        return still_to_do

    outcomes = read(meanwhile=handler.start_workers, then=go_on)
    return list(accept(outcomes)) if still_to_do is None else still_to_do


def _accept_each(outcomes: Iterator[Outcome], options: PlansSnapshots, protocols: Collection[str]) -> Iterator[Outcome]:
    """Yield the groups that the command can do something with, and the errors of others.

    Raises:
        SnapshotError: the first one, unless it is to keep going; what cannot be read is the error before any other.
    """
    for outcome in outcomes:
        answer = _accept(outcome, options, protocols)
        if isinstance(answer, SnapshotError) and not options.keep_going:
            deque(outcomes, maxlen=0)
            raise answer
        yield answer


def _accept(outcome: Outcome, options: PlansSnapshots, protocols: Collection[str]) -> Outcome:
    """Return a group that the command can do something with, or the error that says that it cannot."""
    if isinstance(outcome, SnapshotError) or outcome.group_protocol == "classic":
        return outcome
    protocol, application_id = outcome.group_protocol, outcome.state.group.application_id
    place = f"application {application_id!r}"
    error = None
    if protocol not in protocols:
        kind, takers = _OTHER[protocol]
        message = f"is a {kind}, which this command does not take"
        error = SnapshotError(message, where=place, fix=f"give it to {takers}", application_id=application_id)
    elif (options.assignor, options.protocol) != _DEFAULTS:
        message = f"is a {protocol} group: there {_DECIDES[protocol]} decides, not --set assignor or protocol"
        error = SnapshotError(message, where=place, fix="leave them out", application_id=application_id)
    return error or outcome


def _said_of_measures(
    outcomes: Sequence[Outcome], options: PlansSnapshots, measures: Measurements
) -> Sequence[Outcome]:
    """Say what is known of the copies of each group, and of the scrapes once."""
    topologies(options).check_used(
        {outcome.state.group.application_id for outcome in outcomes if isinstance(outcome, Snapshot)}
    )
    for outcome in outcomes:
        if isinstance(outcome, Snapshot):
            tell_coverage(outcome, options.now_ms)
    return outcomes if len(outcomes) == 1 else _said_once(outcomes, measures.notes)


def _said_once(outcomes: Sequence[Outcome], notes: Sequence[Note]) -> Sequence[Outcome]:
    """Say what is strange about the scrapes of several groups, and return the groups without it."""
    warn(note.message for note in notes)
    return [
        replace(outcome, warnings=tuple(note for note in outcome.warnings if note not in notes))
        if isinstance(outcome, Snapshot)
        else outcome
        for outcome in outcomes
    ]


def _check_lags(options: PlansSnapshots) -> None:
    for name in ("lags_tolerance", "rates_over"):
        if name in options.command_line.setting_values and not options.lag_rows:
            message = f"--set {name.replace('_', '.')} goes with lag rows: --metrics FILE"
            raise UsageError(message, fix="give them, or leave it out")
    if options.lag_rows and len(options.lag_rows) < len(options.metrics or ()):
        message = f"--metrics has lag rows ({printable(options.lag_rows[0])}) and others, and both give the lags"
        raise UsageError(message, fix="give one of them")


def _check_design(options: PlansSnapshots) -> None:
    """Let nobody believe that an option counts which the design does not look at."""
    designs = options.designs or ("classic",)
    for name in options.command_line.names_given(Deciding, Settings):
        takers = _OF_DESIGNS.get(name, designs)
        if not set(takers) & set(designs):
            names = " or ".join(takers)
            raise UsageError(f"{option_of(name)} goes with --design {names}", fix=f"leave it out, or plan by {names}")
    if surplus := next((design.name for design in options.command_line.design or () if design.name not in designs), ""):
        raise UsageError(f"--design {surplus} is not among those that --vary names", fix="leave it out, or vary it too")


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
