"""Where the plans to check come from: saved ones are read, snapshots are planned."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.cli.check_options import Planning
from kstream_plan.cli.option_groups import Deciding, Reading, Settings, Spark, defaults
from kstream_plan.cli.output import written_at_once
from kstream_plan.cli.progress import Report
from kstream_plan.cli.reading import read_snapshots
from kstream_plan.cli.settings import Overrides
from kstream_plan.cures import with_cures
from kstream_plan.errors import KstreamPlanError, PlanFileError, UsageError
from kstream_plan.findings import CheckedPlan, Standard, check_plan
from kstream_plan.model import Snapshot
from kstream_plan.snapshots.saved_plan import are_plans, is_plan_file, read_plan_file, read_plans
from kstream_plan.steps import Plan

#: Options that say how snapshots are read and planned; a saved plan is checked as it is.
_FOR_SNAPSHOTS = defaults(Planning, Reading, Settings, Deciding, Spark)
STDIN = "-"


class Source(NamedTuple):
    """What is to be checked: files of saved plans, what standard input held of them, and paths of snapshots."""

    plan_files: tuple[str, ...]
    plans_from_stdin: bytes | None
    snapshots: tuple[str, ...]
    snapshots_from_stdin: bytes | None


class Candidate(NamedTuple):
    """A plan to check, where it is kept (empty: nowhere), and the snapshot it was made from, if it was made now."""

    plan: Plan
    source: str
    snapshot: Snapshot | None = None


@dataclass(slots=True)
class Material:
    """The plans to check, and the errors of what could not be read or planned."""

    candidates: list[Candidate] = field(default_factory=list)
    errors: list[KstreamPlanError] = field(default_factory=list)


def sort_paths(given: Mapping[str, Any]) -> Source:
    """Tell saved plans and snapshots apart by looking at them.

    Raises:
        UsageError: an option that is for snapshots, and there are only saved plans.
    """
    paths = given["paths"]
    data = sys.stdin.buffer.read() if STDIN in paths else None
    piped_plans = data is not None and are_plans(data)
    files = tuple(path for path in paths if path != STDIN and is_plan_file(path))
    snapshots = tuple(path for path in paths if path not in files and not (path == STDIN and piped_plans))
    if not snapshots:
        for name, default in _FOR_SNAPSHOTS.items():
            if given[name] not in (default, None):
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option} is for snapshots, a saved plan is checked as it is",
                    fix=f"give the snapshot, or leave out {option}",
                )
    return Source(files, data if piped_plans else None, snapshots, None if piped_plans else data)


def plans_to_check(source: Source, settings: Overrides, given: Mapping[str, Any], tell: Report) -> Material:
    """Read the saved plans, and make those of the snapshots, as far as they are selected.

    Raises:
        KstreamPlanError: something cannot be read or planned, and ``keep_going`` is not among what is given.
    """
    material = Material()
    if source.plan_files or source.plans_from_stdin is not None:
        with _much_to_keep():
            _read_plans(source, given, tell, material)
    if source.snapshots:
        _plan_snapshots(source, settings, given, tell, material)
    return material


def baselines(files: Sequence[Path]) -> dict[str, Plan]:
    """Return the saved plans for what was before, by application.

    Raises:
        KstreamPlanError: one cannot be read, or an application is there twice.
    """
    found: dict[str, Plan] = {}
    for file in files:
        for plan in read_plan_file(file):
            if plan.group.application_id in found:
                what = f"application {plan.group.application_id!r} has two baselines"
                raise PlanFileError(what, where=str(file), fix="give --baseline once per application")
            found[plan.group.application_id] = plan
    return found


def check_candidate(
    candidate: Candidate, standard: Standard, before: Plan | None, given: Mapping[str, Any], tell: Callable[[str], None]
) -> CheckedPlan:
    """Hold one plan against the policy; where it was made now, look for cures as well, which may take as long again."""
    checked = check_plan(candidate.plan, standard, baseline=before, source=candidate.source)
    if candidate.snapshot is None:
        return checked
    from kstream_plan.cli.planning import plan_one  # noqa: PLC0415 - only where something is planned

    def plan_again(snapshot: Snapshot) -> Plan:
        return plan_one(snapshot, given, lambda what: tell(f"looking for cures, {what}"))

    return with_cures(checked, candidate.snapshot, standard, plan_again)


@contextmanager
def _much_to_keep() -> Iterator[None]:
    """Keep the garbage collector from what is read: millions of objects, none in a cycle, kept until the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _read_plans(source: Source, given: Mapping[str, Any], tell: Report, material: Material) -> None:
    globs = given["application_id"] or ()
    found = []
    for number, file in enumerate(source.plan_files):
        tell(f"reading {file}", done=number, total=len(source.plan_files))
        try:
            found += [Candidate(plan, file) for plan in read_plan_file(file)]
        except KstreamPlanError as error:
            if not given["keep_going"]:
                raise
            material.errors.append(error)
    if source.plans_from_stdin is not None:
        found += [Candidate(plan, "") for plan in read_plans(source.plans_from_stdin, "standard input")]
    wanted = [one for one in found if not globs or any(fnmatchcase(one.plan.group.application_id, g) for g in globs)]
    if not wanted and not material.errors and not source.snapshots:
        ids = sorted({one.plan.group.application_id for one in found})
        raise UsageError("no plan is of such an application", where="--application-id", fix=f"give one of {ids[:5]}")
    material.candidates += wanted


def _plan_snapshots(
    source: Source, settings: Overrides, given: Mapping[str, Any], tell: Report, material: Material
) -> None:
    tell("reading")
    stdin = None if source.snapshots_from_stdin is None else io.BytesIO(source.snapshots_from_stdin)
    outcomes = read_snapshots(given, source.snapshots, stdin)
    from kstream_plan.cli.pages import plan_lines  # noqa: PLC0415 - only where something is planned
    from kstream_plan.cli.planning import plan_all  # noqa: PLC0415

    work = plan_all(outcomes, settings, given, tell)
    out = given["out"]
    if out is not None:
        with written_at_once(out) as file:
            file.write(plan_lines([planned.plan for planned in work.results], full=given["full"]))
    material.candidates += [Candidate(plan, str(out or ""), snapshot) for plan, snapshot in work.results]
    material.errors += work.errors
