"""Pauses of tasks, from what stops each to what starts it again, as far as they end within a plan's rounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Group, Holding, Holdings, ItemName, Owners, WorkId
from kstream_plan.model.holding_changes import held_by_several
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.replay import replay
from kstream_plan.plans.round_steps import Places, RoundSteps, StatelessChanges
from kstream_plan.plans.rounds import Round, Trigger
from kstream_plan.plans.step_rows import MEMBER_LEFT, REVOKE, Rows
from kstream_plan.plans.steps import InstanceLeaving, InstanceStays, MemberLeft, OfNoSingleTask, StopLearned
from kstream_plan.plans.task_pause_rows import IDLE, RUNNING, PausesTogether, PauseTracker, take_started, type_of_times

if TYPE_CHECKING:
    import numpy as np

#: A tuple of types, not a union: there may be millions of steps.
_OF_SEVERAL_TASKS = (MemberLeft, InstanceLeaving, InstanceStays, StopLearned)


class Outage(NamedTuple):
    """An instance does not run though it is still a member, in milliseconds of the plan's clock."""

    process_id: str
    from_ms: int
    to_ms: int


class Pause(NamedTuple):
    """One pause of a task, in milliseconds of the plan's clock."""

    task_id: WorkId
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """How long it is paused."""
        return self.to_ms - self.from_ms


class PausedRounds(NamedTuple):
    """The rounds from which the pauses of a plan follow; fields as of :func:`pauses_of`."""

    group: Group
    initial: Sequence[Holding]
    rounds: tuple[Round, ...]
    stopping: frozenset[int]
    config: AssignmentConfig
    outages: tuple[Outage, ...]
    heard_at_once: bool
    from_start: bool = False

    @property
    def apart(self) -> bool:
        """Whether pauses of stateless tasks are computed as numbers: they depend only on what the rounds withhold."""
        return isinstance(self.initial, Holdings) and not self.stopping and not self.outages

    @property
    def times(self) -> type[np.int64] | type[object]:
        """The type of numbers that times of the plan fit."""
        return type_of_times(self.rounds[-1].ends_ms if self.rounds else 0)

    def single(self) -> Iterator[Pause]:
        """Yield the pauses that follow from steps, without numbers of stateless tasks, in the order of their ends."""
        pauses = _single(self.group, _pauses_from_steps(self))
        return iter(_merged_pauses(list(pauses), self._in_outages())) if self.outages else pauses

    def pauses_from_steps(self) -> Iterator[PausesTogether]:
        """Yield the same pauses in some order, by place among all tasks."""
        return (
            _with_outages(self.group, _pauses_from_steps(self), self._in_outages())
            if self.outages
            else _pauses_from_steps(self)
        )

    def stateless(self) -> Iterator[PausesTogether]:
        """Yield the pauses of stateless tasks as numbers, by place among these, in the order of their ends."""
        if self.apart and isinstance(self.initial, Holdings):
            return _stateless(self.group, self.initial, self.rounds, self.times, idle=self.idle())
        return iter(())

    def idle(self) -> set[int]:
        """Return the indices of the tasks that are unassigned at first; of a Connect group steps state that."""
        if not self.from_start or self.config.scheduled_rebalance_max_delay_ms is not None:
            return set()
        return set(range(len(self.group.tasks))).difference(*(holding.active for holding in self.initial))

    def _in_outages(self) -> list[Pause]:
        return _in_outages(self.group, self.initial, self.rounds, self.outages)


def _pauses_from_steps(paused_rounds: PausedRounds) -> Iterator[PausesTogether]:
    """Yield the pauses that follow from steps in the order of their ends, without outages."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    group, holdings = paused_rounds.group, paused_rounds.initial
    heartbeat_ms = paused_rounds.config.heartbeat_interval_ms
    stopping = _Stopping(paused_rounds)
    for rnd in paused_rounds.rounds:
        running = stopping.given_up_before(rnd, holdings)
        if running:
            yield from stopping.ended()
            from_ms = np.full(len(running), rnd.at_ms - heartbeat_ms, paused_rounds.times)
            yield PausesTogether(np.array(running), from_ms, rnd.at_ms)
        for at_ms, steps, holdings_then in moments(group, rnd, holdings):
            rows = steps.rows if paused_rounds.apart else steps.every_row
            yield from stopping.follow(at_ms, rows, steps.events, holdings_then)
        holdings = rnd.assigned
    yield from stopping.ended()


def _single(group: Group, grouped_pauses: Iterable[PausesTogether]) -> Iterator[Pause]:
    """Yield the pauses one by one."""
    for places, from_ms, to_ms in grouped_pauses:
        for task, since_ms in zip(places.tolist(), from_ms.tolist(), strict=True):
            yield Pause(group.tasks[task].task_id, since_ms, to_ms)


def moments(
    group: Group, rnd: Round, holdings: Sequence[Holding]
) -> Iterator[tuple[int, RoundSteps, Sequence[Holding]]]:
    """Yield the steps of each time in a round, with the holdings before them."""
    if not rnd.turns:
        yield rnd.at_ms, rnd.steps, holdings
        return
    parts = rnd.moments
    outcomes = replay(group, holdings, [steps for _, steps in parts[:-1]])
    for at_ms, steps in parts[:-1]:
        yield at_ms, steps, holdings
        holdings = next(outcomes).assignment
    yield *parts[-1], holdings


class _Stopping:
    """Tracks, round by round, what stops tasks, and what starts them again."""

    def __init__(self, paused_rounds: PausedRounds) -> None:
        group, stopping = paused_rounds.group, paused_rounds.stopping
        self._group, self._stopping, self._from_start = group, sorted(stopping), paused_rounds.from_start
        self._tracker = PauseTracker(len(group.tasks), len(group.consumer_ids), stopping, paused_rounds.times)
        self._tracker.stop(paused_rounds.idle(), IDLE)
        self._heartbeat_ms = paused_rounds.config.heartbeat_interval_ms
        self._of_workers = paused_rounds.config.scheduled_rebalance_max_delay_ms is not None
        self._heard_at_once = paused_rounds.heard_at_once
        #: Tasks with several owners at first.
        self._several_run = held_by_several(paused_rounds.initial) if self._of_workers else {}
        #: How long before the time of a round the members stopped that leave in it.
        self._unheard_ms = 0
        #: Tasks of a member that left stop once, at the latest with all others before the rebalance. (Plans of
        #: applications count both, and so do those that were saved.)
        self._once = bool(stopping) and any(isinstance(task.task_id, ItemName) for task in group.tasks[:1])

    def given_up_before(self, rnd: Round, holdings: Sequence[Holding]) -> list[int]:
        """Return the tasks whose owners give up everything before a round, given the ``holdings`` then."""
        is_heard = self._heard_at_once or rnd.trigger is Trigger.FOLLOW_UP
        self._unheard_ms = self._heartbeat_ms if self._of_workers and not is_heard else 0
        if not self._stopping:
            return []
        departed_ids = (
            {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)} if self._once else ()
        )
        group, running = self._group, tuple(holdings)
        stops = [
            task
            for consumer in self._stopping
            if group.instances[group.instance_of[consumer]].process_id not in departed_ids  # it has stopped before
            for task in running[consumer].active
        ]
        return list(dict.fromkeys(stops))

    def follow(
        self, at_ms: int, rows: Rows, events: Sequence[OfNoSingleTask], holdings: Sequence[Holding]
    ) -> Iterator[PausesTogether]:
        """Follow the steps of one time, from the ``holdings`` before it; yield pauses that ended, now or before."""
        unheard_ms = self._unheard_ms if self._from_start else 0
        departed_ids, first = set[str](), 0
        for place in (rows["kind"] >= MEMBER_LEFT).nonzero()[0].tolist() if events else ():
            step = events[rows["restore_records"][place]]
            if isinstance(step, _OF_SEVERAL_TASKS):
                self._tracker.add(at_ms, rows[first:place], unheard_ms)
                yield from self._tracker.ended()
                pauses = self._event(step, departed_ids, holdings, at_ms)
                if pauses is not None:
                    yield pauses
                first = place
        self._tracker.add(at_ms, rows[first:], unheard_ms)
        if self._tracker.is_full:
            yield from self._tracker.ended()

    def ended(self) -> Iterator[PausesTogether]:
        """Yield the pauses that ended and were not yielded yet."""
        return self._tracker.ended()

    def _event(
        self, step: OfNoSingleTask, departed_ids: set[str], holdings: Sequence[Holding], at_ms: int
    ) -> PausesTogether | None:
        """Follow an instance that stops, or runs again; return the pauses that this ends."""
        import numpy as np  # noqa: PLC0415 - as above

        if isinstance(step, MemberLeft):
            if step.process_id not in departed_ids:
                since_ms = step.stopped_at_ms - self._unheard_ms
                if self._once:
                    since_ms = min(since_ms, at_ms - self._heartbeat_ms)
                departed_ids.add(step.process_id)
                self._tracker.stop(self._tasks_run_only_by(step.process_id, departed_ids, holdings), since_ms)
        elif isinstance(step, InstanceLeaving) and step.absent_since_ms is not None:
            self._tracker.stop(_run_by(self._group, step.process_id, holdings), step.absent_since_ms)
        elif isinstance(step, InstanceStays):
            tasks = np.array(_run_by(self._group, step.process_id, holdings), np.int64)
            return take_started(self._tracker.since_ms, tasks, at_ms)
        elif isinstance(step, StopLearned):
            # each rebalance takes its time, also one that comes right after another one
            tasks = np.array([self._group.task_index[task_id] for task_id in step.task_ids], np.int64)
            from_ms = np.full(len(tasks), at_ms - self._heartbeat_ms, self._tracker.since_ms.dtype)
            return PausesTogether(tasks, from_ms, at_ms)
        return None

    def _tasks_run_only_by(self, process_id: str, departed_ids: set[str], holdings: Sequence[Holding]) -> list[int]:
        """Return the tasks of a member that no remaining member runs as well."""
        tasks = _run_by(self._group, process_id, holdings)
        if not self._several_run.keys() & tasks:
            return tasks
        present_ids = (
            instance.process_id for instance in self._group.instances if instance.process_id not in departed_ids
        )
        tasks_of_others = {task for present_id in present_ids for task in _run_by(self._group, present_id, holdings)}
        return [task for task in tasks if task not in tasks_of_others]


def _run_by(group: Group, process_id: str, holdings: Sequence[Holding]) -> list[int]:
    consumers = group.consumers_of[group.instance_index[process_id]]
    return [task for consumer in consumers for task in holdings[consumer].active]


def _in_outages(
    group: Group, initial: Sequence[Holding], rounds: Sequence[Round], outages: Sequence[Outage]
) -> list[Pause]:
    """Return the pauses of the tasks that each instance runs when its outage begins."""
    pauses, number = [], 0
    for process_id, from_ms, to_ms in sorted(outages, key=lambda outage: outage.from_ms):
        while number < len(rounds) and rounds[number].ends_ms <= from_ms:
            number += 1
        holdings = rounds[number - 1].assigned if number else initial
        if number < len(rounds):  # in the middle of one, perhaps
            moments_of_round = moments(group, rounds[number], holdings)
            holdings = next((at_moment for at_ms, _, at_moment in moments_of_round if at_ms > from_ms), holdings)
        pauses += [Pause(group.tasks[task].task_id, from_ms, to_ms) for task in _run_by(group, process_id, holdings)]
    return pauses


def _with_outages(
    group: Group, grouped_pauses: Iterable[PausesTogether], in_outages: Sequence[Pause]
) -> Iterator[PausesTogether]:
    """Yield all pauses as :func:`_merged_pauses` does, together where no outage concerns them."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    concerned, single = np.zeros(len(group.tasks), dtype=np.bool_), list[Pause]()
    concerned[[group.task_index[pause.task_id] for pause in in_outages]] = True
    for places, from_ms, to_ms in grouped_pauses:
        is_concerned = concerned[places]
        single += _single(group, [PausesTogether(places[is_concerned], from_ms[is_concerned], to_ms)])
        if not is_concerned.all():
            yield PausesTogether(places[~is_concerned], from_ms[~is_concerned], to_ms)
    for task_id, since_ms, ends_ms in _merged_pauses(single, in_outages):
        yield PausesTogether(np.array([group.task_index[task_id]]), np.array([since_ms]), ends_ms)


def _merged_pauses(pauses: Sequence[Pause], in_outages: Sequence[Pause]) -> tuple[Pause, ...]:
    """Return all pauses in the order of their ends, a task's own as one where an outage touches another one."""
    concerned = {pause.task_id for pause in in_outages}
    merged_pauses = [pause for pause in pauses if pause.task_id not in concerned]
    last_pauses: dict[WorkId, Pause] = {}
    own_pauses = [pause for pause in pauses if pause.task_id in concerned]
    for pause in sorted([*own_pauses, *in_outages], key=lambda pause: pause.from_ms):
        previous = last_pauses.get(pause.task_id)
        if previous is not None and pause.from_ms <= previous.to_ms:
            last_pauses[pause.task_id] = previous._replace(to_ms=max(previous.to_ms, pause.to_ms))
            continue
        if previous is not None:
            merged_pauses.append(previous)
        last_pauses[pause.task_id] = pause
    return tuple(sorted([*merged_pauses, *last_pauses.values()], key=lambda pause: pause.to_ms))


def _stateless(
    group: Group, initial: Holdings, rounds: Sequence[Round], times: type[np.int64] | type[object], *, idle: set[int]
) -> Iterator[PausesTogether]:
    """Yield the pauses of the stateless tasks, where no consumer gives up everything before it joins.

    Each is paused from the round in which it is revoked, or from when its instance has gone, until it starts; those
    in ``idle`` do from the beginning.
    """
    import numpy as np  # noqa: PLC0415 - as above

    owners, since_ms = initial.owners, np.full(len(group.stateless), RUNNING, dtype=times)
    since_ms[[place for place, task in enumerate(group.stateless) if task in idle]] = IDLE
    for rnd in rounds:
        if rnd.stateless is not None:
            for places, stopped_ms in _stateless_stopped(group, owners, rnd, rnd.stateless):
                since_ms[places] = stopped_ms
            ended = take_started(since_ms, rnd.stateless.started_places, rnd.at_ms)
            if ended is not None:
                yield ended
        if isinstance(rnd.assigned, Holdings):
            owners = rnd.assigned.owners


def _stateless_stopped(
    group: Group, owners: Owners, rnd: Round, changes: StatelessChanges
) -> Iterator[tuple[Places | list[int], int]]:
    """Yield which stateless tasks stop, by place, and when: with their instance, with their thread, or revoked.

    ``owners`` are those before the round.
    """
    departed_ids: set[str] = set()
    for step in rnd.steps.events:
        if isinstance(step, MemberLeft) and step.process_id not in departed_ids:
            departed_ids.add(step.process_id)
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            yield ((owners >= consumers.start) & (owners < consumers.stop)).nonzero()[0], step.stopped_at_ms
    for task in rnd.steps.rows["task"][rnd.steps.rows["kind"] == REVOKE].tolist():
        place = bisect_left(group.stateless, task)
        if group.stateless[place : place + 1] == (task,):
            yield [place], rnd.at_ms
    yield changes.withheld_places, rnd.at_ms
