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
class WorkerAnswer:
    """A worker's assignment in a round; ``joined_at`` is when it had joined, ``answered_at`` when it followed it."""

    answer: Answered
    voice: Voice
    host: str | None
    joined_at: Stamp | None
    answered_at: Stamp | None
    place: LogPlace


@dataclass(slots=True)
class LoggedRound:
    """A round: where members joined it, and their answers, by member id.

    ``listed_members`` (in the order of the leader's table) and ``configured`` are what the leader's DEBUG lines say of
    it, ``decided_ms`` the time there. ``mixed`` is where one of several workers of one client id in one stream got its
    answer, and which of them is unknown.
    """

    number: int
    answers: dict[str, WorkerAnswer] = field(default_factory=dict)
    join_places: dict[str, LogPlace] = field(default_factory=dict)
    listed_members: tuple[str, ...] | None = None
    configured: ConnectItems | None = None
    decided_ms: int | None = None
    mixed: LogPlace | None = None

    @property
    def answer(self) -> Answered:
        """What one of the workers was told."""
        return next(iter(self.answers.values())).answer

    @property
    def place(self) -> LogPlace:
        """Where the round is in the logs."""
        lead = self.answers.get(self.answer.leader) if self.answers else None
        return lead.place if lead else min(self.places)

    @property
    def places(self) -> list[LogPlace]:
        """All that logs tell of who takes part in it, the answers last."""
        return [*self.join_places.values(), *(worker_answer.place for worker_answer in self.answers.values())]


@dataclass(slots=True)
class LoggedGroup:
    """The rounds of a group by number, the Java of its workers, and the longest delay that they are set to.

    ``releases`` are those of Kafka that its workers have started with, by member id. ``unclaimed`` are answers, by the
    number of the round, whose worker is unknown. ``files`` are the logs that tell of it.
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
class LogContents:
    """What the logs hold: groups by id, when each log ends, and the messages that cannot be read."""

    groups: dict[str, LoggedGroup] = field(default_factory=dict)
    ends: dict[str, Stamp] = field(default_factory=dict)
    gaps: list[tuple[LogPlace, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Speaker:
    """A worker as of its last line: its member id, in which round it is, and since when."""

    member_id: str
    number: int
    joined_at: Stamp | None


@dataclass(slots=True)
class _Speakers:
    """Workers of one client id in one stream: the one that joined last, and by round those without an answer yet."""

    last: _Speaker | None = None
    unanswered_by_round: dict[int, dict[str, _Speaker]] = field(default_factory=dict)

    def join(self, speaker: _Speaker) -> None:
        """A worker takes part in a round."""
        self.last = speaker
        self.unanswered_by_round.setdefault(speaker.number, {})[speaker.member_id] = speaker

    def pop_recipient(self, message: Answered, previous_round: LoggedRound | None) -> tuple[_Speaker, bool] | None:
        """Remove and return the worker that got this answer, and whether it is certain; ``None``: none joined here.

        Of several it is the one that had, in the round before, some of what it is told to hold or to give up: nothing
        goes from one worker to another within a round.
        """
        unanswered = self.unanswered_by_round.get(message.generation, {})
        if not unanswered:
            repeated = self.last is not None and self.last.number == message.generation
            return (self.last, True) if repeated and self.last is not None else None
        candidates = list(unanswered)
        if len(candidates) > 1 and previous_round is not None and previous_round.mixed is None:
            items = keys_of(message.held_items) | keys_of(message.revoked_items)
            previous_items = {
                member: keys_of(worker_answer.answer.held_items)
                for member, worker_answer in previous_round.answers.items()
            }
            candidates = [member for member in unanswered if items & previous_items.get(member, frozenset())] or [
                member for member in unanswered if not previous_items.get(member)
            ]
        member_id = (candidates or list(unanswered))[0]
        return unanswered.pop(member_id), len(candidates) == 1


def rounds_of(records: Iterable[Record | LogEnd]) -> LogContents:
    """Put the messages of all logs together; the same log given twice counts once.

    Raises:
        SnapshotError: two logs say unlike things of one worker in one round.
    """
    contents = LogContents()
    speakers: dict[Voice, _Speakers] = {}
    processes: dict[tuple[str, str], _Process] = {}
    for record in records:
        if isinstance(record, LogEnd):
            contents.ends[record.file] = record.stamp
            continue
        process, message = processes.setdefault((record.file, record.stream), _Process()), record.message
        if isinstance(message, Gap):
            contents.gaps.append((record.place, message.reason))
            speakers = {voice: speaker for voice, speaker in speakers.items() if voice.file != record.file}
        elif isinstance(message, RunsOn):
            process.java = message.java
        elif isinstance(message, MaxDelay):
            process.max_delay_ms = message.delay_ms
        elif isinstance(message, RunsRelease):
            process.release = message.version
        elif record.voice is not None:
            group = contents.groups.setdefault(record.voice.group_id, LoggedGroup(record.voice.group_id))
            of_voice = speakers.setdefault(record.voice, _Speakers())
            _add(group, record, record.voice, of_voice)
            _know(group, of_voice.last, process)
    return contents


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
        speakers.join(_Speaker(message.member_id, message.generation, record.stamp))
        _round(group, message.generation).join_places.setdefault(message.member_id, record.place)
    elif isinstance(message, Answered):
        recipient = speakers.pop_recipient(message, group.rounds.get(message.generation - 1))
        if recipient is None:  # the log begins inside the round, or its beginning is cut: who says so is not known
            group.unclaimed.setdefault(message.generation, record.place)
        else:
            worker, is_certain = recipient
            logged_round = _round(group, message.generation)
            logged_round.mixed = logged_round.mixed if is_certain else record.place
            answer = WorkerAnswer(message, voice, record.host, worker.joined_at, record.stamp, record.place)
            _add_answer(logged_round, worker.member_id, answer)
    elif speaker is None:
        return
    elif isinstance(message, Configured):
        _round(group, speaker.number).configured = message.items
    elif isinstance(message, Members):
        _round(group, speaker.number).listed_members = message.member_ids
    elif isinstance(message, Clock):
        _round(group, speaker.number).decided_ms = message.now_ms


def _round(group: LoggedGroup, number: int) -> LoggedRound:
    return group.rounds.setdefault(number, LoggedRound(number))


def _add_answer(logged_round: LoggedRound, member_id: str, worker_answer: WorkerAnswer) -> None:
    first_answer = logged_round.answers.setdefault(member_id, worker_answer)
    if first_answer.answer != worker_answer.answer and logged_round.mixed is None:
        problem = (
            f"{printable(member_id)} got another answer in generation {logged_round.number} than in "
            f"{first_answer.place}: a worker gets one answer"
        )
        raise SnapshotError(problem, where=str(worker_answer.place), fix="give logs of one cluster and of one time")
