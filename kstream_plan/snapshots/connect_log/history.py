"""Workers' logs → the history of their groups: a snapshot row for each generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.not_modelled import newer_unread
from kstream_plan.snapshots.connect_log.course import Course, courses_of
from kstream_plan.snapshots.connect_log.notes import notes_about, notes_about_gaps
from kstream_plan.snapshots.connect_log.records import read_records
from kstream_plan.snapshots.connect_log.rounds import FoundRounds, LoggedGroup, Told, rounds_of
from kstream_plan.snapshots.connect_log.rows import hosts_of, row_of
from kstream_plan.snapshots.leader_log.log_files import StandardInput, each_log
from kstream_plan.snapshots.leader_log.message_values import LogPlace
from kstream_plan.snapshots.leader_log.other_logs import LogKind, other_log
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: Settings of an application, by the names of the snapshot's ``config``; ``None``: none are given.
Config = Mapping[str, Any]


class ConnectEntry(NamedTuple):
    """One generation of a group, after it.

    ``at_ms`` is when, since 1970, if that is known. ``given``, ``lost`` and ``unrun`` count the connectors and tasks
    that workers have newly got, have no more, and that nobody runs. ``problem`` says why it cannot be planned from;
    there is no ``row`` then. ``notes`` are what is not known of it.
    """

    group_id: str
    generation: int
    at_ms: int | None
    leader: str
    workers: int
    given: int
    lost: int
    unrun: int
    delay_ms: int
    place: LogPlace
    problem: str | None
    row: Mapping[str, Any]
    notes: tuple[Note, ...] = ()


def read_connect_logs(
    paths: Sequence[str],
    *,
    config: Callable[[str], Config | None] = lambda _: None,
    now_ms: int | None = None,
    stdin: BinaryIO | None = None,
    dates: str | None = None,
) -> list[ConnectEntry]:
    """Read the logs of the workers of one or several groups, in any order.

    A message that cannot be read is left out, and told in the notes of the entries.

    Args:
        paths: files, folders and globs, plain or gzip; ``-`` is standard input.
        config: gives the settings of a group.
        now_ms: when the logs' last lines were written, since 1970, where their times have no date.
        stdin: what ``-`` stands for, by default the process's standard input.
        dates: the order of day, month and year (``dmy``, ``mdy``, ``ymd``), where the logs' dates do not tell it.

    Returns:
        The generations, by group and number.

    Raises:
        SnapshotError: a log cannot be read, contradicts another one, or no round is in any.
    """
    piped = StandardInput(stdin)
    found = rounds_of(each_log(paths, piped, partial(read_records, dates=dates)))
    entries = [
        entry
        for group_id, group in sorted(found.groups.items())
        for entry in _entries(group, found, config(group_id), now_ms)
    ]
    if not entries:
        raise _nothing_found(paths, found, piped)
    return entries


def checked_row(entry: ConnectEntry) -> Mapping[str, Any]:
    """Return the row of a generation.

    Raises:
        SnapshotError: it cannot be planned from, a delay runs and nobody can tell until when, or it contradicts itself.
    """
    where = str(entry.place)
    if entry.problem is not None:
        what = f"generation {entry.generation} of {entry.group_id!r} cannot be planned from: {printable(entry.problem)}"
        fix = "give the logs of all workers, as far as this generation, or choose another one: --list, --generation N"
        raise SnapshotError(what, where=where, fix=fix)
    if entry.delay_ms and entry.at_ms is None:
        what = f"a delay of {entry.delay_ms / 1000:g} s runs, and the log's times have no date"
        raise SnapshotError(what, where=where, fix="say when its last line was written: --set now=2026-11-22T12:00:00Z")
    snapshot_from_row(entry.row, where)
    return entry.row


def _entries(
    group: LoggedGroup, found: FoundRounds, config: Config | None, now_ms: int | None
) -> Iterator[ConnectEntry]:
    hosts, dates, courses = hosts_of(group), _dates(group), courses_of(group)
    for of, after in zip_longest(courses, courses[1:]):
        answer = of.round.answer
        told = of.round.told.get(answer.leader)
        at = None if told is None else told.at
        later_ms = None if told is None else _since_1970_ms(told, dates.get(answer.leader), found, now_ms)
        row: Mapping[str, Any] = {}
        newer = _newer(of, after, group, found)
        if of.problem is None:
            row = row_of(of, group, hosts, later_ms, _settings(of, group, config))
        if row and newer is not None:
            row = {**row, "newer_rebalance": {"place": str(newer)}}
        yield ConnectEntry(
            group.group_id,
            of.round.number,
            None if at is None or later_ms is None else at.ms + later_ms,
            hosts.get(answer.leader, answer.leader_url),
            len(of.round.told),
            of.given,
            of.lost,
            of.unrun,
            answer.delay_ms,
            of.round.place,
            of.problem,
            row,
            (
                *(() if newer is None else (newer_unread(str(newer)),)),
                *notes_about_gaps(found),
                *notes_about(of, group, hosts, config),
            ),
        )


def _newer(of: Course, after: Course | None, group: LoggedGroup, found: FoundRounds) -> LogPlace | None:
    """Return the first sign of a round between one and the one ``after`` it that cannot be planned from; else none."""
    number, end = of.round.number, group.last_number + 1 if after is None else after.round.number
    for unread in range(number + 1, end):
        if unread in group.rounds or unread in group.unclaimed:
            return group.rounds[unread].place if unread in group.rounds else group.unclaimed[unread]
    last_lines = {place.file: place.line for place in of.round.places}
    later = {} if after is None else {place.file: place.line for place in after.round.places}
    others = {file for other in found.groups.values() for file in other.files} - group.files
    for place, _ in found.gaps:
        is_before_next = after is None or (place.file in later and place.line < later[place.file])
        if place.file not in others and place.line > last_lines.get(place.file, 0) and is_before_next:
            return place
    return None if after is None or after.problem is None else after.round.place


def _dates(group: LoggedGroup) -> dict[str, int]:
    """Return when members' processes began: leaders say what time it is when they decide (DEBUG).

    Of the others a generation tells that both have joined: all get their assignments at once.
    """
    found = {}
    for of in group.rounds.values():
        told = of.told.get(of.answer.leader) if of.told else None
        if told is not None and told.joined_at is not None and of.decided_ms is not None:
            found[of.answer.leader] = of.decided_ms - told.joined_at.ms
    for _, of in sorted(group.rounds.items()):
        times = {member: told.at for member, told in of.told.items() if told.at is not None and not told.at.dated}
        known = next((found[member] + at.ms for member, at in times.items() if member in found), None)
        if known is not None:
            found |= {member: known - at.ms for member, at in times.items() if member not in found}
    return found


def _since_1970_ms(told: Told, began_ms: int | None, found: FoundRounds, now_ms: int | None) -> int | None:
    """Return by what the leader's times are to be put later so that they count since 1970; ``None``: nobody knows."""
    if told.at is None:
        return None
    if told.at.dated:
        return 0
    end = found.ends.get(told.voice.file)
    if began_ms is not None or now_ms is None or end is None or end.dated:
        return began_ms
    return now_ms - end.ms


def _settings(of: Course, group: LoggedGroup, config: Config | None) -> Config:
    """Return what is given, and the delay that workers say they are set to, or that one of them has begun with."""
    name = "scheduled_rebalance_max_delay_ms"
    logged_ms = of.max_delay_ms if group.max_delay_ms is None else group.max_delay_ms
    return {**({} if logged_ms is None else {name: logged_ms}), **(config or {})}


def _nothing_found(paths: Sequence[str], found: FoundRounds, piped: StandardInput) -> SnapshotError:
    where = printable(", ".join("standard input" if path == "-" else path for path in paths[:3]))
    if found.gaps:
        place, why = found.gaps[0]
        what = f"no rebalance of Kafka Connect's workers can be read; the message at {place}: {printable(why)}"
        return SnapshotError(what, where=where, fix="give more of the logs, of all workers")
    lacks = "no rebalance of Kafka Connect's workers is in it"
    other = other_log(paths, LogKind.CONNECT, lacks, piped)
    if other is not None:
        return other
    fix = (
        "give the logs of all workers from a time with a rebalance, with org.apache.kafka.connect.runtime.distributed "
        "and org.apache.kafka.clients.consumer.internals on level INFO"
    )
    return SnapshotError(lacks, where=where, fix=fix)
