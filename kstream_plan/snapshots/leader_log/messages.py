r"""The messages of the assignor that matter, and their wording release by release.

All are of ``org.apache.kafka.streams.processor.internals`` and on level INFO, unless said otherwise. What a generation
needs are three of them: who takes part, what was decided from which lags, and the split over each process's consumers.
The others repeat what these say (``Assigning stateful tasks``, ``Assignment of tasks to nodes``, ``Removing task``,
``Adding removed stateful active task``, ``Requesting followup rebalance``), so they are not needed.

A message ends in words of its own, or where the next record begins. What a layout puts behind a message (its logger,
thread, file and line, context) is therefore never looked at. Its lines may stand in one text, with their ends as they
are, escaped (``#012``, ``\n``) or gone.

A line may be megabytes of anything: no pattern searches for the same end again from every place where it could have
begun.
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
from kstream_plan.snapshots.leader_log.log_times import EARLIEST_US
from kstream_plan.snapshots.leader_log.message_values import (
    Decided,
    EndOffsets,
    Finished,
    Followed,
    Heard,
    Hosts,
    Joined,
    Joining,
    Members,
    Message,
    Settings,
    Split,
    Started,
)

#: What a line that matters has in it; a message that goes on has it in its first line.
MARKERS = (
    b" participating in this rebalance:",
    b"Decided on assignment: {",
    b" per-consumer assignment:",
    b"Finished assignment for group at generation ",
    b"joining group",
    b"Successfully joined group with generation ",
    b" had endOffsetSum=",
    b"No followup rebalance was requested",
    b"=ClientMetadata{hostInfo=HostInfo{",
    b"Kafka Streams version: ",
    b"Kafka version: ",
    b"Config values:",
    b"kstream-plan: plan ",
    b"kstream-plan: balanced ",
)
_MARKERS_AS_TEXT = tuple(marker.decode() for marker in MARKERS)

#: ``StreamsPartitionAssignor.assignTasksToClients``: "{} client nodes and {} consumers participating …" since 3.5,
#: with "Optional[10]" consumers until 3.7; "All members participating …" in 3.2 to 3.4.
_MEMBERS = re.compile(
    r"(?:(?P<nodes>\d{1,9}) client nodes and (?:\d{1,9}|Optional\[\d{1,9}\]) consumers|All members)"
    r" participating in this"
)
_MEMBER = re.compile(
    r"(?:^|(?<=[\s\]]))(?P<process>[^\s:\[\],={}]++): \[(?P<names>[^\[\]\n]++)\](?P<last>\.?)", re.MULTILINE
)
_MEMBER_BEGUN = re.compile(r"(?:^|(?<=[\s\]]))[^\s:\[\],={}]++: \[[^\[\]]*+\Z")

#: ``assignment.HighAvailabilityTaskAssignor.assign``, the same in 2.6 to 4.3.
_DECIDED = re.compile(r"Decided on assignment: (?=\{)")
_DECIDED_END = re.compile(r" with(?P<no> no)? followup probing rebalance\.")
_LONGEST_END = 50

#: ``StreamsPartitionAssignor.computeNewAssignment``, five lines more, the same in 3.2 to 4.3; four in 2.6 to 3.1.
_SPLIT = re.compile(r"Client (?P<process>\S+) per-consumer assignment:")
_SPLIT_FIELDS = ("prev owned active", "prev owned standby", "assigned active", "revoking active", "assigned standby")
_SPLIT_FIELD = re.compile(rf"(?P<name>{'|'.join(_SPLIT_FIELDS)}) (?P<value>\{{[^{{}}\n]*+\}})")
_SPLIT_FIELD_BEGUN = re.compile(rf"(?:{'|'.join(_SPLIT_FIELDS)}) \{{[^{{}}]*+\Z")

#: ``AbstractConfig.logAll`` when a client or an application starts: a line a setting.
_CONFIG = re.compile(r"(?P<kind>Streams|Consumer)Config values:")
#: What a layout writes behind a message, the logger with its line in brackets, is no part of the last value.
_SETTING = re.compile(r"\s*([a-z][\w.-]*) = ?(.*?)(?:\s\((?:[\w$]+\.)+[\w$]+(?::\d+)?\))?\s*", re.DOTALL)
_PREFIX = re.compile(r"\A(?:(?! = )[^\t]){1,200}\t(?=[a-z][\w.-]* =)")
_SHIPPED_AT = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) ")
_JOINED_SETTING = re.compile(r"(?:(?<=\s)|^)(?=[a-z][\w-]*(?:\.[\w-]+)+ =(?:\s|$))")

#: ``ConsumerCoordinator`` of ``org.apache.kafka.clients.consumer.internals``, the same in 3.2 to 4.3.
_FINISHED = re.compile(
    r"\] Finished assignment for group at generation (?P<generation>\d{1,18}): \{(?P<member>[^\s=]++)="
)
_READ_BY = re.compile(r"(?P<member>[^\s={},]++)=Assignment\(partitions=\[(?P<partitions>[^\]\n]*+)\]")
_FINISHED_END = re.compile(r", userDataSize=\d{1,12}\)\}")
_GROUP = "groupId="
#: ``ConsumerCoordinator`` of every member: the first since 3.0, the second in 2.3 to 4.3; since 2.6 with more than the
#: generation's number.
_JOINING = re.compile(r"(?:Request joining group due to|\(Re-\)joining group)")
_JOINED = re.compile(
    r"Successfully joined group with generation (?:Generation\{generationId=)?(?P<generation>\d{1,18})"
)
_CONSUMER = re.compile(
    r"\[Consumer (?:instanceId=(?P<static>[^,\]\n]{1,600}), )?clientId=(?P<client>[^,\]\n]{1,600}), "
    r"groupId=(?P<group>[^\]\n]{1,600})\] \Z"
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
_HOST_INFO = re.compile(r"(?<![^\s{},=])([^\s{},=]++)=ClientMetadata\{hostInfo=HostInfo\{host='([^']*)', port=\d+\}")
#: ``KafkaStreams`` when it is made, the same in 3.2 to 4.3; ``AppInfoParser`` of every client, which names none.
_STARTED = re.compile(
    r"(?:stream-client \[(?P<client>[^\]\n]{1,600})\] )?Kafka (?:Streams )?version: (?P<version>\d[\w.-]{0,60})"
    r"(?=\s*(?:\Z|[^\w\s]))"
)

#: ``io.kstreamplan.Decision``, just before it decides (``kstream_plan/plugin``).
_FOLLOWED = re.compile(
    r"kstream-plan: (?:plan (?P<plan>[0-9a-f]{12,64})|balanced (?P<code>[a-z0-9-]{1,40})) slots (?=\{)"
)

_ESCAPED_LINE_END = re.compile(r"\\{1,4}(?:r\\{1,4})?n")
_ESCAPED_TAB = re.compile(r"\n\\{1,4}t")
#: When releases came out, in microseconds since 1970.
_KAFKA_3_2_US, _KAFKA_3_5_US = 1_652_745_600_000_000, 1_686_787_200_000_000

_THREAD, _THREAD_END = "stream-thread [", "-consumer]"


def is_marked(text: str) -> bool:
    """Tell whether a text has one of :data:`MARKERS` in it."""
    return any(marker in text for marker in _MARKERS_AS_TEXT)


def number_of_heads(text: str) -> int:
    """Return how many messages of several lines, or about all instances, have their first words in a text."""
    return sum(text.count(marker) for marker in _MARKERS_AS_TEXT[:3])


def thread_of(header: str) -> str | None:
    """Return the stream thread that a message's own prefix names: ``orders-…-StreamThread-1``."""
    start = header.find(_THREAD) + len(_THREAD)
    end = header.find(_THREAD_END, start + 1)
    return header[start:end] if start >= len(_THREAD) and end >= 0 else None


@dataclass(slots=True)
class Draft(ABC):
    """A message that more lines may complete, unless it is ``whole``.

    Attributes:
        header: what stands before the message in its first line.
    """

    header: str
    pieces: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether the message is there to its end."""
        return True

    @property
    def ends_with_the_record(self) -> bool:
        """Whether it is whole as well where the next record begins."""
        return False

    @property
    def has_head(self) -> bool:
        """Whether it is one of those that :func:`number_of_heads` counts."""
        return True

    @property
    def logged_after_us(self) -> int:
        """Since when a release words it so, in microseconds since 1970."""
        return EARLIEST_US

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

    @property
    def has_head(self) -> bool:
        return False

    def offer(self, text: str, *, joinable: bool) -> bool:  # noqa: ARG002 - it is whole
        return False

    def read(self) -> Message:
        if self.message is None:
            raise GrammarError("it is cut or mixed up")
        return self.message


@dataclass(slots=True)
class _DecidedDraft(Draft):
    ended: bool = False

    @property
    def whole(self) -> bool:
        return self.ended

    @property
    def logged_after_us(self) -> int:
        return _KAFKA_3_2_US if any("clientTags: (" in piece for piece in self.pieces) else EARLIEST_US

    def offer(self, text: str, *, joinable: bool) -> bool:
        if joinable:
            last_characters = "".join(piece[-_LONGEST_END:] for piece in self.pieces[-3:])[-_LONGEST_END:]
            self.ended = _DECIDED_END.search(last_characters + text) is not None
            self.pieces.append(text)
        return joinable

    def read(self) -> Message:
        text = "".join(self.pieces)
        end = _DECIDED_END.search(text)
        if end is None:
            raise GrammarError("its end is missing")
        return Decided(read_clients(text[: end.start()]), has_probe=end["no"] is None)


@dataclass(slots=True)
class _Entries(Draft):
    """A message of several entries, on lines of their own or not; each is recognized by its form.

    ``pieces`` are those of an entry that goes on in the next line.
    """

    closer = ""

    @abstractmethod
    def take(self, text: str) -> int:
        """Take all entries that are whole in a text; return where the last one ends, 0 if there is none."""

    @abstractmethod
    def begins(self, text: str) -> bool:
        """Tell whether a text ends in an entry that is not whole."""

    def offer(self, text: str, *, joinable: bool) -> bool:
        if joinable and self.pieces:
            self.pieces.append(text)
            if self.closer not in text:
                return True
            text, self.pieces = "".join(self.pieces), []
        end = self.take(text)
        if end:
            self.pieces = []
        if joinable and not self.whole and self.begins(text[end:]):
            self.pieces = [text[end:]]
            return True
        return end > 0


@dataclass(slots=True)
class _MembersDraft(_Entries):
    nodes: int | None = None
    consumers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    entries: int = 0
    last: bool = False
    closer = "]"

    @property
    def whole(self) -> bool:
        return self.last

    @property
    def logged_after_us(self) -> int:
        return EARLIEST_US if self.nodes is None else _KAFKA_3_5_US

    def take(self, text: str) -> int:
        end = 0
        matches = list(_MEMBER.finditer(text))
        next_starts = [*(match.start() for match in matches[1:]), len(text)]
        for match, next_start in zip(matches, next_starts, strict=False):
            if not match["last"] and text[match.end() : next_start].strip():
                continue  # of a layout's own, before the entry
            self.consumers[match["process"]] = read_names(match["names"])
            self.entries += 1
            end = match.end()
            if match["last"]:
                self.last = True
                break
        return end

    def begins(self, text: str) -> bool:
        return _MEMBER_BEGUN.search(text) is not None

    def read(self) -> Message:
        if not self.whole or self.pieces:
            raise GrammarError("its end is missing")
        if len(self.consumers) != self.entries or self.nodes not in (None, self.entries):
            raise GrammarError(f"it lists {len(self.consumers)} processes, not as many as it says")
        return Members(self.consumers)


@dataclass(slots=True)
class _SplitDraft(_Entries):
    process_id: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    closer = "}"

    @property
    def whole(self) -> bool:
        return len(self.fields) >= len(_SPLIT_FIELDS)

    def take(self, text: str) -> int:
        end = 0
        for match in _SPLIT_FIELD.finditer(text):
            if self.whole:
                break
            self.fields.append((match["name"], match["value"]))
            end = match.end()
        return end

    def begins(self, text: str) -> bool:
        return _SPLIT_FIELD_BEGUN.search(text) is not None

    def read(self) -> Message:
        if tuple(name for name, _ in self.fields) != _SPLIT_FIELDS or self.pieces:
            raise GrammarError("some of its lines are missing or in disorder")
        return Split(self.process_id, *(read_tasks_by_consumer(value) for _, value in self.fields))


@dataclass(slots=True)
class _ConfigDraft(Draft):
    """Settings, until something else comes."""

    kind: str = ""
    values: dict[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return False

    @property
    def ends_with_the_record(self) -> bool:
        return True

    @property
    def has_head(self) -> bool:
        return False

    def offer(self, text: str, *, joinable: bool) -> bool:  # noqa: ARG002 - a setting looks like one
        text = _PREFIX.sub("", _SHIPPED_AT.sub("", text), count=1)
        for piece in _JOINED_SETTING.split(text) if text.count(" = ") > 1 else [text]:
            match = _SETTING.fullmatch(piece)
            if match is not None:
                self.values[match[1]] = match[2]
            elif piece.strip():
                return False
        return True

    def read(self) -> Message:
        return Settings(self.kind, self.values)


def begin_draft(text: str) -> Draft | None:
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
    draft = _DecidedDraft(text[: match.start()])
    draft.offer(text[match.end() :], joinable=True)
    return draft


def _begin_followed(text: str, match: re.Match[str]) -> Draft:
    return _Short(text[: match.start()], message=Followed(match["plan"], match["code"]))


def _begin_config(text: str, match: re.Match[str]) -> Draft:
    return _with_lines(_ConfigDraft(text[: match.start()], kind=match["kind"].lower()), text[match.end() :])


def _begin_finished(text: str, match: re.Match[str]) -> Draft | None:
    start = text.find(_GROUP, text.rfind("]", 0, match.start()) + 1, match.start())
    if start < 0:
        return None
    group = text[start + len(_GROUP) : match.start()]
    partitions = dict(_READ_BY.findall(text, match.start("member")))
    is_cut = _FINISHED_END.search(text, match.end()) is None
    finished = Finished(group, int(match["generation"]), match["member"], partitions, is_cut)
    return _Short(text[:start], message=finished)


def _begin_joining(text: str, match: re.Match[str]) -> Draft | None:
    consumer = _CONSUMER.search(text, 0, match.start())
    if consumer is None:
        return None
    group, member = consumer["group"], consumer["static"] or consumer["client"]
    number = match.groupdict().get("generation")
    message = Joining(group, member) if number is None else Joined(group, member, int(number))
    return _Short(text[: consumer.start()], message=message)


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
    """Offer a message what stands in the text of its first line, whose own line ends may be escaped."""
    if "#012" in text:
        text = text.replace("#012", "\n").replace("#011", "\t")
    for line in _ESCAPED_TAB.sub("\n\t", _ESCAPED_LINE_END.sub("\n", text)).split("\n"):
        if not draft.whole and line.strip():
            draft.offer(line, joinable=True)
    return draft


#: Words that a beginning has in it, which are found fast; what it looks like; and what is begun.
_BEGINNINGS = (
    (" participating in this", _MEMBERS, _begin_members),
    ("Decided on assignment", _DECIDED, _begin_decided),
    (" per-consumer assignment", _SPLIT, _begin_split),
    ("Finished assignment for group", _FINISHED, _begin_finished),
    ("joining group", _JOINING, _begin_joining),
    ("Successfully joined group", _JOINED, _begin_joining),
    (" had endOffsetSum=", _END_OFFSETS, _begin_end_offsets),
    ("No followup rebalance", _NO_FOLLOWUP, _begin_heard),
    ("Constructed client metadata", _CONSTRUCTED, _begin_hosts),
    (" version: ", _STARTED, _begin_started),
    ("Config values:", _CONFIG, _begin_config),
    ("kstream-plan: ", _FOLLOWED, _begin_followed),
)
