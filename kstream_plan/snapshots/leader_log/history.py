"""Logs → the history of their groups: a snapshot row and a decision for each generation."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.leader_log.copy_ages import copies_since
from kstream_plan.snapshots.leader_log.decisions import decision_of, moved_tasks
from kstream_plan.snapshots.leader_log.envelope import Moment
from kstream_plan.snapshots.leader_log.generations import FoundDecision, LoggedGeneration, generations_of
from kstream_plan.snapshots.leader_log.log_files import each_log
from kstream_plan.snapshots.leader_log.message_values import Ended, LogPlace
from kstream_plan.snapshots.leader_log.naming import application_of, client_of, hosts_of
from kstream_plan.snapshots.leader_log.records import read_records
from kstream_plan.snapshots.leader_log.rows import Names, row_of, time_text
from kstream_plan.snapshots.leader_log.running_release import Releases, release_of, releases_of
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.generation_rates import with_rates
from kstream_plan.snapshots.rows.restarts import with_stores_by_restarts
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row


class Entry(NamedTuple):
    """One generation.

    ``row`` is the group as the leader knew it, ``decision`` what it decided; ``moved_tasks`` how many tasks got another
    process by it, ``withheld_tasks`` how many wait for their owner to revoke them. ``at_ms`` is when, in milliseconds
    since 1970, ``None`` if the log has no times; ``zoned``: with a zone. ``place`` is where the decision is.
    ``follows``: the generation before it is in the logs too.
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


class LogHistory(NamedTuple):
    """All generations in order of time, where one began that is not whole, and names given that are nobody's."""

    entries: tuple[Entry, ...]
    incomplete: tuple[LogPlace, ...] = ()
    unused_names: tuple[str, ...] = ()


def read_leader_logs(
    paths: Sequence[str],
    *,
    application_id: str | None = None,
    config: Mapping[str, Any] | Callable[[str], Mapping[str, Any]] | None = None,
    names: Names | None = None,
    stdin: BinaryIO | None = None,
) -> LogHistory:
    """Read the logs of one or several instances, in any order; the leader may move between them.

    Args:
        paths: files, folders and globs, plain or gzip; ``-`` is standard input.
        application_id: the application of generations whose log does not name it.
        config: settings, by the names of the snapshot's ``config``; or what gives those of an application.
        names: ``host`` and ``rack`` by process id, client id or host.
        stdin: what ``-`` stands for, by default the process's standard input.

    Raises:
        SnapshotError: a log cannot be read, has a message that is cut, or no whole generation is in any of them.
    """
    records = list(each_log(paths, stdin or sys.stdin.buffer, read_records))
    found = generations_of(records)
    if not found.generations:
        raise _nothing_found(paths, found)
    known, unused = _known(found.generations, hosts_of(found.generations, records), names or {})
    by_application: dict[str, list[LoggedGeneration]] = defaultdict(list)
    for generation in found.generations:
        by_application[application_of(generation) or application_id or _nameless(generation)].append(generation)
    started = releases_of(records)
    ended = max((record.at for record in records if isinstance(record.message, Ended) and record.at), default=None)
    entries = [
        entry
        for name, generations in sorted(by_application.items())
        for entry in _entries(
            name, generations, config(name) if callable(config) else config or {}, known, started, ended
        )
    ]
    entries.sort(key=lambda entry: (entry.at_ms is not None, entry.at_ms or 0))
    return LogHistory(tuple(entries), tuple(found.incomplete), unused)


def checked_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the rows of generations, each with its ``decision``.

    Raises:
        SnapshotError: one contradicts itself: two members own the same task, say. The error names the place in the log.
    """
    for entry in entries:
        snapshot_from_row(entry.row, str(entry.place))
    return [{**entry.row, "decision": entry.decision} for entry in entries]


def _entries(
    application_id: str,
    generations: Sequence[LoggedGeneration],
    config: Mapping[str, Any],
    names: Names,
    started: Releases,
    ended: Moment | None,
) -> Iterator[Entry]:
    pairs = [
        (generation, before if before is not None and _follows(generation, before) else None)
        for generation, before in zip(generations, [None, *generations], strict=False)
    ]
    rows = [
        row_of(generation, before, since, application_id=application_id, config=config, names=names)
        for (generation, before), since in zip(pairs, copies_since(pairs), strict=True)
    ]
    for row, generation in zip(rows, generations, strict=True):
        release = release_of(generation, started)
        if release is not None:
            row["streams_version"] = release
    last = generations[-1].at
    if last is not None and ended is not None and ended.us >= last.us and ended.zoned == last.zoned:
        rows[-1]["known_until"] = time_text(ended)
    for row, (generation, before) in zip(with_stores_by_restarts(with_rates(rows, "log")), pairs, strict=True):
        at = generation.at
        yield Entry(
            application_id,
            at.us // 1000 if at else None,
            at is None or at.zoned,
            generation.place,
            before is not None,
            row,
            decision_of(generation, before, names),
            moved_tasks(generation, before),
            sum(len(tasks) for split in generation.splits.values() for tasks in split.revoking.values()),
        )


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


def _nothing_found(paths: Sequence[str], found: FoundDecision) -> SnapshotError:
    where = printable(", ".join("standard input" if path == "-" else path for path in paths[:3]))
    if found.incomplete:
        what = f"no rebalance is there from beginning to end; one begins at {found.incomplete[0]}"
        return SnapshotError(what, where=where, fix="give more of the log, and the logs of all instances")
    what = "no decision of Kafka Streams' HighAvailabilityTaskAssignor is in it"
    fix = (
        "give the log of the group's leader (if in doubt, of all instances) from a time with a rebalance, with "
        "org.apache.kafka.streams.processor.internals on level INFO; logs of Connect workers are for --connect-log"
    )
    return SnapshotError(what, where=where, fix=fix)


def _nameless(generation: LoggedGeneration) -> str:
    what = "the application's id is not in the log, where client.id is set"
    raise SnapshotError(what, where=str(generation.place), fix="give it with --application-id")
