"""What stops a task, and what starts it again: each of the standstills that end within a plan's rounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from typing import NamedTuple, cast

from kstream_plan.model import Group, Holding, Holdings, ItemName, Owners, WorkId
from kstream_plan.model.holding_changes import held_by_several
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.replay import replay
from kstream_plan.plans.rounds import Round, Trigger
from kstream_plan.plans.seats import Role
from kstream_plan.plans.standstill_rows import IDLE, MOST_MS, RUNNING, PausesTogether, SinceByTask, take_started
from kstream_plan.plans.stateless_steps import Places, StatelessChanges, has_rows, single_steps
from kstream_plan.plans.step_rows import StepRows
from kstream_plan.plans.steps import (
    Demote,
    HandOver,
    InstanceLeaving,
    InstanceStays,
    MemberLeft,
    Promote,
    Revoke,
    Step,
    StopLearned,
    ThreadMove,
)

#: Tuples of types, not unions, and no match: there may be millions of steps.
_ENDS = (Revoke, Demote)
_STARTS = (HandOver, Promote)
_OF_SEVERAL_TASKS = (MemberLeft, InstanceLeaving, InstanceStays, StopLearned)
#: Who gives up for these reasons has stopped before, or goes on until the other one starts, or nobody is to run it.
_AT_ONCE = (ReasonCode.LEARNED, ReasonCode.MOVES_AT_ONCE, ReasonCode.NOT_CONFIGURED)


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
    def in_rows(self) -> bool:
        """Whether those of stateful tasks are numbers where the steps of a round are rows."""
        in_rows = not self.stopping and any(has_rows(rnd.steps) for rnd in self.rounds)
        return in_rows and self.rounds[-1].at_ms <= MOST_MS

    def single(self) -> Iterator[Pause]:
        """Yield those that the steps tell, without numbers of stateless tasks, in the order of their ends."""
        found = _single(self.group, _told(self)) if self.in_rows else cast(Iterator[Pause], _told(self))
        return iter(_joined(list(found), self._in_outages())) if self.outages else found

    def told(self) -> Iterator[Pause | PausesTogether]:
        """Yield the same ones in some order, together where steps are rows: by place among all tasks."""
        return _with_outages(self.group, _told(self), self._in_outages()) if self.outages else _told(self)

    def stateless(self) -> Iterator[PausesTogether]:
        """Yield those that are numbers, by place among the stateless tasks, in the order of their ends."""
        if self.apart and isinstance(self.initial, Holdings):
            return _stateless(self.group, self.initial, self.rounds, idle=self.idle())
        return iter(())

    def idle(self) -> set[int]:
        """Return the indices of the tasks that nobody runs when the plan begins; of a Connect group steps tell that."""
        if not self.from_start or self.config.scheduled_rebalance_max_delay_ms is not None:
            return set()
        return set(range(len(self.group.tasks))).difference(*(held.active for held in self.initial))

    def _in_outages(self) -> list[Pause]:
        return _in_outages(self.group, self.initial, self.rounds, self.outages)


def _told(of: PausedRounds) -> Iterator[Pause | PausesTogether]:
    """Yield the pauses that the steps tell in the order of their ends, outages apart."""
    group, stopping, heartbeat_ms = of.group, of.stopping, of.config.heartbeat_interval_ms
    of_workers = of.config.scheduled_rebalance_max_delay_ms is not None
    several = held_by_several(of.initial) if of_workers else ()
    since: MutableMapping[WorkId, int] = SinceByTask(group) if of.in_rows else {}
    since.update((group.tasks[task].task_id, IDLE) for task in of.idle())
    apart, held, stopped = (
        of.apart,
        of.initial,
        _Stopped(group, since, stopping, heartbeat_ms, several, from_start=of.from_start),
    )
    for rnd in of.rounds:
        follows = rnd.trigger is Trigger.FOLLOW_UP
        stopped.unheard_ms = heartbeat_ms if of_workers and not (of.heard_at_once or follows) else 0
        stopped_ms = rnd.at_ms - heartbeat_ms
        running = tuple(held) if stopping else ()
        gone = {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)} if stopped.once else ()
        stops = [
            task
            for consumer in sorted(stopping)
            if group.instances[group.instance_of[consumer]].process_id not in gone  # it has stopped before
            for task in running[consumer].active
        ]
        for task in dict.fromkeys(stops):
            yield Pause(group.tasks[task].task_id, stopped_ms, rnd.at_ms)
        for at_ms, all_steps, held_then in moments(group, rnd, held):
            steps = single_steps(all_steps) if apart else all_steps
            if isinstance(since, SinceByTask) and isinstance(steps, StepRows):
                yield from stopped.until(at_ms, steps.members, held_then)
                together = since.until(at_ms, steps)
                if together is not None:
                    yield together
            else:
                yield from stopped.until(at_ms, steps, held_then)
        held = rnd.assigned


def _single(group: Group, found: Iterable[Pause | PausesTogether]) -> Iterator[Pause]:
    """Yield the pauses one by one."""
    for one in found:
        if isinstance(one, Pause):
            yield one
        else:
            for task, from_ms in zip(one.places.tolist(), one.from_ms.tolist(), strict=True):
                yield Pause(group.tasks[task].task_id, from_ms, one.to_ms)


def moments(
    group: Group, rnd: Round, held: Sequence[Holding]
) -> Iterator[tuple[int, Sequence[Step], Sequence[Holding]]]:
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


class _Stopped:
    """Follows, round by round, since when each task stands still."""

    def __init__(
        self,
        group: Group,
        since: MutableMapping[WorkId, int],
        stopping: Collection[int],
        heartbeat_interval_ms: int,
        several: Iterable[int],
        *,
        from_start: bool,
    ) -> None:
        self._group = group
        #: What several run at first.
        self._several_run = {group.tasks[task].task_id for task in several}
        self._heartbeat_ms = heartbeat_interval_ms
        self._since = since
        #: How long before the time of a round its members stopped that are told to have gone then.
        self.unheard_ms = 0
        self._from_start = from_start
        #: What a member ran that has gone stops once, at the latest with all others before the rebalance. (Plans of
        #: applications count both, and so do those that were saved.)
        self.once = bool(stopping) and any(isinstance(task.task_id, ItemName) for task in group.tasks[:1])
        self._stop_before = {
            (group.instances[group.instance_of[c]].process_id, group.consumer_ids[c]) for c in stopping
        }

    @property
    def _until_heard_ms(self) -> int:
        """How long tasks that are unassigned when the plan begins wait until members hear of its first round."""
        return self.unheard_ms if self._from_start else 0

    def until(self, at_ms: int, steps: Sequence[Step], held: Sequence[Holding]) -> list[Pause]:
        """Take the steps of one time, before which this was ``held``; return the pauses that they end."""
        since, ended = self._since, list[Pause]()
        gone: set[str] = set()
        for step in steps:
            if isinstance(step, _ENDS):
                if step.reason.code in _AT_ONCE:
                    continue
                if not self._stop_before or step.from_[:2] not in self._stop_before:
                    since[step.task_id] = at_ms
            elif isinstance(step, _STARTS) or (isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE):
                from_ms = since.pop(step.task_id, None)
                if from_ms == IDLE:
                    from_ms = 0 if at_ms > 0 else None
                if step.reason.code is ReasonCode.STOOD_STILL and (at_ms > 0 or self._until_heard_ms):
                    from_ms = min(0, at_ms - self._until_heard_ms)  # longer, in truth: since when is unknown
                if from_ms is not None:
                    ended.append(Pause(step.task_id, from_ms, at_ms))
            elif isinstance(step, _OF_SEVERAL_TASKS):
                ended += self._several(step, gone, held, at_ms)
        return ended

    def _several(self, step: Step, gone: set[str], held: Sequence[Holding], at_ms: int) -> Iterator[Pause]:
        """Take in what an instance no longer runs, or runs again; yield the pauses that this ends."""
        if isinstance(step, MemberLeft):
            if step.process_id not in gone:
                since_ms = step.stopped_at_ms - self.unheard_ms
                if self.once:
                    since_ms = min(since_ms, at_ms - self._heartbeat_ms)
                gone.add(step.process_id)
                self._stop(self._run_by_nobody_else(step.process_id, gone, held), since_ms)
        elif isinstance(step, InstanceLeaving) and step.absent_since_ms is not None:
            self._stop(_run_by(self._group, step.process_id, held), step.absent_since_ms)
        elif isinstance(step, InstanceStays):
            for task_id in _run_by(self._group, step.process_id, held):
                if task_id in self._since:
                    yield Pause(task_id, self._since.pop(task_id), at_ms)
        elif isinstance(step, StopLearned):
            # each rebalance takes its time, also one that comes right after another one
            yield from (Pause(task_id, at_ms - self._heartbeat_ms, at_ms) for task_id in step.task_ids)

    def _run_by_nobody_else(self, process_id: str, gone: set[str], held: Sequence[Holding]) -> list[WorkId]:
        """Return what a member runs, without what others run as well that are still there."""
        found = _run_by(self._group, process_id, held)
        if not self._several_run.intersection(found):
            return found
        there = (instance.process_id for instance in self._group.instances if instance.process_id not in gone)
        others = {task_id for one in there for task_id in _run_by(self._group, one, held)}
        return [task_id for task_id in found if task_id not in others]

    def _stop(self, task_ids: Iterable[WorkId], since_ms: int) -> None:
        """Let tasks stand still that do not yet."""
        for task_id in task_ids:
            self._since.setdefault(task_id, since_ms)


def _run_by(group: Group, process_id: str, held: Sequence[Holding]) -> list[WorkId]:
    consumers = group.consumers_of[group.instance_index[process_id]]
    return [group.tasks[task].task_id for consumer in consumers for task in held[consumer].active]


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
        found += [Pause(task_id, from_ms, to_ms) for task_id in _run_by(group, process_id, held)]
    return found


def _with_outages(
    group: Group, found: Iterable[Pause | PausesTogether], in_outages: Sequence[Pause]
) -> Iterator[Pause | PausesTogether]:
    """Yield all pauses as :func:`_joined` does, together where no outage concerns them."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    concerned, single = np.zeros(len(group.tasks), dtype=np.bool_), list[Pause]()
    concerned[[group.task_index[pause.task_id] for pause in in_outages]] = True
    for one in found:
        if isinstance(one, Pause):
            single.append(one)
            continue
        places, from_ms, to_ms = one
        of = concerned[places]
        single += _single(group, [PausesTogether(places[of], from_ms[of], to_ms)])
        if not of.all():
            yield PausesTogether(places[~of], from_ms[~of], to_ms)
    yield from _joined(single, in_outages)


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


def _stateless(group: Group, initial: Holdings, rounds: Sequence[Round], *, idle: set[int]) -> Iterator[PausesTogether]:
    """Yield the pauses of the stateless tasks, where no consumer gives up everything before it joins.

    Each stands still from the round in which it is revoked, or from when its instance has gone, until it starts; those
    in ``idle`` do from the beginning.
    """
    owners, since = initial.owners, initial.owners.astype("int64")
    since.fill(RUNNING)
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
    for step in rnd.steps_apart:
        if isinstance(step, MemberLeft) and step.process_id not in gone:
            gone.add(step.process_id)
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            yield ((owners >= consumers.start) & (owners < consumers.stop)).nonzero()[0], step.stopped_at_ms
        elif isinstance(step, Revoke):
            place = bisect_left(group.stateless, task := group.task_index[step.task_id])
            if group.stateless[place : place + 1] == (task,):
                yield [place], rnd.at_ms
    yield changes.withheld, rnd.at_ms
