"""Logs → the history of their groups: a snapshot row and a decision for each generation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note, TaskId
from kstream_plan.model.not_modelled import NEWER_UNREAD, kept_settings, newer_unread
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.leader_log.generations import LogContents, LoggedGeneration, generations_of
from kstream_plan.snapshots.leader_log.kinds_of_logs import LogKind, other_log
from kstream_plan.snapshots.leader_log.lines import StandardInput, each_log
from kstream_plan.snapshots.leader_log.log_ends import begun_after_each, ends_of, is_after
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.logged_settings import (
    GroupSettings,
    LoggedValues,
    settings_for,
    settings_of,
)
from kstream_plan.snapshots.leader_log.message_values import Gap, Joined, Joining, LogPlace, Split
from kstream_plan.snapshots.leader_log.naming import application_of, application_of_thread, client_of, hosts_of
from kstream_plan.snapshots.leader_log.records import IN_ONE_LINE, Record, read_records
from kstream_plan.snapshots.leader_log.rows import Names, copies_since, decision_of, moved_tasks, row_of, time_text
from kstream_plan.snapshots.leader_log.running_release import (
    BEFORE_TAGS,
    Releases,
    release_of,
    releases_of,
    releases_running,
)
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.history import with_rates, with_stores_by_restarts
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row


class Entry(NamedTuple):
    """One generation.

    ``row`` is the group as the leader knew it, ``decision`` what it decided; ``moved_tasks`` how many tasks got another
    process by it, ``withheld_tasks`` how many wait for their owner to revoke them. ``at_ms`` is when, in milliseconds
    since 1970, ``None`` if the log has no times; ``zoned``: with a zone. ``place`` is where the decision is.
    ``follows``: the generation before it is in the logs too. ``deciding`` are settings in the log that decide who runs
    what and are in no plan; ``notes`` are what is not certain of it. ``has_file``: a file of settings was given.
    ``next_rebalance``: where and when, in milliseconds since 1970, the one after it began, as members log it.
    """

    application_id: str
    at_ms: int | None
    zoned: bool
    place: LogPlace
    follows: bool
    row: Mapping[str, Any]
    decision: Mapping[str, Any]
    moved_tasks: int
    withheld_tasks: int
    deciding: Mapping[str, str] = MappingProxyType({})
    notes: tuple[Note, ...] = ()
    has_file: bool = False
    next_rebalance: tuple[str, int] | None = None

    def cut_off(self, until_ms: int | None) -> Entry:
        """Return it as it was at a time: what came later is not known, and nothing else happened until then."""
        if until_ms is None or self.at_ms is None:
            return self
        time, row = format_time(until_ms), dict(self.row)
        if row.get("newer_rebalance", {}).get("at", "") > time:
            del row["newer_rebalance"]
        if "newer_rebalance" in row:
            return self
        if self.next_rebalance is not None and self.next_rebalance[1] <= until_ms:
            place, begun_ms = self.next_rebalance
            row["newer_rebalance"] = {"place": place, "at": format_time(begun_ms)}
            return self._replace(row=row, notes=(*self.notes, newer_unread(place)))
        notes = tuple(note for note in self.notes if note.code != NEWER_UNREAD)
        return self._replace(row={**row, "known_until": time}, notes=notes)


class LogHistory(NamedTuple):
    """All generations in order of time, where one began that is not whole, and given names that no process has.

    ``unread`` are the messages that cannot be read, each with what is wrong with it.
    """

    entries: tuple[Entry, ...]
    incomplete: tuple[LogPlace, ...] = ()
    unused_names: tuple[str, ...] = ()
    unread: tuple[tuple[LogPlace, str], ...] = ()


def read_leader_logs(
    paths: Sequence[str],
    *,
    application_id: str | None = None,
    config: Mapping[str, Any] | Callable[[str], Mapping[str, Any]] | None = None,
    names: Names | None = None,
    stdin: BinaryIO | None = None,
    dates: str | None = None,
) -> LogHistory:
    """Read the logs of one or several instances, in any order; the leader may move between them.

    A message that cannot be read is left out, and told in what is returned.

    Args:
        paths: files, folders and globs, plain or gzip; ``-`` is standard input.
        application_id: the application of generations whose log does not name it.
        config: settings, by the names of the snapshot's ``config``; or what gives those of an application. They count
            before what the logs say.
        names: ``host`` and ``rack`` by process id, client id or host.
        stdin: what ``-`` stands for, by default the process's standard input.
        dates: the order of day, month and year (``dmy``, ``mdy``, ``ymd``), where the logs' dates do not tell it.

    Raises:
        SnapshotError: a log cannot be read, no whole generation is in any of them, or which is the newest is not known.
    """
    piped = StandardInput(stdin)
    records = list(each_log(paths, piped, partial(read_records, dates=dates)))
    contents = generations_of(records)
    if not contents.generations:
        raise _nothing_found(paths, contents, piped)
    names_by_process, unused_names = _names_by_process(
        contents.generations, hosts_of(contents.generations, records), names or {}
    )
    by_application: dict[str, list[LoggedGeneration]] = defaultdict(list)
    for generation in contents.generations:
        by_application[application_of(generation) or application_id or _nameless(generation)].append(generation)
    for generations in by_application.values():
        _check_order(generations)
    releases, values_by_id, log_ends = releases_of(records), settings_of(records), ends_of(by_application, records)
    entries = [
        entry
        for name, generations in sorted(by_application.items())
        for entry in _entries(
            name,
            generations,
            _Context(
                config(name) if callable(config) else config or {},
                names_by_process,
                releases,
                log_ends.get(name),
                values_by_id.get(name, ()),
                contents,
            ),
        )
    ]
    entries.sort(key=lambda entry: (entry.at_ms is not None, entry.at_ms or 0))
    unread = ((gap.place, gap.message.reason) for gap in contents.gaps if isinstance(gap.message, Gap))
    return LogHistory(tuple(entries), _beginnings(contents.incomplete), unused_names, tuple(unread))


def checked_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the rows of generations, each with its ``decision``.

    Raises:
        SnapshotError: one contradicts itself: two members own the same task, say. The error names the place in the log.
    """
    for entry in entries:
        snapshot_from_row(entry.row, str(entry.place))
    return [{**entry.row, "decision": entry.decision} for entry in entries]


class _Context(NamedTuple):
    """What is known of an application beside its generations."""

    config: Mapping[str, Any]
    names: Names
    releases: Releases
    log_end: Moment | None
    logged_values: Sequence[LoggedValues]
    contents: LogContents


def _entries(application_id: str, generations: Sequence[LoggedGeneration], context: _Context) -> Iterator[Entry]:
    pairs = [
        (generation, previous if previous is not None and _follows(generation, previous) else None)
        for generation, previous in zip(generations, [None, *generations], strict=False)
    ]
    settings = [settings_for(generation, context.logged_values) for generation in generations]
    rows = [
        row_of(
            generation,
            previous,
            ages,
            application_id=application_id,
            config={**logged.config, **kept_settings(logged.deciding), **context.config},
            names=context.names,
        )
        for (generation, previous), ages, logged in zip(pairs, copies_since(pairs), settings, strict=True)
    ]
    for row, generation in zip(rows, generations, strict=True):
        release = release_of(generation, context.releases)
        if release is not None:
            row["streams_version"] = release
    last_at, log_end = generations[-1].decided_at, context.log_end
    joins = [record for record in context.contents.joins if _group_of(record) == application_id]
    begin_signs = list(begun_after_each(generations, joins))
    newer = [
        _newer(generation, next_generation, context.contents)
        for generation, next_generation in zip(generations, [*generations[1:], None], strict=True)
    ]
    newer[-1] = newer[-1] or begin_signs[-1]
    for row, sign in zip(rows, newer, strict=True):
        if sign is not None:
            time = {} if sign.logged_at is None else {"at": time_text(sign.logged_at)}
            row["newer_rebalance"] = {"place": str(sign.place), **time}
    if (
        newer[-1] is None
        and last_at is not None
        and log_end is not None
        and log_end.us >= last_at.us
        and log_end.zoned == last_at.zoned
    ):
        rows[-1]["known_until"] = time_text(log_end)
    rated = with_stores_by_restarts(with_rates(rows, "log"))
    for row, (generation, previous), logged, sign, begin_sign in zip(
        rated, pairs, settings, newer, begin_signs, strict=True
    ):
        decided_at = generation.decided_at
        yield Entry(
            application_id,
            decided_at.us // 1000 if decided_at else None,
            decided_at is None or decided_at.zoned,
            generation.place,
            previous is not None,
            row,
            decision_of(generation, previous, context.names),
            moved_tasks(generation, previous),
            sum(len(tasks) for split in generation.splits.values() for tasks in split.revoking.values()),
            logged.deciding,
            (
                *(() if sign is None else (newer_unread(str(sign.place)),)),
                *_of_generation(generation, context, logged),
            ),
            bool(context.config),
            None
            if begin_sign is None or begin_sign.logged_at is None
            else (str(begin_sign.place), begin_sign.logged_at.us // 1000),
        )


def _newer(
    generation: LoggedGeneration, next_generation: LoggedGeneration | None, contents: LogContents
) -> Record | None:
    """Return the first sign of a rebalance between a generation and the next one; ``None``: there is none."""
    for sign in sorted([*contents.incomplete, *contents.gaps], key=lambda record: record.place):
        is_between = is_after(sign, generation) and (next_generation is None or not is_after(sign, next_generation))
        if is_between and not _is_of_others(sign, generation):
            return sign
    return None


def _group_of(record: Record) -> str | None:
    return record.message.group if isinstance(record.message, Joining | Joined) else None


def _is_of_others(sign: Record, last: LoggedGeneration) -> bool:
    """Tell whether a message is of another application, by the name that Kafka gives its thread."""
    names = [application_of_thread(thread) for thread in (sign.thread, last.thread)]
    return None not in names and names[0] != names[1]


def _of_generation(generation: LoggedGeneration, context: _Context, logged: GroupSettings) -> Iterator[Note]:
    """Yield what is not certain of a generation: its year, its release, its settings."""
    if generation.decided_at is not None and generation.decided_at.year_assumed:
        year = time_text(generation.decided_at)[:4]
        yield Note("year-assumed", f"the log's times name no year: {year} is assumed, the newest that is not to come")
    running = releases_running(generation, context.releases)
    if len(running) > 1:
        message = f"instances run different releases of Kafka: {', '.join(running)}; the oldest is taken"
        yield Note("releases-differ", message, tuple(running))
    elif not running and not generation.clients.has_tags:
        message = f"the log is worded as Kafka 2.6 to 3.1 word it, and names no release: {BEFORE_TAGS} is assumed"
        yield Note("release-assumed", message)
    yield from logged.notes
    for name, value in context.config.items():
        if logged.config.get(name, value) != value:
            logged_value = logged.config[name]
            setting = name.replace("_", ".")
            message = f"{setting} is {value} by --streams-config and {logged_value} by the log: the file is used"
            yield Note("settings-not-as-logged", message, (name,))


def _check_order(generations: Sequence[LoggedGeneration]) -> None:
    """Check that it is known which generation is the newest.

    Raises:
        SnapshotError: they are in several logs, and one has no times.
    """
    undated = next((generation for generation in generations if generation.decided_at is None), None)
    if undated is not None and len({generation.place.file for generation in generations}) > 1:
        problem = (
            "its times have no date, and other logs have rebalances of the same application: which is newer is unknown"
        )
        fix = "give one log, or logs with dates: kubectl logs --timestamps adds them"
        raise SnapshotError(problem, where=str(undated.place), fix=fix)


def _beginnings(incomplete: Sequence[Record]) -> tuple[LogPlace, ...]:
    """Return where rebalances begin that are not whole: what belongs to one counts once."""
    begin_records: list[Record] = []
    for record in incomplete:
        previous = begin_records[-1] if begin_records else None
        goes_on = (
            previous is not None
            and isinstance(record.message, Split)
            and record.source == previous.source
            and (
                record.logged_at is None
                or previous.logged_at is None
                or record.logged_at.us - previous.logged_at.us < 1_000_000
            )
        )
        begin_records += [] if goes_on else [record]
    return tuple(record.place for record in begin_records)


def _follows(generation: LoggedGeneration, previous: LoggedGeneration) -> bool:
    """Return True if no generation is missing between two: by number, else by what members still own of it."""
    if generation.number is not None and previous.number is not None:
        return generation.number == previous.number + 1
    for process_id, split in generation.splits.items():
        previous_split = previous.splits.get(process_id)
        for consumer, owned in split.owned.items():
            assigned_before = set[TaskId]()
            if previous_split is not None:
                revoking = set(previous_split.revoking.get(consumer, ()))
                assigned_before = set(previous_split.active.get(consumer, ())) - revoking
            if not set(owned) <= assigned_before:
                return False
    return True


def _names_by_process(
    generations: Sequence[LoggedGeneration], hosts: Mapping[str, str], names: Names
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return names of every process, those given by the user first; and the given names that no process has."""
    names_by_process: dict[str, dict[str, str]] = {}
    used = set()
    for generation in generations:
        for process_id, consumers in generation.consumers.items():
            process_names = {"host": hosts[process_id]} if process_id in hosts else {}
            clients = [client for consumer in consumers if (client := client_of(consumer))]
            for key in (*process_names.values(), *clients, process_id):
                if key in names:
                    used.add(key)
                    process_names |= names[key]
            names_by_process[process_id] = process_names
    return names_by_process, tuple(sorted(names.keys() - used))


def _nothing_found(paths: Sequence[str], contents: LogContents, piped: StandardInput) -> SnapshotError:
    place_names = printable(", ".join("standard input" if path == "-" else path for path in paths[:3]))
    fix = "give more of the log, and the logs of all instances"
    if contents.gaps and isinstance(contents.gaps[0].message, Gap):
        gap, reason = contents.gaps[0].place, printable(contents.gaps[0].message.reason)
        fix = "save the log again with its line ends" if reason == IN_ONE_LINE else fix
        problem = f"no rebalance is there from beginning to end; the message at {gap} cannot be read: {reason}"
        return SnapshotError(problem, where=place_names, fix=fix)
    if contents.incomplete:
        problem = f"no rebalance is there from beginning to end; one begins at {contents.incomplete[0].place}"
        return SnapshotError(problem, where=place_names, fix=fix)
    lacks = "no decision of Kafka Streams' HighAvailabilityTaskAssignor is in it"
    other_log_error = other_log(paths, LogKind.STREAMS, lacks, piped)
    if other_log_error is not None:
        return other_log_error
    fix = (
        "give the log of the group's leader (if in doubt, of all instances) from a time with a rebalance, with "
        "org.apache.kafka.streams.processor.internals on level INFO"
    )
    return SnapshotError(lacks, where=place_names, fix=fix)


def _nameless(generation: LoggedGeneration) -> str:
    problem = "the application's id is not in the log, where client.id is set"
    raise SnapshotError(problem, where=str(generation.place), fix="give it with --application-id")
