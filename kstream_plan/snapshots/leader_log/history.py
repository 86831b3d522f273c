"""Logs → the history of their groups: a snapshot row and a decision for each generation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.not_modelled import NEWER_UNREAD, kept_settings, newer_unread
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.leader_log.begun_rebalances import begun_after_each, is_after
from kstream_plan.snapshots.leader_log.copy_ages import copies_since
from kstream_plan.snapshots.leader_log.decisions import decision_of, moved_tasks
from kstream_plan.snapshots.leader_log.generations import FoundDecision, LoggedGeneration, generations_of
from kstream_plan.snapshots.leader_log.log_ends import ends_of
from kstream_plan.snapshots.leader_log.log_files import StandardInput, each_log
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.logged_settings import (
    GroupSettings,
    LoggedValues,
    settings_for,
    settings_of,
)
from kstream_plan.snapshots.leader_log.message_values import Gap, Joined, Joining, LogPlace, Split
from kstream_plan.snapshots.leader_log.naming import application_of, application_of_thread, client_of, hosts_of
from kstream_plan.snapshots.leader_log.other_logs import LogKind, other_log
from kstream_plan.snapshots.leader_log.records import IN_ONE_LINE, Record, read_records
from kstream_plan.snapshots.leader_log.rows import Names, row_of, time_text
from kstream_plan.snapshots.leader_log.running_release import (
    BEFORE_TAGS,
    Releases,
    release_of,
    releases_of,
    releases_running,
)
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.generation_rates import with_rates
from kstream_plan.snapshots.rows.restarts import with_stores_by_restarts
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row


class Entry(NamedTuple):
    """One generation.

    ``row`` is the group as the leader knew it, ``decision`` what it decided; ``moved_tasks`` how many tasks got another
    process by it, ``withheld_tasks`` how many wait for their owner to revoke them. ``at_ms`` is when, in milliseconds
    since 1970, ``None`` if the log has no times; ``zoned``: with a zone. ``place`` is where the decision is.
    ``follows``: the generation before it is in the logs too. ``deciding`` are settings in the log that decide who runs
    what and are in no plan; ``notes`` are what is not certain of it. ``has_file``: a file of settings was given.
    ``begun``: where and when, in milliseconds since 1970, the rebalance after it began, as members log it.
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
    begun: tuple[str, int] | None = None

    def cut_off(self, until_ms: int | None) -> Entry:
        """Return it as it was at a time: what came later is not known, and nothing else happened until then."""
        if until_ms is None or self.at_ms is None:
            return self
        time, row = format_time(until_ms), dict(self.row)
        if row.get("newer_rebalance", {}).get("at", "") > time:
            del row["newer_rebalance"]
        if "newer_rebalance" in row:
            return self
        if self.begun is not None and self.begun[1] <= until_ms:
            place, begun_ms = self.begun
            row["newer_rebalance"] = {"place": place, "at": format_time(begun_ms)}
            return self._replace(row=row, notes=(*self.notes, newer_unread(place)))
        notes = tuple(note for note in self.notes if note.code != NEWER_UNREAD)
        return self._replace(row={**row, "known_until": time}, notes=notes)


class LogHistory(NamedTuple):
    """All generations in order of time, where one began that is not whole, and names given that are nobody's.

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
    found = generations_of(records)
    if not found.generations:
        raise _nothing_found(paths, found, piped)
    known, unused = _known(found.generations, hosts_of(found.generations, records), names or {})
    by_application: dict[str, list[LoggedGeneration]] = defaultdict(list)
    for generation in found.generations:
        by_application[application_of(generation) or application_id or _nameless(generation)].append(generation)
    for generations in by_application.values():
        _check_order(generations)
    started, logged, ended = releases_of(records), settings_of(records), ends_of(by_application, records)
    entries = [
        entry
        for name, generations in sorted(by_application.items())
        for entry in _entries(
            name,
            generations,
            _Known(
                config(name) if callable(config) else config or {},
                known,
                started,
                ended.get(name),
                logged.get(name, ()),
                found,
            ),
        )
    ]
    entries.sort(key=lambda entry: (entry.at_ms is not None, entry.at_ms or 0))
    unread = ((gap.place, gap.message.why) for gap in found.gaps if isinstance(gap.message, Gap))
    return LogHistory(tuple(entries), _beginnings(found.incomplete), unused, tuple(unread))


def checked_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the rows of generations, each with its ``decision``.

    Raises:
        SnapshotError: one contradicts itself: two members own the same task, say. The error names the place in the log.
    """
    for entry in entries:
        snapshot_from_row(entry.row, str(entry.place))
    return [{**entry.row, "decision": entry.decision} for entry in entries]


class _Known(NamedTuple):
    """What is known of an application beside its generations."""

    config: Mapping[str, Any]
    names: Names
    started: Releases
    ended: Moment | None
    logged: Sequence[LoggedValues]
    found: FoundDecision


def _entries(application_id: str, generations: Sequence[LoggedGeneration], known: _Known) -> Iterator[Entry]:
    pairs = [
        (generation, before if before is not None and _follows(generation, before) else None)
        for generation, before in zip(generations, [None, *generations], strict=False)
    ]
    settings = [settings_for(generation, known.logged) for generation in generations]
    rows = [
        row_of(
            generation,
            before,
            since,
            application_id=application_id,
            config={**logged.config, **kept_settings(logged.deciding), **known.config},
            names=known.names,
        )
        for (generation, before), since, logged in zip(pairs, copies_since(pairs), settings, strict=True)
    ]
    for row, generation in zip(rows, generations, strict=True):
        release = release_of(generation, known.started)
        if release is not None:
            row["streams_version"] = release
    last, ended = generations[-1].at, known.ended
    joins = [record for record in known.found.joins if _group_of(record) == application_id]
    begun = list(begun_after_each(generations, joins))
    newer = [
        _newer(generation, after, known.found)
        for generation, after in zip(generations, [*generations[1:], None], strict=True)
    ]
    newer[-1] = newer[-1] or begun[-1]
    for row, sign in zip(rows, newer, strict=True):
        if sign is not None:
            time = {} if sign.at is None else {"at": time_text(sign.at)}
            row["newer_rebalance"] = {"place": str(sign.place), **time}
    if (
        newer[-1] is None
        and last is not None
        and ended is not None
        and ended.us >= last.us
        and ended.zoned == last.zoned
    ):
        rows[-1]["known_until"] = time_text(ended)
    rated = with_stores_by_restarts(with_rates(rows, "log"))
    for row, (generation, before), logged, sign, first in zip(rated, pairs, settings, newer, begun, strict=True):
        at = generation.at
        yield Entry(
            application_id,
            at.us // 1000 if at else None,
            at is None or at.zoned,
            generation.place,
            before is not None,
            row,
            decision_of(generation, before, known.names),
            moved_tasks(generation, before),
            sum(len(tasks) for split in generation.splits.values() for tasks in split.revoking.values()),
            logged.deciding,
            (
                *(() if sign is None else (newer_unread(str(sign.place)),)),
                *_of_generation(generation, known, logged),
            ),
            bool(known.config),
            None if first is None or first.at is None else (str(first.place), first.at.us // 1000),
        )


def _newer(generation: LoggedGeneration, after: LoggedGeneration | None, found: FoundDecision) -> Record | None:
    """Return the first sign of a rebalance between a generation and the one ``after`` it; ``None``: there is none."""
    for sign in sorted([*found.incomplete, *found.gaps], key=lambda record: record.place):
        is_between = is_after(sign, generation) and (after is None or not is_after(sign, after))
        if is_between and not _is_of_others(sign, generation):
            return sign
    return None


def _group_of(record: Record) -> str | None:
    return record.message.group if isinstance(record.message, Joining | Joined) else None


def _is_of_others(sign: Record, last: LoggedGeneration) -> bool:
    """Tell whether the thread that says it is of another application, by Kafka's own names of threads."""
    names = [application_of_thread(thread) for thread in (sign.thread, last.thread)]
    return None not in names and names[0] != names[1]


def _of_generation(generation: LoggedGeneration, known: _Known, logged: GroupSettings) -> Iterator[Note]:
    """Yield what is not certain of a generation: its year, its release, its settings."""
    if generation.at is not None and generation.at.year_assumed:
        year = time_text(generation.at)[:4]
        yield Note("year-assumed", f"the log's times name no year: {year} is assumed, the newest that is not to come")
    running = releases_running(generation, known.started)
    if len(running) > 1:
        message = f"instances run different releases of Kafka: {', '.join(running)}; the oldest is taken"
        yield Note("releases-differ", message, tuple(running))
    elif not running and not generation.clients.has_tags:
        message = f"the log is worded as Kafka 2.6 to 3.1 word it, and names no release: {BEFORE_TAGS} is assumed"
        yield Note("release-assumed", message)
    yield from logged.notes
    for name, value in known.config.items():
        if logged.config.get(name, value) != value:
            shown = logged.config[name]
            message = (
                f"{name.replace('_', '.')} is {value} by --streams-config and {shown} by the log: the file is used"
            )
            yield Note("settings-not-as-logged", message, (name,))


def _check_order(generations: Sequence[LoggedGeneration]) -> None:
    """Check that it is known which generation is the newest.

    Raises:
        SnapshotError: they are in several logs, and one has no times.
    """
    undated = next((generation for generation in generations if generation.at is None), None)
    if undated is not None and len({generation.place.file for generation in generations}) > 1:
        what = (
            "its times have no date, and other logs have rebalances of the same application: which is newer is unknown"
        )
        fix = "give one log, or logs with dates: kubectl logs --timestamps adds them"
        raise SnapshotError(what, where=str(undated.place), fix=fix)


def _beginnings(incomplete: Sequence[Record]) -> tuple[LogPlace, ...]:
    """Return where rebalances begin that are not whole: what belongs to one counts once."""
    begun: list[Record] = []
    for record in incomplete:
        before = begun[-1] if begun else None
        goes_on = (
            before is not None
            and isinstance(record.message, Split)
            and record.source == before.source
            and (record.at is None or before.at is None or record.at.us - before.at.us < 1_000_000)
        )
        begun += [] if goes_on else [record]
    return tuple(record.place for record in begun)


def _follows(generation: LoggedGeneration, before: LoggedGeneration) -> bool:
    """Tell whether no generation is missing between two: by number, else by what members still own of it."""
    if generation.number is not None and before.number is not None:
        return generation.number == before.number + 1
    for process_id, split in generation.splits.items():
        earlier = before.splits.get(process_id)
        for consumer, owned in split.owned.items():
            got = set(earlier.active.get(consumer, ())) - set(earlier.revoking.get(consumer, ())) if earlier else set()
            if not set(owned) <= got:
                return False
    return True


def _known(
    generations: Sequence[LoggedGeneration], hosts: Mapping[str, str], names: Names
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return what is known of every process, what was given first; and the names given that are nobody's."""
    known: dict[str, dict[str, str]] = {}
    used = set()
    for generation in generations:
        for process_id, consumers in generation.consumers.items():
            found = {"host": hosts[process_id]} if process_id in hosts else {}
            clients = [client for consumer in consumers if (client := client_of(consumer))]
            for key in (*found.values(), *clients, process_id):
                if key in names:
                    used.add(key)
                    found |= names[key]
            known[process_id] = found
    return known, tuple(sorted(names.keys() - used))


def _nothing_found(paths: Sequence[str], found: FoundDecision, piped: StandardInput) -> SnapshotError:
    where = printable(", ".join("standard input" if path == "-" else path for path in paths[:3]))
    fix = "give more of the log, and the logs of all instances"
    if found.gaps and isinstance(found.gaps[0].message, Gap):
        gap, why = found.gaps[0].place, printable(found.gaps[0].message.why)
        fix = "save the log again with its line ends" if why == IN_ONE_LINE else fix
        what = f"no rebalance is there from beginning to end; the message at {gap} cannot be read: {why}"
        return SnapshotError(what, where=where, fix=fix)
    if found.incomplete:
        what = f"no rebalance is there from beginning to end; one begins at {found.incomplete[0].place}"
        return SnapshotError(what, where=where, fix=fix)
    lacks = "no decision of Kafka Streams' HighAvailabilityTaskAssignor is in it"
    other = other_log(paths, LogKind.STREAMS, lacks, piped)
    if other is not None:
        return other
    what = lacks
    fix = (
        "give the log of the group's leader (if in doubt, of all instances) from a time with a rebalance, with "
        "org.apache.kafka.streams.processor.internals on level INFO"
    )
    return SnapshotError(what, where=where, fix=fix)


def _nameless(generation: LoggedGeneration) -> str:
    what = "the application's id is not in the log, where client.id is set"
    raise SnapshotError(what, where=str(generation.place), fix="give it with --application-id")
