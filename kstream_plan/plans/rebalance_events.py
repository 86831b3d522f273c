"""A plan's rounds as people count them: each join, leave or probe together with the hand-overs that follow it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kstream_plan.model import Holding, WorkId
from kstream_plan.model.holding_changes import apart_from_stateless, unlike
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.rounds import Round, Trigger
from kstream_plan.plans.step_indices import StepIndices, step_indices
from kstream_plan.plans.step_rows import (
    ACTIVE,
    CODES,
    DROP,
    MEMBER_LEFT,
    PLACE,
    REVOKE,
    STARTS,
    THREAD_MOVE,
    WARMUP,
    Rows,
)
from kstream_plan.plans.steps import InstanceLeaving, InstanceStays, MemberJoined, MemberLeft, ReasonCode


class Move(NamedTuple):
    """A stateful task starts on another instance (process ids; ``source`` is ``None`` if it was unassigned).

    ``cold``: its copy there is above ``acceptable.recovery.lag``; ``records`` are then restored before it runs.
    """

    task_id: WorkId
    source: str | None
    destination: str
    cold: bool
    records: int | None


class NewCopy(NamedTuple):
    """A standby or warm-up copy that starts restoring; ``source`` is the process that runs the task, if any.

    ``to_run``: it is there to run the task later (a warm-up can prepare the move of a standby, too).
    """

    task_id: WorkId
    source: str | None
    destination: str
    to_run: bool
    records: int | None

    @property
    def place(self) -> tuple[WorkId, str]:
        """The task and the process that holds the copy."""
        return self.task_id, self.destination


class AwaitedCopy(NamedTuple):
    """A copy on the instance that is to run its task, which runs on ``source`` meanwhile (process ids)."""

    task_id: WorkId
    source: str | None
    destination: str


@dataclass(slots=True)
class RebalanceEvent:
    """One rebalance that something other than a hand-over started, with the hand-overs that follow it.

    ``rounds`` are its rounds, ``probe`` its number among the probes (``None`` if it is none). ``ready_warmups`` of its
    ``probed_warmups`` had caught up. ``joined_ids`` and ``left_ids`` are process ids; ``returned_ids`` are those that
    joined and were members before. ``resized``: an instance starts or stops threads. ``stateless`` counts changes of
    instance of stateless tasks, ``threads`` those of the thread of an active task within its instance,
    ``cold_threads`` those among them that start from a copy that is not caught up. ``amounts`` are the records to
    restore; ``dropped`` are the places of copies that are given up and not taken up again; ``awaited`` are the copies
    that a probe waits for that :attr:`changes` nothing.
    """

    rounds: list[Round]
    probe: int | None = None
    ready_warmups: int = 0
    probed_warmups: int = 0
    joined_ids: list[str] = field(default_factory=list)
    returned_ids: list[str] = field(default_factory=list)
    left_ids: list[str] = field(default_factory=list)
    resized: bool = False
    moves: list[Move] = field(default_factory=list)
    stateless: int = 0
    threads: int = 0
    cold_threads: list[Move] = field(default_factory=list)
    copies: list[NewCopy] = field(default_factory=list)
    dropped: set[tuple[WorkId, str]] = field(default_factory=set)
    awaited: list[AwaitedCopy] = field(default_factory=list)
    amounts: list[int | None] = field(default_factory=list)

    @property
    def changes(self) -> bool:
        """Whether a stateful task starts, or a copy that is there after it."""
        return bool(self.moves or self.cold_threads or self.kept_copies())

    @property
    def cold(self) -> list[Move]:
        """The starts from a copy that is not caught up, on another instance or on another thread of the same."""
        return [move for move in self.moves if move.cold] + self.cold_threads

    @property
    def warm(self) -> list[Move]:
        """The moves to a copy that is caught up."""
        return [move for move in self.moves if not move.cold]

    def kept_copies(self) -> list[NewCopy]:
        """Return the new copies, each once, without those that are given up again within this event."""
        start_places = {(move.task_id, move.destination) for move in self.moves}
        copies = [copy for copy in self.copies if copy.place in start_places or copy.place not in self.dropped]
        return list({copy.place: copy for copy in copies}.values())

    @property
    def records(self) -> int | None:
        """What this event's new copies, and starts without one that is caught up, restore; ``None`` if not known."""
        return records_of(self.amounts)

    def restores_more(self, lower_bounds: Collection[str]) -> bool:
        """Tell whether it may restore more than that: whether copies of these tasks are among what it restores."""
        starts_and_copies: list[Move | NewCopy] = [*self.cold, *self.kept_copies()]
        return any(part.records and str(part.task_id) in lower_bounds for part in starts_and_copies)


class Totals(NamedTuple):
    """The totals of all events of a plan.

    ``cold`` are the starts from a copy that is not caught up, which restore ``cold_records`` (``None``: not known);
    ``unowned_starts`` is how many stateful tasks without an owner start, ``stateless_at_probes`` how often stateless
    tasks change their instance at probes, ``threads`` how often an active task changes its thread on its instance.
    """

    cold: tuple[Move, ...]
    cold_records: int | None
    unowned_starts: int
    stateless_at_probes: int
    threads: int


def totals(activities: Sequence[RebalanceEvent]) -> Totals:
    """Return the totals of the events of a plan."""
    cold = tuple(move for event in activities for move in event.cold)
    return Totals(
        cold=cold,
        cold_records=records_of(move.records for move in cold),
        unowned_starts=sum(move.source is None for event in activities for move in event.moves),
        stateless_at_probes=sum(event.stateless for event in activities if event.probe is not None),
        threads=sum(event.threads for event in activities),
    )


def records_of(amounts: Iterable[int | None]) -> int | None:
    """Return how many records that is in all; ``None`` if one amount is not known."""
    all_amounts = list(amounts)
    return None if None in all_amounts else sum(amount for amount in all_amounts if amount is not None)


def events(plan: Plan) -> list[RebalanceEvent]:
    """Return the plan's events in time."""
    followed, apart = _Followed(plan), _only_dealt(plan)
    activities: list[RebalanceEvent] = []
    probes = 0
    for round_, steps in zip(plan.rounds, step_indices(plan, apart=apart), strict=True):
        if round_.trigger is not Trigger.FOLLOW_UP or not activities:
            followed.end(activities)
            activities.append(RebalanceEvent([]))
            if round_.trigger is Trigger.PROBING:
                probes += 1
                activities[-1].probe = probes
        event = activities[-1]
        event.rounds.append(round_)
        if apart and round_.stateless is not None:
            hops = round_.stateless.hops()
            event.stateless += hops
            event.threads += len(round_.stateless.started_places) - hops
        followed.add(round_, steps, event)
        if len(event.rounds) == 1:
            event.resized = _is_resized(plan, event)
    followed.end(activities)
    return activities


def _only_dealt(plan: Plan) -> bool:
    """Tell whether stateless tasks change owner only by being assigned to another one, since no consumer stops.

    Then each of their starts is on another instance than the last one, or else on another thread.
    """
    rounds = [rnd for rnd in plan.rounds if rnd.stateless is not None]
    groups = {id(rnd.stateless.maker.group) for rnd in rounds if rnd.stateless is not None}
    return len(groups) <= 1 and not any(_anybody_stops(rnd.steps.rows) for rnd in rounds)


def _anybody_stops(rows: Rows) -> bool:
    """Tell whether an instance, or a thread of an instance that stays, stops."""
    of_thread = (rows["kind"] == REVOKE) & (rows["reason"] == CODES.index(ReasonCode.THREAD_STOPPED))
    return bool((of_thread | (rows["kind"] == MEMBER_LEFT)).any())


def membership(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the process ids that are no members at first, and those that are no members at the end."""
    first: dict[str, bool] = {}
    last: dict[str, bool] = {}
    for rnd in plan.rounds:
        for step in rnd.member_steps:
            joins = isinstance(step, MemberJoined)
            first.setdefault(step.process_id, joins)
            last[step.process_id] = joins
    return [process_id for process_id, joins in first.items() if joins], [
        process_id for process_id, joins in last.items() if not joins
    ]


def only_return(event: RebalanceEvent) -> bool:
    """Tell whether all joining instances were members before."""
    return bool(event.joined_ids) and event.joined_ids == event.returned_ids


def _is_resized(plan: Plan, event: RebalanceEvent) -> bool:
    """Tell whether only threads start or stop: in a scenario, which names all that join or leave."""
    if event.rounds[0].trigger not in (Trigger.JOIN, Trigger.LEAVE):
        return False
    has_announcement = any(isinstance(step, InstanceLeaving | InstanceStays) for step in event.rounds[0].steps.events)
    names_members = bool(event.joined_ids or event.left_ids) or has_announcement or plan.design == "streams"
    return not names_members and plan.digest != plan.snapshot_digest


class _Followed:
    """The owner of each task and the warm-ups, followed through the steps."""

    def __init__(self, plan: Plan) -> None:
        group = self._group = plan.group
        self._ids = [instance.process_id for instance in group.instances]
        self._orphaned_tasks: set[int] = set()
        self._known_ids = set(plan.first_members)
        #: task → process id
        self._owner = {
            task: self._ids[group.instance_of[consumer]]
            for consumer, roles in enumerate(plan.initial)
            for task in roles.active
        }
        #: (task, instance) of the warm-ups, and of those that took another role in the round
        self._warmups = {
            (task, group.instance_of[consumer])
            for consumer, roles in enumerate(apart_from_stateless(plan.initial))
            for task in roles.warmup
        }
        self._ready: set[tuple[int, int]] = set()
        self._targets = {(task, instance) for instance, tasks in enumerate(plan.target.active) for task in tasks}
        self._last_holdings: Sequence[Holding] = (Holding(),) * len(group.consumer_ids)
        #: (task, instance) → number of copies there, for instances that the target wants to run the task
        self._copies = Counter[tuple[int, int]]()

    def add(self, round_: Round, steps: Iterable[StepIndices], event: RebalanceEvent) -> None:
        """Add a round to its event."""
        previous_warmups = set(self._warmups) if event.probe is not None and len(event.rounds) == 1 else set()
        self._ready.clear()
        for step in round_.member_steps:
            self._add_member(step, event)
        for row in steps:
            self._add(row, event)
        if previous_warmups:
            event.ready_warmups = len(previous_warmups & self._ready)
            event.probed_warmups = len(previous_warmups & (self._ready | self._warmups))

    def end(self, activities: Sequence[RebalanceEvent]) -> None:
        """End the last event: if it is a probe that changes nothing it waits for copies."""
        event = activities[-1] if activities else None
        if event is not None and event.probe is not None and not event.changes:
            event.awaited = self._awaited(apart_from_stateless(event.rounds[-1].assigned))

    def _awaited(self, holdings: Sequence[Holding]) -> list[AwaitedCopy]:
        """Return the copies on instances that are to run their tasks by the target, while other instances run them."""
        previous_holdings, self._last_holdings = self._last_holdings, holdings
        for consumer in unlike(previous_holdings, holdings):
            self._count(consumer, previous_holdings[consumer], -1)
            self._count(consumer, holdings[consumer], 1)
        copies = sorted((task, self._ids[instance]) for task, instance in self._copies)
        return [
            AwaitedCopy(self._group.tasks[task].task_id, self._owner.get(task), process_id)
            for task, process_id in copies
            if self._owner.get(task) != process_id
        ]

    def _count(self, consumer: int, holding: Holding, change: int) -> None:
        instance = self._group.instance_of[consumer]
        for task in holding.standby + holding.warmup:
            if (task, instance) in self._targets:
                self._copies[task, instance] += change
                if not self._copies[task, instance]:
                    del self._copies[task, instance]

    def _add_member(self, step: MemberJoined | MemberLeft, event: RebalanceEvent) -> None:
        process_id = step.process_id
        if isinstance(step, MemberJoined):
            event.joined_ids.append(process_id)
            event.returned_ids += [process_id] if process_id in self._known_ids else []
            self._known_ids.add(process_id)
            return
        event.left_ids.append(process_id)
        instance = self._group.instance_index[process_id]
        self._warmups = {warmup for warmup in self._warmups if warmup[1] != instance}
        self._orphaned_tasks |= {task for task, owner in self._owner.items() if owner == process_id}

    def _add(self, row: StepIndices, event: RebalanceEvent) -> None:
        self._follow_warmup(row)
        if row.is_anew:
            event.amounts.append(row.records)
        if row.kind in STARTS:
            self._add_start(row, event)
        elif row.kind == THREAD_MOVE:
            event.threads += row.role == ACTIVE
        elif row.kind in (PLACE, DROP):
            self._add_copy(row, event)

    def _follow_warmup(self, row: StepIndices) -> None:
        place = row.task, row.instance
        if row.role == WARMUP:
            (self._warmups.discard if row.kind == DROP else self._warmups.add)(place)
        elif row.kind != DROP and place in self._warmups:
            self._warmups.discard(place)
            self._ready.add(place)

    def _add_copy(self, row: StepIndices, event: RebalanceEvent) -> None:
        task_id, process_id = self._group.tasks[row.task].task_id, self._ids[row.instance]
        if row.kind == DROP:
            event.dropped.add((task_id, process_id))
            return
        event.dropped.discard((task_id, process_id))
        if row.is_new:
            to_run = (row.task, row.instance) in self._targets
            event.copies.append(NewCopy(task_id, self._owner.get(row.task), process_id, to_run, row.records))

    def _add_start(self, row: StepIndices, event: RebalanceEvent) -> None:
        source, destination = self._owner.get(row.task), self._ids[row.instance]
        self._owner[row.task] = destination
        if source == destination and row.task in self._orphaned_tasks:  # its owner left and is back
            source = None
        self._orphaned_tasks.discard(row.task)
        move = Move(self._group.tasks[row.task].task_id, source, destination, not row.caught_up, row.records)
        if source == destination:
            event.threads += 1
            event.cold_threads += [move] if move.cold else []
        elif self._group.stateful_flags[row.task]:
            event.moves.append(move)
        else:
            event.stateless += 1
