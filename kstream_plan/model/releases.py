"""Kafka's releases: in what older ones decide otherwise than the newest, each difference by its name, and since when.

Source: Kafka's own classes of every release, each asked the same random cases (``tests/benchmarks/differential.py`` and
``connect_vs_kafka.py`` with ``--kafka-version``).
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

#: A release's first three numbers: (3, 5, 2).
Release: TypeAlias = tuple[int, int, int]

_NUMBERS = re.compile(r"(?P<major>\d{1,4})\.(?P<minor>\d{1,4})(?P<rest>[\w.-]*)", re.ASCII)
_CONFLUENT = re.compile(r"-(?:ccs|ce)\b")
#: Confluent's builds are numbered by their platform: 5.5 is Kafka 2.5, 6.0 is 2.6, 7.9 is 3.9. By major number: that of
#: Kafka, and what is added to the minor.
_CONFLUENT_MAJORS = {5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
#: The versions of what members tell about themselves, and the first release of each.
_SUBSCRIPTIONS: tuple[tuple[int, Release], ...] = ((11, (3, 2, 0)), (10, (3, 0, 0)), (9, (2, 8, 0)), (8, (2, 6, 0)))
#: The newest minor release that is modelled.
NEWEST = (4, 4)
#: The oldest and the newest minor release whose decisions are modelled: of classic groups, and of Connect.
MODELLED_STREAMS = (2, 6), NEWEST
MODELLED_CONNECT = (2, 3), NEWEST


class Difference(NamedTuple):
    """Something that Kafka decides otherwise since a change.

    Attributes:
        change: Kafka's name of it.
        since: the first release that has the change, and after it those of newer minors that were first without.
    """

    change: str
    since: tuple[Release, ...]

    def is_in(self, release: str | None) -> bool:
        """Tell whether a release has the change; one that is unknown does."""
        if release is None:
            return True
        numbers, first = numbers_of(release), self.since[0]
        of_minor = [release_of_minor for release_of_minor in self.since if release_of_minor[:2] == numbers[:2]]
        return numbers >= (of_minor[0] if of_minor else first)


#: A task id is hashed with the name of its topology; before, by its two numbers alone.
TOPOLOGY_IN_HASH = Difference("KIP-740", ((3, 0, 0),))
#: Where no instance is caught up on a task, the most caught-up one runs it meanwhile; before, it starts cold at once.
MOST_CAUGHT_UP = Difference("KAFKA-13600", ((3, 2, 0),))
#: Threads get an even share of active tasks and standbys together; before, of each.
ROLES_SHARE_LOAD = Difference("KAFKA-12959", ((3, 2, 0),))
#: Tags of clients say where standbys go.
CLIENT_TAGS = Difference("KIP-708", ((3, 2, 0),))
#: ``session.timeout.ms`` of consumers is 45s if it is not set; before, 10s.
LONGER_SESSIONS = Difference("KIP-735", ((3, 0, 0),))
#: Movements, and so warm-ups, come in the order of who is caught up and of tasks; before, as they lie in a heap.
WARM_UPS_IN_ORDER = Difference("#12585", ((3, 3, 0),))
#: A task that has to be revoked elsewhere first is held as a standby meanwhile only where there is a copy of it.
NO_COPY_NO_TEMPORARY = Difference("#14149", ((3, 5, 2),))
#: An application brings the class that assigns tasks.
OWN_ASSIGNOR = Difference("KIP-924", ((3, 8, 0),))
#: Racks of partitions count.
RACKS = Difference("KIP-925", ((3, 6, 0),))
#: Of several assignments that cost as little across racks, another is picked.
RACK_CYCLES = Difference("KAFKA-15022", ((3, 7, 0),))
#: Closing with ``CloseOptions.leaveGroup`` makes static members leave; before, there is no such option.
STATIC_MEMBERS_LEAVE = Difference("KIP-812", ((3, 3, 0),))
#: Closing with ``CloseOptions.leaveGroup`` makes dynamic members leave as well; before, static ones alone.
DYNAMIC_MEMBERS_LEAVE = Difference("KIP-1153", ((4, 2, 0),))
#: Checkpoints of stores are written every 10,000 records; before, with every commit.
CHECKPOINTS_SELDOM = Difference("KAFKA-9450", ((2, 7, 0),))
#: Stores hold their offsets themselves; before, a checkpoint beside them does.
OFFSETS_IN_STORES = Difference("KIP-1035", ((4, 3, 0),))
#: Without a delay, what a worker had that is gone is given to others at once; before, it runs nowhere.
NO_DELAY_AT_ONCE = Difference("KAFKA-15693", ((3, 5, 2), (3, 6, 1)))
#: Workers give up what they have beyond their share, after a while again; before, only for workers that have nothing.
SHARES_EVENED_OUT = Difference("KAFKA-12495", ((3, 4, 0),))
#: Of what is active, an item that two have counts twice.
REPEATS_COUNT = Difference("KAFKA-13763", ((3, 3, 0),))
#: What is lost is dealt to all idle workers; before, to one.
LOST_TO_ALL_IDLE = Difference("KAFKA-10413", ((2, 6, 2), (2, 7, 1)))
#: What two workers report is revoked from both, and nobody is waited for if all workers are there; before, neither.
ZOMBIES = Difference("KAFKA-9841", ((2, 5, 1),))
#: A delay ends where nothing is lost any more; before, it goes on.
DELAY_ENDS = Difference("KAFKA-9184", ((2, 4, 0),))


def kafka_release(version: str) -> str | None:
    """Return which release of Kafka a build is: ``7.3.0-ccs`` is ``3.3.0-ccs``; ``None``: it is written as none is."""
    match = _NUMBERS.fullmatch(version)
    if match is None:
        return None
    major, minor = int(match["major"]), int(match["minor"])
    if _CONFLUENT.search(match["rest"]) and major in _CONFLUENT_MAJORS:
        major, ahead = _CONFLUENT_MAJORS[major]
        minor += ahead
    return f"{major}.{minor}{match['rest']}"


def modelled(product: str, minors: tuple[tuple[int, int], tuple[int, int]], protocol: str) -> str:
    """Say which releases are modelled: ``Kafka Streams 2.6-4.4, classic protocol``."""
    (major, minor), (last_major, last_minor) = minors
    return f"{product} {major}.{minor}-{last_major}.{last_minor}, {protocol}"


def modelled_as(
    release: str | None, product: str, minors: tuple[tuple[int, int], tuple[int, int]], protocol: str
) -> str:
    """Say by which release a plan goes: without one by the newest, and by those that are modelled if it is not."""
    oldest, newest = minors
    if release is None:
        return f"{product} {newest[0]}.{newest[1]}, {protocol}"
    if not oldest <= numbers_of(release)[:2] <= newest:
        return modelled(product, minors, protocol)
    return f"{product} {release}, {protocol}"


def parse_modelled_release(text: str) -> str:
    """Return which release it is, of those whose decisions are modelled, of any kind; else ``ValueError``."""
    release, (oldest, newest) = kafka_release(text), MODELLED_STREAMS
    if release is None or not oldest <= numbers_of(release)[:2] <= newest:
        modelled_range = f"{oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}"
        raise ValueError(f"{text!r} is not a release of Kafka that is modelled, which are {modelled_range}")
    return release


def subscription_version(release: str) -> int:
    """Return in which version members of a release tell about themselves; a leader reads no newer one than its own.

    Source: ``StreamsAssignmentProtocolVersions``.
    """
    numbers = numbers_of(release)
    return next(
        (version for version, first_release in _SUBSCRIPTIONS if numbers >= first_release), _SUBSCRIPTIONS[-1][0]
    )


def numbers_of(release: str) -> Release:
    """Return the first three numbers of a release, 0 for those that it does not have: ``4.1-ccs`` is (4, 1, 0)."""
    numbers = list[int]()
    for part in release.split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch
