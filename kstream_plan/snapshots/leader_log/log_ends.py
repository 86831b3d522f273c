"""Until when the logs tell of an application: what another one logs later does not show that this one goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.message_values import Ended, Joined, Joining
from kstream_plan.snapshots.leader_log.naming import application_of_thread
from kstream_plan.snapshots.leader_log.records import Record


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
        for thread in (
            generation.thread,
            *(consumer_id.rpartition("-consumer-")[0] for consumer_id in generation.consumer_ids),
        )
        if thread
    }
    named_records = [(record, _application(record, applications, threads)) for record in records]
    names_in: dict[str, set[str]] = defaultdict(set)
    for record, name in named_records:
        if name is not None:
            names_in[record.place.file].add(name)
    for name, generations in applications.items():
        for generation in generations:
            names_in[generation.place.file].add(name)
    newest: dict[str, Moment] = {}
    for record, name in named_records:
        if name is None and isinstance(record.message, Ended) and len(names_in[record.place.file]) == 1:
            (name,) = names_in[record.place.file]  # noqa: PLW2901 - it is the only one there
        if name is not None and record.logged_at is not None:
            newest[name] = max(record.logged_at, newest.get(name, record.logged_at))
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
