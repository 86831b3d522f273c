"""The messages of the assignor that matter, and their wording release by release.

All are of ``org.apache.kafka.streams.processor.internals`` and on level INFO, unless said otherwise. What a generation
needs are three of them: who takes part, what was decided from which lags, and the split over each process's consumers.
The others repeat what these say (``Assigning stateful tasks``, ``Assignment of tasks to nodes``, ``Removing task``,
``Adding removed stateful active task``, ``Requesting followup rebalance``), so they are not needed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from kstream_plan.snapshots.leader_log.grammar import (
    GrammarError,
    read_clients,
    read_names,
    read_tasks,
    read_tasks_by_consumer,
)
from kstream_plan.snapshots.leader_log.messages import (
    Decided,
    EndOffsets,
    Finished,
    Heard,
    Hosts,
    Members,
    Message,
    Split,
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
)
_MARKERS_AS_TEXT = tuple(marker.decode() for marker in MARKERS)

#: Where a logger's name may stand behind a message, as Kafka's own ``%m (%c)%n`` has it.
_LOGGER = r"(?: \([\w.$]+\))?\s*\Z"

#: ``StreamsPartitionAssignor.assignTasksToClients``: "{} client nodes and {} consumers participating …" since 3.5,
#: "All members participating …" in 3.2 to 3.4.
_MEMBERS = re.compile(r"(?:(?P<nodes>\d{1,9}) client nodes and \d{1,9} consumers|All members) participating in this")
_MEMBER = re.compile(r"(?:^|(?<=\s))(?P<process>[^\s:\[\]]+): \[(?P<consumers>[^\]]*)\](?P<end>\.?)" + _LOGGER)
_MEMBER_START = re.compile(r"(?:^|(?<=\s))[^\s:\[\]]+: \[[^\]]*\Z")

#: ``assignment.HighAvailabilityTaskAssignor.assign``, the same in 3.2 to 4.3.
_DECIDED = re.compile(r"Decided on assignment: (?=\{)")
_DECIDED_END = re.compile(r" with(?P<no> no)? followup probing rebalance\." + _LOGGER)

#: ``StreamsPartitionAssignor.computeNewAssignment``, five lines more, the same in 3.2 to 4.3.
_SPLIT = re.compile(r"Client (?P<process>\S+) per-consumer assignment:")
_SPLIT_FIELDS = ("prev owned active", "prev owned standby", "assigned active", "revoking active", "assigned standby")
_SPLIT_FIELD = re.compile(rf"(?P<name>{'|'.join(_SPLIT_FIELDS)}) (?P<value>\{{.*\}}){_LOGGER}")
_SPLIT_FIELD_START = re.compile(rf"(?:{'|'.join(_SPLIT_FIELDS)}) \{{")

#: ``ConsumerCoordinator`` of ``org.apache.kafka.clients.consumer.internals``, the same in 3.2 to 4.3.
_FINISHED = re.compile(
    r"groupId=(?P<group>[^\]]*?)\] Finished assignment for group at generation (?P<generation>\d{1,18}): "
    r"\{(?P<member>[^\s=]+)="
)
#: ``assignment.ClientState.computeTaskLags``, a warning, the same in 3.2 to 4.3.
_END_OFFSETS = re.compile(
    r"Task (?P<task>\S+) had endOffsetSum=(?P<end>\d{1,19}) smaller than offsetSum=\d{1,19} "
    r"on member (?P<process>\S+)\. "
)
#: ``StreamsPartitionAssignor.handleAssignment`` of every member, the same in 3.2 to 4.3.
_NO_FOLLOWUP = re.compile(r"No followup rebalance was requested")
#: ``StreamsPartitionAssignor.assign``, DEBUG, the same in 3.2 to 4.3: the host is that of ``application.server``.
_CONSTRUCTED = re.compile(r"Constructed client metadata \{")
_HOST_INFO = re.compile(r"([^\s{},=]+)=ClientMetadata\{hostInfo=HostInfo\{host='([^']*)', port=\d+\}")

_THREAD = re.compile(r"stream-thread \[(.+?)-consumer\]")


def is_marked(text: str) -> bool:
    """Tell whether a text has one of :data:`MARKERS` in it."""
    return any(marker in text for marker in _MARKERS_AS_TEXT)


def thread_of(header: str) -> str | None:
    """Return the stream thread that a message's own prefix names: ``orders-…-StreamThread-1``."""
    match = _THREAD.search(header)
    return match[1] if match else None


@dataclass(slots=True)
class Draft(ABC):
    """A message of which more lines may be to come; ``whole`` tells.

    Attributes:
        header: what stands before the message in its first line.
    """

    header: str
    pieces: list[str] = field(default_factory=list)
    cut: str = ""

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
        return _DECIDED_END.search(self.pieces[-1][-400:] if len(self.pieces) == 1 else self._tail()) is not None

    def _tail(self) -> str:
        return "".join(self.pieces[-3:])[-400:]

    def offer(self, text: str, *, joinable: bool) -> bool:
        if joinable:
            self.pieces.append(text)
        return joinable

    def read(self) -> Message:
        text = "".join(self.pieces)
        end = _DECIDED_END.search(text, max(0, len(text) - 400))
        if end is None:
            raise GrammarError("its end is missing")
        return Decided(read_clients(text[: end.start()]), probing=end["no"] is None)


@dataclass(slots=True)
class _Lines(Draft):
    """A message of several lines, each of which can be told by what it looks like."""

    entry = re.compile("")
    entry_start = re.compile("")

    def offer(self, text: str, *, joinable: bool) -> bool:
        joined = self.cut + text if joinable else text
        if match := self.entry.search(joined):
            self.pieces.append(match[0])
            self.cut = ""
            return True
        if joinable and (self.cut or self.entry_start.search(text)):
            self.cut = joined
            return True
        return False


@dataclass(slots=True)
class _MembersDraft(_Lines):
    nodes: int | None = None
    entry = _MEMBER
    entry_start = _MEMBER_START

    @property
    def whole(self) -> bool:
        match = _MEMBER.search(self.pieces[-1]) if self.pieces else None
        return match is not None and match["end"] == "."

    def read(self) -> Message:
        if not self.whole or self.cut:
            raise GrammarError("its end is missing")
        matches = [_MEMBER.search(piece) for piece in self.pieces]
        consumers = {match["process"]: read_names(match["consumers"]) for match in matches if match}
        if len(consumers) != len(self.pieces) or self.nodes not in (None, len(consumers)):
            raise GrammarError(f"it lists {len(consumers)} processes, not as many as it says")
        return Members(consumers)


@dataclass(slots=True)
class _SplitDraft(_Lines):
    process_id: str = ""
    entry = _SPLIT_FIELD
    entry_start = _SPLIT_FIELD_START

    @property
    def whole(self) -> bool:
        return len(self.pieces) >= len(_SPLIT_FIELDS)

    def read(self) -> Message:
        matches = [match for piece in self.pieces if (match := _SPLIT_FIELD.search(piece))]
        if tuple(match["name"] for match in matches) != _SPLIT_FIELDS or self.cut:
            raise GrammarError("some of its lines are missing or in disorder")
        return Split(self.process_id, *(read_tasks_by_consumer(match["value"]) for match in matches))


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


def _begin_finished(text: str, match: re.Match[str]) -> Draft:
    return _Short(text[: match.start()], message=Finished(match["group"], int(match["generation"]), match["member"]))


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
)
