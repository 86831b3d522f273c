"""One application as read: its state, and what is known beside it, rates among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Literal, TypeAlias

from kstream_plan.model.decision import KnownDecision
from kstream_plan.model.group import Group
from kstream_plan.model.holding import Holding
from kstream_plan.model.note import Note
from kstream_plan.model.releases import CHECKPOINTS_SELDOM, LONGER_SESSIONS, OFFSETS_IN_STORES
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.state import Copy, GroupState
from kstream_plan.model.times import duration

_SHORT_SESSION_MS = 10_000
#: A checkpoint is written once more records than that have come since the one before.
_BETWEEN_CHECKPOINTS = 10_000
#: Where instances keep the state of tasks: on their disks, in memory, or some of it in memory.
Stores: TypeAlias = Literal["persistent", "in-memory", "mixed"]

#: The code of the warning of copies that a history of lags saw come no closer, one of each instance.
COMES_NO_CLOSER = "comes-no-closer"


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How fast state is restored and produced, in records per second.

    ``restore`` is by instance and ``produce`` by task, as measured over a history of lags; an instance that was not
    measured counts as one in the middle of those that were. ``restore_at_least`` are instances of which only bounds
    were measured: they restore so fast or faster. ``restore_intervals`` and ``produce_intervals`` tell in how many
    intervals each was measured, where that is known, ``restore_source`` and ``produce_source`` by what: a ``log``, the
    ``offsets-topic``, ``lags`` or ``metrics``.

    ``restore_per_instance`` and ``produce_per_task`` are given by hand and beat what was measured; ``restore_of`` (by
    instance) and ``produce_of`` (by task) are given by hand for some only and beat all. Nothing known: all empty.
    """

    restore: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    produce: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    restore_per_instance: float | None = None
    produce_per_task: float | None = None
    restore_of: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    produce_of: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    restore_at_least: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    restore_intervals: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    produce_intervals: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    restore_source: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    produce_source: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    def __getstate__(self) -> dict[str, object]:
        """Return the fields; read-only views, which cannot be pickled, as plain dictionaries."""
        return _plain(self)

    @property
    def any_restore(self) -> bool:
        """Whether any restore rate is known at all."""
        return self.restore_per_instance is not None or bool(self.restore or self.restore_of)

    @property
    def any_produce(self) -> bool:
        """Whether any produce rate is known at all."""
        return self.produce_per_task is not None or bool(self.produce or self.produce_of)

    def restore_rate(self, instance: int) -> float | None:
        """Records per second that an instance restores, shared by its copies; ``None`` if not known."""
        if instance in self.restore_of:
            return self.restore_of[instance]
        if self.restore_per_instance is not None:
            return self.restore_per_instance
        return self.restore.get(instance, self.usual_restore)

    def produce_rate(self, task: int) -> float:
        """Records per second that a task's changelogs grow by; 0 if not known."""
        if task in self.produce_of:
            return self.produce_of[task]
        return self.produce.get(task, 0.0) if self.produce_per_task is None else self.produce_per_task

    def knows_produce(self, task: int) -> bool:
        """Whether it is known what is written to a task's changelogs."""
        return self.produce_per_task is not None or task in self.produce or task in self.produce_of

    def times(self, factor: float) -> Rates:
        """Return the same with all that is known of restoring faster by a factor."""

        def faster(rates: Mapping[int, float]) -> Mapping[int, float]:
            return MappingProxyType({instance: rate * factor for instance, rate in rates.items()})

        every = None if self.restore_per_instance is None else self.restore_per_instance * factor
        return replace(
            self, restore_per_instance=every, restore=faster(self.restore), restore_of=faster(self.restore_of)
        )

    @cached_property
    def usual_restore(self) -> float | None:
        """What the instances that were measured restore in the middle; ``None`` if none was."""
        from statistics import median_low  # noqa: PLC0415 - loads random and fractions, and few rates are measured

        return median_low(self.restore.values()) if self.restore else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One application at one generation, as read: the state a plan starts from and what is known beside it.

    ``captured_at`` is RFC 3339 in UTC with milliseconds (``2026-11-21T12:00:00.000Z``) or ``None``; it is the zero of
    the other times, in milliseconds, those of ``state.copies`` included. ``known_until_ms`` is until when nothing else
    happened, ``seen_until_ms`` until when who runs what was seen: no lag that was measured later shows that.
    ``decision`` is what was made of ``state``, if that is known: the group has gone on since.
    ``assumptions`` are those that reading it took; ``coverage`` of how many copies the lag was measured, if any was.

    ``group_protocol`` is that of the group: ``classic``, ``streams`` or ``connect``. ``started_ms`` tells, by process
    id, when instances have started, where that is known, ``streams_version`` which release of Kafka Streams runs
    (``4.3.1``; the oldest one that does), ``untold_protocols`` the consumers whose protocols are unknown.
    ``stores`` tells whether what instances keep is on their disks, ``stores_from`` how that is known; ``None``: it is
    not. ``session_by_default``: ``session.timeout.ms`` is not set. ``measuring_failed``: measuring was asked for, and
    no copy was measured.
    ``older``: so many other snapshots of the application were there, of which this is the newest; ``None``: nobody
    counted.

    About copies, by (task, instance): ``since_ms`` tells since when they are assigned, ``reported_ms`` when their lag
    was reported, the last store first, ``reported_from_ms`` when the oldest store was if not then, and ``told_lags``
    how far behind they then were, all where that is known; of ``measured_lags`` all stores were measured by what
    instances publish, none was reported at a join, and of ``least_lags`` only the least that they are
    behind is known; ``most_lags`` is the most that copies can have been behind by what was written since
    they reported, when the end offset was seen: when the snapshot was taken, unless ``ends_seen_ms`` (by task) tells
    otherwise; ``no_closer_ms`` tells for how long copies that are behind were seen to come no closer.
    ``undated_reports`` have a time, but how long that was before the snapshot is unknown.

    ``input_lags``: by task, the records of its input that were not processed yet, where any were.
    """

    state: GroupState
    config: AssignmentConfig
    captured_at: str | None = None
    rates: Rates = Rates()
    warnings: tuple[Note, ...] = ()
    assumptions: tuple[Note, ...] = ()
    measured_lags: frozenset[tuple[int, int]] = frozenset()
    least_lags: frozenset[tuple[int, int]] = frozenset()
    coverage: Coverage | None = None
    decision: KnownDecision | None = None
    known_until_ms: int = 0
    seen_until_ms: int = 0
    since_ms: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    reported_ms: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    reported_from_ms: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    told_lags: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    no_closer_ms: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    most_lags: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    ends_seen_ms: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    undated_reports: frozenset[tuple[int, int]] = frozenset()
    started_ms: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    input_lags: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    streams_version: str | None = None
    untold_protocols: frozenset[str] = frozenset()
    group_protocol: str = "classic"
    stores: Stores | None = None
    stores_from: str = ""
    session_by_default: bool = False
    measuring_failed: bool = False
    older: int | None = field(default=None, compare=False)

    @property
    def offsets_in_stores(self) -> bool:
        """Whether Kafka Streams keeps the offsets of its state inside the stores: since 4.3, or if it is unknown."""
        return OFFSETS_IN_STORES.is_in(self.streams_version)

    @property
    def lost_in_crash(self) -> float:
        """How many records of each task that it had an instance lacks at most after a crash; ``inf``: all.

        Source: ``StateManagerUtil.checkpointNeeded``. With exactly-once it lacks all in any release.
        """
        if self.offsets_in_stores:
            return inf
        return _BETWEEN_CHECKPOINTS if CHECKPOINTS_SELDOM.is_in(self.streams_version) else 0

    @property
    def assigned(self) -> Sequence[Holding]:
        """What every consumer is assigned, by index: by the newest decision, else what it holds."""
        decision = self.decision
        return self.state.holdings if decision is None or decision.consumers is None else decision.consumers

    @property
    def captured_at_ms(self) -> int | None:
        """When it was taken, in milliseconds since 1970."""
        if self.captured_at is None:
            return None
        return round(datetime.fromisoformat(self.captured_at).timestamp() * 1000)

    def of_release(self, release: str) -> Snapshot:
        """Return the same where another release runs, with its default of ``session.timeout.ms`` if that is not set."""
        config = self.config
        if self.session_by_default:
            timeout_ms = AssignmentConfig().session_timeout_ms if LONGER_SESSIONS.is_in(release) else _SHORT_SESSION_MS
            config = replace(config, session_timeout_ms=timeout_ms)
        return replace(self, streams_version=release, config=config)

    def before_decision(self) -> Snapshot:
        """Return the same without the decision, as the leader knew the group when it made it."""
        return replace(self, decision=None, known_until_ms=0, seen_until_ms=0, since_ms=MappingProxyType({}))

    def at_worst(self) -> Snapshot:
        """Return the same with everything to restore for copies of which only the least they are behind is known."""
        copies = tuple(
            tuple(
                copy._replace(lag=task.end_offset_sum, remaining=task.end_offset_sum)
                if (index, copy.instance) in self.least_lags
                else copy
                for copy in of_task
            )
            for index, (task, of_task) in enumerate(zip(self.state.group.tasks, self.state.copies, strict=True))
        )
        return replace(self, state=replace(self.state, copies=copies), least_lags=frozenset())

    def at_least_sizes(self) -> Snapshot:
        """Return the same with changelogs of unknown length as short as they can be; itself where all are known."""
        tasks = list(self.state.group.tasks)
        for index, copies in enumerate(self.state.copies):
            if not tasks[index].end_offset_known:
                least = max((copy.lag for copy in copies if copy.lag is not None), default=0)
                tasks[index] = replace(tasks[index], end_offset_sum=max(least, 0), end_offset_known=True)
        if tuple(tasks) == self.state.group.tasks:
            return self
        group = Group(self.state.group.application_id, tuple(tasks), self.state.group.instances)
        return replace(self, state=replace(self.state, group=group))

    def undated_caught_up(self) -> Snapshot:
        """Return the same with all copies caught up that are assigned, and of which nobody knows when they reported.

        Itself where none of those lacks anything: where they were dated, or seen to come no closer.
        """
        if self.decision is None or self.decision.at_ms is not None:
            return self
        group = self.state.group
        copies = [{copy.instance: copy for copy in of_task} for of_task in self.state.copies]
        for consumer, holding in enumerate(self.assigned):
            instance = group.instance_of[consumer]
            for task in holding.standby + holding.warmup + holding.temporary:
                seat, copy = (task, instance), copies[task].get(instance, Copy(instance, None, (), 1))
                is_known = seat in self.reported_ms or seat in self.no_closer_ms or seat in self.least_lags
                if group.stateful_flags[task] and copy.remaining and not is_known:
                    copies[task][instance] = copy._replace(lag=0, reporters=(consumer,), remaining=0)
        caught_up_copies = tuple(tuple(of_task[instance] for instance in sorted(of_task)) for of_task in copies)
        return (
            self
            if caught_up_copies == tuple(self.state.copies)
            else replace(self, state=replace(self.state, copies=caught_up_copies))
        )

    @property
    def unwritten(self) -> dict[int, int]:
        """By stateful task, the records that its changelogs grow by while it works off its input, as far as known.

        A record of input is taken to write one to each store.
        """
        tasks = self.state.group.tasks
        return {
            task: lag * max(1, len(tasks[task].changelog_partitions))
            for task, lag in sorted(self.input_lags.items())
            if tasks[task].stateful
        }

    def with_input_processed(self) -> Snapshot:
        """Return the same once all input was processed, and no copy has followed."""
        unwritten_records, copies, tasks = self.unwritten, list(self.state.copies), list(self.state.group.tasks)
        for index, records in unwritten_records.items():
            task = tasks[index]
            if task.end_offset_known:
                tasks[index] = replace(task, end_offset_sum=min(task.end_offset_sum + records, MAX_LONG - 1))
            copies[index] = tuple(
                copy
                if copy.lag is None or copy.lag < 0
                else copy._replace(lag=copy.lag + records, remaining=copy.remaining + records)
                for copy in copies[index]
            )
        group = Group(self.state.group.application_id, tuple(tasks), self.state.group.instances)
        state = replace(self.state, group=group, copies=tuple(copies))
        return replace(self, state=state, input_lags=MappingProxyType({}))

    def __getstate__(self) -> dict[str, object]:
        """Return the fields; read-only views, which cannot be pickled, as plain dictionaries."""
        return _plain(self)

    def __setstate__(self, fields: dict[str, object]) -> None:
        """Take the fields."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


def _plain(record: Rates | Snapshot) -> dict[str, object]:
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Of how many copies the lag was measured, and of how many it was not.

    Copies are those that are assigned and those that were reported; an active counts only while it restores.
    ``measured`` of them were, of ``least`` only the least is known, ``joined`` have what their last join told and
    ``silent`` nothing. ``oldest_ms`` and ``newest_ms`` are the times of the measurements that have one, on the
    snapshot's clock.
    """

    measured: int
    least: int
    joined: int
    silent: int
    oldest_ms: int | None = None
    newest_ms: int | None = None

    def told(self, now_ms: int) -> str:
        """Say it in one line, ``now_ms`` on the snapshot's clock."""
        total = self.measured + self.least + self.joined + self.silent
        age = f" {self._when(now_ms)}" if self.oldest_ms is not None else ""
        parts = [f"{self.measured:,} of {total:,} copies measured{age if self.measured else ''}"]
        if self.least:
            parts.append(f"{self.least:,} with only a lower bound{'' if self.measured else age}")
        parts.append(f"{self.joined:,} as of the last join")
        if self.silent:
            parts.append(f"{self.silent:,} not reported yet")
        return ", ".join(parts)

    def _when(self, now_ms: int) -> str:
        ago_ms = now_ms - (self.oldest_ms or 0)
        return f"{duration(ago_ms)} ago" if ago_ms >= 0 else f"{duration(-ago_ms)} after the time that counts as now"
