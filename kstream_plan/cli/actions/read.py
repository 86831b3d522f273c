"""Reading the snapshots that a command is given."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO

from kstream_plan import snapshots
from kstream_plan.cli.output import check_target
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Snapshot

DEFAULT_LAGS_TOLERANCE_MS = 60_000


def check_before_reading(given: Mapping[str, Any]) -> None:
    """Check among a command's parameters what does not need the input.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    if given["lags_tolerance"] is not None and not given["lags"]:
        raise UsageError("--lags-tolerance goes with --lags", fix="give --lags, or leave it out")
    if given["balance_factor"] is not None and given["assignor"] != "balanced":
        raise UsageError("--balance-factor goes with --assignor balanced", fix="give both, or leave it out")
    if given["out"] is not None:
        check_target(given["out"])


def read_snapshots(
    given: Mapping[str, Any],
    paths: Sequence[str] | None = None,
    stdin: BinaryIO | None = None,
    needed_then: Sequence[str] = (),
) -> Sequence[Snapshot | SnapshotError]:
    """Read what a command's parameters name, or ``paths`` instead of theirs.

    ``stdin`` is what ``-`` stands for, if it was read already.
    The modules ``needed_then`` are loaded while Java starts.

    Raises:
        KstreamPlanError: it cannot be read.
    """
    tolerance = given["lags_tolerance"]
    for module in needed_then:
        threading.Thread(target=import_module, args=(module,), daemon=True).start()
    return snapshots.read(
        given["paths"] if paths is None else paths,
        lags=given["lags"] or (),
        as_of=given["as_of"],
        application_ids=given["application_id"] or (),
        lags_tolerance_ms=DEFAULT_LAGS_TOLERANCE_MS if tolerance is None else tolerance,
        lags_as_reported=given["lags_as_reported"],
        keep_going=given["keep_going"],
        master=given["master"],
        spark_conf=dict(given["spark_conf"] or ()),
        java_home=given["java_home"] and str(given["java_home"]),
        debug=given["debug"],
        **({} if stdin is None else {"stdin": stdin}),
    )
