"""What differs between two generations of a group: one class per task, its copies, the instances, the totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import Copy, Group, Holding, WorkId
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Role, Seat
from kstream_plan.plans.balance import Load

#: The code of what is assumed where no lags are known.
NO_LAGS = "no-lags"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two sides of a comparison.

    holdings: what every consumer holds, by consumer index; it is what came of ``decided_holdings``.
    stopping: the consumers that stop everything before a rebalance.
    copies: what the instances report, by task index; ``None``: lags are unknown, as in a plan.
    newcomers: the processes that have only just joined and take part from the next generation on.
    decided_holdings: the decision that led here, with what it withheld; ``None``: unknown.
    models: the releases whose behaviour led here; ``None``: it was not planned.
    lag_coverage: of how many copies the lag was measured, and when; ``None``: of none.
    next_decision: the generation that a snapshot's decision leads to; what it moves is no part of the side.
    ``lower_bounds`` are the copies, by task and process, of whose lag only a lower bound was measured.
    """

    group: Group
    holdings: tuple[Holding, ...]
    stopping: frozenset[int]
    config: AssignmentConfig
    generation: int
    captured_at: str | None = None
    copies: Sequence[tuple[Copy, ...]] | None = None
    newcomers: frozenset[str] = frozenset()
    decided_holdings: tuple[Holding, ...] | None = None
    models: str | None = None
    lag_coverage: str | None = None
    next_decision: int | None = None
    lower_bounds: frozenset[tuple[WorkId, str]] = frozenset()

    @property
    def active_tasks(self) -> dict[str, int]:
        """How many tasks each instance runs, by process id."""
        return {
            instance.process_id: sum(len(self.holdings[consumer].active) for consumer in consumers)
            for instance, consumers in zip(self.group.instances, self.group.consumers_of, strict=True)
        }

    @property
    def loads(self) -> dict[str, Load]:
        """What every instance runs, by process id; work of Connect groups counts as stateful."""
        of_workers = self.config.scheduled_rebalance_max_delay_ms is not None
        loads = {}
        for instance, consumers in zip(self.group.instances, self.group.consumers_of, strict=True):
            holdings = [self.holdings[consumer] for consumer in consumers]
            active = [task for roles in holdings for task in roles.active]
            stateful = len(active) if of_workers else sum(self.group.tasks[task].stateful for task in active)
            copies = sum(len(roles.standby) + len(roles.warmup) for roles in holdings)
            loads[instance.process_id] = Load(stateful, len(active) - stateful, copies)
        return loads


class Start(NamedTuple):
    """What a task starts from on its new instance.

    within: its state there is within ``limit``.
    held: the instance had an assigned copy, not left-over state.
    lag: as reported, with Kafka's markers; ``None``: unknown.
    limit: ``acceptable.recovery.lag``.
    restore_records: what has to be restored there for the move, before it or after; ``None``: unknown.
    """

    within: bool
    held: bool
    lag: int | None
    limit: int
    restore_records: int | None


@dataclass(frozen=True, kw_only=True)
class ChangeCourse:
    """What is known of the way from one side to the other.

    starts: the last start of each task on another instance.
    restore_records_by_copy: records of the copies placed, by task and process; ``None``: unknown.
    pauses_ms: how long each task paused in all; ``None``: unknown, as where a generation of a history is missing.
    is_history: this is what happened, by its own times.
    restore_records: what all copies restored on the way, of a history; ``None``: unknown.
    unknown_pauses: tasks whose instance had left, so that it is unknown since when they paused.
    detours: the tasks with state that started on more than one instance.
    """

    starts: Mapping[WorkId, Start] = field(default_factory=lambda: MappingProxyType({}))
    restore_records_by_copy: Mapping[tuple[WorkId, str], int | None] = field(
        default_factory=lambda: MappingProxyType({})
    )
    pauses_ms: Mapping[WorkId, int] | None = None
    is_history: bool = False
    restore_records: int | None = None
    unknown_pauses: tuple[str, ...] = ()
    detours: tuple[WorkId, ...] = ()


class TaskClass(StrEnum):
    """What became of a task's active role: the first that applies."""

    NEW = "new"
    GONE = "gone"
    #: It had an owner and is unassigned.
    ORPHANED = "orphaned"
    #: The new owner held a copy of it, within ``acceptable.recovery.lag``.
    PROMOTED = "promoted"
    #: The new owner had left-over state within the limit.
    WARM = "handed-over-warm"
    #: The new owner's state is above the limit, or it has none.
    COLD = "handed-over-cold"
    STATELESS_MOVED = "stateless-moved"
    #: The same instance, another of its consumers.
    THREAD_MOVED = "thread-moved"
    STAYED = "stayed"

    @property
    def is_move(self) -> bool:
        """Whether the task started on an instance that did not run it."""
        return self in (TaskClass.PROMOTED, TaskClass.WARM, TaskClass.COLD, TaskClass.STATELESS_MOVED)


class CopyChangeKind(StrEnum):
    """What became of a standby, warm-up or temporary copy."""

    PLACED = "placed"
    #: Another instance, consumer or role.
    MOVED = "moved"
    DROPPED = "dropped"
    #: The copy became the active and the active a copy.
    SWAPPED = "swapped"


class CopyChange(NamedTuple):
    """One copy before (``from_``) and after (``to``); ``restore_records`` as in :class:`Start`, 0 if nothing new."""

    kind: CopyChangeKind
    from_: Seat | None
    to: Seat | None
    restore_records: int | None = 0


class TaskChange(NamedTuple):
    """One task: the class of its active role, its owner before and after, its copies, and how long it pauses."""

    task_id: WorkId
    kind: TaskClass
    from_: Seat | None
    to: Seat | None
    copies: tuple[CopyChange, ...] = ()
    start: Start | None = None
    pause_ms: int = 0


class InstanceChangeKind(StrEnum):
    """What became of an instance."""

    JOINED = "joined"
    LEFT = "left"
    #: The same host or static member under a new process id: its state directory is a new one.
    RESTARTED = "restarted"
    #: Another number of stream threads.
    CAPACITY = "capacity"
    #: Other client tags.
    TAGS = "tags"


class InstanceChange(NamedTuple):
    """One instance; ``before`` and ``after`` are process ids, numbers of threads, or tags (``a=1 b=2``)."""

    process_id: str
    kind: InstanceChangeKind
    before: str = ""
    after: str = ""


class Skew(NamedTuple):
    """How unevenly the active tasks lie: most minus least; an instance that has only just come counts as empty.

    ``instance`` of stateful tasks per instance, ``thread`` of tasks per consumer, ``subtopology`` of one subtopology's
    tasks per instance (the worst one's); ``balance_factor`` and ``subtopology_spread`` are KIP-441's two figures.
    """

    instance: int
    thread: int
    subtopology: int
    balance_factor: int
    subtopology_spread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sums.

    tasks: those on either side.
    moved_tasks: those that one instance ran and another runs.
    started_tasks: those that were unassigned, withheld ones for instance, and have an owner.
    restore_records: records to restore, or restored on the way if a history shows that; ``None``: unknown.
    pause_ms: the sum of the pauses of all tasks.
    pause_is: ``floor`` if a cold start makes a pause longer by what it restores, or a pause is unknown (as by snapshots
        of Connect groups, where all may wait for minutes); ``seen`` if a history shows it; else ``estimate``.
    """

    tasks: int
    classes: Mapping[TaskClass, int]
    copies: Mapping[CopyChangeKind, int]
    moved_tasks: int
    started_tasks: int
    moved_share: float
    restore_records: int | None
    pause_ms: int
    pause_is: str
    skew_before: Skew
    skew_after: Skew


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What changed from ``old`` to ``new``; a task that is not in ``tasks`` stayed, and so did its copies.

    untold: the number of unknown generations between the two: restores and pauses in them are unknown too.
    is_history: what happened on the way is known by the times of a history.
    """

    old: Side
    new: Side
    tasks: tuple[TaskChange, ...]
    instances: tuple[InstanceChange, ...]
    totals: Totals
    remarks: Remarks
    untold: int = 0
    is_history: bool = False

    @cached_property
    def group(self) -> Group:
        """The group after, with the members and the tasks that are gone."""
        old, new = self.old.group, self.new.group
        instances = [instance for instance in old.instances if instance.process_id not in new.instance_index]
        tasks = [task for task in old.tasks if task.task_id not in new.task_index]
        if not instances and not tasks:
            return new
        return Group.of(new.application_id, [*new.tasks, *tasks], [*new.instances, *instances])

    @cached_property
    def next_owners(self) -> dict[WorkId, Seat]:
        """The next owner of each task that the decision withheld until it was revoked."""
        side, group = self.new, self.new.group
        return {
            group.tasks[task].task_id: Seat(
                group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer], Role.ACTIVE
            )
            for consumer, (target, holding) in enumerate(zip(side.decided_holdings or (), side.holdings, strict=False))
            for task in set(target.active).difference(holding.active)
        }

    @property
    def orphans(self) -> tuple[int, int]:
        """How many tasks became unassigned, and how many of these start in the follow-up rebalance."""
        tasks = [change.task_id for change in self.tasks if change.kind is TaskClass.ORPHANED]
        return len(tasks), sum(task_id in self.next_owners for task_id in tasks)

    @property
    def temporary(self) -> int:
        """How many of the copies that changed are temporary standbys on the new side."""
        seats = [copy.to for change in self.tasks for copy in change.copies if copy.to is not None]
        return sum(seat.role is Role.TEMPORARY for seat in seats)

    @cached_property
    def unassigned_on_both(self) -> int:
        """How many tasks of both sides are unassigned on either."""
        sides = [
            (side.group, {task for holding in side.holdings for task in holding.active})
            for side in (self.old, self.new)
        ]
        idle = [
            {group.tasks[task].task_id for task in range(len(group.tasks)) if task not in run} for group, run in sides
        ]
        return len(idle[0] & idle[1])

    @property
    def members(self) -> tuple[int, int]:
        """How many members there are before and after."""
        kinds = [change.kind for change in self.instances]
        number = len(self.new.group.instances)
        return number - kinds.count(InstanceChangeKind.JOINED) + kinds.count(InstanceChangeKind.LEFT), number

    @property
    def cold_starts(self) -> tuple[int, int]:
        """The least and the most tasks whose last start was cold: from none to all if generations are missing.

        So may those that started from a copy of whose lag only a lower bound is known.
        """
        cold = self.totals.classes[TaskClass.COLD]
        if self.untold:
            return 0, sum(change.start is not None for change in self.tasks)
        return cold, cold + len(self.on_lower_bounds)

    @property
    def on_lower_bounds(self) -> tuple[WorkId, ...]:
        """The tasks that count as warm, and of whose copy only a lower bound of its lag is known."""
        return tuple(
            change.task_id
            for change in self.tasks
            if change.kind in (TaskClass.PROMOTED, TaskClass.WARM) and change.to is not None and not self.is_history
            if (change.task_id, change.to.process_id) in self.old.lower_bounds
        )

    @property
    def gap(self) -> str:
        """Why it is unknown what started cold: how many unknown generations lie between, or of what lags are."""
        if not self.untold and self.on_lower_bounds:
            names = name_list(list(map(str, self.on_lower_bounds)))
            return f"of copies of {names} only the least that they were behind was measured"
        return between_text(self.old, self.untold)

    @property
    def lags_unknown(self) -> bool:
        """Whether cold starts are known by the assigned copies alone."""
        return any(note.code == NO_LAGS for note in self.remarks.assumptions)

    @property
    def of_workers(self) -> bool:
        """Whether it is of a Kafka Connect group, whose connectors and tasks have no state."""
        return self.new.config.scheduled_rebalance_max_delay_ms is not None

    @property
    def empty(self) -> bool:
        """Whether nothing changed at all."""
        return not self.tasks and not self.instances


def between_text(old: Side, untold: int) -> str:
    """Return how many generations that are unknown lie between."""
    if not old.generation:
        return "an unknown number of generations lies between"
    return "1 generation lies between" if untold == 1 else f"{untold:,} generations lie between"
