"""The messages of Connect's workers that matter, and their wording.

Those of a worker's own part in a round are on level INFO, the same in Kafka 2.6 to 4.3:
``AbstractCoordinator`` ("Successfully joined group …", with its member id) and ``DistributedHerder`` ("Joined group at
generation …", with all that it holds after the round, in its order). Those of the leader's decision are on DEBUG, of
``IncrementalCooperativeAssignor``. ``WorkerInfo`` and
``DistributedConfig`` say once, at the start, what Java a worker runs on and how long the delay may be.

A line may be megabytes of anything: what has to end in certain words is looked for once, never from every place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kstream_plan.model.connect_group import ConnectItems


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker takes part in a round, under its member id."""

    generation: int
    member_id: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The assignment of a worker: ``held_items`` is all that it holds after the round, in its order."""

    generation: int
    version: int
    error: int
    leader: str
    leader_url: str
    offset: int
    held_items: ConnectItems
    revoked_items: ConnectItems
    delay_ms: int


@dataclass(frozen=True, slots=True)
class Configured:
    """The leader has read that so much is configured (DEBUG)."""

    items: ConnectItems


@dataclass(frozen=True, slots=True)
class Members:
    """Who takes part, as the leader lists them (DEBUG)."""

    member_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """When the leader decided, since 1970 (DEBUG)."""

    now_ms: int


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A worker begins, on this version of Java."""

    java: int


@dataclass(frozen=True, slots=True)
class MaxDelay:
    """A worker begins, with this ``scheduled.rebalance.max.delay.ms``."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class RunsRelease:
    """A client begins, of this release of Kafka."""

    version: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A message that cannot be read, and the reason."""

    reason: str


Message: TypeAlias = Joined | Answered | Configured | Members | Clock | RunsOn | MaxDelay | RunsRelease | Gap


class CutMessageError(ValueError):
    """A text is not what Connect would have logged: it is cut or mixed up."""


#: What a line that matters has in it.
MARKERS = (
    b"Successfully joined group with generation ",
    b"Joined group at generation ",
    b"Configured assignments: {",
    b"Received assignments: {",
    b" diff scheduledRebalance - now: ",
    b"jvm.spec = ",
    b"scheduled.rebalance.max.delay.ms = ",
    b"Kafka version: ",
)
#: What a worker says of its own part in a round, up to its number.
_OF_A_ROUND = ("Successfully joined group with generation ", "Joined group at generation ")
_MARKERS_AS_TEXT = tuple(marker.decode() for marker in MARKERS)
#: What stands before the messages of a connector's own consumer.
CONSUMER = "Consumer clientId="
_WORKER, _GROUP = "[Worker clientId=", ", groupId="

_JOINED = re.compile(
    r"Successfully joined group with generation Generation\{generationId=(\d{1,10}), memberId='([^'\n]{1,1000})', "
)
_JOINED_ANY = re.compile(r"Successfully joined group with generation (?=\d)")
_ANSWERED = re.compile(
    r"Joined group at generation (\d{1,10}) with protocol version (\d{1,5}) and got assignment: "
    r"Assignment\{error=(-?\d{1,5}), leader='([^'\n]{0,1000})', leaderUrl='([^'\n]{0,1000})', offset=(-?\d{1,19}), "
    r"connectorIds=\["
)
_ANSWERED_END = re.compile(r"(\d{1,10})\} with rebalance delay: ")
_CONFIGURED = re.compile(r"Configured assignments: \{ connectorIds=\[")
_RECEIVED = re.compile(r"Received assignments: \{")
_MEMBER = re.compile(r"(?<![^\s{},=])([^\s{},=]++)=\{ connectorIds=\[")
_CLOCK = re.compile(r" now: (\d{1,18}) diff scheduledRebalance - now: ")
_JAVA = re.compile(r"jvm\.spec = [^\n]{0,1000}?, (?:1\.)?(\d{1,3})[\d._+-]{0,60}(?:-[\w.-]{0,60})?, ")
_MAX_DELAY = re.compile(r"scheduled\.rebalance\.max\.delay\.ms = (\d{1,10})\b")
#: ``AppInfoParser`` of every client, the same in all releases.
_RELEASE = re.compile(r"Kafka version: (\d[\w.-]{0,60})(?=\s*(?:\Z|[^\w\s]))")


def is_marked(text: str) -> bool:
    """Tell whether a text has one of :data:`MARKERS` in it."""
    return any(marker in text for marker in _MARKERS_AS_TEXT)


def worker_of(header: str) -> tuple[str, str] | None:
    """Return the client id and the group id that stand before a worker's message; ``None``: it is of something else."""
    start = header.rfind(_WORKER)
    group_start = header.find(_GROUP, start + len(_WORKER))
    end = header.rfind("]")
    if start < 0 or group_start < 0 or end < group_start:
        return None
    return header[start + len(_WORKER) : group_start], header[group_start + len(_GROUP) : end]


def messages_in(text: str) -> Iterator[tuple[str, Message]]:
    """Yield what stands before the message in a text, and the message.

    What a worker says of itself at its start may be several in one text; of others there is one at most.

    Raises:
        CutMessageError: it is cut or mixed up.
    """
    is_read = False
    for words, pattern, read in _READERS:
        if words in text and (match := pattern.search(text)):
            message = read(text, match)
            is_read = True
            yield text[: match.start()], message
            if not isinstance(message, RunsOn | MaxDelay | RunsRelease):
                return
    part = next((words for words in _OF_A_ROUND if words in text), None)
    if part is not None and not is_read and CONSUMER not in text[: text.find(part)]:
        raise CutMessageError("its end is missing")


def _join(_text: str, match: re.Match[str]) -> Message:
    return Joined(int(match[1]), match[2])


def _too_old(_text: str, _match: re.Match[str]) -> Message:
    raise CutMessageError("it names no member id, as before Kafka 2.6, which is not supported")


def _answer(text: str, match: re.Match[str]) -> Message:
    generation, version, error, leader, url, offset = match.groups()
    connectors, tasks, revoked_connectors, revoked_tasks, rest = _pieces(
        text, match.end(), ("], taskIds=[", "], revokedConnectorIds=[", "], revokedTaskIds=[", "], delay=")
    )
    delay = _ANSWERED_END.match(rest)
    if delay is None:
        raise CutMessageError("its end is missing")
    return Answered(
        int(generation),
        int(version),
        int(error),
        leader,
        url,
        int(offset),
        ConnectItems(_names(connectors), _tasks(tasks)),
        ConnectItems(_names(revoked_connectors), _tasks(revoked_tasks)),
        int(delay[1]),
    )


def _release(_text: str, match: re.Match[str]) -> Message:
    return RunsRelease(match[1])


def _configured(text: str, match: re.Match[str]) -> Message:
    connectors, rest = _pieces(text, match.end(), ("], taskIds=[",))
    return Configured(ConnectItems(_names(connectors), _tasks(_text_before(rest, "]}"))))


def _members(text: str, match: re.Match[str]) -> Message:
    inside = _text_before(text[match.end() :], "}}")
    return Members(tuple(member_match[1] for member_match in _MEMBER.finditer(inside)))


def _clock(_text: str, match: re.Match[str]) -> Message:
    return Clock(int(match[1]))


def _java(_text: str, match: re.Match[str]) -> Message:
    return RunsOn(int(match[1]))


def _max_delay(_text: str, match: re.Match[str]) -> Message:
    return MaxDelay(int(match[1]))


#: Words that a message has in it, which are found fast; how it begins; and what reads it.
_READERS: tuple[tuple[str, re.Pattern[str], Callable[[str, re.Match[str]], Message]], ...] = (
    ("Successfully joined group with generation G", _JOINED, _join),
    ("Successfully joined group with generation ", _JOINED_ANY, _too_old),
    ("Joined group at generation ", _ANSWERED, _answer),
    ("Configured assignments: ", _CONFIGURED, _configured),
    ("Received assignments: ", _RECEIVED, _members),
    (" diff scheduledRebalance", _CLOCK, _clock),
    ("jvm.spec = ", _JAVA, _java),
    ("scheduled.rebalance.max.delay.ms = ", _MAX_DELAY, _max_delay),
    ("Kafka version: ", _RELEASE, _release),
)


def _pieces(text: str, start: int, ends: tuple[str, ...]) -> Iterator[str]:
    """Yield what stands before each of the ends, one after the other, and what is left."""
    for end in ends:
        end_index = text.find(end, start)
        if end_index < 0:
            raise CutMessageError("its end is missing")
        yield text[start:end_index]
        start = end_index + len(end)
    yield text[start:]


def _text_before(text: str, end: str) -> str:
    """Return what stands before the first ``end``; whatever a layout has behind it."""
    index = text.find(end)
    if index < 0:
        raise CutMessageError("its end is missing")
    return text[:index]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


def _tasks(text: str) -> tuple[tuple[str, int], ...]:
    """Read ``orders-0, orders-1``; a name with a comma in it goes on until a number."""
    tasks, name_parts = list[tuple[str, int]](), list[str]()
    for piece in text.split(", ") if text else ():
        name, _, number = piece.rpartition("-")
        if number.isascii() and number.isdigit() and len(number) < 10 and (name or name_parts):
            tasks.append((", ".join([*name_parts, name]), int(number)))
            name_parts = []
        else:
            name_parts.append(piece)
    if name_parts:
        raise CutMessageError(f"{name_parts[0][:30]!r} is no task")
    return tuple(tasks)
