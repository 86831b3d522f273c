"""One group by KIP-441's draft: learners are placed, report that they are ready, and take over in one rebalance.

Source: page ``learner-rules``, "What the leader remembers"; page ``learner-rules``, "What starts a round".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kstream_plan.assignors.threads.split import split
from kstream_plan.designs.learner import disks
from kstream_plan.designs.learner.decision import LearnerDecision, decide
from kstream_plan.designs.learner.memory import Remembered, remembered_of, reported_by
from kstream_plan.designs.learner.reported import LearnerSettings
from kstream_plan.designs.learner.round_steps import learned_tasks, steps_of
from kstream_plan.model import Assignment, Copy, Group, GroupState, Holding, Holdings, Instance, Rates, Target, WorkId
from kstream_plan.model.scenario import Leave
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
    Cause,
    CauseCode,
    HandOver,
    InstanceLeaving,
    InstanceStays,
    MemberLeft,
    Phase,
    Promote,
    Reason,
    ReasonCode,
    Step,
    StopLearned,
    Trigger,
    Verdict,
)
from kstream_plan.plans.design import Ahead, Coordinator, Due, Ending, Lapse, Turn
from kstream_plan.plans.membership import TakingIn, regrouped, taken_in
from kstream_plan.plans.restoring import Span

_SCALE_DOWN, _MEMBERSHIP = Reason(ReasonCode.SCALE_DOWN), Reason(ReasonCode.MEMBERSHIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerTurn(Turn):
    """A round; ``memory`` and the ``copies`` that it changes are as after it; ``next_at_once``: another one follows."""

    memory: Remembered
    copies: Mapping[int, tuple[Copy, ...]]
    next_at_once: bool


class LearnerCoordinator(Coordinator[LearnerTurn]):
    """Coordinates one group by the draft's rules."""

    def __init__(self, config: AssignmentConfig, *, max_learners: int | None, scale_down_timeout_ms: int) -> None:
        """``max_learners``: ``None`` for no limit."""
        self._config = config
        self._max_learners = max_learners
        self._scale_down_timeout_ms = scale_down_timeout_ms
        self._rates = Rates()
        self._previous: tuple[GroupState, Assignment] | None = None
        #: the instances that report other copies than in the round before
        self._reseated: frozenset[int] = frozenset()

    def last(self, state: GroupState) -> LearnerTurn | None:
        """Return the round before the plan, of a group of this kind: what it began goes on."""
        if not isinstance(state.memory, Remembered) or state.memory.guessed:
            return None
        held, at_ms = Holdings.of(state.group, state.holdings), state.at_ms
        return LearnerTurn(
            at_ms=at_ms,
            state=state,
            generation=state.generation,
            decided=held,
            held=held,
            target=Target((), ()),
            queued=sum(len(of.warmup) for of in held.stateful),
            memory=state.memory,
            copies={},
            next_at_once=False,
        )

    def until_now(self, state: GroupState, lapse: Lapse) -> GroupState:
        """Let copies restore that were reported before now."""
        memory = remembered_of(state)
        found = replace(state, memory=memory)
        self._rates = lapse.spans[-1].rates if lapse.spans else self._rates
        if lapse.to_ms == lapse.from_ms:
            return found
        return found.with_copies(disks.restored(found, {}, lapse.spans))

    def take(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> LearnerTurn:
        """Play the round that is due."""
        memory = remembered_of(state)
        state = disks.cleaned(state, at_ms, self._config.state_cleanup_delay_ms)
        if trigger is Trigger.LEARNER_READY:
            state = self._told_ready(state, memory)
        reported = reported_by(state, memory, at_ms)
        decision = decide(reported, memory.by_index(state.group), self._settings())
        ids = [instance.process_id for instance in state.group.instances]
        removed = [ids[instance] for instance in decision.removed]
        after = memory.after(decision.memory, state.group, removed)
        steps = [*members, *_leaving_steps(memory, after)]
        stopped = tuple(learned_tasks(state, state.holdings))
        if stopped:
            steps.append(StopLearned(stopped, Reason(ReasonCode.OWNER_MUST_REVOKE)))
        steps += [MemberLeft(process_id, at_ms, _SCALE_DOWN) for process_id in removed]
        state, instances = _without(state, removed, _instances(state.group, decision), at_ms)
        held = self._split(state, Holdings.of(state.group, instances))
        steps += steps_of(state, tuple(held), decision, self._config.acceptable_recovery_lag)
        return self._turn(state, at_ms, decision, after, instances, held, steps)

    def _split(self, state: GroupState, instances: Holdings) -> Holdings:
        """Split over the consumers what each instance is to hold; where nothing has changed, as in the last round."""
        previous = self._previous if self._previous is not None and self._previous[0].group is state.group else None
        held = split(state, instances, previous, self._reseated)
        nowhere = Target((), ())
        self._previous = state, Assignment(instances=instances, consumers=held, probing_rebalance=False, target=nowhere)
        return held

    def changes_nothing(self, turn: LearnerTurn) -> bool:
        """Tell whether the group would be the same without this round, and nothing is under way."""
        return not turn.steps and not self._goes_on(turn)

    def next(self, turn: LearnerTurn, ahead: Ahead) -> Due | None:
        """Say when the next round comes: standbys at once, a learner when it is ready, the end of a deadline."""
        if turn.next_at_once:
            return Due(turn.at_ms, Trigger.FOLLOW_UP)
        self._rates = ahead(turn.at_ms + 1)[0].rates
        due = [Due(at_ms, Trigger.DEADLINE) for _, at_ms in turn.memory.leaving]
        ready_ms = self._ready_ms(turn, ahead)
        if ready_ms is not None:
            due.append(Due(ready_ms, Trigger.LEARNER_READY))
        return min(due, key=lambda one: (one.at_ms, one.trigger is Trigger.DEADLINE), default=None)

    def later(self, turn: LearnerTurn, lapse: Lapse) -> GroupState:
        """Let copies restore and fall behind."""
        if lapse.idle:
            return turn.state
        state = turn.state
        self._reseated = frozenset({copy.instance for of_task in turn.copies.values() for copy in of_task})
        spans = _without_absent(lapse.spans, state.group, turn.memory)
        after = state.followed_by(
            at_ms=lapse.from_ms,
            holdings=turn.held,
            copies=disks.restored(state, turn.copies, spans),
            revoked={},
        )
        return after.remembering(turn.memory)

    def take_in(self, state: GroupState, taking: TakingIn) -> tuple[GroupState, Sequence[Step]]:
        """Let members come and go; who announces that it leaves, or is a static member, stays one until it is empty."""
        self._config, self._previous = taking.config, None
        memory, change = remembered_of(state), taking.change
        back = [one for one in change.joined if one.instance.process_id in memory.going]
        leaves = isinstance(change.event, Leave)
        announces = isinstance(change.event, Leave) and change.event.announced
        kept = [
            one for one in change.left if announces or (not leaves and _instance(state.group, one.process_id).is_static)
        ]
        memory = memory.without([one.instance.process_id for one in back])
        if announces:
            memory = replace(memory, announced=(*memory.announced, *(one.process_id for one in kept)))
        else:
            memory = replace(memory, absent=(*memory.absent, *((one.process_id, one.stopped_at_ms) for one in kept)))
        change = replace(
            change,
            left=tuple(one for one in change.left if one not in kept),
            joined=tuple(one for one in change.joined if one not in back),
        )
        staying = [of for of in state.group.instances if of.process_id in memory.going]
        members = {of.process_id: of for of in (*staying, *taking.group.instances)}
        group = taking.group
        if len(members) > len(group.instances):
            group = Group.of(group.application_id, list(group.tasks), list(members.values()))
        arrived = {one.instance.process_id for one in change.joined}
        brought = {process_id: disk for process_id, disk in taking.disks.items() if process_id in arrived}
        taking = replace(taking, change=change, group=group, disks=brought)
        found, steps = taken_in(replace(state, memory=memory), taking)
        stays = [InstanceStays(one.instance.process_id, _MEMBERSHIP) for one in back]
        return found, [*stays, *steps]

    def waited_for(self, turn: LearnerTurn) -> tuple[WorkId, ...]:
        """Return the tasks that are being learned, in task order."""
        tasks = sorted(task for task, _ in disks.learners_of(turn.state, turn.held))
        return tuple(turn.state.group.tasks[task].task_id for task in tasks)

    def ended(self, turn: LearnerTurn, verdict: Verdict, _rates: Rates) -> Ending:
        """Say so where learners are left that never catch up."""
        waiting = self._learners(turn.state, turn.held, turn.memory)
        if verdict.kind != "settled" or not self._goes_on(turn) or not waiting:
            return Ending(verdict)
        (task, instance), group = waiting[0], turn.state.group
        what = "what its instance restores grows at least as fast as it is restored"
        ids = group.tasks[task].task_id, group.instances[instance].process_id
        cause = Cause(CauseCode.RESTORE_TOO_SLOW, *ids, what)
        return Ending(Verdict("stuck", self.waited_for(turn), "these tasks are never learned", cause))

    def _settings(self) -> LearnerSettings:
        return LearnerSettings(
            acceptable_recovery_lag=self._config.acceptable_recovery_lag,
            balance_factor=self._config.balance_factor,
            max_learners=self._max_learners,
            num_standby_replicas=self._config.num_standby_replicas,
            scale_down_timeout_ms=self._scale_down_timeout_ms,
        )

    def _turn(
        self,
        state: GroupState,
        at_ms: int,
        decision: LearnerDecision,
        memory: Remembered,
        instances: Sequence[Holding],
        held: Holdings,
        steps: Sequence[Step],
    ) -> LearnerTurn:
        turn = LearnerTurn(
            at_ms=at_ms,
            state=state,
            generation=state.generation + 1,
            decided=held,
            held=held,
            target=_target(state.group, instances),
            steps=tuple(steps),
            decided_of=instances,
            queued=sum(len(of.warmup) for of in instances),
            memory=memory,
            copies=disks.seated(state, held, at_ms),
            next_at_once=decision.next_at_once,
        )
        return replace(turn, phases=self._phases(turn))

    def _phases(self, turn: LearnerTurn) -> tuple[Phase, ...]:
        starts = any(isinstance(step, HandOver | Promote) for step in turn.steps)
        of = (Phase.WARM_UP, turn.queued), (Phase.CUT_OVER, starts), (Phase.SETTLED, not self._goes_on(turn))
        return tuple(phase for phase, holds in of if holds)

    def _goes_on(self, turn: LearnerTurn) -> bool:
        return bool(turn.next_at_once or turn.queued or turn.memory.leaving)

    def _learners(self, state: GroupState, held: Holdings, memory: Remembered) -> list[disks.Seat]:
        """Return the learners of instances that run, as (task, instance), by instance."""
        absent = {state.group.instance_index[of] for of, _ in memory.absent}
        found = sorted([(instance, task) for task, instance in disks.learners_of(state, held)])
        return [(task, instance) for instance, task in found if instance not in absent]

    def _told_ready(self, state: GroupState, memory: Remembered) -> GroupState:
        """Let the first learner be ready of which nobody knows when it is, unless one is."""
        limit = self._config.acceptable_recovery_lag
        learners = self._learners(state, Holdings.of(state.group, state.holdings), memory)
        unrated = [seat for seat in learners if not self._rated(state.group, seat)]
        if not unrated:
            return state
        lags = {(task, copy.instance): copy.remaining for task, _ in learners for copy in state.copies[task]}
        if any(lags.get(seat, 0) <= limit for seat in learners):
            return state
        return disks.told_ready(state, unrated[0])

    def _rated(self, group: Group, seat: disks.Seat) -> bool:
        return self._rates.restore_rate(seat[1]) is not None and group.tasks[seat[0]].end_offset_known

    def _ready_ms(self, turn: LearnerTurn, ahead: Ahead) -> int | None:
        learners = self._learners(turn.state, turn.held, turn.memory)
        if not learners:
            return None
        limit = self._config.acceptable_recovery_lag
        if not all(self._rated(turn.state.group, seat) for seat in learners):
            return turn.at_ms
        learned = {task for task, _ in learners}
        restoring = {
            task: of_task
            for task, of_task in disks.unsettled(turn.state, turn.copies)
            if task in learned or any(copy.remaining for copy in of_task)
        }

        def ahead_of_those_that_run(to_ms: int) -> Sequence[Span]:
            return _without_absent(ahead(to_ms), turn.state.group, turn.memory)

        return disks.next_ready_ms(turn.state.group, restoring, learners, limit, turn.at_ms, ahead_of_those_that_run)


def _leaving_steps(before: Remembered, after: Remembered) -> list[Step]:
    known, absent = dict(before.leaving), dict(before.absent)
    return [
        InstanceLeaving(process_id, at_ms, absent.get(process_id), _SCALE_DOWN)
        for process_id, at_ms in after.leaving
        if known.get(process_id) != at_ms
    ]


def _instances(group: Group, decision: LearnerDecision) -> list[Holding]:
    """Return what each instance is to hold, tasks in order."""
    number = len(group.instances)
    standby: list[list[int]] = [[] for _ in range(number)]
    for task, standbys in enumerate(decision.standbys) if any(decision.standbys) else ():
        for instance in standbys:
            standby[instance].append(task)
    roles = _of_each(decision.owner, number), map(tuple, standby), _of_each(decision.learner, number)
    return list(map(Holding, *roles))


def _of_each(instances: Sequence[int], number: int) -> list[tuple[int, ...]]:
    """Return the tasks of each instance, in order, from the instance of each task."""
    of_tasks = np.asarray(instances, dtype=np.int64)
    in_order = of_tasks.argsort(kind="stable")
    ends = of_tasks[in_order].searchsorted(range(number + 1)).tolist()
    tasks = in_order.tolist()
    return [tuple(tasks[start:end]) for start, end in pairwise(ends)]


def _target(group: Group, instances: Sequence[Holding]) -> Target:
    """Return who runs which stateful task once all learners have taken over."""
    learner = {task: instance for instance, held in enumerate(instances) for task in held.warmup}
    apart = learner.keys() | set(group.stateless)
    active = [[task for task in held.active if task not in apart] for held in instances]
    for task, instance in learner.items():
        active[instance].append(task)
    return Target(tuple(tuple(sorted(of)) for of in active), tuple(held.standby for held in instances))


def _without(
    state: GroupState, removed: Sequence[str], instances: list[Holding], at_ms: int
) -> tuple[GroupState, list[Holding]]:
    """Return the group, and what its instances are to hold, without those that have gone with this round."""
    if not removed:
        return state, instances
    old, gone = state.group, frozenset(removed)
    stay = [place for place, instance in enumerate(old.instances) if instance.process_id not in gone]
    group = Group.of(old.application_id, list(old.tasks), [old.instances[place] for place in stay])
    smaller = regrouped(state, group, gone, {}, at_ms, lambda _task, _from_ms, _to_ms: 0)
    return smaller, [instances[place] for place in stay]


def _instance(group: Group, process_id: str) -> Instance:
    return group.instances[group.instance_index[process_id]]


def _without_absent(spans: Sequence[Span], group: Group, memory: Remembered) -> Sequence[Span]:
    """Let those stand still that have not come back."""
    absent = frozenset(group.instance_index[of] for of, _ in memory.absent if of in group.instance_index)
    return [span._replace(stopped=span.stopped | absent) for span in spans] if absent else spans
