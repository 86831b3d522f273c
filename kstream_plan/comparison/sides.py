"""Snapshots, plans and histories as the sides of a comparison; the course of a plan, and how warm a move is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kstream_plan.comparison.changes import NO_LAGS, ChangeCourse, Side, Start, TaskChange, TaskClass, between_text
from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, Note, Snapshot, WorkId, whole_sum
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.starting_state import newcomers
from kstream_plan.plans import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    OfNoSingleTask,
    Place,
    Plan,
    Promote,
    Reason,
    Revoke,
    Role,
    Seat,
    ThreadMove,
    Withhold,
)
from kstream_plan.plans.simulated import Simulation
from kstream_plan.protocols import gives_up


class Pair(NamedTuple):
    """One application: its two sides, what is known of the way between, what the snapshots warn of.

    ``rivals`` are the plans of both sides, or the simulations that these are of, where the two ends follow from one
    snapshot: none comes after the other.
    """

    old: Side
    new: Side
    course: ChangeCourse | None
    warnings: tuple[Note, ...] = ()
    rivals: tuple[Plan | Simulation, Plan | Simulation] | None = None


def snapshot_side(snapshot: Snapshot) -> Side:
    """Return a snapshot as a side; an instance that holds and reports nothing counts as a newcomer."""
    state = snapshot.state
    return Side(
        group=state.group,
        holdings=tuple(state.holdings),
        stopping=gives_up(state.group, "mixed"),
        config=snapshot.config,
        generation=state.generation,
        captured_at=snapshot.captured_at,
        copies=state.copies,
        newcomers=frozenset(state.group.instances[index].process_id for index in newcomers(state)),
        lag_coverage=None if snapshot.coverage is None else snapshot.coverage.told(snapshot.known_until_ms),
        next_decision=None if snapshot.decision is None else snapshot.decision.generation,
        lower_bounds=frozenset(
            (state.group.tasks[task].task_id, state.group.instances[instance].process_id)
            for task, instance in snapshot.least_lags
        ),
    )


def plan_side(plan: Plan, number: int | None = None) -> Side:
    """Return a plan after round ``number`` (default: its last one; 0: as it begins) as a side.

    An instance that joins in the next round is a newcomer; one that joins later is left out.

    Raises:
        IndexError: the plan has no such round.
    """
    number = len(plan.rounds) if number is None else number
    if not 0 <= number <= len(plan.rounds):
        raise IndexError(number)
    rnd = plan.rounds[number - 1] if number else None
    side = Side(
        group=plan.group,
        holdings=tuple(plan.initial if rnd is None else rnd.assigned),
        stopping=plan.stopping,
        config=plan.config,
        generation=plan.generation if rnd is None else rnd.generation,
        captured_at=plan.captured_at if rnd is None else None,
        decided_holdings=None if rnd is None else tuple(rnd.decided),
        models=plan.models,
    )
    first_rounds, departed_ids = _first_rounds(plan, number), _departed_ids(plan, number)
    later = {process_id for process_id, first_round in first_rounds.items() if first_round > number + 1}
    side_of_members = without_instances(side, later | (departed_ids - first_rounds.keys()))
    return replace(side_of_members, newcomers=frozenset(first_rounds.keys() - later))


def _first_rounds(plan: Plan, number: int) -> dict[str, int]:
    """Return the instances that join after round ``number``, each with the round in which it does."""
    next_steps: dict[str, tuple[bool, int]] = {}
    for rnd in plan.rounds[number:]:
        for step in rnd.member_steps:
            next_steps.setdefault(step.process_id, (isinstance(step, MemberJoined), rnd.number))
    return {process_id: round_number for process_id, (joins, round_number) in next_steps.items() if joins}


def _departed_ids(plan: Plan, number: int) -> set[str]:
    """Return the instances that have left by round ``number``."""
    departures = {
        step.process_id: isinstance(step, MemberLeft) for rnd in plan.rounds[:number] for step in rnd.member_steps
    }
    return {process_id for process_id, has_left in departures.items() if has_left}


def without_instances(side: Side, process_ids: set[str]) -> Side:
    """Return a side without instances that are not its members, and without their reports."""
    group = side.group
    member_indexes = [index for index, instance in enumerate(group.instances) if instance.process_id not in process_ids]
    consumers = [consumer for index in member_indexes for consumer in group.consumers_of[index]]
    place = {index: new for new, index in enumerate(member_indexes)}
    return replace(
        side,
        group=Group(group.application_id, group.tasks, tuple(group.instances[index] for index in member_indexes)),
        holdings=tuple(side.holdings[consumer] for consumer in consumers),
        stopping=frozenset(index for index, consumer in enumerate(consumers) if consumer in side.stopping),
        copies=None if side.copies is None else [_of_instances(copies, place) for copies in side.copies],
        newcomers=side.newcomers - process_ids,
        decided_holdings=None
        if side.decided_holdings is None
        else tuple(side.decided_holdings[consumer] for consumer in consumers),
    )


def _of_instances(copies: Sequence[Copy], place: Mapping[int, int]) -> tuple[Copy, ...]:
    return tuple(
        copy._replace(instance=place[copy.instance], reporters=()) for copy in copies if copy.instance in place
    )


def starts_at(old: Side, plan: Plan) -> bool:
    """Return whether a plan begins with the holdings of a side, so that it has the course from there."""
    first = plan_side(plan, 0)
    has_same_tasks = old.group.task_index.keys() == first.group.task_index.keys()
    return has_same_tasks and _tasks_by_consumer(old) == _tasks_by_consumer(first)


def are_rivals(plan: Plan, rival: Plan) -> bool:
    """Whether two plans that are not the same begin with the same snapshot."""
    is_same_snapshot = _origin(plan) == _origin(rival)
    return is_same_snapshot and plan != rival and starts_at(plan_side(plan, 0), rival)


def _origin(plan: Plan) -> tuple[object, ...]:
    """Return when the snapshot of a plan was taken, and the end offsets at that time."""
    ends = {task.task_id: task.end_offset_sum for task in plan.group.tasks if task.end_offset_known}
    return plan.captured_at, plan.generation, ends


def _tasks_by_consumer(side: Side) -> dict[str, list[list[WorkId]]]:
    """Return consumer id → the tasks it holds, by role; without consumers that hold nothing."""
    return {
        consumer_id: [[side.group.tasks[task].task_id for task in role] for role in holding]
        for consumer_id, holding in zip(side.group.consumer_ids, side.holdings, strict=True)
        if any(holding)
    }


def plan_course(plan: Plan, first: int, last: int) -> ChangeCourse:
    """Return the course of a plan from after round ``first`` to after round ``last``."""
    rounds, limit = plan.rounds[first:last], plan.config.acceptable_recovery_lag
    restore_records_by_copy: dict[tuple[WorkId, str], int | None] = {}
    left_over: dict[tuple[WorkId, str], int | None] = {}
    copies = held_copies(plan_side(plan, first))
    starts: dict[WorkId, Start] = {}
    detours: dict[WorkId, None] = {}
    for step in (step for rnd in rounds for step in rnd.steps):
        if isinstance(step, OfNoSingleTask | Revoke | Drop):
            continue
        key = step.task_id, step.to.process_id
        match step:
            case Place(from_=None):
                restore_records_by_copy[key] = step.restore_records
                copies.add(key)
            case Withhold(reason=Reason(lag=lag)):
                left_over[key] = None if lag == UNKNOWN else lag
            case KeepTemporary(from_=None):
                restore_records_by_copy[key] = left_over.get(key)
            case Place() | Demote() | KeepTemporary():
                copies.add(key)
            case ThreadMove(to=Seat(role=Role.ACTIVE)):
                starts.setdefault(step.task_id, Start(True, True, LATEST, limit, 0))
            case HandOver() | Promote():
                warm, cold = restore_records_by_copy.get(key, 0), 0 if step.caught_up else step.restore_records
                needs = None if warm is None or cold is None else warm + cold
                is_held = isinstance(step, Promote) or key in copies
                earlier, task = starts.get(step.task_id), plan.group.tasks[plan.group.task_index[step.task_id]]
                if task.stateful and earlier is not None and earlier.lag != LATEST:
                    detours[step.task_id] = None
                starts[step.task_id] = Start(step.caught_up, is_held, step.reason.lag, limit, needs)
    pauses_ms = plan.paused_ms_between(first, last)
    return ChangeCourse(
        starts=starts, restore_records_by_copy=restore_records_by_copy, pauses_ms=pauses_ms, detours=tuple(detours)
    )


class _Reported(NamedTuple):
    lag: int | None
    has_copy: bool


class Evidence:
    """Evidence of a task's state on an instance: both sides of a comparison and the course between them."""

    def __init__(self, old: Side, new: Side, course: ChangeCourse) -> None:
        self._old, self._new, self._course = old, new, course
        self._limit = new.config.acceptable_recovery_lag
        self._stopping = _consumer_names(old.group, old.stopping)
        self._staying = {instance.process_id for instance in new.group.instances}
        self._old_copies = held_copies(old) if old.copies is None else set()
        self._guessed: list[WorkId] = []
        #: Connectors and tasks of Kafka Connect start from no state, and wait for minutes, which snapshots do not tell.
        self.of_workers = new.config.scheduled_rebalance_max_delay_ms is not None

    def stateful(self, task_id: WorkId) -> bool:
        """Whether a task of the new side has state."""
        return self._new.group.tasks[self._new.group.task_index[task_id]].stateful

    def start(self, task_id: WorkId, process_id: str) -> Start:
        """Return what a stateful task starts from on its new instance."""
        recorded_start = self._course.starts.get(task_id)
        if recorded_start is not None:
            return recorded_start
        lag, had_copy = self._reported(task_id, process_id)
        restores = self.restores(task_id, process_id)
        if self._old.copies is None:
            self._guessed.append(task_id)
            return Start(had_copy or restores == 0, had_copy, None, self._limit, 0 if had_copy else restores)
        assert lag is not None
        is_within_limit = restores == 0 or is_caught_up(lag, self._limit)
        return Start(is_within_limit, had_copy, lag, self._limit, restores)

    def restores(self, task_id: WorkId, process_id: str) -> int | None:
        """Return the records that an instance lacks of a task's state; ``None``: the end offset is unknown."""
        if (task_id, process_id) in self._course.restore_records_by_copy:
            return self._course.restore_records_by_copy[task_id, process_id]
        task = self._new.group.tasks[self._new.group.task_index[task_id]]
        lag, _ = self._reported(task_id, process_id)
        if lag is not None and lag < 0:
            lag = None if lag == UNKNOWN else 0
        if lag is None:
            lag = task.end_offset_sum
        return lag if task.end_offset_known or not lag else None

    def pause_ms(self, task_id: WorkId, old_owner: Seat | None, kind: TaskClass) -> int:
        """Return the expected pause: from revoking to handing over, or until it is noticed that the owner is gone."""
        if self._course.pauses_ms is not None:
            return self._course.pauses_ms.get(task_id, 0)
        if old_owner is None or self.of_workers or kind in (TaskClass.NEW, TaskClass.GONE):
            return 0
        if old_owner.process_id not in self._staying:
            return self._new.config.session_timeout_ms
        stops = kind is not TaskClass.STAYED or (old_owner.process_id, old_owner.consumer_id) in self._stopping
        return self._new.config.heartbeat_interval_ms if stops else 0

    def remarks(self, changes: Sequence[TaskChange]) -> Remarks:
        """Return remarks on how certain the starts are; ``changes`` are all changes of tasks."""
        warnings, assumptions = list[Note](), list[Note]()
        if unknown_pauses := self._course.unknown_pauses:
            message = "It is unknown since when tasks paused whose instance had gone, and no pause counts that"
            warnings.append(Note("left-before", f"{message}: {name_list(unknown_pauses)}", unknown_pauses))
        if guessed_ids := tuple(map(str, self._guessed)):
            message = "Lags are unknown: a copy that was held counts as caught up, everything else as cold"
            assumptions.append(Note(NO_LAGS, f"{message}: {name_list(guessed_ids)}", guessed_ids))
        if self.untold and any(change.start for change in changes):
            message = f"Lags are those of the older snapshot, and {between_text(self._old, self.untold)}"
            warnings.append(Note("old-lags", message))
        return Remarks(warnings=tuple(warnings), assumptions=tuple(assumptions))

    @property
    def untold(self) -> int:
        """The number of unknown generations between the older and the newer side."""
        has_evidence = self._course.starts or self.pauses_known or self._old.copies is None
        return 0 if has_evidence else max(self._new.generation - self._old.generation - 1, 0)

    @property
    def pauses_known(self) -> bool:
        """Whether the pauses between the two are known."""
        return self._course.pauses_ms is not None

    def _reported(self, task_id: WorkId, process_id: str) -> _Reported:
        """The instance's lag, the whole sum if it reported nothing, ``None`` if no lags are known."""
        group = self._old.group
        task, instance = group.task_index.get(task_id), group.instance_index.get(process_id)
        if self._old.copies is None:
            return _Reported(None, (task_id, process_id) in self._old_copies)
        if task is None or instance is None:
            task = self._new.group.task_index[task_id]
            return _Reported(self._new.group.tasks[task].end_offset_sum, has_copy=False)
        lag = next((copy.lag for copy in self._old.copies[task] if copy.instance == instance), None)
        had_copy = any(task in role for c in group.consumers_of[instance] for role in self._old.holdings[c][1:])
        return _Reported(whole_sum(lag, group.tasks[task].end_offset_sum), had_copy)


def held_copies(side: Side) -> set[tuple[WorkId, str]]:
    """Return the task and the process of every copy that is assigned."""
    group = side.group
    return {
        (group.tasks[task].task_id, group.instances[group.instance_of[consumer]].process_id)
        for consumer, holding in enumerate(side.holdings)
        for role in holding[1:]
        for task in role
    }


def _consumer_names(group: Group, consumers: Iterable[int]) -> frozenset[tuple[str, str]]:
    return frozenset((group.instances[group.instance_of[c]].process_id, group.consumer_ids[c]) for c in consumers)
