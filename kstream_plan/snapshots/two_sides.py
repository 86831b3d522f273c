"""Two files, each of snapshots or saved plans → pairs to compare, one per application."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.changes import Course, Side
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Note, Snapshot
from kstream_plan.sides import plan_course, plan_side, snapshot_side, starts_at
from kstream_plan.snapshots import reading
from kstream_plan.snapshots.fields import printable, shown
from kstream_plan.snapshots.saved_plan import read_plans
from kstream_plan.snapshots.selection import Selection
from kstream_plan.snapshots.sources import STDIN, check_paths, local_path
from kstream_plan.steps import Plan

#: No string of a JSON text can hold this: a quote inside one has a backslash before it.
_PLAN_MARK = re.compile(rb'"kind"\s*:\s*"plan"')


class Given(NamedTuple):
    """One side: where it is from, and which round of a plan is meant (``None``: its last one; 0: as it begins)."""

    path: str
    round_number: int | None = None


class Pair(NamedTuple):
    """One application: its two sides, what is known of the way between, what the snapshots warn of."""

    old: Side
    new: Side
    course: Course | None
    warnings: tuple[Note, ...] = ()


class _Part(NamedTuple):
    side: Side
    plan: Plan | None = None
    number: int = 0
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
        return _within_plans(old, new, wanted)
    if old.path == new.path == STDIN:
        raise UsageError("standard input is to be read twice", fix="give - once")
    contents = _content(old.path), _content(new.path)
    sides = (old, new)
    before, after = _read_both(sides, contents, wanted, spark)
    return _paired(before, after, sides)


def _within_plans(old: Given, new: Given, wanted: Selection) -> list[Pair]:
    content = _content(old.path)
    if not _holds_plans(content):
        if content is None:
            check_paths([old.path])
        fix = "give a second file, or --from and --to for a history"
        raise UsageError("one side is not enough, unless it is a plan", where=printable(old.path), fix=fix)
    plans = _plans(content, old.path, wanted)
    first = old._replace(round_number=old.round_number or 0)
    return [_pair(_part(plan, first), _part(plan, new)) for plan in plans]


def _content(path: str) -> bytes | None:
    """Return what a file on this machine holds if it may be a plan, or standard input; else ``None``."""
    if path == STDIN:
        return sys.stdin.buffer.read()
    local = local_path(path)
    try:
        if local is None or not Path(local).is_file():
            return None
        with open(local, "rb") as file:
            head = file.read(64)
            begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
            return head + file.read() if begins == b"{" else None
    except OSError as error:
        raise SnapshotError(f"cannot be read: {error.strerror}", where=printable(path), fix="check the file") from None


def _holds_plans(content: bytes | None) -> bool:
    return content is not None and _PLAN_MARK.search(content) is not None


def _plans(content: bytes | None, path: str, wanted: Selection) -> list[Plan]:
    assert content is not None
    plans = read_plans(content, "standard input" if path == STDIN else path)
    known = [plan.group.application_id for plan in plans]
    missing = wanted.missing(known)
    if missing:
        raise wanted.nothing_found(missing, known, [path])[0]
    return [plan for plan in plans if wanted.wants(plan.group.application_id)]


def _part(plan: Plan, given: Given) -> _Part:
    number = len(plan.rounds) if given.round_number is None else given.round_number
    try:
        return _Part(plan_side(plan, number), plan, number)
    except IndexError:
        what = f"there is no round {number} in the plan of {shown(plan.group.application_id)}"
        fix = f"it has rounds 1 to {len(plan.rounds)}; 0 is how it begins" if plan.rounds else "it has none, only 0"
        raise UsageError(what, where=printable(given.path), fix=fix) from None


def _read_both(
    sides: tuple[Given, Given], contents: tuple[bytes | None, bytes | None], wanted: Selection, spark: Mapping[str, Any]
) -> list[dict[str, _Part]]:
    """Read both sides, with one Spark for both if both are snapshots."""
    with ExitStack() as stack:
        if not any(map(_holds_plans, contents)):
            from kstream_plan.snapshots.spark.session import open_session  # noqa: PLC0415 - loads Spark

            little = all(content is not None and len(content) <= reading.LITTLE_BYTES for content in contents)
            for given, content in zip(sides, contents, strict=True):
                _check_snapshot(given, content)
            session = open_session(
                spark.get("master"),
                spark.get("spark_conf"),
                java_home=spark.get("java_home"),
                debug=spark.get("debug", False),
                little_work=little,
            )
            stack.enter_context(session)
        return [_parts(given, content, wanted, spark) for given, content in zip(sides, contents, strict=True)]


def _check_snapshot(given: Given, content: bytes | None) -> None:
    """Check what needs no Spark.

    Raises:
        SnapshotError: there is no such file.
        UsageError: a snapshot has no rounds.
    """
    if content is None:
        check_paths([given.path])
    if given.round_number is not None:
        raise UsageError(
            "a snapshot has no rounds", where=printable(given.path), fix="leave --old-round or --new-round out"
        )


def _parts(given: Given, content: bytes | None, wanted: Selection, spark: Mapping[str, Any]) -> dict[str, _Part]:
    if _holds_plans(content):
        plans = _plans(content, given.path, wanted)
        parts = {plan.group.application_id: _part(plan, given) for plan in plans}
        if len(parts) < len(plans):
            what = "holds two plans of one application"
            raise SnapshotError(what, where=printable(given.path), fix="keep one of them")
        return parts
    _check_snapshot(given, content)
    stdin = None if content is None else io.BytesIO(content)
    found = reading.read([given.path], application_ids=wanted.application_ids, stdin=stdin, **spark)
    return {
        snapshot.state.group.application_id: _Part(snapshot_side(snapshot), warnings=snapshot.warnings)
        for snapshot in found
        if isinstance(snapshot, Snapshot)
    }


def _paired(old: dict[str, _Part], new: dict[str, _Part], given: tuple[Given, Given]) -> list[Pair]:
    lonely = sorted(old.keys() ^ new.keys())
    if lonely:
        name = lonely[0]
        place, other = given if name in old else given[::-1]
        what = f"{shown(name)} is in {printable(place.path)} and not in {printable(other.path)}"
        both = sorted(old.keys() & new.keys())
        fix = (
            f"choose with --application-id what is in both: {', '.join(map(shown, both[:3]))}"
            if both
            else ("give two files about the same application")
        )
        raise SnapshotError(what, fix=fix, application_id=name)
    return [_pair(old[name], new[name]) for name in sorted(old)]


def _pair(old: _Part, new: _Part) -> Pair:
    return Pair(old.side, new.side, _course(old, new), old.warnings + new.warnings)


def _course(old: _Part, new: _Part) -> Course | None:
    """Return what the plan on the new side tells of the way, if the old side lies on it."""
    if new.plan is None:
        return None
    if old.plan is not None and old.number <= new.number and (old.plan is new.plan or old.plan == new.plan):
        return plan_course(new.plan, old.number, new.number)
    return plan_course(new.plan, 0, new.number) if starts_at(old.side, new.plan) else None
