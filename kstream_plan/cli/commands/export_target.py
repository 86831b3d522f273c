"""``export-target``: a plan as a file that an application's own assignor follows."""

from __future__ import annotations

import hashlib
import re
import time
import zlib
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan import snapshots
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import WrongValueError, duration_option, takes
from kstream_plan.cli.options.running import Limited
from kstream_plan.cli.output import OutputForm, Sort, check_target, write_stdout, written_at_once
from kstream_plan.cli.pages import NOT_READ, answers_text
from kstream_plan.cli.progress import show_progress
from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.documents.target_file import config_map
from kstream_plan.errors import PlanFileError, SnapshotError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.simulation.target_export import (
    WAYS,
    Export,
    ExportRefusedError,
    ExportRequest,
    TargetExport,
    export_back,
    export_plan,
    export_stay,
)
from kstream_plan.snapshots.files.content import read_file, unpacked

_EXPIRES_IN_MS, _PROBE_MS, _AGE_MS = 7_200_000, 15_000, 600_000
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def _way(text: str) -> str:
    if text in WAYS or re.fullmatch(r"tag:[^=]+", text):
        return text
    message = f"{text!r} is not tag:KEY, {', '.join(WAYS[:-1])} or {WAYS[-1]}"
    raise WrongValueError(message, fix="name what tells instances apart, as in tag:pod")


def _config_map_name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise WrongValueError(f"{text!r} is no name of a ConfigMap", fix="use small letters, digits, - and .")
    return text


class ExportTargetOptions(Limited):
    """What ``export-target`` is asked."""

    plan: Annotated[str | None, typer.Argument(metavar="PLAN", help="Saved plan to run.", show_default=False)] = None
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="tag:KEY|static|host|client|process",
            parser=_way,
            help="Property that tells instances apart.",
        ),
    ] = "process"
    new: Annotated[bool, typer.Option("--new", help="Let instances that join take the slots that are left.")] = False
    expires_in: int | None = None
    probe: int | None = None
    warmups: int | None = None
    stay: Annotated[
        str | None, typer.Option("--stay", metavar="SNAPSHOT", help="Instead of a plan: stay where this group is now.")
    ] = None
    back: bool = False
    max_snapshot_age: Annotated[int | None, duration_option("Refuse plans made from an older snapshot.")] = None
    now: int | None = None
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Target file to write.")] = None
    configmap: Annotated[
        str | None,
        typer.Option(
            "--configmap", metavar="NAME", parser=_config_map_name, help="Write a Kubernetes ConfigMap of this name."
        ),
    ] = None
    output: shared.Output = OutputForm.TABLE


@takes(ExportTargetOptions)
def export_target(options: ExportTargetOptions) -> None:
    """Write a target file from a plan, or a brake; exit code 3 with every reason if it must not be."""
    with expected_failures(debug=options.debug):
        if (options.plan is None) == (options.stay is None):
            raise UsageError("give a plan or --stay SNAPSHOT", fix="give one of them")
        if options.back and options.plan is None:
            raise UsageError("--set back=true goes back to where a plan began", fix="give the plan, not --stay")
        if options.out is None:
            raise UsageError("--out is missing", fix="name the file to write")
        check_target(options.out, sort=Sort.TARGET)
        with show_progress(quiet=options.quiet) as progress:
            progress("simulating")
            answer = _answer(options, str(options.out))
        export = answer.export
        if export is not None:
            with written_at_once(options.out) as file:
                file.write(export.text if options.configmap is None else config_map(options.configmap, export.text))
        write_stdout(answers_text([answer], [NOT_READ], options.output))
    raise typer.Exit(ExitCode.POLICY if export is None else ExitCode.DONE)


def _answer(options: ExportTargetOptions, out_file: str) -> TargetExport:
    try:
        export = _export(options)
    except ExportRefusedError as error:
        return TargetExport(
            application_id=str(error.application_id), path=out_file, source=error.where, reasons=error.reasons
        )
    source = options.plan or options.stay or ""
    return TargetExport(application_id=export.file.application, path=out_file, source=source, export=export)


def _export(options: ExportTargetOptions) -> Export:
    path = options.plan or options.stay
    assert path is not None
    try:
        data = read_file(path)
    except OSError as error:
        raise PlanFileError(
            f"cannot read the file: {error.strerror or error}", where=path, fix="check the path"
        ) from error
    request = ExportRequest(
        plan_id=hashlib.sha256(_unpacked(data, path)).hexdigest()[:12],
        match_by=options.by,
        now_ms=time.time_ns() // 1_000_000 if options.now is None else options.now,
        expires_in_ms=_EXPIRES_IN_MS if options.expires_in is None else options.expires_in,
        probe_ms=_PROBE_MS if options.probe is None else options.probe,
        warmups=options.warmups,
        new_by_elimination=options.new,
        max_snapshot_age_ms=_AGE_MS if options.max_snapshot_age is None else options.max_snapshot_age,
    )
    if options.stay is not None:
        return export_stay(only_snapshot(path, debug=options.debug), request, path)
    saved_plan = _only_plan(data, path)
    if options.back:
        return export_back(saved_plan.plan, request, path)
    return export_plan(saved_plan.plan, request, path, saved_plan.simulation)


def _unpacked(data: bytes, path: str) -> bytes:
    """Return a plan's document, of which the id is made, without gzip.

    Raises:
        PlanFileError: it is damaged.
    """
    try:
        return unpacked(data)
    except (OSError, EOFError, zlib.error) as error:
        raise PlanFileError(f"cannot be unpacked: {error}", where=path, fix="save it again") from error


def only_snapshot(path: str, *, debug: bool) -> Snapshot:
    """Return the snapshot of a file.

    Raises:
        SnapshotError: it is none, or there are those of several applications.
    """
    read = snapshots.read([path], debug=debug)
    if len(read) > 1:
        raise SnapshotError(f"has {len(read)} applications", where=path, fix="give a file of one of them")
    snapshot = read[0]
    if isinstance(snapshot, SnapshotError):
        raise snapshot
    if snapshot.group_protocol != "classic":
        message = f"is a {snapshot.group_protocol} group: only classic groups bring their own assignor"
        raise SnapshotError(message, where=path, fix="give one of a classic group")
    return snapshot


def _only_plan(data: bytes, path: str) -> SavedPlan:
    plans = read_saved(data, path)
    if len(plans) > 1:
        raise PlanFileError(f"has {len(plans)} plans", where=path, fix="give a file with one")
    if plans[0].lacks_simulation:
        raise PlanFileError("is a plan without the rest of its simulation", where=path, fix="save it again with --out")
    return plans[0]
