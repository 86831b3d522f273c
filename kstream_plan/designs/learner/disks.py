"""What learner groups have on disk: how copies begin, restore and are lost, and when the next learner is ready.

Restoring is that of every other group; a copy starts from what its instance's disk has.

Source: page ``learner-rules``, "What starts a round".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import chain

from kstream_plan.model import LATEST, Copy, Group, GroupState, Holdings
from kstream_plan.plans.design import Ahead
from kstream_plan.plans.restoring import Restored, Restoring, Span, may_fall_behind

#: By task, its copies.
Copies = Mapping[int, tuple[Copy, ...]]
#: (task, instance)
Seat = tuple[int, int]
#: A learner that is not ready after so long never is: what is written outruns it.
_NEVER_MS = 10 * 365 * 86_400_000
#: So many records of each copy may be lost by rounding, from a round to the next.
_ROUNDED = 2


def delete_expired(state: GroupState, at_ms: int, cleanup_delay_ms: int) -> GroupState:
    """Return a group without left-over state that is older than ``state.cleanup.delay.ms``."""
    since_ms = at_ms - cleanup_delay_ms
    expired_copies = {
        task: of_task
        for task, of_task in changing_copies(state, {}).items()
        for copy in of_task
        if copy.lost_at_ms is not None and copy.lost_at_ms <= since_ms
    }
    copies = {
        task: tuple(copy for copy in of_task if copy.lost_at_ms is None or copy.lost_at_ms > since_ms)
        for task, of_task in expired_copies.items()
    }
    return state.with_copies(copies) if copies else state


def mark_ready(state: GroupState, seat: Seat) -> GroupState:
    """Return the group with one learner ready."""
    task, instance = seat
    copies = tuple(
        copy._replace(remaining=0, lag=0) if copy.instance == instance else copy for copy in state.copies[task]
    )
    return state.with_copies({task: copies})


def reseat_copies(state: GroupState, holdings: Holdings, at_ms: int) -> dict[int, tuple[Copy, ...]]:
    """Return the copies, in their new seats, of every task whose holders change."""
    group, seats = state.group, dict[int, dict[int, tuple[int, bool] | None]]()
    previous_holdings = Holdings.of(group, state.holdings).stateful
    for consumer, (old, new) in enumerate(zip(previous_holdings, holdings.stateful, strict=True)):
        if old == new:
            continue
        instance = group.instance_of[consumer]
        for task in {task for role in old for task in role}:
            seats.setdefault(task, {}).setdefault(instance, None)
        for place, role in enumerate(new):
            for task in role:
                seats.setdefault(task, {})[instance] = consumer, place == 0
    return {task: _reseat(state, task, task_seats, at_ms) for task, task_seats in seats.items()}


def restore_copies(
    state: GroupState, copies: Copies, spans: Sequence[Span]
) -> tuple[dict[int, tuple[Copy, ...]], Mapping[int, int]]:
    """Return the copies that may change, by task, after these spans of time, and what waits by then (GroupState).

    ``copies`` are in place of the state's.
    """
    copies_by_task = changing_copies(state, copies, spans)
    progress = Restoring(state.group, copies_by_task, state.waiting).restore(spans)
    next_copies = {
        task: tuple([_later(state.group, task, copy, progress) for copy in of_task])
        for task, of_task in copies_by_task.items()
    }
    return next_copies, progress.backlog


def changing_copies(state: GroupState, copies: Copies, spans: Sequence[Span] = ()) -> Copies:
    """Return the copies of all tasks, in order, whose copies may restore, fall behind in these spans, or are left over.

    ``copies`` are in place of the state's.
    """
    if may_fall_behind(spans):
        tasks: Sequence[int] = range(len(state.copies))
    else:
        bursts = {task for span in spans for task in span.burst}
        tasks = sorted(state.unsettled | copies.keys() | state.waiting.keys() | bursts)
    current_copies = zip(tasks, state.copies_of(tasks), strict=True)
    return {task: copies.get(task, of_task) for task, of_task in current_copies}


def next_ready_ms(
    state: GroupState, copies: Copies, learners: Collection[Seat], limit: int, at_ms: int, ahead: Ahead
) -> int | None:
    """Return when the first of these learners is ready, with a lag of at most ``limit``; ``None``: it never is.

    ``copies`` are in place of the state's.
    """
    steadily = ahead(at_ms + _NEVER_MS)
    copies = changing_copies(state, copies, steadily)
    lags = {seat: _remaining(copies.get(seat[0], ()), seat[1]) for seat in learners}
    if min(lags.values()) <= limit:
        return at_ms
    after_ms = 1
    if not (may_fall_behind(steadily) or state.waiting or len(steadily) > 1 or steadily[0].burst):
        after_ms, instance = _steadily_ready(copies, lags, limit, steadily[0])
        lags = {seat: lag for seat, lag in lags.items() if seat[1] == instance}
        copies = _of_instance(copies, instance)
    restoring, learned = Restoring(state.group, copies, state.waiting), {task for task, _ in lags}

    @cache
    def ready(to_ms: int) -> list[Seat]:
        progress = restoring.restore(ahead(to_ms), tasks=learned)
        return [
            seat
            for seat, lag in lags.items()
            if progress.remaining_records(*seat) <= limit and progress.is_duration_known(seat[1], lag)
        ]

    low_ms, high_ms = _around(lambda ms: bool(ready(ms)), at_ms, after_ms)
    if high_ms is None:
        return None
    first_ms = _first(lambda ms: bool(ready(ms)), low_ms, high_ms)
    # copies share whole records, and rounding loses some: copies that differ by less are ready together
    instance = ready(first_ms)[0][1]
    rate = ahead(first_ms)[-1].rates.restore_rate(instance) or 1.0
    sharing = sum(copy.instance == instance for of_task in copies.values() for copy in of_task)
    last_ms = first_ms + int(1000 * _ROUNDED * sharing / rate) + 1
    ready_count = len(ready(last_ms))
    return _first(lambda ms: len(ready(ms)) >= ready_count, first_ms - 1, last_ms)


def _remaining(of_task: Sequence[Copy], instance: int) -> int:
    for copy in of_task:
        if copy.instance == instance:
            return copy.remaining
    return 0


def _of_instance(copies: Copies, instance: int) -> dict[int, tuple[Copy, ...]]:
    """Return an instance's copies, by task."""
    return {task: (copy,) for task, of_task in copies.items() for copy in of_task if copy.instance == instance}


def _steadily_ready(copies: Copies, lags: Mapping[Seat, int], limit: int, span: Span) -> tuple[int, int]:
    """Return after how long the first learner is ready, about, and on which instance, if nothing changes till then.

    An instance restores its active tasks first, and then shares its rate evenly.
    """
    least: dict[int, int] = {}
    for (_, instance), lag in lags.items():
        least[instance] = min(lag - limit, least.get(instance, lag))
    records = dict.fromkeys(least, 0)
    for copy in chain.from_iterable(copies.values()):
        if copy.remaining and copy.instance in records and copy.consumer is not None:
            enough = copy.remaining if copy.active else least[copy.instance]
            records[copy.instance] += min(copy.remaining, enough)
    ready_times = (
        (int(1000 * total_records / (span.rates.restore_rate(instance) or 1.0)), instance)
        for instance, total_records in records.items()
    )
    return min(ready_times)


def _around(holds: Callable[[int], bool], at_ms: int, after_ms: int) -> tuple[int, int | None]:
    """Return a time when something does not hold yet, and a later one when it does; about so long after ``at_ms``."""
    guess_ms = at_ms + max(1, after_ms)
    if holds(guess_ms):
        step_ms = 1
        while holds(max(at_ms, guess_ms - step_ms)):
            step_ms *= 2
        return max(at_ms, guess_ms - step_ms), guess_ms
    step_ms = 1
    while not holds(guess_ms + step_ms):
        step_ms *= 2
        if step_ms > _NEVER_MS:
            return guess_ms, None
    return guess_ms, guess_ms + step_ms


def _first(holds: Callable[[int], bool], low_ms: int, high_ms: int) -> int:
    """Return the first time after one at which something does not hold, until one at which it does."""
    while low_ms + 1 < high_ms:
        middle_ms = (low_ms + high_ms) // 2
        low_ms, high_ms = (low_ms, middle_ms) if holds(middle_ms) else (middle_ms, high_ms)
    return high_ms


def _reseat(state: GroupState, task: int, seats: Mapping[int, tuple[int, bool] | None], at_ms: int) -> tuple[Copy, ...]:
    """Move a task's copies to their new seats; a copy without a holder is left over."""
    copy_by_instance = {copy.instance: copy for copy in state.copies[task]}
    for instance, seat in seats.items():
        copy = copy_by_instance.get(instance)
        if seat is None:
            if copy is not None and copy.consumer is not None:
                lag = 0 if copy.lag == LATEST else copy.lag
                copy_by_instance[instance] = copy._replace(lag=lag, consumer=None, active=False, lost_at_ms=at_ms)
        elif copy is None:
            whole = state.group.end_offset_sums[task]
            copy_by_instance[instance] = Copy(instance, whole, (), whole, *seat, state.generation + 1, made_at_ms=at_ms)
        else:
            copy_by_instance[instance] = copy._replace(consumer=seat[0], active=seat[1], lost_at_ms=None)
    return tuple(copy_by_instance[instance] for instance in sorted(copy_by_instance))


def _later(group: Group, task: int, copy: Copy, progress: Restored) -> Copy:
    remaining, consumer = copy.remaining, copy.consumer
    if consumer is None:
        remaining = min(remaining + progress.written_records(task, copy.instance), group.end_offset_sums[task])
        return copy._replace(lag=remaining if copy.lag is not None and copy.lag >= 0 else copy.lag, remaining=remaining)
    if progress.is_duration_known(copy.instance, remaining):
        remaining = progress.remaining_records(task, copy.instance)
    lag = LATEST if copy.active and not remaining else remaining
    if (lag, remaining) == (copy.lag, copy.remaining) and copy.reporters == (consumer,):
        return copy
    # one by one: this is done for every learner in every round
    return Copy(copy.instance, lag, (consumer,), remaining, *copy[4:])
