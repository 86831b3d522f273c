"""How copies catch up, fall behind and are reported between two rebalances, as a real group does.

Source: page ``rules``, "From one generation to the next".

Pure: the clock is handed in. Two things happen between an assignment and the rebalance after it: every copy goes
where the assignment put it (:func:`_seated`), and each instance later reports what it then has (:func:`_reported`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from kstream_plan.designs.classic.readiness import Readiness, to_restore
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, GroupState, Rates
from kstream_plan.model.state import Restless, Sleep, is_settled
from kstream_plan.plans.restoring import (
    Restoring,
    Span,
    beginning,
    copied_on,
    pressed_instances,
)
from kstream_plan.protocols.transition import Transition

#: Between an assignment and the rejoin of a consumer that revoked or had something withheld (0.01-0.7 s observed).
AT_ONCE_MS = 100
#: Between two polls of a copy's changelog (Kafka's ``poll.ms``).
POLL_DELAY_MS = 100


class Interval(NamedTuple):
    """The time from one assignment to the next rebalance, on the plan's clock.

    ``tick``: long enough for every copy to be caught up if no restore rate says otherwise: the next rebalance is a
    probing one, or comes no earlier than one would. A follow-up never is; unless only those ``at_probes`` are told, it
    finds caught up what was placed two or more generations before, and running what is active. Nor does one, where only
    those ``at_probes`` are told, find anything restored that was placed in the generation before, at whatever rate.
    ``idle``: nothing was assigned at its beginning; what is known of the copies is what a snapshot says.
    ``readiness``: it is the first one of a plan; of copies whose restore rate is not known this tells, instead of the
    length of the interval, whether they are caught up at its end. Copies may have been reported within it.
    """

    from_ms: int
    to_ms: int
    tick: bool
    idle: bool = False
    readiness: Readiness | None = None
    at_probes: bool = False


def advance(
    state: GroupState,
    transition: Transition,
    interval: Interval,
    cleaner: StateCleaner,
    rates: Rates,
    phases: Sequence[Span] = (),
) -> GroupState:
    """Return the group as the next rebalance will find it.

    ``state`` is the group as this rebalance found it and ``transition`` what it changed. Without a restore rate every
    assigned copy is caught up at a tick, else only one placed two or more generations before; with one, lags
    shrink by time. Left-over state grows with the produce rate until the ``cleaner`` deletes it. ``phases`` divide an
    interval within which rates change or instances stop; without any, ``rates`` hold throughout.
    """
    phases = phases or (Span(rates, interval.to_ms - interval.from_ms),)
    generation = state.generation + 1
    rates = phases[-1].rates
    revoking = frozenset[int]() if interval.tick else transition.revoking
    restless, asleep = _restless(state, phases, interval.to_ms, revoking)
    seated, held = _changed_seats(state, transition), transition.holdings
    tasks = tuple(restless.union(seated))
    copies = dict(zip(tasks, state.copies_of(tasks), strict=True))
    for task, seats in seated.items():
        whole = state.group.end_offset_sums[task]
        copies[task] = _seated(
            copies[task], whole, seats, generation, interval.from_ms, stays_on_disk=not cleaner.in_memory
        )
    pressed = pressed_instances(state.group, held, phases, copies.values())
    falling_behind = copied_on(state.group, held, pressed)
    resting_before = tuple(falling_behind.difference(copies))
    copies.update(zip(resting_before, state.copies_of(resting_before), strict=True))
    report = _Report(
        state=state,
        transition=transition,
        interval=interval,
        cleaner=cleaner,
        phases=phases,
        copies=copies,
        revoking=revoking,
        pressed=pressed,
    )
    reported = {task: report.of(task, copies[task]) for task in sorted(copies)}
    resting = {
        task
        for task, of_task in reported.items()
        if task not in falling_behind and _is_at_rest(state.group, rates, task, of_task)
    }
    asleep = {task: sleep for task, sleep in asleep.items() if task not in reported}
    for task in reported.keys() - resting - falling_behind:
        sleep = _sleep(state.group, rates, task, reported[task], cleaner, interval.to_ms)
        if sleep is not None:
            asleep[task] = sleep
    return state.followed_by(
        at_ms=interval.from_ms,
        holdings=transition.holdings,
        copies=reported,
        revoked={task: state.group.instance_of[owner] for task, owner, _, _ in transition.withheld},
        waiting=report.waiting,
        restless=Restless(rates, frozenset(reported.keys() - resting - asleep.keys()), asleep),
    )


def _restless(
    state: GroupState, phases: Sequence[Span], to_ms: int, revoking: frozenset[int]
) -> tuple[frozenset[int], Mapping[int, Sleep]]:
    """Return the tasks of which something else may be reported by then even if nobody else takes them over.

    The second is of which not yet, but later.
    """
    group, rates = state.group, phases[-1].rates
    if any(phase.burst for phase in phases):
        return frozenset(group.stateful), {}
    known = state.restless_under(rates)
    if known is None:
        known = Restless(
            rates, frozenset(t for t in group.stateful if not _is_at_rest(group, rates, t, state.copies[t]))
        )
    restless, instances = known.tasks | state.waiting.keys(), {group.instance_of[consumer] for consumer in revoking}
    restless |= {
        task
        for task, sleep in known.asleep.items()
        if sleep.until_ms < to_ms or not sleep.instances.isdisjoint(instances)
    }
    stopped = frozenset[int]().union(*(phase.stopped for phase in phases))
    if stopped:
        restless |= {t for t in group.stateful if not stopped.isdisjoint([copy.instance for copy in state.copies[t]])}
    return restless, known.asleep


def _sleep(
    group: Group, rates: Rates, task: int, copies: tuple[Copy, ...], cleaner: StateCleaner, at_ms: int
) -> Sleep | None:
    """Return until when the same is reported of left-over state, if nothing of the other copies changes any more."""
    if rates.produce_rate(task):
        return None
    left_over = [copy for copy in copies if copy.consumer is None]
    if any(copy.reporters != (group.consumers_of[copy.instance].start,) for copy in left_over):
        return None
    if not _is_at_rest(group, rates, task, tuple([copy for copy in copies if copy.consumer is not None])):
        return None
    until_ms = min(cleaner.same_until_ms(group, copy, at_ms) for copy in left_over)
    return Sleep(until_ms, frozenset([copy.instance for copy in left_over]))


def _is_at_rest(group: Group, rates: Rates, task: int, copies: tuple[Copy, ...]) -> bool:
    """Tell whether the same is reported of these copies again and again, while the rates last and everybody runs."""
    if not is_settled(copies):
        return False
    standing = _standing(group, rates, task)
    return all(copy.lag == (LATEST if copy.active else standing) for copy in copies)


def _standing(group: Group, rates: Rates, task: int) -> int:
    """Return the lag of a copy that has caught up: what arrives between two polls of its changelog."""
    rate = rates.produce_rate(task)
    return min(int(rate * POLL_DELAY_MS / 1000), group.tasks[task].end_offset_sum) if rate else 0


#: instance → the consumer that now holds the task and whether as active; ``None``: no consumer of it does
_Seats = Mapping[int, tuple[int, bool] | None]


def _changed_seats(state: GroupState, transition: Transition) -> dict[int, dict[int, tuple[int, bool] | None]]:
    instance_of = state.group.instance_of
    changed: dict[int, dict[int, tuple[int, bool] | None]] = {}
    for consumer, lost, gained in transition.active_changes:
        for task in lost:
            changed.setdefault(task, {}).setdefault(instance_of[consumer], None)
        for task in gained:
            changed.setdefault(task, {})[instance_of[consumer]] = consumer, True
    for consumer in transition.changed:
        old, new = transition.before.stateful[consumer][1:], transition.holdings.stateful[consumer][1:]
        if old == new:
            continue
        before, after = set(chain.from_iterable(old)), set(chain.from_iterable(new))
        for task in before - after:
            changed.setdefault(task, {}).setdefault(instance_of[consumer], None)
        for task in after - before:
            changed.setdefault(task, {})[instance_of[consumer]] = consumer, False
    return changed


def _seated(
    copies: tuple[Copy, ...], whole: int, seats: _Seats, generation: int, at_ms: int, *, stays_on_disk: bool
) -> tuple[Copy, ...]:
    """Move a task's copies to their new seats; a copy that nobody holds any more is left over.

    ``whole`` is the task's end-offset sum. Unless state ``stays_on_disk``, a copy begins empty on another thread.
    """
    by_instance = {copy[0]: copy for copy in copies}
    for instance, seat in seats.items():
        copy = by_instance.get(instance)
        if seat is None:
            if copy is not None:
                by_instance[instance] = _left_over(copy, at_ms)
        elif copy is None or not (stays_on_disk or copy.consumer in (None, seat[0])):
            by_instance[instance] = Copy(instance, None, (), whole, *seat, generation, made_at_ms=at_ms)
        elif (copy.consumer, copy.active) != seat:
            placed_in = copy.placed_in if copy.consumer is not None else generation
            lag = 0 if copy.lag == LATEST and not seat[1] else copy.lag
            by_instance[instance] = Copy(
                instance, lag, copy.reporters, copy.remaining, *seat, placed_in, None, copy.made_at_ms
            )
    return tuple([by_instance[instance] for instance in sorted(by_instance)])


def _left_over(copy: Copy, at_ms: int) -> Copy:
    if copy.consumer is None:
        return copy
    return copy._replace(lag=0 if copy.lag == LATEST else copy.lag, consumer=None, active=False, lost_at_ms=at_ms)


class _Report:
    """What the instances report at the next rebalance, copy by copy."""

    def __init__(
        self,
        *,
        state: GroupState,
        transition: Transition,
        interval: Interval,
        cleaner: StateCleaner,
        phases: Sequence[Span],
        copies: Mapping[int, tuple[Copy, ...]],
        revoking: frozenset[int],
        pressed: frozenset[int],
    ) -> None:
        self._state = state
        self._generation = state.generation + 1
        self._interval = interval
        self._cleaner = cleaner
        self._phases = phases
        self._revoking = revoking
        self._disturbed = transition.disturbed if not interval.tick else frozenset()
        self._first_to_rejoin = _first_to_rejoin(state, self._revoking)
        reported_in = {} if interval.readiness is None else interval.readiness.reported_in()
        self._reported_in = reported_in
        created = interval.to_ms - interval.from_ms > AT_ONCE_MS and phases[0].rates.any_restore
        beginners = _beginners(copies, self._generation) if created else ()
        group, waiting = state.group, state.waiting
        self._restoring = Restoring.over(group, copies, phases, reported_in, beginners, pressed, waiting)
        self._restoring_at_once = (
            Restoring.over(group, copies, beginning(phases, AT_ONCE_MS), reported_in, (), pressed, waiting)
            if self._disturbed
            else self._restoring
        )
        self._to_restore = {} if interval.readiness is None else to_restore(copies.values())

    @property
    def waiting(self) -> Mapping[int, int]:
        """The unprocessed input at the end of the interval, by task."""
        return self._restoring.waiting

    def of(self, task: int, copies: tuple[Copy, ...]) -> tuple[Copy, ...]:
        reported = tuple(
            [
                now
                for copy in copies
                if (now := self._left_over(task, copy) if copy.consumer is None else self._assigned(task, copy))
            ]
        )
        return copies if reported == copies else reported

    def _left_over(self, task: int, copy: Copy) -> Copy | None:
        """Its directory is reported by the first consumer of the instance to rejoin, as long as it is there."""
        if copy.lag is None:
            return None
        if not self._is_heard(task, copy) and self._cleaner.deletes(self._state.group, copy, self._interval.to_ms):
            return None
        reporters = (self._first_to_rejoin[copy.instance],)
        grown = self._restoring.written_since(task, self._reported_in.get((task, copy.instance), 0))
        if copy.lag == UNKNOWN or (not grown and reporters == copy.reporters):
            return copy._replace(reporters=reporters) if reporters != copy.reporters else copy
        lag = min(max(copy.lag, 0) + grown, self._state.group.tasks[task].end_offset_sum)
        return copy._replace(lag=lag, remaining=lag, reporters=reporters)

    def _is_heard(self, task: int, copy: Copy) -> bool:
        """Tell whether a copy was heard of at this very moment, so that it is there."""
        readiness, to_ms = self._interval.readiness, self._interval.to_ms
        return readiness is not None and readiness.beginning.reported_ms.get((task, copy.instance), to_ms - 1) >= to_ms

    def _assigned(self, task: int, copy: Copy) -> Copy:
        consumer = copy.consumer
        assert consumer is not None
        if copy.lag == LATEST:
            return copy if copy.reporters == (consumer,) else copy._replace(reporters=(consumer,))
        tick, readiness = self._interval.tick, self._interval.readiness
        known = self._restoring.known(copy.instance, copy.remaining)
        if readiness is not None and not (known and readiness.rate_decides(task, copy)):
            tick = readiness.of(self._state.group, task, copy, self._to_restore)
            if not tick and not known:
                return self._unready(task, copy, consumer)
            known = known and not tick
        elif not known and self._interval.idle and not tick:
            return copy  # as reported: it has not been seen to catch up, and nobody knows how fast it would
        if known:
            remaining = self._restoring.remaining(task, copy)
        else:
            remaining = 0 if tick or self._ready_by_now(copy) else copy.remaining
        if copy.placed_in == self._generation and not tick:
            return self._just_placed(task, copy, consumer, remaining)
        if copy.active and not remaining and consumer not in self._disturbed:
            lag = LATEST
        else:
            lag = self._reported(task, copy, self._remaining_then(task, copy) if known else remaining)
        reporters = copy.reporters if consumer in self._revoking and copy.reporters else (consumer,)
        if (copy.lag, copy.reporters, copy.remaining) == (lag, reporters, remaining):
            return copy
        return Copy(copy.instance, lag, reporters, remaining, *copy[4:])

    def _ready_by_now(self, copy: Copy) -> bool:
        return (copy.active or copy.placed_in < self._generation) and not self._interval.at_probes

    def _unready(self, task: int, copy: Copy, consumer: int) -> Copy:
        """Nobody knows how fast it restores, so it counts as it was reported, behind by what was written since."""
        whole = self._state.group.tasks[task].end_offset_sum
        since_ms = self._reported_in.get((task, copy.instance), 0)
        grown = 0 if copy.active else self._restoring.written_since(task, since_ms)
        behind = copy._replace(remaining=min(copy.remaining + grown, whole))
        if copy.placed_in == self._generation:
            return self._just_placed(task, behind, consumer, behind.remaining)
        lag = copy.lag if copy.lag == UNKNOWN else behind.remaining
        reporters = copy.reporters if consumer in self._revoking and copy.reporters else (consumer,)
        return behind._replace(lag=lag, reporters=reporters)

    def _just_placed(self, task: int, copy: Copy, consumer: int, remaining: int) -> Copy:
        """A follow-up reads a copy placed in the generation just before.

        A consumer that revokes rejoins before the copy is even created; one that had something withheld has created it
        and restored nothing; any other rejoins a heartbeat later with what it has restored by then.
        """
        if consumer in self._revoking:
            reporters = () if copy.lag is None else (self._first_to_rejoin[copy.instance],)
            return copy._replace(reporters=reporters, remaining=remaining)
        lag = copy.lag
        known = self._restoring.known(copy.instance, copy.remaining) and not self._interval.at_probes
        if consumer not in self._disturbed and known:
            lag = LATEST if copy.active and not remaining else self._reported(task, copy, remaining)
        elif copy.active and consumer not in self._disturbed and not (remaining and self._interval.at_probes):
            lag, remaining = LATEST, 0
        elif lag is None:
            lag = self._state.group.tasks[task].end_offset_sum
        return copy._replace(lag=lag, reporters=(consumer,), remaining=remaining)

    def _remaining_then(self, task: int, copy: Copy) -> int:
        """Return what is left of a copy, of which the restore rate is known, when its consumer rejoins."""
        restoring = self._restoring_at_once if copy.consumer in self._disturbed else self._restoring
        return restoring.remaining(task, copy)

    def _reported(self, task: int, copy: Copy, remaining: int) -> int:
        """Return the lag of a copy: at least what arrives between two polls of its changelog, unless it is active."""
        standing = 0 if copy.active else _standing(self._state.group, self._phases[-1].rates, task)
        return max(min(remaining, self._state.group.end_offset_sums[task]), standing)


def _beginners(copies: Mapping[int, tuple[Copy, ...]], generation: int) -> set[int]:
    """Return the instances of which every copy that has anything to restore was placed just now."""
    restoring = [copy for copy in chain.from_iterable(copies.values()) if copy.consumer is not None and copy.remaining]
    goes_on = {copy.instance for copy in restoring if copy.placed_in < generation}
    return {copy.instance for copy in restoring} - goes_on


def _first_to_rejoin(state: GroupState, revoking: frozenset[int]) -> list[int]:
    """Per instance its consumer that rejoins first and so locks, and reports, all its left-over directories.

    That is one that revokes. Otherwise the threads race, and the first is taken: on the leader's instance it carries
    the timer, elsewhere it won most of the captured races.
    """
    first = [consumers.start for consumers in state.group.consumers_of]
    for consumer in sorted(revoking, reverse=True):
        first[state.group.instance_of[consumer]] = consumer
    return first
