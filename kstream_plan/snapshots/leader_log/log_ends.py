"""Where logs end: until when they tell of an application, and which rebalances have begun that they do not decide."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.message_values import Ended, Joined, Joining, LogPlace
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


def is_after(sign: Record, last: LoggedGeneration) -> bool:
    """Tell whether a message was logged after a generation was decided, as far as the logs tell."""
    if sign.logged_at is not None and last.decided_at is not None:
        return sign.logged_at.us > last.decided_at.us
    return sign.place.file == last.place.file and sign.place.line > last.place.line


def begun_after_each(generations: Sequence[LoggedGeneration], joins: Sequence[Record]) -> Iterator[Record | None]:
    """Yield of every generation the first sign that the rebalance after it has begun; ``None``: there is none.

    Args:
        generations: the generations of a group, in order of time.
        joins: the messages of its members, in order of time.
    """
    times = [-1 if record.logged_at is None else record.logged_at.us for record in joins]
    for generation, next_generation in pairwise(generations):
        is_dated = generation.decided_at is not None and next_generation.decided_at is not None
        first, end = (
            bisect_right(times, neighbour.decided_at.us) if neighbour.decided_at else 0
            for neighbour in (generation, next_generation)
        )
        yield begun_after(generation, joins[first:end]) if is_dated else None
    if generations:
        yield begun_after(generations[-1], joins)


def begun_after(last: LoggedGeneration, joins: Iterable[Record]) -> Record | None:
    """Return the first sign that a rebalance after a generation has begun and is not over; ``None``: there is none.

    A member joins and has not joined, or has joined a later generation. That a member had joined this one before is
    known by its number, whatever its clock says.
    """
    generations: dict[str, int] = {}
    open_joins: dict[str, Record] = {}
    later: list[Record] = []
    for record in joins:
        match record.message:
            case Joining(_, member):
                if is_after(record, last) or (last.number is not None and generations.get(member) == last.number):
                    open_joins.setdefault(member, record)
            case Joined(_, member, number):
                first = open_joins.pop(member, record)
                generations[member] = number
                if last.number is not None and number > last.number and is_after(record, last):
                    later.append(first)
            case _:
                pass
    return min([*open_joins.values(), *later], key=_order, default=None)


def _order(sign: Record) -> tuple[int, LogPlace]:
    return (0 if sign.logged_at is None else sign.logged_at.us), sign.place
