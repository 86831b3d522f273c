"""Which release of Kafka Streams runs, by what its instances log when they start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kstream_plan.model.releases import kafka_release
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.message_values import Started
from kstream_plan.snapshots.leader_log.naming import client_of
from kstream_plan.snapshots.leader_log.records import Record

#: The last release without client tags, which is assumed where a log has none and names no release.
BEFORE_TAGS = "3.1"

#: By client id, and by the file where no client is named: what was started and when, in time.
Releases = Mapping[str, Sequence[tuple[int, str]]]


def releases_of(records: Iterable[Record]) -> Releases:
    """Return what the records say that was started; what names no client is of the file that it is in."""
    releases_by_name: dict[str, list[tuple[int, str]]] = {}
    last: dict[str, int] = {}
    for record in records:
        at_us = last[record.place.file] = record.logged_at.us if record.logged_at else last.get(record.place.file, -1)
        if isinstance(record.message, Started) and (release := kafka_release(record.message.version)) is not None:
            releases_by_name.setdefault(record.message.client or record.place.file, []).append((at_us, release))
    return {name: sorted(starts) for name, starts in releases_by_name.items()}


def release_of(generation: LoggedGeneration, releases: Releases) -> str | None:
    """Return the oldest release that a generation's members had started last, as far as the logs tell.

    Where none of them is named, what was started in the log of the decision counts. ``None``: not known.
    """
    releases_of_members = releases_running(generation, releases)
    if releases_of_members:
        return releases_of_members[0]
    return None if generation.clients.has_tags else BEFORE_TAGS


def releases_running(generation: LoggedGeneration, releases: Releases) -> list[str]:
    """Return the releases that a generation's members had started last, the oldest first, as far as the logs tell."""
    clients = {client_of(consumer) for consumers in generation.consumers.values() for consumer in consumers}
    of_members = {_last(releases.get(client, ()), generation.decided_at) for client in filter(None, clients)} - {None}
    running = of_members or {_last(releases.get(generation.place.file, ()), generation.decided_at)} - {None}
    return sorted((release for release in running if release is not None), key=_order)


def oldest(versions: Iterable[str]) -> str | None:
    """Return the oldest release of those that clients name; ``None``: they name none."""
    return min(
        (release for version in versions if (release := kafka_release(version)) is not None), key=_order, default=None
    )


def _last(starts: Sequence[tuple[int, str]], moment: Moment | None) -> str | None:
    by_then = [release for at_us, release in starts if moment is None or at_us <= moment.us]
    return by_then[-1] if by_then else None


def _order(release: str) -> tuple[tuple[int, ...], str]:
    return tuple(int(number) for number in release.split(".")[:2]), release
