"""One group by KIP-441's draft: learners are placed, report that they are ready, and take over in one rebalance.

Source: page ``learner-rules``, "What the leader remembers"; page ``learner-rules``, "What starts a round".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kstream_plan.assignors.threads import split
from kstream_plan.designs.learner import disks
from kstream_plan.designs.learner.decision import LearnerDecision, decide
from kstream_plan.designs.learner.memory import LearnerMemory, memory_of, reported_by
from kstream_plan.designs.learner.reported import LearnerSettings
from kstream_plan.designs.learner.roles import Roles, RoundAssignment
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
from kstream_plan.plans.design import Ahead, Conclusion, Coordinator, Interval, NextRebalance, Rebalance
from kstream_plan.plans.membership import MembershipChange, regrouped, taken_in
from kstream_plan.plans.restoring import Span

_SCALE_DOWN, _MEMBERSHIP = Reason(ReasonCode.SCALE_DOWN), Reason(ReasonCode.MEMBERSHIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerRebalance(Rebalance):
    """A round; ``memory`` and the ``copies`` that it changes are as after it; ``next_at_once``: another one follows."""

    memory: LearnerMemory
    copies: Mapping[int, tuple[Copy, ...]]
    next_at_once: bool


class _Last(NamedTuple):
    """What the round before gave a group, and what everybody holds from then on."""

    group: Group
    round_assignment: RoundAssignment
    holdings: Holdings
    roles: Roles


class LearnerCoordinator(Coordinator[LearnerRebalance]):
    """Coordinates one group by the draft's rules."""

    def __init__(self, config: AssignmentConfig, *, max_learners: int | None, scale_down_timeout_ms: int) -> None:
        """``max_learners``: ``None`` for no limit."""
        self._config = config
        self._max_learners = max_learners
        self._scale_down_timeout_ms = scale_down_timeout_ms
        self._rates = Rates()
        self._previous: tuple[GroupState, Assignment] | None = None
        self._last: _Last | None = None
        #: the instances that report other copies than in the round before
        self._reseated: frozenset[int] = frozenset()

    def resume(self, state: GroupState) -> LearnerRebalance | None:
        """Return the round before the plan, of a group of this kind: its learners go on."""
        if not isinstance(state.memory, LearnerMemory) or state.memory.guessed:
            return None
        holdings, at_ms = Holdings.of(state.group, state.holdings), state.at_ms
        return LearnerRebalance(
            at_ms=at_ms,
            state=state,
            generation=state.generation,
            decided=holdings,
            held=holdings,
            target=Target((), ()),
            queued=sum(len(holding.warmup) for holding in holdings.stateful),
            memory=state.memory,
            copies={},
            next_at_once=False,
        )

    def advance_to_now(self, state: GroupState, interval: Interval) -> GroupState:
        """Let copies restore that were reported before now."""
        memory = memory_of(state)
        next_state = replace(state, memory=memory)
        self._rates = interval.spans[-1].rates if interval.spans else self._rates
        if interval.to_ms == interval.from_ms:
            return next_state
        copies, unprocessed_input = disks.restore_copies(next_state, {}, interval.spans)
        return replace(next_state.with_copies(copies), waiting=unprocessed_input)

    def rebalance(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> LearnerRebalance:
        """Simulate the round that is due."""
        memory = memory_of(state)
        state = disks.delete_expired(state, at_ms, self._config.state_cleanup_delay_ms)
        roles = self._roles(state.group, state.holdings)
        if trigger is Trigger.LEARNER_READY:
            state = self._mark_ready(state, roles, memory)
        reported = reported_by(state, roles, memory, at_ms)
        decision = decide(reported, memory.by_index(state.group), self._settings())
        ids = [instance.process_id for instance in state.group.instances]
        # a new leader never saw absent members: they are gone, too, though it has not removed them
        removed = [ids[instance] for instance in sorted(reported.members - decision.memory.last_members)]
        next_memory = memory.after_round(decision.memory, state.group, removed)
        steps = [*members, *_leaving_steps(memory, next_memory)]
        stopped_tasks = learned_tasks(state.group, roles)
        if stopped_tasks:
            steps.append(StopLearned(stopped_tasks, Reason(ReasonCode.OWNER_MUST_REVOKE)))
        steps += [MemberLeft(process_id, at_ms, _SCALE_DOWN) for process_id in removed]
        next_state, instances, target, holdings = self._divided(state, roles, decision, removed, at_ms)
        steps += steps_of(next_state, tuple(holdings), decision, self._config.acceptable_recovery_lag)
        rebalance = LearnerRebalance(
            at_ms=at_ms,
            state=next_state,
            generation=next_state.generation + 1,
            decided=holdings,
            held=holdings,
            target=target,
            steps=tuple(steps),
            decided_of=instances,
            queued=sum(len(holding.warmup) for holding in instances.stateful),
            memory=next_memory,
            copies=disks.reseat_copies(next_state, holdings, at_ms),
            next_at_once=decision.next_at_once,
        )
        return replace(rebalance, phases=self._phases(rebalance))

    def _divided(
        self, state: GroupState, roles: Roles, decision: LearnerDecision, removed: Sequence[str], at_ms: int
    ) -> tuple[GroupState, Holdings, Target, Holdings]:
        """Return the group without removed instances, its instances' holdings, the target, its consumers' holdings."""
        last = self._last if self._last is not None and self._last.group is state.group else None
        round_assignment = RoundAssignment.from_decision(
            state.group, decision, None if last is None else last.round_assignment
        )
        next_state, instances, target = _remove_instances(state, removed, round_assignment, at_ms)
        holdings = self._split(next_state, instances)
        self._last = None
        if not removed:
            roles = roles.after_decision(decision, Holdings.of(state.group, state.holdings), holdings)
            self._last = _Last(state.group, round_assignment, holdings, roles)
        return next_state, instances, target, holdings

    def _roles(self, group: Group, holdings: Sequence[Holding]) -> Roles:
        """Return who runs and learns each task; for the last round's holdings it is known already."""
        last = self._last
        if last is not None and last.group is group and last.holdings is holdings:
            return last.roles
        return Roles.from_holdings(group, holdings)

    def _split(self, state: GroupState, instances: Holdings) -> Holdings:
        """Split over the consumers what each instance is to hold; where nothing has changed, as in the last round."""
        previous = self._previous if self._previous is not None and self._previous[0].group is state.group else None
        holdings = split(state, instances, previous, self._reseated)
        no_target = Target((), ())
        self._previous = (
            state,
            Assignment(instances=instances, consumers=holdings, probing_rebalance=False, target=no_target),
        )
        return holdings

    def changes_nothing(self, rebalance: LearnerRebalance) -> bool:
        """Tell whether the group would be the same without this round, and nothing is under way."""
        return not rebalance.steps and not self._goes_on(rebalance)

    def next_rebalance(self, rebalance: LearnerRebalance, ahead: Ahead) -> NextRebalance | None:
        """Return when the next round comes: for standbys at once, for a ready learner, or at a deadline."""
        if rebalance.next_at_once:
            return NextRebalance(rebalance.at_ms, Trigger.FOLLOW_UP)
        self._rates = ahead(rebalance.at_ms + 1)[0].rates
        due = [NextRebalance(at_ms, Trigger.DEADLINE) for _, at_ms in rebalance.memory.leaving_deadlines]
        ready_ms = self._ready_ms(rebalance, ahead)
        if ready_ms is not None:
            due.append(NextRebalance(ready_ms, Trigger.LEARNER_READY))
        return min(due, key=lambda rebalance: (rebalance.at_ms, rebalance.trigger is Trigger.DEADLINE), default=None)

    def advance(self, rebalance: LearnerRebalance, interval: Interval) -> GroupState:
        """Let copies restore and fall behind."""
        if interval.idle:
            return rebalance.state
        state = rebalance.state
        self._reseated = frozenset({copy.instance for of_task in rebalance.copies.values() for copy in of_task})
        spans = _without_absent(interval.spans, state.group, rebalance.memory)
        copies, unprocessed_input = disks.restore_copies(state, rebalance.copies, spans)
        next_state = state.followed_by(
            at_ms=interval.from_ms, holdings=rebalance.held, copies=copies, revoked={}, waiting=unprocessed_input
        )
        return next_state.remembering(rebalance.memory)

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        """Apply joins and leaves; a static member, or one that announces its leave, stays one until it is empty."""
        self._config, self._previous = taking.config, None
        memory, change = memory_of(state), taking.change
        returns = [arrival for arrival in change.arrivals if arrival.instance.process_id in memory.departing_ids]
        leaves = isinstance(change.event, Leave)
        announces = isinstance(change.event, Leave) and change.event.announced
        kept_departures = [
            departure
            for departure in change.departures
            if announces or (not leaves and _instance(state.group, departure.process_id).is_static)
        ]
        memory = memory.forget([arrival.instance.process_id for arrival in returns])
        if announces:
            memory = replace(
                memory, announced=(*memory.announced, *(departure.process_id for departure in kept_departures))
            )
        else:
            memory = replace(
                memory,
                absent=(
                    *memory.absent,
                    *((departure.process_id, departure.stopped_at_ms) for departure in kept_departures),
                ),
            )
        change = replace(
            change,
            departures=tuple(departure for departure in change.departures if departure not in kept_departures),
            arrivals=tuple(arrival for arrival in change.arrivals if arrival not in returns),
        )
        staying = [instance for instance in state.group.instances if instance.process_id in memory.departing_ids]
        members = {instance.process_id: instance for instance in (*staying, *taking.group.instances)}
        group = taking.group
        if len(members) > len(group.instances):
            group = Group.of(group.application_id, list(group.tasks), list(members.values()))
        arrived = {arrival.instance.process_id for arrival in change.arrivals}
        brought = {process_id: disk for process_id, disk in taking.disks.items() if process_id in arrived}
        taking = replace(taking, change=change, group=group, disks=brought)
        next_state, steps = taken_in(replace(state, memory=memory), taking)
        stays = [InstanceStays(arrival.instance.process_id, _MEMBERSHIP) for arrival in returns]
        return next_state, [*stays, *steps]

    def pending_work(self, rebalance: LearnerRebalance) -> tuple[WorkId, ...]:
        """Return the tasks that are being learned, in task order."""
        tasks = self._roles(rebalance.state.group, rebalance.held).learned
        return tuple(rebalance.state.group.tasks[task].task_id for task in tasks.tolist())

    def conclude(self, rebalance: LearnerRebalance, verdict: Verdict, _rates: Rates) -> Conclusion:
        """Return "stuck" where learners never catch up."""
        learners = self._learners(
            rebalance.state.group, self._roles(rebalance.state.group, rebalance.held), rebalance.memory
        )
        if verdict.kind != "settled" or not self._goes_on(rebalance) or not learners:
            return Conclusion(verdict)
        (task, instance), group = learners[0], rebalance.state.group
        message = "what its instance restores grows at least as fast as it is restored"
        ids = group.tasks[task].task_id, group.instances[instance].process_id
        cause = Cause(CauseCode.RESTORE_TOO_SLOW, *ids, message)
        return Conclusion(
            Verdict("stuck", self.pending_work(rebalance), "the learners of these tasks never catch up", cause)
        )

    def _settings(self) -> LearnerSettings:
        return LearnerSettings(
            acceptable_recovery_lag=self._config.acceptable_recovery_lag,
            balance_factor=self._config.balance_factor,
            max_learners=self._max_learners,
            num_standby_replicas=self._config.num_standby_replicas,
            scale_down_timeout_ms=self._scale_down_timeout_ms,
        )

    def _phases(self, rebalance: LearnerRebalance) -> tuple[Phase, ...]:
        starts = any(isinstance(step, HandOver | Promote) for step in rebalance.steps)
        candidates = (
            (Phase.WARM_UP, rebalance.queued),
            (Phase.CUT_OVER, starts),
            (Phase.SETTLED, not self._goes_on(rebalance)),
        )
        return tuple(phase for phase, holds in candidates if holds)

    def _goes_on(self, rebalance: LearnerRebalance) -> bool:
        return bool(rebalance.next_at_once or rebalance.queued or rebalance.memory.leaving_deadlines)

    def _learners(self, group: Group, roles: Roles, memory: LearnerMemory) -> list[disks.Seat]:
        """Return the learners of instances that run, as (task, instance), by instance."""
        absent = [group.instance_index[process_id] for process_id, _ in memory.absent]
        tasks = roles.learned
        tasks = tasks[roles.learner[tasks].argsort(kind="stable")]
        seats = zip(tasks.tolist(), roles.learner[tasks].tolist(), strict=True)
        return [seat for seat in seats if seat[1] not in absent]

    def _mark_ready(self, state: GroupState, roles: Roles, memory: LearnerMemory) -> GroupState:
        """Mark the first learner with an unknown time as ready, unless a learner is ready."""
        learners = self._learners(state.group, roles, memory)
        if self._all_rated(state.group, learners):
            return state
        limit = self._config.acceptable_recovery_lag
        lags = {(task, copy.instance): copy.remaining for task, _ in learners for copy in state.copies[task]}
        if any(lags.get(seat, 0) <= limit for seat in learners):
            return state
        return disks.mark_ready(state, next(seat for seat in learners if not self._all_rated(state.group, [seat])))

    def _all_rated(self, group: Group, learners: Sequence[disks.Seat]) -> bool:
        """Tell whether it is known how long each of these learners takes."""
        rated = all(
            self._rates.restore_rate(instance) is not None for instance in {instance for _, instance in learners}
        )
        return rated and all(group.tasks[task].end_offset_known for task, _ in learners)

    def _ready_ms(self, rebalance: LearnerRebalance, ahead: Ahead) -> int | None:
        learners = self._learners(
            rebalance.state.group, self._roles(rebalance.state.group, rebalance.held), rebalance.memory
        )
        if not learners:
            return None
        limit = self._config.acceptable_recovery_lag
        if not self._all_rated(rebalance.state.group, learners):
            return rebalance.at_ms

        def ahead_of_those_that_run(to_ms: int) -> Sequence[Span]:
            return _without_absent(ahead(to_ms), rebalance.state.group, rebalance.memory)

        return disks.next_ready_ms(
            rebalance.state, rebalance.copies, learners, limit, rebalance.at_ms, ahead_of_those_that_run
        )


def _leaving_steps(previous_memory: LearnerMemory, next_memory: LearnerMemory) -> list[Step]:
    previous_deadlines, absent = dict(previous_memory.leaving_deadlines), dict(previous_memory.absent)
    return [
        InstanceLeaving(process_id, at_ms, absent.get(process_id), _SCALE_DOWN)
        for process_id, at_ms in next_memory.leaving_deadlines
        if previous_deadlines.get(process_id) != at_ms
    ]


def _remove_instances(
    state: GroupState, removed: Sequence[str], round_assignment: RoundAssignment, at_ms: int
) -> tuple[GroupState, Holdings, Target]:
    """Return the group, its instances' holdings and the target without the instances removed in this round."""
    if not removed:
        return state, round_assignment.instances, round_assignment.target
    old, removed_ids = state.group, frozenset(removed)
    stay = [place for place, instance in enumerate(old.instances) if instance.process_id not in removed_ids]
    group = Group.of(old.application_id, list(old.tasks), [old.instances[place] for place in stay])
    smaller = regrouped(state, group, removed_ids, {}, at_ms, lambda _task, _from_ms, _to_ms: 0)
    return smaller, *round_assignment.for_instances(group, stay)


def _instance(group: Group, process_id: str) -> Instance:
    return group.instances[group.instance_index[process_id]]


def _without_absent(spans: Sequence[Span], group: Group, memory: LearnerMemory) -> Sequence[Span]:
    """Stop the instances that have not come back."""
    absent = frozenset(
        group.instance_index[process_id] for process_id, _ in memory.absent if process_id in group.instance_index
    )
    return [span._replace(stopped_instances=span.stopped_instances | absent) for span in spans] if absent else spans
