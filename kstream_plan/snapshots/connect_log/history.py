"""Workers' logs → the history of their groups: a snapshot row for each generation, and what logs cannot tell of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.not_modelled import newer_unread
from kstream_plan.snapshots.connect_log.course import Course, courses_of, named_items
from kstream_plan.snapshots.connect_log.records import read_records
from kstream_plan.snapshots.connect_log.rounds import LogContents, LoggedGroup, WorkerAnswer, rounds_of
from kstream_plan.snapshots.connect_log.rows import hosts_of, row_of
from kstream_plan.snapshots.leader_log.kinds_of_logs import LogKind, other_log
from kstream_plan.snapshots.leader_log.lines import StandardInput, each_log
from kstream_plan.snapshots.leader_log.message_values import LogPlace
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: Settings of an application, by the names of the snapshot's ``config``; ``None``: none are given.
Config = Mapping[str, Any]

_DELAY = "scheduled_rebalance_max_delay_ms"


class ConnectEntry(NamedTuple):
    """One generation of a group, after it.

    ``at_ms`` is when, since 1970, if that is known. ``started_count``, ``stopped_count`` and ``unassigned_count`` count
    the connectors and tasks that workers have newly got, have no more, and that no worker runs. ``problem`` says why it
    cannot be planned from; there is no ``row`` then. ``notes`` are what is not known of it.
    """

    group_id: str
    generation: int
    at_ms: int | None
    leader: str
    workers: int
    started_count: int
    stopped_count: int
    unassigned_count: int
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
    contents = rounds_of(each_log(paths, piped, partial(read_records, dates=dates)))
    entries = [
        entry
        for group_id, group in sorted(contents.groups.items())
        for entry in _entries(group, contents, config(group_id), now_ms)
    ]
    if not entries:
        raise _nothing_found(paths, contents, piped)
    return entries


def checked_row(entry: ConnectEntry) -> Mapping[str, Any]:
    """Return the row of a generation.

    Raises:
        SnapshotError: it cannot be planned from, a delay runs whose end is unknown, or it contradicts itself.
    """
    place = str(entry.place)
    if entry.problem is not None:
        problem = (
            f"generation {entry.generation} of {entry.group_id!r} cannot be planned from: {printable(entry.problem)}"
        )
        fix = "give the logs of all workers, as far as this generation, or choose another one: --list, --generation N"
        raise SnapshotError(problem, where=place, fix=fix)
    if entry.delay_ms and entry.at_ms is None:
        problem = f"a delay of {entry.delay_ms / 1000:g} s runs, and the log's times have no date"
        raise SnapshotError(
            problem, where=place, fix="say when its last line was written: --set now=2026-11-22T12:00:00Z"
        )
    snapshot_from_row(entry.row, place)
    return entry.row


def _entries(
    group: LoggedGroup, contents: LogContents, config: Config | None, now_ms: int | None
) -> Iterator[ConnectEntry]:
    hosts, dates, courses = hosts_of(group), _dates(group), courses_of(group)
    for course, next_course in zip_longest(courses, courses[1:]):
        answer = course.round.answer
        leader_answer = course.round.answers.get(answer.leader)
        stamp = None if leader_answer is None else leader_answer.answered_at
        later_ms = (
            None if leader_answer is None else _since_1970_ms(leader_answer, dates.get(answer.leader), contents, now_ms)
        )
        row: Mapping[str, Any] = {}
        newer = _newer(course, next_course, group, contents)
        if course.problem is None:
            row = row_of(course, group, hosts, later_ms, _settings(course, group, config))
        if row and newer is not None:
            row = {**row, "newer_rebalance": {"place": str(newer)}}
        yield ConnectEntry(
            group.group_id,
            course.round.number,
            None if stamp is None or later_ms is None else stamp.ms + later_ms,
            hosts.get(answer.leader, answer.leader_url),
            len(course.round.answers),
            course.started_count,
            course.stopped_count,
            course.unassigned_count,
            answer.delay_ms,
            course.round.place,
            course.problem,
            row,
            (
                *(() if newer is None else (newer_unread(str(newer)),)),
                *notes_about_gaps(contents),
                *notes_about(course, group, hosts, config),
            ),
        )


def _newer(course: Course, next_course: Course | None, group: LoggedGroup, contents: LogContents) -> LogPlace | None:
    """Return the first sign of a round before ``next_course``, or of that itself, that cannot be planned from."""
    number, end = course.round.number, group.last_number + 1 if next_course is None else next_course.round.number
    for unread in range(number + 1, end):
        if unread in group.rounds or unread in group.unclaimed:
            return group.rounds[unread].place if unread in group.rounds else group.unclaimed[unread]
    last_lines = {place.file: place.line for place in course.round.places}
    later = {} if next_course is None else {place.file: place.line for place in next_course.round.places}
    foreign_files = {file for other_group in contents.groups.values() for file in other_group.files} - group.files
    for place, _ in contents.gaps:
        is_before_next = next_course is None or (place.file in later and place.line < later[place.file])
        if place.file not in foreign_files and place.line > last_lines.get(place.file, 0) and is_before_next:
            return place
    return None if next_course is None or next_course.problem is None else next_course.round.place


def _dates(group: LoggedGroup) -> dict[str, int]:
    """Return when members' processes began: leaders say what time it is when they decide (DEBUG).

    Of the others a generation tells that both have joined: all get their assignments at once.
    """
    began_ms_by_member = {}
    for logged_round in group.rounds.values():
        worker_answer = logged_round.answers.get(logged_round.answer.leader) if logged_round.answers else None
        if worker_answer is not None and worker_answer.joined_at is not None and logged_round.decided_ms is not None:
            began_ms_by_member[logged_round.answer.leader] = logged_round.decided_ms - worker_answer.joined_at.ms
    for _, logged_round in sorted(group.rounds.items()):
        times = {
            member: worker_answer.answered_at
            for member, worker_answer in logged_round.answers.items()
            if worker_answer.answered_at is not None and not worker_answer.answered_at.dated
        }
        decided_ms = next(
            (began_ms_by_member[member] + stamp.ms for member, stamp in times.items() if member in began_ms_by_member),
            None,
        )
        if decided_ms is not None:
            began_ms_by_member |= {
                member: decided_ms - stamp.ms for member, stamp in times.items() if member not in began_ms_by_member
            }
    return began_ms_by_member


def _since_1970_ms(
    leader_answer: WorkerAnswer, began_ms: int | None, contents: LogContents, now_ms: int | None
) -> int | None:
    """Return what to add to the leader's times so that they count since 1970; ``None``: unknown."""
    if leader_answer.answered_at is None:
        return None
    if leader_answer.answered_at.dated:
        return 0
    end = contents.ends.get(leader_answer.voice.file)
    if began_ms is not None or now_ms is None or end is None or end.dated:
        return began_ms
    return now_ms - end.ms


def _settings(course: Course, group: LoggedGroup, config: Config | None) -> Config:
    """Return what is given, and the delay that workers say they are set to, or that one of them has begun with."""
    name = "scheduled_rebalance_max_delay_ms"
    logged_ms = course.max_delay_ms if group.max_delay_ms is None else group.max_delay_ms
    return {**({} if logged_ms is None else {name: logged_ms}), **(config or {})}


def _nothing_found(paths: Sequence[str], contents: LogContents, piped: StandardInput) -> SnapshotError:
    place_names = printable(", ".join("standard input" if path == "-" else path for path in paths[:3]))
    if contents.gaps:
        place, reason = contents.gaps[0]
        problem = f"no rebalance of Kafka Connect's workers can be read; the message at {place}: {printable(reason)}"
        return SnapshotError(problem, where=place_names, fix="give more of the logs, of all workers")
    lacks = "no rebalance of Kafka Connect's workers is in it"
    other_log_error = other_log(paths, LogKind.CONNECT, lacks, piped)
    if other_log_error is not None:
        return other_log_error
    fix = (
        "give the logs of all workers from a time with a rebalance, with org.apache.kafka.connect.runtime.distributed "
        "and org.apache.kafka.clients.consumer.internals on level INFO"
    )
    return SnapshotError(lacks, where=place_names, fix=fix)


def notes_about_gaps(contents: LogContents) -> Iterator[Note]:
    """Yield a warning if messages cannot be read."""
    if contents.gaps:
        places, (place, reason) = tuple(str(place) for place, _ in contents.gaps), contents.gaps[0]
        number = "1 message of a worker" if len(places) == 1 else f"{len(places)} messages of workers"
        message = (
            f"{number} cannot be read and left out, as if the log had a gap; the first is at {place}: "
            f"{printable(reason)}"
        )
        yield Note("unread-message", message, places)


def notes_about(
    course: Course, group: LoggedGroup, hosts: Mapping[str, str], config: Mapping[str, Any] | None
) -> Iterator[Note]:
    """Yield a warning for each unknown of a round, with its cost and the cure.

    Args:
        course: the round.
        group: what its logs say of all rounds.
        hosts: workers by member id.
        config: the settings that are given; ``None``: none are.
    """
    answers = course.round.answers
    stamp = answers[course.round.answer.leader].answered_at if course.round.answer.leader in answers else None
    if stamp is not None and stamp.dated and not stamp.zoned:
        yield Note("no-time-zone", "the log's times name no zone, UTC is assumed: --as-of may be hours off")
    yield from _about_members(course, hosts)
    if course.assumed:
        message = (
            "a configuration has changed, and INFO lines do not show how: "
            f"{named_items(course.assumed)} are assumed to be configured still. Give the leader's log on DEBUG, or a "
            "later generation"
        )
        yield Note("configuration-assumed", message)
    memory = course.memories.get(course.round.answer.leader)
    if memory is not None and not memory.is_known:
        message = (
            "the logs begin while work moved or waited: candidates, and how often rebalances were put off before, are "
            "unknown. Give logs from before"
        )
        yield Note("memory-assumed", message)
    yield from _about_settings(course, group, config)


def _about_members(course: Course, hosts: Mapping[str, str]) -> Iterator[Note]:
    if course.round.listed_members is None:
        departed_hosts = sorted(hosts[member] for member in course.departed_members if member in hosts)
        message = f"INFO lines do not list the members: the {len(course.members)} with logs here are assumed to be all"
        if departed_hosts:
            message += (
                f", and {', '.join(departed_hosts)} to be gone, whose log has no generation {course.round.number}"
            )
        yield Note("members-assumed", message, tuple(departed_hosts))
    if course.in_doubt:
        names = ", ".join(sorted(hosts[member] for member in course.in_doubt))
        message = (
            f"the order in which {names} joined is not in the logs: which worker leads next, or keeps an extra item, "
            "is unknown"
        )
        yield Note("order-assumed", message, course.in_doubt)


def _about_settings(course: Course, group: LoggedGroup, config: Mapping[str, Any] | None) -> Iterator[Note]:
    logged_ms = course.max_delay_ms if group.max_delay_ms is None else group.max_delay_ms
    if config is None:
        exceptions = "" if logged_ms is None else f"except for scheduled.rebalance.max.delay.ms ({logged_ms}) "
        default = ", scheduled.rebalance.max.delay.ms 300000" if logged_ms is None else ""
        message = (
            f"the logs do not contain the configuration: {exceptions}Kafka's defaults are assumed (session.timeout.ms "
            f"10000{default}). Give --streams-config"
        )
        yield Note("no-config", message)
    elif logged_ms is not None and config.get(_DELAY, logged_ms) != logged_ms:
        message = (
            f"--streams-config sets scheduled.rebalance.max.delay.ms to {config[_DELAY]}, the logs say {logged_ms}: "
            "the file is used"
        )
        yield Note("another-delay", message)
