"""Two files, each of snapshots or saved plans → pairs to compare, one per application."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.comparison.changes import Between, Side
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
from kstream_plan.snapshots.files.broken_files import HEAD_BYTES
from kstream_plan.snapshots.files.content import at_hand, fetched, read_file, standard_input
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths, local_path
from kstream_plan.snapshots.rows.fields import printable, shown


class Given(NamedTuple):
    """One side: where it is from, and which round of a plan is meant (``None``: its last one; 0: as it begins)."""

    path: str
    round_number: int | None = None


class _Source(NamedTuple):
    """One side as found.

    ``content`` is ``None`` for what is neither standard input nor a file of plans on this machine.
    """

    given: Given
    content: bytes | None
    holds_plans: bool


class _Part(NamedTuple):
    side: Side
    plan: Plan | None = None
    number: int = 0
    simulation: Simulation | None = None
    warnings: tuple[Note, ...] = ()


def read_pairs(
    old: Given, new: Given, *, alone: bool = False, application_ids: tuple[str, ...] = (), **spark: Any
) -> list[Pair]:
    """Read both sides and pair them by application.

    Args:
        old: the side before.
        new: the side after.
        alone: both are the same plan, and ``old`` is how it begins unless it names a round.
        application_ids: globs; without any, every application is selected.
        spark: ``master``, ``spark_conf``, ``java_home`` and ``debug``, as of :func:`kstream_plan.snapshots.read`;
            plans are read without it.

    Raises:
        PlanFileError: a plan cannot be read.
        SnapshotError: a snapshot cannot be read, or an application is on one side only.
        UsageError: a round is asked for that is not there, or of a snapshot.
    """
    wanted = Selection(application_ids)
    if alone:
        return _within_plans(_source(old), new, wanted)
    if old.path == new.path == STDIN:
        raise UsageError("standard input is given twice", fix="give - once")
    before, after = _read_both((_source(old), _source(new)), wanted, spark)
    return _paired(before, after, old, new)


def _within_plans(source: _Source, new: Given, wanted: Selection) -> list[Pair]:
    given = source.given
    if not source.holds_plans:
        if source.content is None:
            check_paths([given.path])
        fix = "give a second file, or --from and --to for a history"
        raise UsageError("one side is not enough, unless it is a plan", where=printable(given.path), fix=fix)
    first = given._replace(round_number=given.round_number or 0)
    return [_pair(_part(saved, first), _part(saved, new)) for saved in _plans(source, wanted)]


def _source(given: Given) -> _Source:
    content = _content(given.path)
    return _Source(given, content, content is not None and are_plans(content))


def _content(path: str) -> bytes | None:
    if path == STDIN:
        return standard_input()
    if fetched(path):
        path, *others = fetched(path).values()
        return _lines_of_results([path, *others]) if others or is_results_file(path) else read_file(path)
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
        what = f"cannot be read: {error.strerror or error}"
        raise SnapshotError(what, where=printable(path), fix="check the file") from None


def _lines_of_results(files: Sequence[str]) -> bytes:
    """Return the plans of results, one a line."""
    results = [result for file in files for result in each_result(file, with_plan=True)]
    errors = [result for result in results if isinstance(result, PlanFileError)]
    if errors:
        raise errors[0]
    return "\n".join(result.plan for result in results if isinstance(result, Result) and result.plan).encode()


def _size(source: _Source) -> float:
    """Return how many bytes a side has, unending for what is no single file on this machine."""
    if source.content is not None:
        return len(source.content)
    local = local_path(source.given.path)
    return math.inf if local is None or not Path(local).is_file() else Path(local).stat().st_size


def _plans(source: _Source, wanted: Selection) -> list[SavedPlan]:
    assert source.content is not None
    path = source.given.path
    plans = read_saved(source.content, "standard input" if path == STDIN else path)
    known = [saved.plan.group.application_id for saved in plans]
    missing = wanted.missing(known)
    if missing:
        raise wanted.nothing_found(missing, known, [path])[0]
    return [saved for saved in plans if wanted.wants(saved.plan.group.application_id)]


def _part(saved: SavedPlan, given: Given) -> _Part:
    plan = saved.plan
    number = len(plan.rounds) if given.round_number is None else given.round_number
    try:
        return _Part(plan_side(plan, number), plan, number, saved.simulation)
    except IndexError:
        what = f"there is no round {number} in the plan of {shown(plan.group.application_id)}"
        fix = f"it has rounds 1 to {len(plan.rounds)}; 0 is how it begins" if plan.rounds else "it has none, only 0"
        raise UsageError(what, where=printable(given.path), fix=fix) from None


def _read_both(sources: tuple[_Source, _Source], wanted: Selection, spark: Mapping[str, Any]) -> list[dict[str, _Part]]:
    """Read both sides, with one Spark for both if both are snapshots."""
    for source in sources:
        if not source.holds_plans:
            _check_snapshot(source)
    with ExitStack() as stack:
        if not any(source.holds_plans for source in sources):
            from kstream_plan.snapshots.spark.session import open_context  # noqa: PLC0415 - loads Spark

            little = all(_size(source) <= reading.LITTLE_BYTES for source in sources)
            stack.enter_context(open_context(**spark, little_work=little, sql=not little))
        return [_parts(source, wanted, spark) for source in sources]


def _check_snapshot(source: _Source) -> None:
    """Check what needs no Spark.

    Raises:
        SnapshotError: there is no such file.
        UsageError: a snapshot has no rounds.
    """
    path, number = source.given
    if source.content is None:
        check_paths([path])
    if number is not None:
        fix = "leave out --set old.round or new.round"
        raise UsageError("a snapshot has no rounds", where=printable(path), fix=fix)


def _parts(source: _Source, wanted: Selection, spark: Mapping[str, Any]) -> dict[str, _Part]:
    path, content = source.given.path, source.content
    if source.holds_plans:
        plans = _plans(source, wanted)
        parts = {saved.plan.group.application_id: _part(saved, source.given) for saved in plans}
        if len(parts) < len(plans):
            raise SnapshotError("holds two plans of one application", where=printable(path), fix="keep one of them")
        return parts
    stdin = None if content is None else io.BytesIO(content)
    found = reading.read([path], application_ids=wanted.application_ids, stdin=stdin, **spark)
    return {
        of.state.group.application_id: _Part(snapshot_side(of), warnings=of.warnings + of.assumptions)
        for of in found
        if isinstance(of, Snapshot)
    }


def _paired(before: dict[str, _Part], after: dict[str, _Part], old: Given, new: Given) -> list[Pair]:
    lonely = sorted(before.keys() ^ after.keys())
    if lonely:
        place, other = (old, new) if lonely[0] in before else (new, old)
        what = f"{shown(lonely[0])} is in {printable(place.path)} and not in {printable(other.path)}"
        both = ", ".join(map(shown, sorted(before.keys() & after.keys())[:3]))
        fix = f"choose with --application-id what is in both: {both}" if both else "compare one application with itself"
        raise SnapshotError(what, fix=fix, application_id=lonely[0])
    return [_pair(before[name], after[name]) for name in sorted(before)]


def _pair(old: _Part, new: _Part) -> Pair:
    return Pair(old.side, new.side, _course(old, new), old.warnings + new.warnings, _rivals(old, new))


def _rivals(old: _Part, new: _Part) -> tuple[Plan | Simulation, Plan | Simulation] | None:
    """Return both plans, or the simulations they are of, if their ends are compared and they answer one question."""
    if old.plan is None or new.plan is None or old.plan is new.plan:
        return None
    at_their_ends = old.number == len(old.plan.rounds) and new.number == len(new.plan.rounds)
    if not at_their_ends or not are_rivals(old.plan, new.plan):
        return None
    return old.simulation or old.plan, new.simulation or new.plan


def _course(old: _Part, new: _Part) -> Between | None:
    """Return what the plan on the new side tells of the way, if the old side lies on it."""
    if new.plan is None:
        return None
    if old.plan is not None and old.number <= new.number and (old.plan is new.plan or old.plan == new.plan):
        return plan_course(new.plan, old.number, new.number)
    return plan_course(new.plan, 0, new.number) if starts_at(old.side, new.plan) else None
