"""Snapshots, plans and histories as the sides of a comparison, and the course of a plan between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kstream_plan.comparison.changes import ChangeCourse, Side, Start
from kstream_plan.comparison.warmth import held_copies
from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, Note, Snapshot, WorkId
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
