"""Messages → the rounds of each group: what every worker was told in them, whatever log it is in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kstream_plan.errors import SnapshotError
from kstream_plan.model.connect_group import ConnectItems
from kstream_plan.snapshots.connect_log.memory import keys_of
from kstream_plan.snapshots.connect_log.messages import (
    Answered,
    Clock,
    Configured,
    Gap,
    Joined,
    MaxDelay,
    Members,
    RunsOn,
    RunsRelease,
)
from kstream_plan.snapshots.connect_log.records import LogEnd, Record, Stamp, Voice
from kstream_plan.snapshots.leader_log.message_values import LogPlace
from kstream_plan.snapshots.rows.fields import printable


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker was told in a round; ``joined_at`` is when it had joined, ``at`` when it did as told."""

    answer: Answered
    voice: Voice
    host: str | None
    joined_at: Stamp | None
    at: Stamp | None
    place: LogPlace


@dataclass(slots=True)
class LoggedRound:
    """A round: who joined, and what each was told, by member id.

    ``listed`` (in the order of the leader's table) and ``configured`` are what the leader's DEBUG lines say of it,
    ``decided_ms`` the time there. ``mixed`` is where it was told to one of several workers of one client id in one
    stream, and nothing tells to which.
    """

    number: int
    told: dict[str, Told] = field(default_factory=dict)
    joined: dict[str, LogPlace] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None
    configured: ConnectItems | None = None
    decided_ms: int | None = None
    mixed: LogPlace | None = None

    @property
    def answer(self) -> Answered:
        """What one of the workers was told."""
        return next(iter(self.told.values())).answer

    @property
    def place(self) -> LogPlace:
        """Where the round is in the logs."""
        lead = self.told.get(self.answer.leader) if self.told else None
        return lead.place if lead else min(self.places)

    @property
    def places(self) -> list[LogPlace]:
        """All that logs tell of who takes part in it, the answers last."""
        return [*self.joined.values(), *(told.place for told in self.told.values())]


@dataclass(slots=True)
class LoggedGroup:
    """The rounds of a group by number, the Java of its workers, and the longest delay that they are set to.

    ``releases`` are those of Kafka that its workers have started with, by member id. ``unclaimed`` are answers, by the
    number of the round, of which it is unknown who was told them. ``files`` are the logs that tell of it.
    """

    group_id: str
    rounds: dict[int, LoggedRound] = field(default_factory=dict)
    java: dict[str, int] = field(default_factory=dict)
    max_delay_ms: int | None = None
    releases: dict[str, str] = field(default_factory=dict)
    unclaimed: dict[int, LogPlace] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)

    @property
    def last_number(self) -> int:
        """The number of the newest round that the logs tell of, read or not."""
        return max([*self.rounds, *self.unclaimed], default=0)


@dataclass(slots=True)
class FoundRounds:
    """What the logs hold: groups by id, when each log ends, and the messages that cannot be read."""

    groups: dict[str, LoggedGroup] = field(default_factory=dict)
    ends: dict[str, Stamp] = field(default_factory=dict)
    gaps: list[tuple[LogPlace, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Speaker:
    """A worker as of its last line: its member id, in which round it is, and since when."""

    member_id: str
    number: int
    at: Stamp | None


@dataclass(slots=True)
class _Speakers:
    """Workers of one client id in one stream: the one that joined last, and by round those without an answer yet."""

    last: _Speaker | None = None
    waiting: dict[int, dict[str, _Speaker]] = field(default_factory=dict)

    def join(self, speaker: _Speaker) -> None:
        """A worker takes part in a round."""
        self.last = speaker
        self.waiting.setdefault(speaker.number, {})[speaker.member_id] = speaker

    def answered(self, message: Answered, before: LoggedRound | None) -> tuple[_Speaker, bool] | None:
        """Return who was told this in its round, and whether it is certain; ``None``: nobody here has joined it.

        Of several it is the one that had, in the round before, some of what it is told to hold or to give up: nothing
        goes from one worker to another within a round.
        """
        waiting = self.waiting.get(message.generation, {})
        if not waiting:
            repeated = self.last is not None and self.last.number == message.generation
            return (self.last, True) if repeated and self.last is not None else None
        found = list(waiting)
        if len(found) > 1 and before is not None and before.mixed is None:
            items = keys_of(message.held) | keys_of(message.revoked)
            had = {member: keys_of(told.answer.held) for member, told in before.told.items()}
            found = [member for member in waiting if items & had.get(member, frozenset())] or [
                member for member in waiting if not had.get(member)
            ]
        member_id = (found or list(waiting))[0]
        return waiting.pop(member_id), len(found) == 1


def rounds_of(records: Iterable[Record | LogEnd]) -> FoundRounds:
    """Put the messages of all logs together; the same log given twice counts once.

    Raises:
        SnapshotError: two logs say unlike things of one worker in one round.
    """
    found = FoundRounds()
    speakers: dict[Voice, _Speakers] = {}
    begun: dict[tuple[str, str], _Process] = {}
    for record in records:
        if isinstance(record, LogEnd):
            found.ends[record.file] = record.at
            continue
        process, message = begun.setdefault((record.file, record.stream), _Process()), record.message
        if isinstance(message, Gap):
            found.gaps.append((record.place, message.why))
            speakers = {voice: speaker for voice, speaker in speakers.items() if voice.file != record.file}
        elif isinstance(message, RunsOn):
            process.java = message.java
        elif isinstance(message, MaxDelay):
            process.max_delay_ms = message.delay_ms
        elif isinstance(message, RunsRelease):
            process.release = message.version
        elif record.voice is not None:
            group = found.groups.setdefault(record.voice.group_id, LoggedGroup(record.voice.group_id))
            of_voice = speakers.setdefault(record.voice, _Speakers())
            _add(group, record, record.voice, of_voice)
            _know(group, of_voice.last, process)
    return found


@dataclass(slots=True)
class _Process:
    """What a process has said of itself since it began."""

    java: int | None = None
    max_delay_ms: int | None = None
    release: str | None = None


def _know(group: LoggedGroup, speaker: _Speaker | None, process: _Process) -> None:
    if speaker is not None and process.java is not None:
        group.java[speaker.member_id] = process.java
    if speaker is not None and process.release is not None:
        group.releases[speaker.member_id] = process.release
    group.max_delay_ms = group.max_delay_ms if process.max_delay_ms is None else process.max_delay_ms


def _add(group: LoggedGroup, record: Record, voice: Voice, speakers: _Speakers) -> None:
    message, speaker = record.message, speakers.last
    group.files.add(record.place.file)
    if isinstance(message, Joined):
        speakers.join(_Speaker(message.member_id, message.generation, record.at))
        _round(group, message.generation).joined.setdefault(message.member_id, record.place)
    elif isinstance(message, Answered):
        found = speakers.answered(message, group.rounds.get(message.generation - 1))
        if found is None:  # the log begins inside the round, or its beginning is cut: who says so is not known
            group.unclaimed.setdefault(message.generation, record.place)
        else:
            member, is_certain = found
            of = _round(group, message.generation)
            of.mixed = of.mixed if is_certain else record.place
            _tell(of, member.member_id, Told(message, voice, record.host, member.at, record.at, record.place))
    elif speaker is None:
        return
    elif isinstance(message, Configured):
        _round(group, speaker.number).configured = message.items
    elif isinstance(message, Members):
        _round(group, speaker.number).listed = message.member_ids
    elif isinstance(message, Clock):
        _round(group, speaker.number).decided_ms = message.now_ms


def _round(group: LoggedGroup, number: int) -> LoggedRound:
    return group.rounds.setdefault(number, LoggedRound(number))


def _tell(of: LoggedRound, member_id: str, told: Told) -> None:
    before = of.told.setdefault(member_id, told)
    if before.answer != told.answer and of.mixed is None:
        what = (
            f"{printable(member_id)} got another answer in generation {of.number} than in {before.place}: a worker "
            "gets one answer"
        )
        raise SnapshotError(what, where=str(told.place), fix="give logs of one cluster and of one time")
