"""Messages → generations: which of them belong together, whoever was the leader and however the logs are mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import sha256

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.grammar import Clients
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.message_values import (
    Decided,
    EndOffsets,
    Finished,
    Followed,
    Gap,
    Joined,
    Joining,
    LogPlace,
    Members,
    Split,
)
from kstream_plan.snapshots.leader_log.records import Record

#: So long a leader takes at most from what it decides to the last that it says of it.
_LONGEST_US = 120_000_000
#: So long its consumer takes at most from the last list of tasks to the number of the generation.
_LONGEST_TO_NUMBER_US = 30_000_000
#: The same where that line names one consumer of several, as any other rebalance might.
_LONGEST_TO_SHORT_NUMBER_US = 500_000
#: So long the class that follows target files takes at most from what it says of a decision to the decision.
_LONGEST_TO_DECISION_US = 2_000_000
_SECOND_US = 1_000_000


@dataclass(slots=True)
class LoggedGeneration:
    """One rebalance as its leader logged it.

    ``place`` and ``source`` are where it was decided. ``ended_at`` is when its last list of tasks was logged.
    ``number`` and ``group`` are known if the leader's consumer logged them; ``thread`` is the leader's stream thread.
    ``end_offset_sums`` are told apart from what ``clients`` has, where the leader warned of a process that reported
    more. ``followed``: by which plan it was decided, where the class that follows target files decided it.
    """

    decided_at: Moment | None
    place: LogPlace
    source: tuple[str, str]
    thread: str | None
    clients: Clients
    has_probe: bool
    consumers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    splits: dict[str, Split] = field(default_factory=dict)
    end_offset_sums: dict[TaskId, int] = field(default_factory=dict)
    ended_at: Moment | None = None
    number: int | None = None
    group: str | None = None
    followed: Followed | None = None

    def has(self, split: Split, record: Record) -> bool:
        """Tell whether a split over consumers is of this decision: its tasks are those that were decided.

        Kafka names each consumer of a process, as many as its capacity, among those that reported, with tasks or not.
        """
        state = self.clients.states.get(split.process_id)
        if state is None or not _are_together((self.decided_at, self.source), record):
            return False
        if self.thread is not None and record.thread not in (None, self.thread):
            return False
        members = self.consumers.get(split.process_id, split.reported)
        return (
            all_tasks(split.active) == state.active
            and state.standby <= all_tasks(split.standby)
            and all_tasks(split.owned) == state.had_active
            and named_consumers(split) == split.reported.keys() == set(members)
            and len(split.reported) == state.capacity
        )

    @property
    def is_whole(self) -> bool:
        """Whether the split over consumers is known for every process."""
        return self.splits.keys() == self.clients.states.keys()

    @property
    def withholds_what_others_own(self) -> bool:
        """Whether consumers wait for those tasks that other consumers own, as Kafka decides: else it is a mixture."""
        splits = self.splits.values()
        owner = {task: consumer for split in splits for consumer, tasks in split.owned.items() for task in tasks}
        return all(
            set(split.revoking.get(consumer, ())) == {task for task in tasks if owner.get(task, consumer) != consumer}
            for split in splits
            for consumer, tasks in split.active.items()
        )

    def is_numbered_by(self, message: Finished) -> bool:
        """Tell whether an end may be its own: consumers read the partitions of the tasks that they run from then on.

        One subtopology reads a topic, and the task with a partition's number reads it.
        """
        if not message.is_cut and message.partitions.keys() != self.consumer_ids:
            return len(message.partitions) == 1  # it was shortened, which tells nothing, or others take part
        running = {
            consumer: set(tasks) - set(split.revoking.get(consumer, ()))
            for split in self.splits.values()
            for consumer, tasks in split.active.items()
        }
        if not message.partitions.keys() <= running.keys():
            return False
        names = {
            consumer: [name.rpartition("-")[::2] for name in text.split(", ")]
            for consumer, text in message.partitions.items()
            if text
        }
        if not all(number.isdecimal() and len(number) < 10 for pairs in names.values() for _, number in pairs):
            return False  # lines are lost in the middle of it
        read = {consumer: [(topic, int(number)) for topic, number in pairs] for consumer, pairs in names.items()}
        readers: dict[str, set[TaskId]] = {}  # by topic: tasks of partition 0 of the subtopologies that may read it
        for consumer, partitions in read.items():
            for topic, number in partitions:
                possible = {task._replace(partition=0) for task in running[consumer] if task.partition == number}
                readers[topic] = readers.get(topic, possible) & possible
        return all(readers.values()) and all(
            running[consumer]
            <= {task._replace(partition=number) for topic, number in read.get(consumer, ()) for task in readers[topic]}
            for consumer in message.partitions
        )

    @property
    def consumer_ids(self) -> set[str]:
        """The consumers of all processes."""
        return {consumer for consumers in self.consumers.values() for consumer in consumers}

    @property
    def leader(self) -> str | None:
        """The leader's process id."""
        for process_id, consumers in self.consumers.items():
            if self.thread and (
                process_id in self.thread or any(name.startswith(f"{self.thread}-consumer-") for name in consumers)
            ):
                return process_id
        return None


@dataclass(slots=True)
class LogContents:
    """What the messages gave: whole generations in order of time, and where one began that is not whole.

    ``incomplete`` has the first message of such a one, ``gaps`` the messages that cannot be read, ``joins`` those of
    members that join their group again.
    """

    generations: list[LoggedGeneration] = field(default_factory=list)
    incomplete: list[Record] = field(default_factory=list)
    gaps: list[Record] = field(default_factory=list)
    joins: list[Record] = field(default_factory=list)


def generations_of(records: Iterable[Record]) -> LogContents:
    """Put messages together to generations.

    They may be of several leaders and applications, in any order that keeps each log's own: they are sorted by time,
    and what belongs together is told by the ids of processes and consumers in them, by the tasks, and by who said so
    when. A message that is there twice (the same log given twice, say) counts once. Messages without a time belong
    together only inside of a log.
    """
    assembly = _Assembly()
    for record in _by_time(records):
        assembly.add(record)
    return assembly.result()


def _by_time(records: Iterable[Record]) -> list[Record]:
    """Sort by time, keeping the order within each log; a message without a time stays with the one before it.

    What several logs say at one time counts once. Where times are whole seconds, a log may say a thing twice in one.
    """
    keyed: list[tuple[int, int, Record]] = []
    last: dict[str, int] = {}
    identities: set[tuple[int, bytes, int]] = set()
    times_said: Counter[tuple[str, int, bytes]] = Counter()
    for position, record in enumerate(records):
        at_us = record.logged_at.us if record.logged_at else last.get(record.place.file, -1)
        last[record.place.file] = at_us
        digest = sha256(repr(record.message).encode()).digest()
        times_said[record.place.file, at_us, digest] += 1
        identity = at_us, digest, 1 if at_us % _SECOND_US else times_said[record.place.file, at_us, digest]
        if record.logged_at is None or identity not in identities:
            keyed.append((at_us, position, record))
        identities.add(identity)
    keyed.sort(key=lambda item: item[:2])
    return [record for _, _, record in keyed]


class _Assembly:
    def __init__(self) -> None:
        self._contents = LogContents()
        self._members: list[tuple[Members, Record]] = []
        self._open: list[tuple[LoggedGeneration, Record]] = []
        self._any_split = False
        self._corrections: dict[str, dict[TaskId, int]] = {}
        self._followed: dict[tuple[str, str], Record] = {}  # by source: what its next decision is made by
        self._unnumbered: dict[str, LoggedGeneration] = {}  # by process: its last generation, until another one begins

    def add(self, record: Record) -> None:
        match record.message:
            case Members():
                self._begin(record.message, record)
            case Decided():
                self._add_decision(record.message, record)
            case Followed():
                self._followed[record.source] = record
            case Split():
                self._any_split = True
                self._add_split(record.message, record)
            case Finished():
                self._add_number(record.message, record)
            case Gap():
                self._contents.gaps.append(record)
                self._unnumbered.clear()
            case Joining() | Joined():
                self._contents.joins.append(record)
            case EndOffsets():
                corrections = self._corrections.setdefault(record.message.process_id, {})
                corrections[record.message.task_id] = record.message.end_offset_sum
            case _:
                pass

    def result(self) -> LogContents:
        if not self._any_split:
            for generation, record in [*self._open]:
                splits = _implied_splits(generation)
                if splits is not None:
                    generation.splits.update(splits)
                    self._open.remove((generation, record))
                    self._close(generation, record)
        self._contents.incomplete += [record for _, record in self._open]
        self._contents.incomplete += [record for _, record in self._members]
        self._contents.incomplete.sort(key=lambda record: record.place)
        return self._contents

    def _begin(self, message: Members, record: Record) -> None:
        """Note who takes part; a rebalance of one of them that is still open did not come to its end."""
        ids = message.consumers.keys()
        self._forget_unnumbered(ids)
        for earlier in [item for item in self._members if not ids.isdisjoint(item[0].consumers)]:
            self._members.remove(earlier)
            self._contents.incomplete.append(earlier[1])
        self._end_open(ids)
        self._members.append((message, record))

    def _add_decision(self, message: Decided, record: Record) -> None:
        ids = message.clients.states.keys()
        self._forget_unnumbered(ids)
        self._end_open(ids)
        generation = LoggedGeneration(
            record.logged_at, record.place, record.source, record.thread, message.clients, message.has_probe
        )
        followed = self._followed.pop(record.source, None)
        if followed is not None and _are_together((record.logged_at, record.source), followed, _LONGEST_TO_DECISION_US):
            assert isinstance(followed.message, Followed)
            generation.followed = followed.message
        for item in self._members:
            if item[0].consumers.keys() == ids and _are_together((record.logged_at, record.source), item[1]):
                self._members.remove(item)
                generation.consumers = item[0].consumers
                generation.thread = item[1].thread or generation.thread
                break
        for process_id in ids:
            generation.end_offset_sums.update(self._corrections.pop(process_id, {}))
        self._open.append((generation, record))

    def _end_open(self, ids: Set[str]) -> None:
        """Give up rebalances of these processes that are not whole: the next one has begun."""
        for earlier in [item for item in self._open if not ids.isdisjoint(item[0].clients.states)]:
            self._open.remove(earlier)
            self._contents.incomplete.append(earlier[1])

    def _add_split(self, message: Split, record: Record) -> None:
        for item in self._open:
            generation = item[0]
            if generation.has(message, record):
                generation.splits.setdefault(message.process_id, message)
                generation.thread = generation.thread or record.thread
                if generation.is_whole:
                    self._open.remove(item)
                    self._close(generation, record)
                return
        self._contents.incomplete.append(record)
        self._unnumbered.clear()  # a number that follows may be that of its rebalance

    def _close(self, generation: LoggedGeneration, record: Record) -> None:
        if not generation.withholds_what_others_own:
            self._contents.incomplete.append(record)
            return
        if not generation.consumers:
            generation.consumers = {
                process_id: sorted(named_consumers(split)) for process_id, split in generation.splits.items()
            }
        generation.ended_at = record.logged_at
        self._contents.generations.append(generation)
        self._unnumbered.update(dict.fromkeys(generation.clients.states, generation))

    def _add_number(self, message: Finished, record: Record) -> None:
        for process_id, generation in self._unnumbered.items():
            if message.member in generation.consumers[process_id]:
                end = generation.ended_at, generation.source
                is_short = len(message.partitions) == 1 < len(generation.consumer_ids)
                longest_us = _LONGEST_TO_SHORT_NUMBER_US if is_short else _LONGEST_TO_NUMBER_US
                if _are_together(end, record, longest_us) and generation.is_numbered_by(message):
                    generation.number, generation.group = message.generation, message.group
                self._forget_unnumbered(generation.clients.states)
                return

    def _forget_unnumbered(self, process_ids: Iterable[str]) -> None:
        for process_id in process_ids:
            self._unnumbered.pop(process_id, None)


def _implied_splits(generation: LoggedGeneration) -> dict[str, Split] | None:
    """Return the splits that follow from a decision alone, of a log without any: 2.6 logs none, and excerpts may not.

    They do where no member had a task: a consumer alone gets all, and of several the first gets one task. ``None``:
    they do not.
    """
    splits = {}
    for process_id, state in generation.clients.states.items():
        consumers = sorted(generation.consumers.get(process_id, ()))
        had_tasks = state.had_active or state.had_standby or state.lags
        if had_tasks or not consumers or (len(consumers) > 1 and len(state.active) + len(state.standby) > 1):
            return None
        no_tasks: dict[str, tuple[TaskId, ...]] = dict.fromkeys(consumers, ())
        splits[process_id] = Split(
            process_id,
            owned=no_tasks,
            reported=no_tasks,
            active={**no_tasks, consumers[0]: _in_order(state.active)},
            revoking={},
            standby={**no_tasks, consumers[0]: _in_order(state.standby)},
        )
    return splits


def _in_order(tasks: Iterable[TaskId]) -> tuple[TaskId, ...]:
    return tuple(sorted(tasks, key=lambda task: task.sort_key))


def named_consumers(split: Split) -> set[str]:
    """Return the consumers that a split names."""
    return {*split.owned, *split.reported, *split.active, *split.revoking, *split.standby}


def all_tasks(by_consumer: Mapping[str, Sequence[TaskId]]) -> set[TaskId]:
    """Return the tasks of all consumers."""
    return {task for tasks in by_consumer.values() for task in tasks}


def _are_together(begin: tuple[Moment | None, tuple[str, str]], record: Record, longest_us: int = _LONGEST_US) -> bool:
    """Tell whether a message may be of the rebalance that began then and there.

    A leader says all of it within moments; without times only one log tells what followed what.
    """
    began_at, source = begin
    if began_at is None or record.logged_at is None:
        return source == record.source
    return abs(began_at.us - record.logged_at.us) <= longest_us
