"""What stops a task, and what starts it again: each of the standstills that end within a plan's rounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Group, Holding, Holdings, ItemName, Owners, WorkId
from kstream_plan.model.holding_changes import held_by_several
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.replay import replay
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.rounds import Round, Trigger
from kstream_plan.plans.standstill_rows import IDLE, RUNNING, PausesTogether, Stopped, take_started, type_of_times
from kstream_plan.plans.stateless_steps import Places, StatelessChanges
from kstream_plan.plans.step_rows import MEMBER_LEFT, REVOKE, Rows
from kstream_plan.plans.steps import InstanceLeaving, InstanceStays, MemberLeft, OfNoSingleTask, StopLearned

if TYPE_CHECKING:
    import numpy as np

#: A tuple of types, not a union: there may be millions of steps.
_OF_SEVERAL_TASKS = (MemberLeft, InstanceLeaving, InstanceStays, StopLearned)


class Outage(NamedTuple):
    """An instance does not run, in milliseconds of the plan's clock, though the group counts it in."""

    process_id: str
    from_ms: int
    to_ms: int


class Pause(NamedTuple):
    """One standstill of a task, in milliseconds of the plan's clock."""

    task_id: WorkId
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """How long it stands still."""
        return self.to_ms - self.from_ms


class PausedRounds(NamedTuple):
    """What the pauses of a plan follow from; fields as of :func:`pauses_of`."""

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
        """Whether those of stateless tasks are found as numbers: they hang on nothing but what the rounds withhold."""
        return isinstance(self.initial, Holdings) and not self.stopping and not self.outages

    @property
    def times(self) -> type[np.int64] | type[object]:
        """The type of numbers that times of the plan fit."""
        return type_of_times(self.rounds[-1].ends_ms if self.rounds else 0)

    def single(self) -> Iterator[Pause]:
        """Yield those that the steps tell, without numbers of stateless tasks, in the order of their ends."""
        found = _single(self.group, _told(self))
        return iter(_joined(list(found), self._in_outages())) if self.outages else found

    def told(self) -> Iterator[PausesTogether]:
        """Yield the same ones in some order, by place among all tasks."""
        return _with_outages(self.group, _told(self), self._in_outages()) if self.outages else _told(self)

    def stateless(self) -> Iterator[PausesTogether]:
        """Yield those that are numbers, by place among the stateless tasks, in the order of their ends."""
        if self.apart and isinstance(self.initial, Holdings):
            return _stateless(self.group, self.initial, self.rounds, self.times, idle=self.idle())
        return iter(())

    def idle(self) -> set[int]:
        """Return the indices of the tasks that nobody runs when the plan begins; of a Connect group steps tell that."""
        if not self.from_start or self.config.scheduled_rebalance_max_delay_ms is not None:
            return set()
        return set(range(len(self.group.tasks))).difference(*(held.active for held in self.initial))

    def _in_outages(self) -> list[Pause]:
        return _in_outages(self.group, self.initial, self.rounds, self.outages)


def _told(of: PausedRounds) -> Iterator[PausesTogether]:
    """Yield the pauses that the steps tell in the order of their ends, outages apart."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    group, held, heartbeat_ms = of.group, of.initial, of.config.heartbeat_interval_ms
    stopping = _Stopping(of)
    for rnd in of.rounds:
        running = stopping.before(rnd, held)
        if running:
            yield from stopping.ended()
            from_ms = np.full(len(running), rnd.at_ms - heartbeat_ms, of.times)
            yield PausesTogether(np.array(running), from_ms, rnd.at_ms)
        for at_ms, steps, held_then in moments(group, rnd, held):
            rows = steps.rows if of.apart else steps.every_row
            yield from stopping.until(at_ms, rows, steps.events, held_then)
        held = rnd.assigned
    yield from stopping.ended()


def _single(group: Group, found: Iterable[PausesTogether]) -> Iterator[Pause]:
    """Yield the pauses one by one."""
    for places, from_ms, to_ms in found:
        for task, since_ms in zip(places.tolist(), from_ms.tolist(), strict=True):
            yield Pause(group.tasks[task].task_id, since_ms, to_ms)


def moments(group: Group, rnd: Round, held: Sequence[Holding]) -> Iterator[tuple[int, RoundSteps, Sequence[Holding]]]:
    """Yield the steps of each time in a round, with what was held before them."""
    if not rnd.turns:
        yield rnd.at_ms, rnd.steps, held
        return
    parts = rnd.moments
    outcomes = replay(group, held, [steps for _, steps in parts[:-1]])
    for at_ms, steps in parts[:-1]:
        yield at_ms, steps, held
        held = next(outcomes).assigned
    yield *parts[-1], held


class _Stopping:
    """Follows, round by round, what stops tasks, and what starts them again."""

    def __init__(self, of: PausedRounds) -> None:
        self._group, self._stopping, self._from_start = of.group, sorted(of.stopping), of.from_start
        self._stopped = Stopped(len(of.group.tasks), len(of.group.consumer_ids), of.stopping, of.times)
        self._stopped.stop(of.idle(), IDLE)
        self._heartbeat_ms = of.config.heartbeat_interval_ms
        self._of_workers = of.config.scheduled_rebalance_max_delay_ms is not None
        self._heard_at_once = of.heard_at_once
        #: What several run at first.
        self._several_run = held_by_several(of.initial) if self._of_workers else {}
        #: How long before the time of a round its members stopped that are told to have gone then.
        self._unheard_ms = 0
        #: What a member ran that has gone stops once, at the latest with all others before the rebalance. (Plans of
        #: applications count both, and so do those that were saved.)
        self._once = bool(of.stopping) and any(isinstance(task.task_id, ItemName) for task in of.group.tasks[:1])

    def before(self, rnd: Round, held: Sequence[Holding]) -> list[int]:
        """Return the tasks whose owners give up everything before a round, ``held`` being what is held then."""
        heard = self._heard_at_once or rnd.trigger is Trigger.FOLLOW_UP
        self._unheard_ms = self._heartbeat_ms if self._of_workers and not heard else 0
        if not self._stopping:
            return []
        gone = {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)} if self._once else ()
        group, running = self._group, tuple(held)
        stops = [
            task
            for consumer in self._stopping
            if group.instances[group.instance_of[consumer]].process_id not in gone  # it has stopped before
            for task in running[consumer].active
        ]
        return list(dict.fromkeys(stops))

    def until(
        self, at_ms: int, rows: Rows, events: Sequence[OfNoSingleTask], held: Sequence[Holding]
    ) -> Iterator[PausesTogether]:
        """Take the steps of one time, before which this was ``held``; yield pauses that ended, now or before."""
        unheard_ms = self._unheard_ms if self._from_start else 0
        gone, done = set[str](), 0
        for place in (rows["kind"] >= MEMBER_LEFT).nonzero()[0].tolist() if events else ():
            step = events[rows["restore_records"][place]]
            if isinstance(step, _OF_SEVERAL_TASKS):
                self._stopped.add(at_ms, rows[done:place], unheard_ms)
                yield from self._stopped.ended()
                together = self._event(step, gone, held, at_ms)
                if together is not None:
                    yield together
                done = place
        self._stopped.add(at_ms, rows[done:], unheard_ms)
        if self._stopped.is_full:
            yield from self._stopped.ended()

    def ended(self) -> Iterator[PausesTogether]:
        """Yield the pauses that ended, of those that were not yielded yet."""
        return self._stopped.ended()

    def _event(
        self, step: OfNoSingleTask, gone: set[str], held: Sequence[Holding], at_ms: int
    ) -> PausesTogether | None:
        """Take in what an instance no longer runs, or runs again; return the pauses that this ends."""
        import numpy as np  # noqa: PLC0415 - as above

        if isinstance(step, MemberLeft):
            if step.process_id not in gone:
                since_ms = step.stopped_at_ms - self._unheard_ms
                if self._once:
                    since_ms = min(since_ms, at_ms - self._heartbeat_ms)
                gone.add(step.process_id)
                self._stopped.stop(self._run_by_nobody_else(step.process_id, gone, held), since_ms)
        elif isinstance(step, InstanceLeaving) and step.absent_since_ms is not None:
            self._stopped.stop(_run_by(self._group, step.process_id, held), step.absent_since_ms)
        elif isinstance(step, InstanceStays):
            tasks = np.array(_run_by(self._group, step.process_id, held), np.int64)
            return take_started(self._stopped.since_ms, tasks, at_ms)
        elif isinstance(step, StopLearned):
            # each rebalance takes its time, also one that comes right after another one
            tasks = np.array([self._group.task_index[task_id] for task_id in step.task_ids], np.int64)
            from_ms = np.full(len(tasks), at_ms - self._heartbeat_ms, self._stopped.since_ms.dtype)
            return PausesTogether(tasks, from_ms, at_ms)
        return None

    def _run_by_nobody_else(self, process_id: str, gone: set[str], held: Sequence[Holding]) -> list[int]:
        """Return what a member runs, without what others run as well that are still there."""
        found = _run_by(self._group, process_id, held)
        if not self._several_run.keys() & found:
            return found
        there = (instance.process_id for instance in self._group.instances if instance.process_id not in gone)
        others = {task for one in there for task in _run_by(self._group, one, held)}
        return [task for task in found if task not in others]


def _run_by(group: Group, process_id: str, held: Sequence[Holding]) -> list[int]:
    consumers = group.consumers_of[group.instance_index[process_id]]
    return [task for consumer in consumers for task in held[consumer].active]


def _in_outages(
    group: Group, initial: Sequence[Holding], rounds: Sequence[Round], outages: Sequence[Outage]
) -> list[Pause]:
    """Return the standstills of what each instance runs when its outage begins."""
    found, decided = [], 0
    for process_id, from_ms, to_ms in sorted(outages, key=lambda one: one.from_ms):
        while decided < len(rounds) and rounds[decided].ends_ms <= from_ms:
            decided += 1
        held = rounds[decided - 1].assigned if decided else initial
        if decided < len(rounds):  # in the middle of one, perhaps
            held = next((then for at, _, then in moments(group, rounds[decided], held) if at > from_ms), held)
        found += [Pause(group.tasks[task].task_id, from_ms, to_ms) for task in _run_by(group, process_id, held)]
    return found


def _with_outages(
    group: Group, found: Iterable[PausesTogether], in_outages: Sequence[Pause]
) -> Iterator[PausesTogether]:
    """Yield all pauses as :func:`_joined` does, together where no outage concerns them."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    concerned, single = np.zeros(len(group.tasks), dtype=np.bool_), list[Pause]()
    concerned[[group.task_index[pause.task_id] for pause in in_outages]] = True
    for places, from_ms, to_ms in found:
        of = concerned[places]
        single += _single(group, [PausesTogether(places[of], from_ms[of], to_ms)])
        if not of.all():
            yield PausesTogether(places[~of], from_ms[~of], to_ms)
    for task_id, since_ms, ends_ms in _joined(single, in_outages):
        yield PausesTogether(np.array([group.task_index[task_id]]), np.array([since_ms]), ends_ms)


def _joined(found: Sequence[Pause], in_outages: Sequence[Pause]) -> tuple[Pause, ...]:
    """Return all pauses in the order of their ends, a task's own as one where an outage touches another one."""
    concerned = {pause.task_id for pause in in_outages}
    joined = [pause for pause in found if pause.task_id not in concerned]
    last: dict[WorkId, Pause] = {}
    own = [pause for pause in found if pause.task_id in concerned]
    for pause in sorted([*own, *in_outages], key=lambda one: one.from_ms):
        before = last.get(pause.task_id)
        if before is not None and pause.from_ms <= before.to_ms:
            last[pause.task_id] = before._replace(to_ms=max(before.to_ms, pause.to_ms))
            continue
        if before is not None:
            joined.append(before)
        last[pause.task_id] = pause
    return tuple(sorted([*joined, *last.values()], key=lambda one: one.to_ms))


def _stateless(
    group: Group, initial: Holdings, rounds: Sequence[Round], times: type[np.int64] | type[object], *, idle: set[int]
) -> Iterator[PausesTogether]:
    """Yield the pauses of the stateless tasks, where no consumer gives up everything before it joins.

    Each stands still from the round in which it is revoked, or from when its instance has gone, until it starts; those
    in ``idle`` do from the beginning.
    """
    import numpy as np  # noqa: PLC0415 - as above

    owners, since = initial.owners, np.full(len(group.stateless), RUNNING, dtype=times)
    since[[place for place, task in enumerate(group.stateless) if task in idle]] = IDLE
    for rnd in rounds:
        if rnd.stateless is not None:
            for places, stopped_ms in _stateless_stopped(group, owners, rnd, rnd.stateless):
                since[places] = stopped_ms
            ended = take_started(since, rnd.stateless.started, rnd.at_ms)
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
    gone: set[str] = set()
    for step in rnd.steps.events:
        if isinstance(step, MemberLeft) and step.process_id not in gone:
            gone.add(step.process_id)
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            yield ((owners >= consumers.start) & (owners < consumers.stop)).nonzero()[0], step.stopped_at_ms
    for task in rnd.steps.rows["task"][rnd.steps.rows["kind"] == REVOKE].tolist():
        place = bisect_left(group.stateless, task)
        if group.stateless[place : place + 1] == (task,):
            yield [place], rnd.at_ms
    yield changes.withheld, rnd.at_ms
