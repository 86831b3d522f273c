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
    """What is known of a copy that is held: what it had to restore at ``from_ms``, and since when it is assigned."""

    copy: Copy
    from_ms: int
    since_ms: int | None
    reported: bool


class _Instance(NamedTuple):
    """What is known of all copies on an instance, by (task, instance); they restore from ``first_ms`` on.

    Of some more is known of a later time: ``later_ms`` after that.
    """

    known: Mapping[_Seat, _Known]
    first_ms: int
    later_ms: Mapping[_Seat, int]
    restoring: Restoring

    @classmethod
    def of(cls, group: Group, known: Mapping[_Seat, _Known]) -> _Instance:
        first_ms = min((evidence.from_ms for evidence in known.values() if evidence.copy.remaining), default=0)
        times_ms = {seat: evidence.from_ms for seat, evidence in known.items()}
        later_ms = {seat: from_ms - first_ms for seat, from_ms in times_ms.items() if from_ms > first_ms}
        copies = {task: (evidence.copy,) for (task, _), evidence in known.items()}
        return cls(known, first_ms, later_ms, Restoring(group, copies))

    def is_ready(self, seat: _Seat, rates: Rates, by_ms: int, limit: int) -> bool:
        """Tell whether a copy is known to lack no more than ``limit`` by a time."""
        restored = self.restoring.restore([Span(rates, max(by_ms - self.first_ms, 0))], self.later_ms)
        return restored.rate_known[seat[1]] > 0 and is_caught_up(restored.remaining_records(*seat), limit)


class Stand(NamedTuple):
    """Where a plan stands when it is asked what is waited for: after so many of its ``rounds``, at ``at_ms``.

    ``begins_ms`` is when the plan begins, counted from when the snapshot was taken. ``held`` are the roles in which
    stateful tasks are held then, by (task, instance), ``owners`` who runs each (or is about to, on another thread of
    the same instance), ``targets`` where each is to run.
    """

    plan: Plan
    snapshot: Snapshot
    rounds: int
    at_ms: int
    begins_ms: int
    held: Mapping[_Seat, frozenset[Role]]
    owners: Mapping[int, int]
    targets: frozenset[_Seat]

    @property
    def later(self) -> Sequence[Round]:
        """The rounds that are still to come."""
        return self.plan.rounds[self.rounds :]

    @property
    def next_probe_ms(self) -> int | None:
        """When the next probing rebalance comes; ``None``: none does."""
        return next((rnd.at_ms for rnd in self.later if rnd.trigger is Trigger.PROBING), None)


def stand(plan: Plan, snapshot: Snapshot, rounds: int, begins_ms: int) -> Stand:
    """Return where ``plan``, made from ``snapshot``, stands after so many rounds."""
    group = plan.group
    holdings = plan.rounds[rounds - 1].assigned if rounds else plan.initial
    held: dict[_Seat, frozenset[Role]] = {}
    for consumer, roles in enumerate(holdings):
        for role in Role:
            for task in getattr(roles, role.value):
                if group.tasks[task].stateful:
                    seat = task, group.instance_of[consumer]
                    held[seat] = held.get(seat, frozenset()) | {role}
    return Stand(
        plan=plan,
        snapshot=snapshot,
        rounds=rounds,
        at_ms=plan.rounds[rounds - 1].at_ms if rounds else 0,
        begins_ms=begins_ms,
        held=held,
        owners={task: instance for (task, instance), roles in held.items() if Role.ACTIVE in roles}
        | _between_threads(plan, rounds),
        targets=frozenset(
            (task, instance)
            for instance, tasks in enumerate(plan.target.active)
            for task in tasks
            if group.tasks[task].stateful
        ),
    )


def _between_threads(plan: Plan, rounds: int) -> dict[int, int]:
    """Return the instance of each task that changes thread there, and that nobody runs until the next rebalance."""
    group = plan.group
    return {
        group.task_index[step.task_id]: group.instance_index[step.to.process_id]
        for rnd in plan.rounds[rounds : rounds + 1]
        if rnd.trigger is Trigger.FOLLOW_UP
        for step in rnd.single_steps
        if isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE
    }


def handed_over_now(given: Stand) -> tuple[WorkId, ...]:
    """Return the stateful tasks that change hands without waiting for a probe: their owners are giving them up."""
    group, found = given.plan.group, []
    for rnd in given.later:
        if rnd.trigger is not Trigger.FOLLOW_UP:
            break
        found += [step.task_id for step in rnd.single_steps if isinstance(step, HandOver | Promote)]
    return tuple(item for item in found if group.tasks[group.task_index[item]].stateful)


def queued_tasks(given: Stand, handed_over: Sequence[WorkId]) -> tuple[WorkId, ...]:
    """Return the stateful tasks, in order, that are to run elsewhere and have no copy there yet."""
    group, under_way = given.plan.group, set(handed_over)
    return tuple(
        group.tasks[task].task_id
        for task, instance in sorted(given.targets - given.held.keys())
        if given.owners.get(task) != instance and group.tasks[task].task_id not in under_way
    )


def waiting_copies(given: Stand, handed_over: Sequence[WorkId]) -> tuple[WaitingCopy, ...]:
    """Return the copies that are waited for, in task order; those of tasks that change hands already are not."""
    group, under_way = given.plan.group, {given.plan.group.task_index[item] for item in handed_over}
    to_run = {seat for seat in given.targets & given.held.keys() if given.owners.get(seat[0]) not in (seat[1], None)}
    warming = {seat for seat, roles in given.held.items() if Role.WARMUP in roles}
    seats = sorted(seat for seat in to_run | warming if seat[0] not in under_way)
    placed, taken = _placed(given), _taken_up(given)
    known: dict[int, dict[_Seat, _Known]] = {instance: {} for _, instance in seats}
    for seat in sorted(given.held):
        if seat[1] in known:
            known[seat[1]][seat] = _known(given, seat, placed)
    on_instance = {instance: _Instance.of(group, copies) for instance, copies in known.items()}
    found = []
    for seat in seats:
        key = group.tasks[seat[0]].task_id, group.instances[seat[1]].process_id, seat in to_run
        decided, takes_over = taken.get(key, (None, None))
        found.append(_waiting(given, seat, on_instance[seat[1]], decided, takes_over, to_run=seat in to_run))
    return tuple(found)


def _waiting(
    given: Stand,
    seat: _Seat,
    restoring: _Instance,
    decided: Round | None,
    takes_over: Round | None,
    *,
    to_run: bool,
) -> WaitingCopy:
    group, (task, instance), known = given.plan.group, seat, restoring.known[seat]
    beside = [item for item, evidence in restoring.known.items() if evidence.copy.remaining]
    rate, next_ms = given.snapshot.rates.restore_rate(instance), given.next_probe_ms
    sized = all(group.tasks[item].end_offset_known for item, _ in beside)
    ready_ms = _ready_ms(given, seat, restoring) if rate is not None and sized else None
    late = ready_ms is None or (next_ms is not None and ready_ms > next_ms)
    whole = group.tasks[task].end_offset_sum if group.tasks[task].end_offset_known else None
    owner = given.owners.get(task)
    return WaitingCopy(
        task_id=group.tasks[task].task_id,
        owner=None if owner is None else group.instances[owner].process_id,
        destination=group.instances[instance].process_id,
        to_run=to_run,
        lag=known.copy.lag if known.reported else whole,
        lag_is=_lag_is(given, seat) if known.reported else "whole",
        lag_at_ms=known.from_ms if known.reported else None,
        since_ms=known.since_ms,
        restore_rate=rate,
        shared_by=max(len(beside), 1),
        ready_ms=ready_ms,
        ready_is=_ready_is(rate, ready_ms, sized=sized),
        needed_rate=_needed_rate(given, seat, restoring, next_ms) if late and sized and next_ms is not None else None,
        decided_round=None if decided is None else decided.number,
        decided_ms=None if decided is None else decided.at_ms,
        takes_over_ms=None if takes_over is None else takes_over.at_ms,
        no_closer_ms=given.snapshot.no_closer_ms.get(seat),
        restore_at_least=given.snapshot.rates.restore_at_least.get(instance) if rate is None else None,
    )


def _lag_is(given: Stand, seat: _Seat) -> Literal["reported", "measured", "at-least"]:
    if seat in given.snapshot.least_lags:
        return "at-least"
    return "measured" if seat in given.snapshot.measured_lags else "reported"


def _ready_is(
    rate: float | None, ready_ms: int | None, *, sized: bool
) -> Literal["estimate", "never", "rate-unknown", "size-unknown"]:
    if ready_ms is not None:
        return "estimate"
    if rate is None:
        return "rate-unknown"
    return "never" if sized else "size-unknown"


def _taken_up(given: Stand) -> dict[tuple[WorkId, str, bool], tuple[Round, Round | None]]:
    """Return by task, process and whether it is to run there which round decides so, and in which it comes so."""
    found: dict[tuple[WorkId, str, bool], tuple[Round, Round | None]] = {}
    for rnd in given.later:
        for step in rnd.single_steps:
            match step:
                case Withhold():
                    found.setdefault((step.task_id, step.to.process_id, True), (rnd, None))
                case HandOver() | Promote():
                    key = step.task_id, step.to.process_id, True
                    decided, started = found.get(key, (rnd, None))
                    found[key] = decided, started or rnd
                case Place() if step.to.role is Role.STANDBY:
                    found.setdefault((step.task_id, step.to.process_id, False), (rnd, rnd))
    return found


def _placed(given: Stand) -> dict[tuple[WorkId, str], int]:
    """Return when the rounds that are past made copies, by task and process."""
    return {
        (step.task_id, step.to.process_id): rnd.at_ms
        for rnd in given.plan.rounds[: given.rounds]
        for step in rnd.single_steps
        if isinstance(step, Place) and step.from_ is None
    }


def _known(given: Stand, seat: _Seat, placed: Mapping[tuple[WorkId, str], int]) -> _Known:
    """Return what the snapshot, or else the rounds that are past, tell of a copy that is held."""
    (task, instance), snapshot, group = seat, given.snapshot, given.plan.group
    decision, zero_ms, runs = snapshot.decision, given.begins_ms, Role.ACTIVE in given.held[seat]
    found = next((copy for copy in snapshot.state.copies[task] if copy.instance == instance), None)
    decided_ms = -zero_ms if decision is None or decision.at_ms is None else decision.at_ms - zero_ms
    told_ms = snapshot.since_ms.get(seat)
    placed_ms = placed.get((group.tasks[task].task_id, group.instances[instance].process_id))
    since_ms = placed_ms if told_ms is None else told_ms - zero_ms
    if found is not None and found.lag is not None:
        reported_ms = snapshot.reported_ms.get(seat)
        from_ms = decided_ms if reported_ms is None else reported_ms - zero_ms
        lag = 0 if found.lag == LATEST else found.lag  # it ran there, and follows its changelog since
        copy = found._replace(lag=lag, consumer=0, active=runs, remaining=max(found.remaining, 0))
        return _Known(copy, from_ms, since_ms, lag >= 0)
    if runs:
        return _Known(Copy(instance, None, (), 0, 0, True), given.at_ms, since_ms, False)
    if since_ms is None and decision is not None and not _is_held_before(snapshot, seat):
        since_ms = decided_ms
    whole = whole_sum(None, group.tasks[task].end_offset_sum)
    return _Known(
        Copy(instance, None, (), whole, 0, False), decided_ms if since_ms is None else since_ms, since_ms, False
    )


def _is_held_before(snapshot: Snapshot, seat: _Seat) -> bool:
    consumers = snapshot.state.group.consumers_of[seat[1]]
    return any(seat[0] in tasks for consumer in consumers for tasks in snapshot.state.holdings[consumer])


def _ready_ms(given: Stand, seat: _Seat, restoring: _Instance) -> int | None:
    """Return when a copy is caught up while its instance restores it beside others; ``None``: never."""
    if not restoring.known[seat].copy.remaining:
        return given.at_ms
    rates, limit = given.snapshot.rates, given.plan.config.acceptable_recovery_lag
    first_ms = restoring.first_ms
    after_ms = _least(lambda after_ms: restoring.is_ready(seat, rates, first_ms + after_ms, limit), _LONGEST_MS)
    return None if after_ms is None else first_ms + after_ms


def _needed_rate(given: Stand, seat: _Seat, restoring: _Instance, by_ms: int) -> int | None:
    """Return the least that an instance has to restore for this copy of it to be caught up by then."""
    if not restoring.known[seat].copy.remaining:
        return None
    limit = given.plan.config.acceptable_recovery_lag

    def enough(rate: int) -> bool:
        return restoring.is_ready(seat, replace(given.snapshot.rates, restore_of={seat[1]: float(rate)}), by_ms, limit)

    return _least(enough, sum(known.copy.remaining for known in restoring.known.values()) * 1000 + 1)


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
