"""Reading the snapshots that a command is given."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from kstream_plan import snapshots
from kstream_plan.assignors import module_of
from kstream_plan.cli.actions.measure import check_measuring, measurements, tell_coverage, topologies
from kstream_plan.cli.options.groups import PlansSnapshots
from kstream_plan.cli.output import check_target, talk
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Note, Snapshot
from kstream_plan.planner.options import PlanOptions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark import SparkContext

    from kstream_plan.snapshots.metrics.measurements import Measurements


class Then(Protocol):
    """What is done with what was read while Spark is still there."""

    def __call__(self, outcomes: Sequence[Snapshot | SnapshotError], context: SparkContext) -> None:
        """Do it."""
        ...

    def expected(self, applications: int, context: SparkContext) -> AbstractContextManager[None]:
        """Prepare for about so many applications, as long as the context lasts; the call comes within."""
        ...


DEFAULT_LAGS_TOLERANCE_MS = 60_000
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


def check_before_reading(
    asked: PlansSnapshots, out: Path | None, *, only_classic: bool = False, several_designs: bool = False
) -> None:
    """Check what does not need the input.

    ``only_classic``: what is asked is about groups of that design. ``several_designs``: more than one may be given.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    _check_lags(asked)
    if asked.topology and not (asked.metrics or asked.store_lags):
        raise UsageError("--topology goes with --metrics", fix="give --metrics, or leave it out")
    if asked.balance_factor is not None and asked.assignor != "balanced" and "learner" not in asked.designs:
        what = "--balance-factor goes with --assignor balanced, or --design learner"
        raise UsageError(what, fix="give both, or leave it out")
    designs = asked.design or ()
    if len(set(designs)) < len(designs):
        raise UsageError("--design has a duplicate", fix="give every design once")
    if len(designs) > 1 and not several_designs:
        what = f"--design is given {len(designs)} times"
        raise UsageError(what, fix="give one; simulate and simulate-scaleout set several beside each other")
    other = next((name for name in designs if name != "classic"), None)
    if only_classic and other is not None:
        what = f"this is about what Kafka does, and --design {other} is not"
        raise UsageError(what, fix="leave out --design; compare, simulate and check take it")
    _check_design(asked)
    if out is not None:
        check_target(out)


def read_snapshots(
    paths: Sequence[str],
    asked: PlansSnapshots,
    stdin: BinaryIO | None = None,
    protocols: Collection[str] = ("classic",),
    then: Then | None = None,
) -> Sequence[Snapshot | SnapshotError]:
    """Read what is under the paths, as a command is asked to.

    ``stdin`` is what ``-`` stands for, if it was read already. Groups of other ``protocols`` are refused. ``then`` is
    called with what is returned, and the Spark that read it. What plans is loaded while Java starts.

    Raises:
        KstreamPlanError: it cannot be read.
    """
    check_measuring(asked, reads_stdin="-" in paths, others=paths)
    measured = measurements(asked, asked.now_ms)
    for module in ("kstream_plan.cli.actions.plan", module_of(asked.assignor)):
        threading.Thread(target=import_module, args=(module,), daemon=True).start()

    def accept(found: Sequence[Snapshot | SnapshotError]) -> list[Snapshot | SnapshotError]:
        if measured is not None:
            found = _said_of_measures(found, asked, measured)
        return [_accepted(one, asked, protocols) for one in found]

    if then is None:
        return accept(_read(paths, asked, stdin=stdin, measured=measured))
    accepted: list[Snapshot | SnapshotError] | None = None

    def go_on(found: Sequence[Snapshot | SnapshotError], context: SparkContext) -> None:
        nonlocal accepted
        accepted = accept(found)
        then(accepted, context)

    found = _read(paths, asked, stdin=stdin, measured=measured, meanwhile=then.expected, then=go_on)
    return accept(found) if accepted is None else accepted


def _accepted(
    one: Snapshot | SnapshotError, asked: PlansSnapshots, protocols: Collection[str]
) -> Snapshot | SnapshotError:
    """Return a group that the command can do something with, or the error that says that it cannot.

    Raises:
        KstreamPlanError: it cannot, and an error of one group stops all.
    """
    if isinstance(one, SnapshotError) or one.group_protocol == "classic":
        return one
    protocol, application_id = one.group_protocol, one.state.group.application_id
    where = f"application {application_id!r}"
    error = None
    if protocol not in protocols:
        called, takers = _OTHER[protocol]
        what = f"is a {called}, which this command does not take"
        error = SnapshotError(what, where=where, fix=f"give it to {takers}", application_id=application_id)
    elif (asked.assignor, asked.protocol) != _DEFAULTS:
        what = f"is a {protocol} group: there {_DECIDES[protocol]} decides, not --assignor and --protocol"
        error = SnapshotError(what, where=where, fix="leave them out", application_id=application_id)
    if error is None or asked.keep_going:
        return error or one
    raise error


def _read(paths: Sequence[str], asked: PlansSnapshots, **if_given: Any) -> Sequence[Snapshot | SnapshotError]:
    tolerance = asked.lags_tolerance
    return snapshots.read(
        paths,
        lags=asked.lags or (),
        as_of=asked.as_of,
        application_ids=asked.application_id or (),
        lags_tolerance_ms=DEFAULT_LAGS_TOLERANCE_MS if tolerance is None else tolerance,
        lags_as_reported=asked.lags_as_reported,
        rates_over_ms=asked.rates_over,
        keep_going=asked.keep_going,
        master=asked.master,
        spark_conf=dict(asked.spark_conf or ()),
        java_home=None if asked.java_home is None else str(asked.java_home),
        debug=asked.debug,
        **{name: value for name, value in if_given.items() if value is not None},
    )


def _said_of_measures(
    found: Sequence[Snapshot | SnapshotError], asked: PlansSnapshots, measured: Measurements
) -> Sequence[Snapshot | SnapshotError]:
    """Say what is known of the copies of each group, and of the scrapes once."""
    topologies(asked).check_used({one.state.group.application_id for one in found if isinstance(one, Snapshot)})
    for one in found:
        if isinstance(one, Snapshot):
            tell_coverage(one, asked.now_ms)
    return found if len(found) == 1 else _said_once(found, measured.notes)


def _said_once(found: Sequence[Snapshot | SnapshotError], notes: Sequence[Note]) -> Sequence[Snapshot | SnapshotError]:
    """Say what is strange about the scrapes of several groups, and return the groups without it."""
    for note in notes:
        talk(f"warning: {note.message}")
    return [
        replace(one, warnings=tuple(note for note in one.warnings if note not in notes))
        if isinstance(one, Snapshot)
        else one
        for one in found
    ]


def _check_lags(asked: PlansSnapshots) -> None:
    if asked.lags_tolerance is not None and not asked.lags:
        raise UsageError("--lags-tolerance goes with --lags", fix="give --lags, or leave it out")
    if asked.rates_over is not None and not asked.lags:
        raise UsageError("--rates-over goes with --lags", fix="give --lags, or leave it out")
    if asked.rates_over == 0:
        raise UsageError("--rates-over is 0: rates need a time above 0", fix="give a time such as 1h")
    if asked.lags and (asked.metrics or asked.store_lags):
        raise UsageError("--lags and --metrics both give the lags", fix="give one of them")


def _check_design(asked: PlansSnapshots) -> None:
    """Let nobody believe that an option counts which the design does not look at.

    Raises:
        UsageError: an option is of another design.
    """
    usual = PlanOptions()
    options: Mapping[str, tuple[Sequence[str], object]] = {
        "--max-learners": (("learner",), asked.max_learners),
        "--scale-down-timeout": (("learner",), asked.scale_down_timeout),
        "--connect-delay": (("connect-design-2", "connect-design-3"), asked.connect_delay),
        "--connect-defer-join": (("connect-design-2",), asked.connect_defer_join or None),
        "--connect-step": (("connect-design-3",), asked.connect_step),
        "--connect-pause": (("connect-design-3",), asked.connect_pause),
        "--assignor": (("classic",), None if asked.assignor == usual.assignor else asked.assignor),
        "--protocol": (("classic",), None if asked.protocol == usual.protocol else asked.protocol),
        "--max-warmup-replicas": (("classic",), asked.max_warmup_replicas),
        "--probing-rebalance-interval": (("classic",), asked.probing_rebalance_interval),
    }
    designs = asked.designs or ("classic",)
    for option, (of, value) in options.items():
        if value is not None and not set(of) & set(designs):
            told = " or ".join(of)
            raise UsageError(f"{option} goes with --design {told}", fix=f"leave it out, or plan by {told}")
