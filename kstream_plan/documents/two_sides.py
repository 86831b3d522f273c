"""Two files, each of snapshots or saved plans → pairs to compare, one per application."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.comparison.changes import ChangeCourse, Side
from kstream_plan.comparison.sides import Pair, are_rivals, plan_course, plan_side, snapshot_side, starts_at
from kstream_plan.documents.plan.files import are_plans
from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.documents.results import each_result, is_results_file
from kstream_plan.errors import PlanFileError, SnapshotError, UsageError
from kstream_plan.model import Note, Snapshot
from kstream_plan.plans import Plan
from kstream_plan.plans.result import Result
from kstream_plan.plans.simulated import Simulation
from kstream_plan.snapshots import reading
from kstream_plan.snapshots.files.content import at_hand, fetched, read_file, standard_input
from kstream_plan.snapshots.files.kinds import HEAD_BYTES
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths, local_path
from kstream_plan.snapshots.rows.fields import printable, shown


class DiffInput(NamedTuple):
    """One side: its path, and the round of a plan (``None``: its last one; 0: as it begins)."""

    path: str
    round_number: int | None = None


class _Source(NamedTuple):
    """One side as found.

    ``content`` is ``None`` for what is neither standard input nor a file of plans on this machine.
    """

    diff_input: DiffInput
    content: bytes | None
    holds_plans: bool


class _Part(NamedTuple):
    side: Side
    plan: Plan | None = None
    number: int = 0
    simulation: Simulation | None = None
    warnings: tuple[Note, ...] = ()


def read_pairs(
    old: DiffInput, new: DiffInput, *, is_single: bool = False, application_ids: tuple[str, ...] = (), **spark: Any
) -> list[Pair]:
    """Read both sides and pair them by application.

    Args:
        old: the side before.
        new: the side after.
        is_single: both are the same plan, and ``old`` is how it begins unless it names a round.
        application_ids: globs; without any, every application is selected.
        spark: ``master``, ``spark_conf``, ``java_home`` and ``debug``, as of :func:`kstream_plan.snapshots.read`;
            plans are read without it.

    Raises:
        PlanFileError: a plan cannot be read.
        SnapshotError: a snapshot cannot be read, or an application is on one side only.
        UsageError: a round is asked for that is not there, or of a snapshot.
    """
    selection = Selection(application_ids)
    if is_single:
        return _within_plans(_source(old), new, selection)
    if old.path == new.path == STDIN:
        raise UsageError("standard input is given twice", fix="give - once")
    old_parts, new_parts = _read_both((_source(old), _source(new)), selection, spark)
    return _paired(old_parts, new_parts, old, new)


def _within_plans(source: _Source, new: DiffInput, selection: Selection) -> list[Pair]:
    diff_input = source.diff_input
    if not source.holds_plans:
        if source.content is None:
            check_paths([diff_input.path])
        fix = "give a second file, or --from and --to for a history"
        raise UsageError("one side is not enough, unless it is a plan", where=printable(diff_input.path), fix=fix)
    first = diff_input._replace(round_number=diff_input.round_number or 0)
    return [_pair(_part(saved_plan, first), _part(saved_plan, new)) for saved_plan in _plans(source, selection)]


def _source(diff_input: DiffInput) -> _Source:
    content = _content(diff_input.path)
    return _Source(diff_input, content, content is not None and are_plans(content))


def _content(path: str) -> bytes | None:
    if path == STDIN:
        return standard_input()
    if fetched(path):
        path, *other_files = fetched(path).values()
        return _lines_of_results([path, *other_files]) if other_files or is_results_file(path) else read_file(path)
    local = local_path(path)
    try:
        if local is None or not os.path.exists(local):
            return None
        files = [file.path for file in check_paths([local]).local]
        if all(map(is_results_file, files)):
            return _lines_of_results(files)
        if os.path.isdir(local):
            return None
        with open(at_hand(local), "rb") as file:
            head = file.read(HEAD_BYTES)
        return read_file(local) if are_plans(head) else None
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SnapshotError(problem, where=printable(path), fix="check the file") from None


def _lines_of_results(files: Sequence[str]) -> bytes:
    """Return the plans of results, one a line."""
    results = [result for file in files for result in each_result(file, with_plan=True)]
    errors = [result for result in results if isinstance(result, PlanFileError)]
    if errors:
        raise errors[0]
    return "\n".join(result.plan for result in results if isinstance(result, Result) and result.plan).encode()


def _size(source: _Source) -> float:
    """Return the bytes of a side; infinite if it is no single file on this machine."""
    if source.content is not None:
        return len(source.content)
    local = local_path(source.diff_input.path)
    return math.inf if local is None or not Path(local).is_file() else Path(local).stat().st_size


def _plans(source: _Source, selection: Selection) -> list[SavedPlan]:
    assert source.content is not None
    path = source.diff_input.path
    plans = read_saved(source.content, "standard input" if path == STDIN else path)
    known_ids = [saved_plan.plan.group.application_id for saved_plan in plans]
    missing_ids = selection.unmatched_globs(known_ids)
    if missing_ids:
        raise selection.nothing_found(missing_ids, known_ids, [path])[0]
    return [saved_plan for saved_plan in plans if selection.wants(saved_plan.plan.group.application_id)]


def _part(saved_plan: SavedPlan, diff_input: DiffInput) -> _Part:
    plan = saved_plan.plan
    number = len(plan.rounds) if diff_input.round_number is None else diff_input.round_number
    try:
        return _Part(plan_side(plan, number), plan, number, saved_plan.simulation)
    except IndexError:
        problem = f"there is no round {number} in the plan of {shown(plan.group.application_id)}"
        fix = f"it has rounds 1 to {len(plan.rounds)}; 0 is how it begins" if plan.rounds else "it has none, only 0"
        raise UsageError(problem, where=printable(diff_input.path), fix=fix) from None


def _read_both(
    sources: tuple[_Source, _Source], selection: Selection, spark: Mapping[str, Any]
) -> list[dict[str, _Part]]:
    """Read both sides, with one Spark for both if both are snapshots."""
    for source in sources:
        if not source.holds_plans:
            _check_snapshot(source)
    with ExitStack() as stack:
        if not any(source.holds_plans for source in sources):
            from kstream_plan.snapshots.spark.session import open_context  # noqa: PLC0415 - loads Spark

            little = all(_size(source) <= reading.LITTLE_BYTES for source in sources)
            stack.enter_context(open_context(**spark, little_work=little, sql=not little))
        return [_parts(source, selection, spark) for source in sources]


def _check_snapshot(source: _Source) -> None:
    """Check what needs no Spark.

    Raises:
        SnapshotError: there is no such file.
        UsageError: a snapshot has no rounds.
    """
    path, number = source.diff_input
    if source.content is None:
        check_paths([path])
    if number is not None:
        fix = "leave out --set old.round or new.round"
        raise UsageError("a snapshot has no rounds", where=printable(path), fix=fix)


def _parts(source: _Source, selection: Selection, spark: Mapping[str, Any]) -> dict[str, _Part]:
    path, content = source.diff_input.path, source.content
    if source.holds_plans:
        plans = _plans(source, selection)
        parts = {saved_plan.plan.group.application_id: _part(saved_plan, source.diff_input) for saved_plan in plans}
        if len(parts) < len(plans):
            raise SnapshotError("holds two plans of one application", where=printable(path), fix="keep one of them")
        return parts
    stdin = None if content is None else io.BytesIO(content)
    snapshots = reading.read([path], application_ids=selection.application_ids, stdin=stdin, **spark)
    return {
        snapshot.state.group.application_id: _Part(
            snapshot_side(snapshot), warnings=snapshot.warnings + snapshot.assumptions
        )
        for snapshot in snapshots
        if isinstance(snapshot, Snapshot)
    }


def _paired(old_parts: dict[str, _Part], new_parts: dict[str, _Part], old: DiffInput, new: DiffInput) -> list[Pair]:
    unpaired_ids = sorted(old_parts.keys() ^ new_parts.keys())
    if unpaired_ids:
        present_input, absent_input = (old, new) if unpaired_ids[0] in old_parts else (new, old)
        problem = (
            f"{shown(unpaired_ids[0])} is in {printable(present_input.path)} and not in {printable(absent_input.path)}"
        )
        shared_ids = ", ".join(map(shown, sorted(old_parts.keys() & new_parts.keys())[:3]))
        fix = (
            f"choose with --application-id what is in both: {shared_ids}"
            if shared_ids
            else "compare one application with itself"
        )
        raise SnapshotError(problem, fix=fix, application_id=unpaired_ids[0])
    return [_pair(old_parts[name], new_parts[name]) for name in sorted(old_parts)]


def _pair(old: _Part, new: _Part) -> Pair:
    return Pair(old.side, new.side, _course(old, new), old.warnings + new.warnings, _rivals(old, new))


def _rivals(old: _Part, new: _Part) -> tuple[Plan | Simulation, Plan | Simulation] | None:
    """Return both plans, or their simulations, if their ends are compared and both begin with the same snapshot."""
    if old.plan is None or new.plan is None or old.plan is new.plan:
        return None
    at_their_ends = old.number == len(old.plan.rounds) and new.number == len(new.plan.rounds)
    if not at_their_ends or not are_rivals(old.plan, new.plan):
        return None
    return old.simulation or old.plan, new.simulation or new.plan


def _course(old: _Part, new: _Part) -> ChangeCourse | None:
    """Return the course by the plan on the new side, if the old side lies on it."""
    if new.plan is None:
        return None
    if old.plan is not None and old.number <= new.number and (old.plan is new.plan or old.plan == new.plan):
        return plan_course(new.plan, old.number, new.number)
    return plan_course(new.plan, 0, new.number) if starts_at(old.side, new.plan) else None
