"""What a group waits for: copies that are not caught up, where, since when, and at which rate they would be ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from kstream_plan.model import LATEST, Copy, Group, Rates, Snapshot, WorkId, whole_sum
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans import HandOver, Place, Plan, Promote, Role, Round, ThreadMove, Trigger, Withhold
from kstream_plan.plans.restoring import Restoring, Span
from kstream_plan.plans.why_answers import WaitingCopy

#: A copy that would take longer counts as never ready: its instance restores no faster than what is written.
_LONGEST_MS = 30 * 24 * 3_600_000
#: (task, instance)
_Seat = tuple[int, int]


class _Known(NamedTuple):
    """A copy that is held: what it had to restore at ``from_ms``, and since when it is assigned."""

    copy: Copy
    from_ms: int
    since_ms: int | None
    reported: bool


class _Instance(NamedTuple):
    """All copies on an instance, by (task, instance); they restore from ``first_ms`` on.

    Some are known at a later time, ``later_ms`` after that.
    """

    known_copies: Mapping[_Seat, _Known]
    first_ms: int
    later_ms: Mapping[_Seat, int]
    restoring: Restoring

    @classmethod
    def from_copies(cls, group: Group, known_copies: Mapping[_Seat, _Known]) -> _Instance:
        first_ms = min((evidence.from_ms for evidence in known_copies.values() if evidence.copy.remaining), default=0)
        times_ms = {seat: evidence.from_ms for seat, evidence in known_copies.items()}
        later_ms = {seat: from_ms - first_ms for seat, from_ms in times_ms.items() if from_ms > first_ms}
        copies = {task: (evidence.copy,) for (task, _), evidence in known_copies.items()}
        return cls(known_copies, first_ms, later_ms, Restoring(group, copies))

    def is_ready(self, seat: _Seat, rates: Rates, by_ms: int, limit: int) -> bool:
        """Tell whether a copy is known to lack no more than ``limit`` by a time."""
        progress = self.restoring.restore([Span(rates, max(by_ms - self.first_ms, 0))], self.later_ms)
        return progress.rate_known[seat[1]] > 0 and is_caught_up(progress.remaining_records(*seat), limit)


class PlanMoment(NamedTuple):
    """A moment of a plan at which somebody asks what the group waits for.

    plan: the plan.
    snapshot: what it was made from.
    rounds: the number of its rounds until then.
    at_ms: the time on the plan's clock.
    begins_ms: when the plan begins, counted from when the snapshot was taken.
    roles_by_seat: the roles in which stateful tasks are held then, by (task, instance).
    owners: by task the instance that runs it, or is about to on another of its threads.
    targets: (task, instance) of where each task is to run.
    """

    plan: Plan
    snapshot: Snapshot
    rounds: int
    at_ms: int
    begins_ms: int
    roles_by_seat: Mapping[_Seat, frozenset[Role]]
    owners: Mapping[int, int]
    targets: frozenset[_Seat]

    @property
    def later_rounds(self) -> Sequence[Round]:
        """The rounds that are still to come."""
        return self.plan.rounds[self.rounds :]

    @property
    def next_probe_ms(self) -> int | None:
        """When the next probing rebalance comes; ``None``: none does."""
        return next((rnd.at_ms for rnd in self.later_rounds if rnd.trigger is Trigger.PROBING), None)


def moment_of(plan: Plan, snapshot: Snapshot, rounds: int, begins_ms: int) -> PlanMoment:
    """Return where ``plan``, made from ``snapshot``, stands after so many rounds."""
    group = plan.group
    holdings = plan.rounds[rounds - 1].assigned if rounds else plan.initial
    roles_by_seat: dict[_Seat, frozenset[Role]] = {}
    for consumer, roles in enumerate(holdings):
        for role in Role:
            for task in getattr(roles, role.value):
                if group.tasks[task].stateful:
                    seat = task, group.instance_of[consumer]
                    roles_by_seat[seat] = roles_by_seat.get(seat, frozenset()) | {role}
    return PlanMoment(
        plan=plan,
        snapshot=snapshot,
        rounds=rounds,
        at_ms=plan.rounds[rounds - 1].at_ms if rounds else 0,
        begins_ms=begins_ms,
        roles_by_seat=roles_by_seat,
        owners={task: instance for (task, instance), roles in roles_by_seat.items() if Role.ACTIVE in roles}
        | _between_threads(plan, rounds),
        targets=frozenset(
            (task, instance)
            for instance, tasks in enumerate(plan.target.active)
            for task in tasks
            if group.tasks[task].stateful
        ),
    )


def _between_threads(plan: Plan, rounds: int) -> dict[int, int]:
    """Return the instance of each task that changes thread there, and is unassigned until the next rebalance."""
    group = plan.group
    return {
        group.task_index[step.task_id]: group.instance_index[step.to.process_id]
        for rnd in plan.rounds[rounds : rounds + 1]
        if rnd.trigger is Trigger.FOLLOW_UP
        for step in rnd.single_steps
        if isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE
    }


def handed_over_now(position: PlanMoment) -> tuple[WorkId, ...]:
    """Return the stateful tasks that change hands without waiting for a probe: their owners are giving them up."""
    group, task_ids = position.plan.group, []
    for rnd in position.later_rounds:
        if rnd.trigger is not Trigger.FOLLOW_UP:
            break
        task_ids += [step.task_id for step in rnd.single_steps if isinstance(step, HandOver | Promote)]
    return tuple(task_id for task_id in task_ids if group.tasks[group.task_index[task_id]].stateful)


def queued_tasks(position: PlanMoment, handed_over: Sequence[WorkId]) -> tuple[WorkId, ...]:
    """Return the stateful tasks, in order, that are to run elsewhere and have no copy there yet."""
    group, under_way = position.plan.group, set(handed_over)
    return tuple(
        group.tasks[task].task_id
        for task, instance in sorted(position.targets - position.roles_by_seat.keys())
        if position.owners.get(task) != instance and group.tasks[task].task_id not in under_way
    )


def waiting_copies(position: PlanMoment, handed_over: Sequence[WorkId]) -> tuple[WaitingCopy, ...]:
    """Return the copies that are waited for, in task order; those of tasks that change hands already are not."""
    group, under_way = position.plan.group, {position.plan.group.task_index[task_id] for task_id in handed_over}
    to_run = {
        seat
        for seat in position.targets & position.roles_by_seat.keys()
        if position.owners.get(seat[0]) not in (seat[1], None)
    }
    warming_seats = {seat for seat, roles in position.roles_by_seat.items() if Role.WARMUP in roles}
    seats = sorted(seat for seat in to_run | warming_seats if seat[0] not in under_way)
    placed, decisions = _placed(position), _taken_up(position)
    copies_by_instance: dict[int, dict[_Seat, _Known]] = {instance: {} for _, instance in seats}
    for seat in sorted(position.roles_by_seat):
        if seat[1] in copies_by_instance:
            copies_by_instance[seat[1]][seat] = _known_copy(position, seat, placed)
    on_instance = {instance: _Instance.from_copies(group, copies) for instance, copies in copies_by_instance.items()}
    copies_waited_for = []
    for seat in seats:
        key = group.tasks[seat[0]].task_id, group.instances[seat[1]].process_id, seat in to_run
        deciding_round, takes_over = decisions.get(key, (None, None))
        copies_waited_for.append(
            _waiting_copy(position, seat, on_instance[seat[1]], deciding_round, takes_over, to_run=seat in to_run)
        )
    return tuple(copies_waited_for)


def _waiting_copy(
    position: PlanMoment,
    seat: _Seat,
    restoring: _Instance,
    deciding_round: Round | None,
    takes_over: Round | None,
    *,
    to_run: bool,
) -> WaitingCopy:
    group, (task, instance), known_copy = position.plan.group, seat, restoring.known_copies[seat]
    sharing_seats = [other_seat for other_seat, evidence in restoring.known_copies.items() if evidence.copy.remaining]
    rate, next_ms = position.snapshot.rates.restore_rate(instance), position.next_probe_ms
    sized = all(group.tasks[shared_task].end_offset_known for shared_task, _ in sharing_seats)
    ready_ms = _ready_ms(position, seat, restoring) if rate is not None and sized else None
    is_late = ready_ms is None or (next_ms is not None and ready_ms > next_ms)
    whole = group.tasks[task].end_offset_sum if group.tasks[task].end_offset_known else None
    owner = position.owners.get(task)
    return WaitingCopy(
        task_id=group.tasks[task].task_id,
        owner=None if owner is None else group.instances[owner].process_id,
        destination=group.instances[instance].process_id,
        to_run=to_run,
        lag=known_copy.copy.lag if known_copy.reported else whole,
        lag_is=_lag_is(position, seat) if known_copy.reported else "whole",
        lag_at_ms=known_copy.from_ms if known_copy.reported else None,
        since_ms=known_copy.since_ms,
        restore_rate=rate,
        shared_by=max(len(sharing_seats), 1),
        ready_ms=ready_ms,
        ready_is=_ready_is(rate, ready_ms, sized=sized),
        needed_rate=_needed_rate(position, seat, restoring, next_ms)
        if is_late and sized and next_ms is not None
        else None,
        decided_round=None if deciding_round is None else deciding_round.number,
        decided_ms=None if deciding_round is None else deciding_round.at_ms,
        takes_over_ms=None if takes_over is None else takes_over.at_ms,
        no_closer_ms=position.snapshot.no_closer_ms.get(seat),
        restore_at_least=position.snapshot.rates.restore_at_least.get(instance) if rate is None else None,
    )


def _lag_is(position: PlanMoment, seat: _Seat) -> Literal["reported", "measured", "at-least"]:
    if seat in position.snapshot.least_lags:
        return "at-least"
    return "measured" if seat in position.snapshot.measured_lags else "reported"


def _ready_is(
    rate: float | None, ready_ms: int | None, *, sized: bool
) -> Literal["estimate", "never", "rate-unknown", "size-unknown"]:
    if ready_ms is not None:
        return "estimate"
    if rate is None:
        return "rate-unknown"
    return "never" if sized else "size-unknown"


def _taken_up(position: PlanMoment) -> dict[tuple[WorkId, str, bool], tuple[Round, Round | None]]:
    """Return by task, process and whether it is to run there which round decides so, and in which it comes so."""
    decisions: dict[tuple[WorkId, str, bool], tuple[Round, Round | None]] = {}
    for rnd in position.later_rounds:
        for step in rnd.single_steps:
            match step:
                case Withhold():
                    decisions.setdefault((step.task_id, step.to.process_id, True), (rnd, None))
                case HandOver() | Promote():
                    key = step.task_id, step.to.process_id, True
                    deciding_round, first_round = decisions.get(key, (rnd, None))
                    decisions[key] = deciding_round, first_round or rnd
                case Place() if step.to.role is Role.STANDBY:
                    decisions.setdefault((step.task_id, step.to.process_id, False), (rnd, rnd))
    return decisions


def _placed(position: PlanMoment) -> dict[tuple[WorkId, str], int]:
    """Return when the rounds that are past made copies, by task and process."""
    return {
        (step.task_id, step.to.process_id): rnd.at_ms
        for rnd in position.plan.rounds[: position.rounds]
        for step in rnd.single_steps
        if isinstance(step, Place) and step.from_ is None
    }


def _known_copy(position: PlanMoment, seat: _Seat, placed: Mapping[tuple[WorkId, str], int]) -> _Known:
    """Return what the snapshot, or else the rounds that are past, tell of a copy that is held."""
    (task, instance), snapshot, group = seat, position.snapshot, position.plan.group
    decision, zero_ms, runs = snapshot.decision, position.begins_ms, Role.ACTIVE in position.roles_by_seat[seat]
    read_copy = next((copy for copy in snapshot.state.copies[task] if copy.instance == instance), None)
    decided_ms = -zero_ms if decision is None or decision.at_ms is None else decision.at_ms - zero_ms
    told_ms = snapshot.since_ms.get(seat)
    placed_ms = placed.get((group.tasks[task].task_id, group.instances[instance].process_id))
    since_ms = placed_ms if told_ms is None else told_ms - zero_ms
    if read_copy is not None and read_copy.lag is not None:
        reported_ms = snapshot.reported_ms.get(seat)
        from_ms = decided_ms if reported_ms is None else reported_ms - zero_ms
        lag = 0 if read_copy.lag == LATEST else read_copy.lag  # it ran there, and follows its changelog since
        copy = read_copy._replace(lag=lag, consumer=0, active=runs, remaining=max(read_copy.remaining, 0))
        return _Known(copy, from_ms, since_ms, lag >= 0)
    if runs:
        return _Known(Copy(instance, None, (), 0, 0, True), position.at_ms, since_ms, False)
    if since_ms is None and decision is not None and not _is_held_before(snapshot, seat):
        since_ms = decided_ms
    whole = whole_sum(None, group.tasks[task].end_offset_sum)
    return _Known(
        Copy(instance, None, (), whole, 0, False), decided_ms if since_ms is None else since_ms, since_ms, False
    )


def _is_held_before(snapshot: Snapshot, seat: _Seat) -> bool:
    consumers = snapshot.state.group.consumers_of[seat[1]]
    return any(seat[0] in tasks for consumer in consumers for tasks in snapshot.state.holdings[consumer])


def _ready_ms(position: PlanMoment, seat: _Seat, restoring: _Instance) -> int | None:
    """Return when a copy is caught up while its instance restores it beside others; ``None``: never."""
    if not restoring.known_copies[seat].copy.remaining:
        return position.at_ms
    rates, limit = position.snapshot.rates, position.plan.config.acceptable_recovery_lag
    first_ms = restoring.first_ms
    after_ms = _least(lambda after_ms: restoring.is_ready(seat, rates, first_ms + after_ms, limit), _LONGEST_MS)
    return None if after_ms is None else first_ms + after_ms


def _needed_rate(position: PlanMoment, seat: _Seat, restoring: _Instance, by_ms: int) -> int | None:
    """Return the least that an instance has to restore for this copy of it to be caught up by then."""
    if not restoring.known_copies[seat].copy.remaining:
        return None
    limit = position.plan.config.acceptable_recovery_lag

    def enough(rate: int) -> bool:
        return restoring.is_ready(
            seat, replace(position.snapshot.rates, restore_of={seat[1]: float(rate)}), by_ms, limit
        )

    return _least(enough, sum(known_copy.copy.remaining for known_copy in restoring.known_copies.values()) * 1000 + 1)


def _least(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the least number from 0 on with which something holds that goes on holding; ``None``: none up to most."""
    low, high = -1, 1
    while not holds(high):
        low, high = high, high * 2
        if low >= most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
