"""Messages → the rounds of each group: what every worker was told in them, whatever log it is in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kstream_plan.errors import SnapshotError
from kstream_plan.model.connect_group import ConnectItems
from kstream_plan.snapshots.connect_log.messages import (
    Answered,
    Clock,
    Configured,
    Joined,
    MaxDelay,
    Members,
    RunsOn,
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
    ``decided_ms`` the time there.
    """

    number: int
    told: dict[str, Told] = field(default_factory=dict)
    joined: dict[str, LogPlace] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None
    configured: ConnectItems | None = None
    decided_ms: int | None = None

    @property
    def answer(self) -> Answered:
        """What one of the workers was told."""
        return next(iter(self.told.values())).answer

    @property
    def place(self) -> LogPlace:
        """Where the round is in the logs."""
        lead = self.told.get(self.answer.leader) if self.told else None
        return lead.place if lead else min([*self.joined.values(), *(told.place for told in self.told.values())])


@dataclass(slots=True)
class LoggedGroup:
    """The rounds of a group by number, the Java of its workers, and the longest delay that they are set to."""

    group_id: str
    rounds: dict[int, LoggedRound] = field(default_factory=dict)
    java: dict[str, int] = field(default_factory=dict)
    max_delay_ms: int | None = None


@dataclass(slots=True)
class FoundRounds:
    """What the logs hold: groups by id, and when each log ends."""

    groups: dict[str, LoggedGroup] = field(default_factory=dict)
    ends: dict[str, Stamp] = field(default_factory=dict)


@dataclass(slots=True)
class _Speaker:
    """A worker as of its last line: its member id, in which round it is, and since when."""

    member_id: str
    number: int
    at: Stamp | None


def rounds_of(records: Iterable[Record | LogEnd]) -> FoundRounds:
    """Put the messages of all logs together; the same log given twice counts once.

    Raises:
        SnapshotError: two logs say unlike things of one worker in one round.
    """
    found = FoundRounds()
    speakers: dict[Voice, _Speaker] = {}
    begun: dict[tuple[str, str], dict[type, int]] = {}
    for record in records:
        if isinstance(record, LogEnd):
            found.ends[record.file] = record.at
            continue
        process, message = begun.setdefault((record.file, record.stream), {}), record.message
        if isinstance(message, RunsOn):
            process[RunsOn] = message.java
        elif isinstance(message, MaxDelay):
            process[MaxDelay] = message.delay_ms
        elif record.voice is not None:
            group = found.groups.setdefault(record.voice.group_id, LoggedGroup(record.voice.group_id))
            _add(group, record, record.voice, speakers)
            _know(group, speakers.get(record.voice), process)
    return found


def _know(group: LoggedGroup, speaker: _Speaker | None, process: dict[type, int]) -> None:
    if speaker is not None and RunsOn in process:
        group.java[speaker.member_id] = process[RunsOn]
    group.max_delay_ms = process.get(MaxDelay, group.max_delay_ms)


def _add(group: LoggedGroup, record: Record, voice: Voice, speakers: dict[Voice, _Speaker]) -> None:
    message, speaker = record.message, speakers.get(voice)
    if isinstance(message, Joined):
        speakers[voice] = _Speaker(message.member_id, message.generation, record.at)
        _round(group, message.generation).joined.setdefault(message.member_id, record.place)
    elif speaker is None:
        return  # the log begins inside the round: who says so is not known
    elif isinstance(message, Answered):
        if message.generation == speaker.number:
            told = Told(message, voice, record.host, speaker.at, record.at, record.place)
            _tell(_round(group, message.generation), speaker.member_id, told)
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
    if before.answer != told.answer:
        what = (
            f"{printable(member_id)} got another answer in generation {of.number} than in {before.place}: a worker "
            "gets one answer"
        )
        raise SnapshotError(what, where=str(told.place), fix="give logs of one cluster and of one time")
