"""The messages of the assignor that matter, and their wording release by release.

All are of ``org.apache.kafka.streams.processor.internals`` and on level INFO, unless said otherwise. What a generation
needs are three of them: who takes part, what was decided from which lags, and the split over each process's consumers.
The others repeat what these say (``Assigning stateful tasks``, ``Assignment of tasks to nodes``, ``Removing task``,
``Adding removed stateful active task``, ``Requesting followup rebalance``), so they are not needed.

A line may be megabytes of anything. So what has to end in certain words is looked for from its end: no pattern searches
for the same end again from every place where it could have begun.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from kstream_plan.snapshots.leader_log.grammar import (
    GrammarError,
    read_clients,
    read_names,
    read_tasks,
    read_tasks_by_consumer,
)
from kstream_plan.snapshots.leader_log.message_values import (
    Decided,
    EndOffsets,
    Finished,
    Heard,
    Hosts,
    Members,
    Message,
    Split,
    Started,
)

#: What a line that matters has in it; a message that goes on has it in its first line.
MARKERS = (
    b" participating in this rebalance:",
    b"Decided on assignment: {",
    b" per-consumer assignment:",
    b"Finished assignment for group at generation ",
    b" had endOffsetSum=",
    b"No followup rebalance was requested",
    b"=ClientMetadata{hostInfo=HostInfo{",
    b"Kafka Streams version: ",
    b"Kafka version: ",
)
_MARKERS_AS_TEXT = tuple(marker.decode() for marker in MARKERS)

#: Where a logger's name may stand behind a message, as Kafka's own ``%m (%c)%n`` has it.
_LOGGER = r"(?: \([\w.$]++\))?+\s*+\Z"
#: The end of a message is no longer than this, the logger's name included.
_LONGEST_END = 400

#: ``StreamsPartitionAssignor.assignTasksToClients``: "{} client nodes and {} consumers participating …" since 3.5,
#: "All members participating …" in 3.2 to 3.4.
_MEMBERS = re.compile(r"(?:(?P<nodes>\d{1,9}) client nodes and \d{1,9} consumers|All members) participating in this")
_MEMBER = re.compile(r"(?:^|(?<=\s))(?P<process>[^\s:\[\]]++): \[")
_MEMBER_END = re.compile(r"\](?P<last>\.?)" + _LOGGER)

#: ``assignment.HighAvailabilityTaskAssignor.assign``, the same in 3.2 to 4.3.
_DECIDED = re.compile(r"Decided on assignment: (?=\{)")
_DECIDED_END = re.compile(r" with(?P<no> no)? followup probing rebalance\." + _LOGGER)

#: ``StreamsPartitionAssignor.computeNewAssignment``, five lines more, the same in 3.2 to 4.3.
_SPLIT = re.compile(r"Client (?P<process>\S+) per-consumer assignment:")
_SPLIT_FIELDS = ("prev owned active", "prev owned standby", "assigned active", "revoking active", "assigned standby")
_SPLIT_FIELD = re.compile(rf"(?P<name>{'|'.join(_SPLIT_FIELDS)}) (?=\{{)")
_SPLIT_FIELD_END = re.compile(r"\}" + _LOGGER)

#: ``ConsumerCoordinator`` of ``org.apache.kafka.clients.consumer.internals``, the same in 3.2 to 4.3.
_FINISHED = re.compile(
    r"\] Finished assignment for group at generation (?P<generation>\d{1,18}): \{(?P<member>[^\s=]++)="
)
_GROUP = "groupId="
#: ``assignment.ClientState.computeTaskLags``, a warning, the same in 3.2 to 4.3.
_END_OFFSETS = re.compile(
    r"Task (?P<task>\S+) had endOffsetSum=(?P<end>\d{1,19}) smaller than offsetSum=\d{1,19} "
    r"on member (?P<process>\S+)\. "
)
#: ``StreamsPartitionAssignor.handleAssignment`` of every member, the same in 3.2 to 4.3.
_NO_FOLLOWUP = re.compile(r"No followup rebalance was requested")
#: ``StreamsPartitionAssignor.assign``, DEBUG, the same in 3.2 to 4.3: the host is that of ``application.server``.
_CONSTRUCTED = re.compile(r"Constructed client metadata \{")
_HOST_INFO = re.compile(r"(?<![^\s{},=])([^\s{},=]++)=ClientMetadata\{hostInfo=HostInfo\{host='([^']*)', port=\d+\}")
#: ``KafkaStreams`` when it is made, the same in 3.2 to 4.3; ``AppInfoParser`` of every client, which names none.
_STARTED = re.compile(
    r"(?:stream-client \[(?P<client>[^\]\n]{1,600})\] )?Kafka (?:Streams )?version: (?P<version>\d[\w.-]{0,60})"
    + _LOGGER
)

_THREAD, _THREAD_END = "stream-thread [", "-consumer]"


def is_marked(text: str) -> bool:
    """Tell whether a text has one of :data:`MARKERS` in it."""
    return any(marker in text for marker in _MARKERS_AS_TEXT)


def thread_of(header: str) -> str | None:
    """Return the stream thread that a message's own prefix names: ``orders-…-StreamThread-1``."""
    start = header.find(_THREAD) + len(_THREAD)
    end = header.find(_THREAD_END, start + 1)
    return header[start:end] if start >= len(_THREAD) and end >= 0 else None


@dataclass(slots=True)
class Draft(ABC):
    """A message of which more lines may be to come; ``whole`` tells.

    Attributes:
        header: what stands before the message in its first line.
    """

    header: str
    pieces: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether the message is there to its end."""
        return True

    @abstractmethod
    def offer(self, text: str, *, joinable: bool) -> bool:
        """Take a line if it belongs to the message.

        Args:
            text: the line, without shippers' prefixes.
            joinable: it may be the rest of a line that was split: it is of the same source, and no record of its own.

        Returns:
            Whether it was taken.
        """

    @abstractmethod
    def read(self) -> Message:
        """Return the message.

        Raises:
            GrammarError: it is cut or mixed up.
        """


@dataclass(slots=True)
class _Short(Draft):
    """A message of one line."""

    message: Message | None = None

    def offer(self, text: str, *, joinable: bool) -> bool:  # noqa: ARG002 - it is whole
        return False

    def read(self) -> Message:
        if self.message is None:
            raise GrammarError("it is cut or mixed up")
        return self.message


@dataclass(slots=True)
class _DecidedDraft(Draft):
    @property
    def whole(self) -> bool:
        return _DECIDED_END.search(_tail(self.pieces)) is not None

    def offer(self, text: str, *, joinable: bool) -> bool:
        if joinable:
            self.pieces.append(text)
        return joinable

    def read(self) -> Message:
        text = "".join(self.pieces)
        end = _DECIDED_END.search(text, max(0, len(text) - _LONGEST_END))
        if end is None:
            raise GrammarError("its end is missing")
        return Decided(read_clients(text[: end.start()]), probing=end["no"] is None)


@dataclass(slots=True)
class _Lines(Draft):
    """A message of several lines, each of which can be told by what it looks like.

    ``pieces`` are those of a line that goes on in the next one.
    """

    end = re.compile("")

    @abstractmethod
    def take(self, text: str) -> bool:
        """Take a whole line of the message, if it is one."""

    @abstractmethod
    def starts(self, text: str) -> bool:
        """Tell whether a text is a line of the message but for its end."""

    def offer(self, text: str, *, joinable: bool) -> bool:
        if not joinable or not self.pieces:
            if self.take(text):
                self.pieces = []
                return True
            self.pieces = [text] if joinable and self.starts(text) else self.pieces
            return joinable and bool(self.pieces)
        self.pieces.append(text)
        if self.end.search(_tail(self.pieces)) is None:
            return True
        joined, self.pieces = "".join(self.pieces), []
        return self.take(joined)


@dataclass(slots=True)
class _MembersDraft(_Lines):
    nodes: int | None = None
    consumers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lines: int = 0
    last: bool = False
    end = _MEMBER_END

    @property
    def whole(self) -> bool:
        return self.last

    def take(self, text: str) -> bool:
        end = _MEMBER_END.search(text)
        start = end and _MEMBER.search(text, _after_bracket(text, end.start()), end.start())
        if not end or not start:
            return False
        self.consumers[start["process"]] = read_names(text[start.end() : end.start()])
        self.lines += 1
        self.last = bool(end["last"])
        return True

    def starts(self, text: str) -> bool:
        return _MEMBER.search(text, _after_bracket(text, len(text))) is not None

    def read(self) -> Message:
        if not self.whole or self.pieces:
            raise GrammarError("its end is missing")
        if len(self.consumers) != self.lines or self.nodes not in (None, self.lines):
            raise GrammarError(f"it lists {len(self.consumers)} processes, not as many as it says")
        return Members(self.consumers)


@dataclass(slots=True)
class _SplitDraft(_Lines):
    process_id: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    end = _SPLIT_FIELD_END

    @property
    def whole(self) -> bool:
        return len(self.fields) >= len(_SPLIT_FIELDS)

    def take(self, text: str) -> bool:
        end = _SPLIT_FIELD_END.search(text)
        start = end and _SPLIT_FIELD.search(text, text.rfind("\n", 0, end.start()) + 1, end.start())
        if not end or not start:
            return False
        self.fields.append((start["name"], text[start.end() : end.start() + 1]))
        return True

    def starts(self, text: str) -> bool:
        return _SPLIT_FIELD.search(text) is not None

    def read(self) -> Message:
        if tuple(name for name, _ in self.fields) != _SPLIT_FIELDS or self.pieces:
            raise GrammarError("some of its lines are missing or in disorder")
        return Split(self.process_id, *(read_tasks_by_consumer(value) for _, value in self.fields))


def _tail(pieces: Sequence[str]) -> str:
    """Return the end of a text in pieces, where a shipper may have split the very words that end it."""
    return "".join(piece[-_LONGEST_END:] for piece in pieces[-3:])[-_LONGEST_END:]


def _after_bracket(text: str, end: int) -> int:
    return text.rfind("]", 0, end) + 1


def begun(text: str) -> Draft | None:
    """Return the message that begins in a line, with what the line has of it; ``None`` if none does.

    A message that a JSON layout or Docker kept together may have its other lines in ``text`` as well.
    """
    for words, pattern, begin in _BEGINNINGS:
        if words in text and (match := pattern.search(text)):
            return begin(text, match)
    return None


def _begin_members(text: str, match: re.Match[str]) -> Draft:
    nodes = match["nodes"]
    return _with_lines(_MembersDraft(text[: match.start()], nodes=int(nodes) if nodes else None), text[match.end() :])


def _begin_split(text: str, match: re.Match[str]) -> Draft:
    return _with_lines(_SplitDraft(text[: match.start()], process_id=match["process"]), text[match.end() :])


def _begin_decided(text: str, match: re.Match[str]) -> Draft:
    return _DecidedDraft(text[: match.start()], [text[match.end() :]])


def _begin_finished(text: str, match: re.Match[str]) -> Draft | None:
    start = text.find(_GROUP, _after_bracket(text, match.start()), match.start())
    if start < 0:
        return None
    group = text[start + len(_GROUP) : match.start()]
    return _Short(text[:start], message=Finished(group, int(match["generation"]), match["member"]))


def _begin_end_offsets(text: str, match: re.Match[str]) -> Draft:
    header = text[: match.start()]
    try:
        (task,) = read_tasks(match["task"])
    except ValueError:
        return _Short(header)
    return _Short(header, message=EndOffsets(match["process"], task, int(match["end"])))


def _begin_hosts(text: str, match: re.Match[str]) -> Draft:
    return _Short(text[: match.start()], message=Hosts(dict(_HOST_INFO.findall(text, match.start()))))


def _begin_heard(text: str, match: re.Match[str]) -> Draft:
    return _Short(text[: match.start()], message=Heard())


def _begin_started(text: str, match: re.Match[str]) -> Draft:
    return _Short(text[: match.start()], message=Started(match["version"], match["client"]))


def _with_lines(draft: Draft, text: str) -> Draft:
    for line in text.split("\n")[1:]:
        if not draft.whole:
            draft.offer(line, joinable=True)
    return draft


#: Words that a beginning has in it, which are found fast; what it looks like; and what is begun.
_BEGINNINGS = (
    (" participating in this", _MEMBERS, _begin_members),
    ("Decided on assignment", _DECIDED, _begin_decided),
    (" per-consumer assignment", _SPLIT, _begin_split),
    ("Finished assignment for group", _FINISHED, _begin_finished),
    (" had endOffsetSum=", _END_OFFSETS, _begin_end_offsets),
    ("No followup rebalance", _NO_FOLLOWUP, _begin_heard),
    ("Constructed client metadata", _CONSTRUCTED, _begin_hosts),
    (" version: ", _STARTED, _begin_started),
)
