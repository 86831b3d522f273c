"""Until when the logs tell of an application: what another one logs later does not show that this one goes on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.message_values import Ended, Joined, Joining
from kstream_plan.snapshots.leader_log.records import Record

#: A stream thread, by Kafka's own names, and what belongs to it.
_THREAD = re.compile(r"(?P<application>.+)-[0-9a-f]{8}-[0-9a-f-]{27}-StreamThread-\d+(?:-consumer)?")


def application_of_thread(name: str | None) -> str | None:
    """Return the application of a stream thread, or of its consumer, by Kafka's own names; ``None``: not known."""
    match = _THREAD.fullmatch(name or "")
    return match["application"] if match else None


def ends_of(applications: Mapping[str, Sequence[LoggedGeneration]], records: Iterable[Record]) -> dict[str, Moment]:
    """Return of each application when the newest line was logged that tells of it.

    That is a line with a thread of it, or one without a stream thread in a log that tells of no other application.

    Args:
        applications: their generations.
        records: what the logs say.
    """
    threads = {
        thread: name
        for name, generations in applications.items()
        for generation in generations
        for thread in (generation.thread, *(each.rpartition("-consumer-")[0] for each in generation.consumer_ids))
        if thread
    }
    newest: dict[str, Moment] = {}
    told_in: dict[str, set[str]] = defaultdict(set)
    unnamed: list[Record] = []
    for record in records:
        name = _application(record, applications, threads)
        if name is not None:
            told_in[record.place.file].add(name)
            if record.at is not None:
                newest[name] = max(record.at, newest.get(name, record.at))
        elif isinstance(record.message, Ended) and record.at is not None:
            unnamed.append(record)
    for name, generations in applications.items():
        for generation in generations:
            told_in[generation.place.file].add(name)
    for record in unnamed:
        if len(told_in[record.place.file]) == 1 and record.at is not None:
            (name,) = told_in[record.place.file]
            newest[name] = max(record.at, newest.get(name, record.at))
    return newest


def _application(record: Record, names: Container[str], threads: Mapping[str, str]) -> str | None:
    match record.message:
        case Joining(group, member) | Joined(group, member, _):
            return group if group in names else application_of_thread(member)
        case Ended(thread):
            pass
        case _:
            thread = record.thread
    return threads.get(thread or "") or application_of_thread(thread)
