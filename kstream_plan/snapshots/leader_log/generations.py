"""Messages → generations: which of them belong together, whoever was the leader and however the logs are mixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.envelope import Moment
from kstream_plan.snapshots.leader_log.grammar import Clients
from kstream_plan.snapshots.leader_log.message_values import Decided, EndOffsets, Finished, LogPlace, Members, Split
from kstream_plan.snapshots.leader_log.records import Record


@dataclass(slots=True)
class LoggedGeneration:
    """One rebalance as its leader logged it.

    ``at`` is when it was decided, ``place`` where. ``number`` and ``group`` are known if the leader's consumer logged
    them; ``thread`` is the leader's stream thread. ``end_offset_sums`` are told apart from what ``clients`` has, where
    the leader warned of a process that reported more.
    """

    at: Moment | None
    place: LogPlace
    thread: str | None
    clients: Clients
    probing: bool
    consumers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    splits: dict[str, Split] = field(default_factory=dict)
    end_offset_sums: dict[TaskId, int] = field(default_factory=dict)
    number: int | None = None
    group: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the split over consumers is known for every process."""
        return self.splits.keys() == self.clients.states.keys()

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
class FoundDecision:
    """What the messages gave: whole generations in order of time, and where one began that is not whole."""

    generations: list[LoggedGeneration] = field(default_factory=list)
    incomplete: list[LogPlace] = field(default_factory=list)


def generations_of(records: Iterable[Record]) -> FoundDecision:
    """Put messages together to generations.

    They may be of several leaders and applications, in any order that keeps each log's own: they are sorted by time,
    and what belongs together is told by the ids of processes and consumers in them. A message that is there twice (the
    same log given twice, say) counts once.
    """
    assembly = _Assembly()
    for record in _in_order(records):
        assembly.add(record)
    return assembly.result()


def _in_order(records: Iterable[Record]) -> list[Record]:
    """Sort by time, keeping the order within each log; a message without a time stays with the one before it."""
    keyed: list[tuple[int, int, Record]] = []
    last: dict[str, int] = {}
    seen: set[tuple[int, bytes]] = set()
    for position, record in enumerate(records):
        at = record.at.us if record.at else last.get(record.place.file, -1)
        last[record.place.file] = at
        identity = (at, sha256(repr(record.message).encode()).digest())
        if record.at is None or identity not in seen:
            keyed.append((at, position, record))
        seen.add(identity)
    keyed.sort(key=lambda item: item[:2])
    return [record for _, _, record in keyed]


class _Assembly:
    def __init__(self) -> None:
        self._found = FoundDecision()
        self._members: list[tuple[Members, Record]] = []
        self._open: list[LoggedGeneration] = []
        self._corrections: dict[str, dict[TaskId, int]] = {}
        self._unnumbered: dict[str, LoggedGeneration] = {}  # by process: its last generation, until another one begins

    def add(self, record: Record) -> None:
        match record.message:
            case Members():
                self._begin(record.message, record)
            case Decided():
                self._decided(record.message, record)
            case Split():
                self._split(record.message, record)
            case Finished():
                self._finished(record.message)
            case EndOffsets():
                corrections = self._corrections.setdefault(record.message.process_id, {})
                corrections[record.message.task_id] = record.message.end_offset_sum
            case _:
                pass

    def result(self) -> FoundDecision:
        self._found.incomplete += [generation.place for generation in self._open]
        self._found.incomplete += [record.place for _, record in self._members]
        self._found.incomplete.sort()
        return self._found

    def _begin(self, message: Members, record: Record) -> None:
        """Note who takes part; a rebalance of one of them that is still open did not come to its end."""
        ids = message.consumers.keys()
        self._forget_unnumbered(ids)
        for earlier in [item for item in self._members if not ids.isdisjoint(item[0].consumers)]:
            self._members.remove(earlier)
            self._found.incomplete.append(earlier[1].place)
        self._members.append((message, record))

    def _decided(self, message: Decided, record: Record) -> None:
        ids = message.clients.states.keys()
        self._forget_unnumbered(ids)
        for earlier in [item for item in self._open if not ids.isdisjoint(item.clients.states)]:
            self._open.remove(earlier)
            self._found.incomplete.append(earlier.place)
        generation = LoggedGeneration(record.at, record.place, record.thread, message.clients, message.probing)
        for item in self._members:
            if item[0].consumers.keys() == ids:
                self._members.remove(item)
                generation.consumers = item[0].consumers
                generation.thread = item[1].thread or generation.thread
                break
        for process_id in ids:
            generation.end_offset_sums.update(self._corrections.pop(process_id, {}))
        self._open.append(generation)

    def _split(self, message: Split, record: Record) -> None:
        for generation in self._open:
            if message.process_id in generation.clients.states:
                generation.splits.setdefault(message.process_id, message)
                generation.thread = generation.thread or record.thread
                if generation.is_whole:
                    self._open.remove(generation)
                    self._close(generation)
                return
        self._found.incomplete.append(record.place)

    def _close(self, generation: LoggedGeneration) -> None:
        if not generation.consumers:
            generation.consumers = {process_id: _named(split) for process_id, split in generation.splits.items()}
        self._found.generations.append(generation)
        self._unnumbered.update(dict.fromkeys(generation.clients.states, generation))

    def _finished(self, message: Finished) -> None:
        for process_id, generation in self._unnumbered.items():
            if message.member in generation.consumers[process_id]:
                generation.number, generation.group = message.generation, message.group
                self._forget_unnumbered(generation.clients.states)
                return

    def _forget_unnumbered(self, process_ids: Iterable[str]) -> None:
        for process_id in process_ids:
            self._unnumbered.pop(process_id, None)


def _named(split: Split) -> list[str]:
    """Return the consumers that a split names."""
    return sorted({*split.owned, *split.reported, *split.active, *split.standby})
