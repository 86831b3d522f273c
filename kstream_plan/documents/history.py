"""A history as ``snapshot --all`` writes it: the holdings of each generation, and the decisions that led to them.

A row is the group as it was when a decision was made: what was held until then, and the lags that were reported for
it. What the newest row's decision led to is told by its ``decision``, if it has one. No Spark is needed.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.comparison.changes import ChangeCourse, Side
from kstream_plan.comparison.history_course import history_course
from kstream_plan.comparison.sides import Pair, snapshot_side, without_instances
from kstream_plan.documents.snapshot_at import snapshot_at
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Copy, Group, Holding, Snapshot, work_id
from kstream_plan.model.times import format_time
from kstream_plan.protocols import gives_up
from kstream_plan.snapshots.files.content import TooLargeError, read_file, standard_input, unpacked
from kstream_plan.snapshots.files.kinds import broken_gzip, unzipped_head
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN, Form, LocalFile, check_paths, form_of
from kstream_plan.snapshots.leader_log.kinds_of_logs import is_a_log
from kstream_plan.snapshots.rows.fields import Row, parse_time, printable, shown, time_asked_for
from kstream_plan.snapshots.rows.json_text import parse_json, parse_row
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

GENERATION = re.compile(r"\d{1,10}", re.ASCII)


class HistoryEntry(NamedTuple):
    """A row, its location in a file, and its time since 1970 (``None``: none that can be read)."""

    row: Row
    location: str
    at_ms: int | None


def read_stretches(
    path: str,
    first: str | None,
    last: str | None,
    application_ids: Sequence[str] = (),
    *,
    stdin: BinaryIO | None = None,
) -> list[Pair]:
    """Read the two sides of every selected application at two points of its history.

    Args:
        path: a file, folder or glob of JSON or JSON Lines on this machine, plain or gzip; ``-`` is standard input.
        first: a generation or an RFC 3339 time; by default the oldest.
        last: the same; by default the newest.
        application_ids: globs; without any, every application is selected.
        stdin: what ``-`` stands for, by default the process's standard input.

    Raises:
        SnapshotError: the history cannot be read, a row breaks the contract, or it does not hold such a point.
        UsageError: the first point is after the last one, or a point is neither a generation nor a time.
    """
    entries_by_application = entries_of(path, application_ids, stdin=stdin)
    return [_stretch(entries, first, last) for entries in entries_by_application.values()]


def read_generations(
    path: str,
    generation: int,
    application_ids: Sequence[str] = (),
    *,
    lags_as_reported: bool = False,
    stdin: BinaryIO | None = None,
) -> list[Snapshot]:
    """Read of every selected application the snapshot whose decision led to a generation; arguments as above.

    Raises:
        SnapshotError: the history cannot be read, or does not tell that decision.
    """
    entries_by_application = entries_of(path, application_ids, stdin=stdin)
    return [
        snapshot_at(entries, _led_to(entries, generation), lags_as_reported=lags_as_reported)
        for entries in entries_by_application.values()
    ]


def _led_to(entries: Sequence[HistoryEntry], generation: int) -> int:
    """Return the place of the row whose decision led to a generation.

    Raises:
        SnapshotError: there is none.
    """
    place_by_generation = {}
    for place, entry in enumerate(entries):
        decision = entry.row.get("decision")
        if isinstance(decision, Mapping) and decision.get("decided") is not None:
            number = decision.get("generation")
            place_by_generation[number if isinstance(number, int) else generation_of(entry.row) + 1] = place
    if generation in place_by_generation:
        return place_by_generation[generation]
    problem = f"holds no decision of generation {generation}"
    fix = "make the history again with kstream-plan snapshot --all"
    if place_by_generation:
        first, last = min(place_by_generation), max(place_by_generation)
        fix = f"it holds those of generations {first} to {last}: choose one of them"
    raise SnapshotError(problem, where=_place(entries), fix=fix)


def entries_of(
    path: str, application_ids: Sequence[str] = (), *, stdin: BinaryIO | None = None
) -> dict[str, list[HistoryEntry]]:
    """Read the rows of a history in time, by application id; the arguments are those of :func:`read_stretches`.

    Raises:
        SnapshotError: the history cannot be read, or no application is selected.
    """
    selection = Selection(tuple(application_ids))
    by_application: dict[str, list[HistoryEntry]] = defaultdict(list)
    for row, location in history_rows(path, stdin or sys.stdin.buffer):
        if row.get("kind") == "plan":
            fix = "give --set old.round and new.round instead of --from and --to"
            raise SnapshotError("is a saved plan, not a history", where=printable(location), fix=fix)
        by_application[str(row.get("application_id"))].append(HistoryEntry(row, location, _time_of(row)))
    known_ids = sorted(by_application)
    missing_ids = selection.unmatched_globs(known_ids)
    if missing_ids or not known_ids:
        raise selection.nothing_found(missing_ids, known_ids, [path])[0]
    return {name: _in_order(by_application[name]) for name in filter(selection.wants, known_ids)}


def _time_of(row: Row) -> int | None:
    try:
        return parse_time(row["captured_at"])
    except (KeyError, TypeError, ValueError):
        return None  # what is wrong with the time is found when the row is read


def _in_order(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Sort rows by time, each once, with generations."""
    sorted_entries = sorted(
        entries, key=lambda entry: (entry.at_ms is not None, entry.at_ms or 0, generation_of(entry.row))
    )
    sorted_entries = [
        entry for place, entry in enumerate(sorted_entries) if not place or entry.row != sorted_entries[place - 1].row
    ]
    rows = with_generations([entry.row for entry in sorted_entries])
    return [entry._replace(row=row) for entry, row in zip(sorted_entries, rows, strict=True)]


def with_generations(rows: Sequence[Row]) -> Sequence[Row]:
    """Return a history's rows, in time; where none has a generation's number they are counted from 0."""
    if any(row.get("generation") is not None for row in rows):
        return rows
    return [{**row, "generation": place} for place, row in enumerate(rows)]


def generation_of(row: Row) -> int:
    """Return a row's generation, 0 if it has none."""
    generation = row.get("generation")
    return generation if isinstance(generation, int) else 0


def _stretch(entries: Sequence[HistoryEntry], first: str | None, last: str | None) -> Pair:
    start = 0 if first is None else _position(entries, first, "--from")
    end = len(entries) if last is None else _position(entries, last, "--to")
    end = _last_known(entries, end)
    if start > end:
        raise UsageError("--from is after --to", fix="give the earlier one to --from")
    first_row = max(start - 1, 0)
    snapshots = [
        snapshot_from_row(entry.row, entry.location, lags_as_reported=True) for entry in entries[first_row : end + 1]
    ]
    sides = _sides(entries[first_row : end + 1], list(map(snapshot_side, snapshots)), end - first_row)
    sides = sides[start - first_row :]
    warnings = dict.fromkeys(note for snapshot in snapshots for note in snapshot.warnings)
    course = history_course(sides) if _are_consecutive(sides) else ChangeCourse(is_history=True)
    return Pair(sides[0], sides[-1], course, tuple(warnings))


def _are_consecutive(sides: Sequence[Side]) -> bool:
    """Tell whether no generation is missing between sides of a history; nothing is known of that for Connect."""
    sides_with_lags = [side for side in sides if side.copies is not None]
    return all(later.generation <= earlier.generation + 1 for earlier, later in pairwise(sides_with_lags))


def outcome_of(entry: HistoryEntry) -> Mapping[str, Any] | None:
    """Return the decision that was made of a row, if the row has it in full: with withheld tasks and their owners.

    That of a running group only led to the row; those that the broker keeps do not say who gets what is withheld.
    """
    decision = entry.row.get("decision")
    if not isinstance(decision, Mapping) or decision.get("decided") is None:
        return None
    decided_by_process = decision["decided"]
    processes = list(decided_by_process.values()) if isinstance(decided_by_process, Mapping) else []
    consumers = [consumer for process in processes for consumer in _values(process, "consumers")]
    has_withheld = not consumers or any(
        not isinstance(consumer, Mapping) or "withheld" in consumer for consumer in consumers
    )
    return decision if has_withheld else None


def _values(mapping: Any, name: str) -> list[Any]:
    values = mapping.get(name) if isinstance(mapping, Mapping) else None
    return list(values.values()) if isinstance(values, Mapping) else []


def _last_known(entries: Sequence[HistoryEntry], position: int) -> int:
    """Return a position that is known: the state after the last decision only if the last row has that decision."""
    return position if position < len(entries) or outcome_of(entries[-1]) is not None else len(entries) - 1


def _position(entries: Sequence[HistoryEntry], text: str, option: str) -> int:
    """Return the place of the row with the holdings at a point; one past the last: the last decision led to them.

    A row tells what was held until its time, so at a time it is the first one later.
    """
    if GENERATION.fullmatch(text):
        return _position_of_generation(entries, int(text), option)
    at_ms = point_ms(text, option)
    times = [entry.at_ms for entry in entries if entry.at_ms is not None]
    if not times or (at_ms > times[-1] if option == "--from" else at_ms < times[0]):
        range_text = f"it holds {format_time(times[0])} to {format_time(times[-1])}" if times else "it holds no times"
        raise SnapshotError(
            f"holds nothing {'after' if option == '--from' else 'by'} {shown(text)}",
            where=_place(entries),
            fix=f"{range_text}: choose another {option}",
        )
    return next(
        (place for place, entry in enumerate(entries) if entry.at_ms is not None and entry.at_ms > at_ms), len(entries)
    )


def _position_of_generation(entries: Sequence[HistoryEntry], generation: int, option: str) -> int:
    places = [place for place, entry in enumerate(entries) if generation_of(entry.row) == generation]
    if places:
        return places[-1]
    decision = outcome_of(entries[-1])
    if decision is not None and generation_of(entries[-1].row) + 1 == generation:
        return len(entries)
    generations = sorted({generation_of(entry.row) for entry in entries})
    newest = generations[-1] + 1 if decision else generations[-1]
    raise SnapshotError(
        f"holds no generation {generation}",
        where=_place(entries),
        fix=f"it holds generations {generations[0]} to {newest}"
        + (", with gaps" if newest - generations[0] >= len(generations) + 1 else "")
        + f": choose another {option}",
    )


def _place(entries: Sequence[HistoryEntry]) -> str:
    file, application_id = entries[-1].location.rpartition(",")[0], entries[-1].row.get("application_id")
    return f"{printable(file)}: application {shown(application_id)}"


def point_ms(text: str, option: str) -> int:
    """Return a time as given for a point of a history, since 1970.

    Raises:
        UsageError: it is no time.
    """
    return time_asked_for(text, option, "give a generation like 7, or a time like 2026-11-21T13:04:00Z") // 1000


def _sides(entries: Sequence[HistoryEntry], rows: Sequence[Side], last: int) -> list[Side]:
    """Return the sides of the first row and of ``last`` rows after it, each with the decision that led to it."""
    later_sides = [*rows[1:], None][:last]
    sides = [rows[0], *map(_next_side, rows, later_sides, entries)]
    return [*sides[:-1], without_instances(sides[-1], set(sides[-1].newcomers))]


def _next_side(earlier: Side, later: Side | None, entry: HistoryEntry) -> Side:
    """Return the side after the decision of a row: as the decision says, else as the next row does."""
    decision = outcome_of(entry)
    if decision is not None and (later is None or later.generation == earlier.generation + 1):
        return _after_decision(earlier, later, decision, entry.location)
    assert later is not None
    return replace(later, newcomers=later.newcomers - earlier.group.instance_index.keys())


def _after_decision(earlier: Side, later: Side | None, decision: Any, location: str) -> Side:
    """Return the side after a decision: without withheld tasks, with temporary standbys.

    Its members are those that took part. What was reported afterwards, ``later``, is known of them and of newcomers;
    who had left by then still held what the decision says.
    """
    earlier_group = earlier.group
    tasks, newcomers = list(earlier_group.tasks), []
    if later is not None:
        tasks = [*later.group.tasks, *(task for task in tasks if task.task_id not in later.group.task_index)]
        newcomers = [
            instance for instance in later.group.instances if instance.process_id not in earlier_group.instance_index
        ]
    group = Group.of(earlier_group.application_id, tasks, [*earlier_group.instances, *newcomers])
    assigned_holdings = _decided_holdings(group, decision, location, ("active",), ("standby",), (), ("temporary",))
    withheld_holdings = _decided_holdings(group, decision, location, ("withheld",))
    return Side(
        group=group,
        holdings=tuple(
            holding._replace(active=tuple(task for task in holding.active if task not in withheld_holding.active))
            for holding, withheld_holding in zip(assigned_holdings, withheld_holdings, strict=True)
        ),
        stopping=gives_up(group, "mixed"),
        config=earlier.config if later is None else later.config,
        generation=earlier.generation + 1,
        captured_at=None if later is None else later.captured_at,
        copies=None if later is None else _reported(group, later),
        newcomers=frozenset(instance.process_id for instance in newcomers),
        decided_holdings=_decided_holdings(group, decision, location, ("active",), ("standby",)),
        next_decision=None if later is None else later.next_decision,
    )


def _reported(group: Group, later: Side) -> tuple[tuple[Copy, ...], ...]:
    """Return the copies that a row reports, by the numbers of a group with more members."""
    assert later.copies is not None
    copies_by_task: list[tuple[Copy, ...]] = [()] * len(group.tasks)
    for task, copies in zip(later.group.tasks, later.copies, strict=True):
        copies_by_task[group.task_index[task.task_id]] = tuple(
            copy._replace(instance=group.instance_index[later.group.instances[copy.instance].process_id], reporters=())
            for copy in copies
        )
    return tuple(copies_by_task)


def _decided_holdings(group: Group, decision: Any, location: str, *roles: tuple[str, ...]) -> tuple[Holding, ...]:
    """Return the named lists of a decision as the roles of each consumer of the group."""
    try:
        by_consumer = {
            consumer_id: consumer
            for process in decision["decided"].values()
            for consumer_id, consumer in process["consumers"].items()
        }
        return tuple(
            Holding(*(_indices(group, by_consumer.get(consumer_id, {}), names) for names in roles))
            for consumer_id in group.consumer_ids
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        fix = "make the history again with kstream-plan snapshot --all"
        raise SnapshotError("decision is not as snapshot --all writes it", where=printable(location), fix=fix) from None


def _indices(group: Group, consumer: Mapping[str, Sequence[str]], names: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(group.task_index[work_id(task)] for name in names for task in consumer.get(name, ())))


def history_rows(path: str, stdin: BinaryIO) -> Iterator[tuple[Row, str]]:
    """Yield every row of a history and where it is from, in the order of the files.

    Args:
        path: a file, folder or glob of JSON or JSON Lines on this machine, plain or gzip; ``-`` is ``stdin``.
        stdin: what ``-`` stands for.

    Raises:
        SnapshotError: a file cannot be read, or is no history.
    """
    if path == STDIN:
        yield from _rows_of(standard_input(stdin), "standard input")
        return
    paths = check_paths([path])
    if paths.remote:
        raise SnapshotError("is not on this machine", where=printable(path), fix="copy the history here")
    for file in paths.local:
        yield from _rows_of(_content(file), file.name)


def _content(file: LocalFile) -> bytes:
    try:
        return read_file(file.path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SnapshotError(problem, where=printable(file.name), fix="check the file") from None


def _rows_of(content: bytes, name: str) -> Iterator[tuple[Row, str]]:
    head = unzipped_head(content, name)
    if is_a_log(head.content):
        fix = "make a history of it: kstream-plan snapshot LOG --all --out history.jsonl"
        raise SnapshotError("is a log, not a history", where=printable(name), fix=fix)
    form = form_of(head, name, is_a_log)
    if form is Form.PARQUET:
        fix = "give the JSON that kstream-plan snapshot --all writes"
        raise SnapshotError("a history is read as JSON, this is Parquet", where=printable(name), fix=fix)
    content = _unpacked(content, name)
    if form is Form.LINES:
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                location = f"{name}, line {number}"
                yield parse_row(line.removeprefix(b"\xef\xbb\xbf"), location), location
        return
    rows = _document(content, name)
    for number, row in enumerate(rows, start=1):
        location = f"{name}, row {number}"
        if not isinstance(row, Mapping):
            raise SnapshotError("holds something that is no snapshot row", where=location, fix="give objects")
        yield row, location


def _unpacked(content: bytes, name: str) -> bytes:
    try:
        return unpacked(content)
    except TooLargeError as error:
        problem = f"cannot be read: {error.strerror}"
        raise SnapshotError(problem, where=printable(name), fix="check the file, or raise --set max.text") from None
    except (OSError, EOFError, zlib.error) as error:
        raise broken_gzip(name, str(error)) from None


def _document(content: bytes, name: str) -> list[Any]:
    try:
        document = parse_json(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"is not JSON: {error}", where=printable(name), fix="give JSON or JSON Lines") from None
    return document if isinstance(document, list) else [document]
