"""A plan's rounds as people count them: each join, leave or probe together with the hand-overs that follow it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kstream_plan.model import Group, Holding, WorkId
from kstream_plan.model.holding_changes import apart_from_stateless, unlike
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.rounds import Round, Trigger
from kstream_plan.plans.seats import Role
from kstream_plan.plans.step_rows import steps_of_kinds
from kstream_plan.plans.steps import (
    Drop,
    HandOver,
    InstanceLeaving,
    InstanceStays,
    MemberJoined,
    MemberLeft,
    Place,
    Promote,
    Revoke,
    Step,
    ThreadMove,
    restores_anew,
)

#: The steps that tell who comes and goes, what starts, moves and is copied; the others say how.
TOLD = (MemberJoined, MemberLeft, HandOver, Promote, ThreadMove, Place, Drop)


class Move(NamedTuple):
    """A stateful task starts on another instance (process ids; ``source`` is ``None`` if nobody ran it).

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
class Activity:
    """One rebalance that something other than a hand-over started, with the hand-overs that follow it.

    ``rounds`` are its rounds, ``probe`` its number among the probes (``None`` if it is none), ``ready`` of
    ``expected`` warm-up copies were found caught up by it. Of those that ``joined``, some ``returned``;
    ``resized``: an instance starts or stops threads. ``stateless`` counts changes of instance of stateless
    tasks, ``threads`` those of the thread of an active task within its instance, ``cold_threads`` those among them that
    start from a copy that is not caught up; ``amounts`` is what is restored; ``dropped`` are the places of copies that
    are given up and not taken up again.
    """

    rounds: list[Round]
    probe: int | None = None
    ready: int = 0
    expected: int = 0
    joined: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
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
    def cold(self) -> list[Move]:
        """The starts from a copy that is not caught up, on another instance or on another thread of the same."""
        return [move for move in self.moves if move.cold] + self.cold_threads

    @property
    def warm(self) -> list[Move]:
        """The moves to a copy that is caught up."""
        return [move for move in self.moves if not move.cold]

    def kept_copies(self) -> list[NewCopy]:
        """Return the new copies, each once, without those that are given up again within this event."""
        started = {(move.task_id, move.destination) for move in self.moves}
        kept = [copy for copy in self.copies if copy.place in started or copy.place not in self.dropped]
        return list({copy.place: copy for copy in kept}.values())

    @property
    def records(self) -> int | None:
        """What this event's new copies, and starts without one that is caught up, restore; ``None`` if not known."""
        return records_of(self.amounts)


class Totals(NamedTuple):
    """What all events of a plan come to.

    ``cold`` are the starts from a copy that is not caught up, which restore ``cold_records`` (``None``: not known);
    ``started`` is how many stateful tasks start that nobody ran, ``stateless_at_probes`` how often stateless ones
    change their instance at probes, ``threads`` how often an active task changes its thread on the instance it stays
    on.
    """

    cold: tuple[Move, ...]
    cold_records: int | None
    started: int
    stateless_at_probes: int
    threads: int


def totals(found: Sequence[Activity]) -> Totals:
    """Return what the events of a plan come to."""
    cold = tuple(move for event in found for move in event.cold)
    return Totals(
        cold=cold,
        cold_records=records_of(move.records for move in cold),
        started=sum(move.source is None for event in found for move in event.moves),
        stateless_at_probes=sum(event.stateless for event in found if event.probe is not None),
        threads=sum(event.threads for event in found),
    )


def records_of(amounts: Iterable[int | None]) -> int | None:
    """Return how many records that is in all; ``None`` if one amount is not known."""
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)


def events(plan: Plan) -> list[Activity]:
    """Return the plan's events in time."""
    owners, apart = _Owners(plan), _only_dealt(plan)
    found: list[Activity] = []
    probes = 0
    held = apart_from_stateless(plan.initial)
    for round_ in plan.rounds:
        if round_.trigger is not Trigger.FOLLOW_UP or not found:
            found.append(Activity([]))
            if round_.trigger is Trigger.PROBING:
                probes += 1
                found[-1].probe = probes
                found[-1].ready, found[-1].expected = _readiness(plan.group, held, apart_from_stateless(round_.decided))
        found[-1].rounds.append(round_)
        event = found[-1]
        if apart and round_.stateless is not None:
            hops = round_.stateless.hops()
            event.stateless += hops
            event.threads += len(round_.stateless.started) - hops
        for step in steps_of_kinds(round_.single_steps if apart else round_.steps, TOLD):
            owners.add(step, event)
        if len(event.rounds) == 1:
            event.resized = _is_resized(plan, event)
        held = apart_from_stateless(round_.assigned)
        found[-1].awaited = owners.awaited(held)
    return found


def _only_dealt(plan: Plan) -> bool:
    """Tell whether no stateless task loses its owner but by being dealt to another one, for no consumer goes.

    Then each of their starts is on another instance than the last one, or else on another thread.
    """
    rounds = [rnd for rnd in plan.rounds if rnd.stateless is not None]
    groups = {id(rnd.stateless.maker.group) for rnd in rounds if rnd.stateless is not None}
    return len(groups) <= 1 and not any(_stops(step) for rnd in rounds for step in rnd.steps_apart)


def _stops(step: Step) -> bool:
    """Tell whether somebody goes: an instance, or a thread of one that stays."""
    if isinstance(step, Revoke):
        return step.reason.code is ReasonCode.THREAD_STOPPED
    return isinstance(step, MemberLeft)


def membership(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the process ids that are no members at first, and those that are none at the end."""
    first: dict[str, bool] = {}
    last: dict[str, bool] = {}
    for rnd in plan.rounds:
        for step in rnd.member_steps:
            joins = isinstance(step, MemberJoined)
            first.setdefault(step.process_id, joins)
            last[step.process_id] = joins
    return [of for of, joins in first.items() if joins], [of for of, joins in last.items() if not joins]


def only_return(event: Activity) -> bool:
    """Tell whether who joins was a member before."""
    return bool(event.joined) and event.joined == event.returned


def _is_resized(plan: Plan, event: Activity) -> bool:
    """Tell whether only threads come or go: in a scenario, where nobody joins or leaves without being named."""
    of_members = event.rounds[0].trigger in (Trigger.JOIN, Trigger.LEAVE)
    leaving = any(isinstance(step, InstanceLeaving | InstanceStays) for step in event.rounds[0].steps_apart)
    named = bool(event.joined or event.left) or leaving or plan.design == "streams"
    return of_members and not named and plan.digest != plan.snapshot_digest


def _readiness(group: Group, held: Sequence[Holding], decided: Sequence[Holding]) -> tuple[int, int]:
    """Return how many of the warm-ups held before a probe are now decided as active or standby, and of how many.

    Copies that are given up meanwhile do not count.
    """
    ready = expected = 0
    for instance, task in _warmups(group, held):
        of_instance = [decided[consumer] for consumer in group.consumers_of[instance]]
        is_ready = any(task in roles.active or task in roles.standby for roles in of_instance)
        ready += is_ready
        expected += is_ready or any(task in roles.warmup for roles in of_instance)
    return ready, expected


def _warmups(group: Group, held: Sequence[Holding]) -> Iterator[tuple[int, int]]:
    for consumer, roles in enumerate(held):
        for task in roles.warmup:
            yield group.instance_of[consumer], task


class _Owners:
    """Who runs each task, followed through the steps."""

    def __init__(self, plan: Plan) -> None:
        group = self._group = plan.group
        self._gone: set[WorkId] = set()
        self._known = set(plan.first_members)
        self._stateful = {task.task_id: task.stateful for task in group.tasks}
        self._owner: dict[WorkId, str] = {
            group.tasks[task].task_id: group.instances[group.instance_of[consumer]].process_id
            for consumer, roles in enumerate(plan.initial)
            for task in roles.active
        }
        self._targets = {
            (group.tasks[task].task_id, instance.process_id)
            for instance, tasks in zip(group.instances, plan.target.active, strict=True)
            for task in tasks
        }
        self._held: Sequence[Holding] = (Holding(),) * len(group.consumer_ids)
        #: (task, process id) → how often one has a copy, of those whom the target wants to run it
        self._copies = Counter[tuple[int, str]]()

    def awaited(self, held: Sequence[Holding]) -> list[AwaitedCopy]:
        """Return the copies that are where the target wants their tasks to run, which other instances run."""
        tasks, before, self._held = self._group.tasks, self._held, held
        for consumer in unlike(before, held):
            self._count(consumer, before[consumer], -1)
            self._count(consumer, held[consumer], 1)
        found = []
        for task, process_id in sorted(self._copies):
            task_id = tasks[task].task_id
            if self._owner.get(task_id) != process_id:
                found.append(AwaitedCopy(task_id, self._owner.get(task_id), process_id))
        return found

    def _count(self, consumer: int, held: Holding, change: int) -> None:
        process_id = self._group.instances[self._group.instance_of[consumer]].process_id
        for task in held.standby + held.warmup:
            if (self._group.tasks[task].task_id, process_id) in self._targets:
                self._copies[task, process_id] += change
                if not self._copies[task, process_id]:
                    del self._copies[task, process_id]

    def add(self, step: Step, event: Activity) -> None:
        if isinstance(step, Place | HandOver | Promote) and restores_anew(step, self._group):
            event.amounts.append(step.restore_records)
        match step:
            case MemberJoined():
                event.joined.append(step.process_id)
                event.returned += [step.process_id] if step.process_id in self._known else []
                self._known.add(step.process_id)
            case MemberLeft():
                event.left.append(step.process_id)
                self._gone |= {task_id for task_id, owner in self._owner.items() if owner == step.process_id}
            case HandOver() | Promote():
                self._started(step, event)
            case ThreadMove():
                event.threads += step.to.role is Role.ACTIVE
            case Place():
                event.dropped.discard((step.task_id, step.to.process_id))
                if step.from_ is None:
                    source = self._owner.get(step.task_id)
                    to_run = (step.task_id, step.to.process_id) in self._targets
                    event.copies.append(NewCopy(step.task_id, source, step.to.process_id, to_run, step.restore_records))
            case Drop():
                event.dropped.add((step.task_id, step.from_.process_id))

    def _started(self, step: HandOver | Promote, event: Activity) -> None:
        source, destination = self._owner.get(step.task_id), step.to.process_id
        self._owner[step.task_id] = destination
        if source == destination and step.task_id in self._gone:  # it was gone and is back
            source = None
        self._gone.discard(step.task_id)
        move = Move(step.task_id, source, destination, not step.caught_up, step.restore_records)
        if source == destination:
            event.threads += 1
            event.cold_threads += [move] if move.cold else []
        elif self._stateful[step.task_id]:
            event.moves.append(move)
        else:
            event.stateless += 1
