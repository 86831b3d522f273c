"""A Connect group under the clock: rounds, what they stop and start, unassigned work, and when workers join again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kstream_plan.designs.connect.cluster import SHIPPED, Rules
from kstream_plan.designs.connect.connectors import apply_event, rejoining, with_their_tasks
from kstream_plan.designs.connect.frozen import due_ms, join, kept_until_ms, leave, run_round
from kstream_plan.designs.connect.laws import ConnectLaws, connect_laws_of
from kstream_plan.model import GroupState, Holding, Holdings, Rates, Target, WorkId
from kstream_plan.model.connect_group import ConnectGroup, all_items
from kstream_plan.model.scenario import Bounce, ConfigChange, ConnectorEvent
from kstream_plan.model.settings import RELEASE, AssignmentConfig
from kstream_plan.plans import (
    HandOver,
    MemberLeft,
    NobodyRuns,
    Phase,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    Trigger,
    Verdict,
)
from kstream_plan.plans.design import Ahead, Conclusion, Coordinator, Interval, NextRebalance, Rebalance
from kstream_plan.plans.membership import MembershipChange
from kstream_plan.plans.verdict import Cause, CauseCode

#: So many rounds are looked ahead for where everything runs in the end; a cluster that is left alone takes a few.
_MOST_ROUNDS = 64

_MOVES_AWAY = Reason(ReasonCode.MOVES_AWAY)
_LEAST_LOADED = Reason(ReasonCode.LEAST_LOADED)
_NOT_CONFIGURED = Reason(ReasonCode.NOT_CONFIGURED)
_LEADER_LEFT = Reason(ReasonCode.LEADER_LEFT)
_STOOD_STILL = Reason(ReasonCode.STOOD_STILL)
#: Why what a stopped worker ran stays unassigned.
_LEFT_UNASSIGNED = (
    "With scheduled.rebalance.max.delay.ms=0 this release assigns what a stopped worker ran only in the next "
    "rebalance, and nothing starts one (KAFKA-15693)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectStart:
    """What a plan starts from; ``asks_now``: a rebalance starts now, else with what happens, or a delay that ends.

    ``bounces``: restarts with settings of the worker's own.
    """

    group: ConnectGroup
    asks_now: bool
    bounces: tuple[Bounce, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRebalance(Rebalance):
    """A round; ``next_cluster`` is the cluster once everybody has the answer."""

    next_cluster: ConnectGroup


class ConnectCoordinator(Coordinator[ConnectRebalance]):
    """Coordinates one cluster: the leader decides, and all workers follow within the round."""

    def __init__(self, config: AssignmentConfig, rules: Rules) -> None:
        self._config = config
        self._rules = rules
        self._owners: dict[int, Seat] = {}
        self._stood_still: set[int] = set()
        self._bounces: tuple[Bounce, ...] = ()
        self._own_delay_ms: dict[str, int] = {}
        self._own_laws: dict[str, ConnectLaws] = {}

    def resume(self, state: GroupState) -> ConnectRebalance | None:
        """Return the round before the plan, unless a rebalance starts now."""
        begins = state.memory
        assert isinstance(begins, ConnectStart)
        self._stood_still = set(_unassigned_tasks(state, state.holdings, begins.group))
        self._bounces = begins.bounces
        if begins.asks_now:
            return None
        state = replace(state, at_ms=0, memory=begins.group)
        return self._rebalance(state, begins.group, 0, tuple(state.holdings), ())

    def advance_to_now(self, state: GroupState, _interval: Interval) -> GroupState:
        """Return the group as it was captured."""
        begins = state.memory
        assert isinstance(begins, ConnectStart)
        return replace(state, at_ms=0, memory=begins.group)

    def rebalance(
        self, state: GroupState, at_ms: int, _trigger: Trigger, members: tuple[Step, ...]
    ) -> ConnectRebalance:
        """Simulate the round that is due now."""
        next_cluster = self._cluster_after_round(_cluster(state), at_ms)
        holdings = holdings_of(state, next_cluster)
        steps = [
            *members,
            *self._stops_and_starts(state, next_cluster, holdings),
            *self._unassigned_steps(state, next_cluster, holdings, at_ms),
        ]
        return self._rebalance(state, next_cluster, at_ms, holdings, steps)

    def changes_nothing(self, rebalance: ConnectRebalance) -> bool:
        """Tell whether no work stops or starts, and no delay begins, moves or ends."""
        quiet = due_ms(rebalance.next_cluster) is None and due_ms(_cluster(rebalance.state)) is None
        steps = (step for step in rebalance.steps if not _is_not_configured(step))
        return quiet and not any(steps) and tuple(rebalance.held) == tuple(rebalance.state.holdings)

    def next_rebalance(self, rebalance: ConnectRebalance, ahead: Ahead) -> NextRebalance | None:
        """Return when workers join again: those that lost something at once, the others when a delay ends."""
        del ahead
        again_ms = due_ms(rebalance.next_cluster)
        if again_ms is None:
            return None
        if again_ms <= rebalance.at_ms:
            return NextRebalance(self._followed_up_ms(rebalance.at_ms), Trigger.FOLLOW_UP, under_way=True)
        return NextRebalance(again_ms, Trigger.DEADLINE)

    def advance(self, rebalance: ConnectRebalance, interval: Interval) -> GroupState:
        """Return the group as the next round finds it; an idle round changes nothing."""
        if interval.idle:
            return rebalance.state
        return replace(
            rebalance.state,
            generation=rebalance.generation,
            at_ms=rebalance.at_ms,
            holdings=rebalance.held,
            memory=rebalance.next_cluster,
        )

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        """Apply joins and leaves; settings count from now."""
        self._remember(state)
        next_state, steps = super().apply_change(state, taking)
        self._config = taking.config
        if isinstance(taking.change.event, ConfigChange):
            self._own_delay_ms.clear()
        cluster = _cluster(state)
        if self._rules.decide is SHIPPED.decide and self._max_delay_ms(cluster):
            steps = [_of_leader(step, cluster.leader) for step in steps]
        for departure in taking.change.departures:
            cluster = leave(cluster, departure.process_id)
        for arrival in taking.change.arrivals:
            cluster = join(cluster, arrival.instance.process_id, taking.at_ms)
            self._restarted(arrival.instance.process_id, taking.at_ms)
        if isinstance(taking.change.event, ConnectorEvent):
            cluster = apply_event(cluster, taking.change.event)
        leader = None if cluster.leader is None else taking.group.instance_index[cluster.leader]
        return replace(next_state, memory=cluster, leader=leader), steps

    def pending_work(self, rebalance: ConnectRebalance) -> tuple[WorkId, ...]:
        """Return the unassigned work."""
        return tuple(
            rebalance.state.group.tasks[task].task_id
            for task in _unassigned_tasks(rebalance.state, rebalance.held, rebalance.next_cluster)
        )

    def conclude(self, rebalance: ConnectRebalance, verdict: Verdict, rates: Rates) -> Conclusion:
        """Return "stuck" where work is unassigned and no rebalance comes by itself."""
        unassigned_work = self.pending_work(rebalance)
        if verdict.kind == "settled" and unassigned_work:
            cause = Cause(
                CauseCode.LEFT_UNASSIGNED, unassigned_work[0], rebalance.next_cluster.leader or "", _LEFT_UNASSIGNED
            )
            verdict = Verdict("stuck", unassigned_work, "connectors and tasks stay unassigned", cause)
        return super().conclude(rebalance, verdict, rates)

    def _restarted(self, process_id: str, at_ms: int) -> None:
        """Record the delay and the release that a joining worker was restarted with."""
        for bounce in self._bounces:
            ids = [instance.process_id for instance in bounce.new_instances] or bounce.process_ids
            if process_id in ids and bounce.at_ms <= at_ms:
                settings = dict(bounce.settings)
                if (delay_ms := settings.get("scheduled_rebalance_max_delay_ms")) is not None:
                    self._own_delay_ms[process_id] = int(str(delay_ms))
                if (release := settings.get(RELEASE)) is not None:
                    self._own_laws[process_id] = connect_laws_of(str(release))

    def _max_delay_ms(self, group: ConnectGroup) -> int:
        """Return the leader's delay: its own setting counts."""
        usual_ms = self._config.scheduled_rebalance_max_delay_ms or 0
        return self._own_delay_ms.get(group.leader or "", usual_ms)

    def _rules_of(self, group: ConnectGroup) -> Rules:
        """Return the leader's rules: those of its own release count; drafts have none."""
        if self._rules.decide is not SHIPPED.decide:
            return self._rules
        return self._rules._replace(laws=self._own_laws.get(group.leader or "", self._rules.laws))

    def _followed_up_ms(self, at_ms: int) -> int:
        """Return when everybody has joined again: the others hear of it with their next heartbeat."""
        return at_ms + self._config.heartbeat_interval_ms

    def _remember(self, state: GroupState) -> None:
        """Remember the owners, to tell later where work comes from."""
        group = state.group
        for consumer, holding in enumerate(state.holdings):
            self._owners.update(dict.fromkeys(holding.active, _seat(state, consumer)))
        self._owners = {task: owner for task, owner in self._owners.items() if owner[:2] in group.consumer_index}

    def _cluster_after_round(self, group: ConnectGroup, at_ms: int) -> ConnectGroup:
        """Return the cluster after a round now."""
        next_cluster, _ = run_round(with_their_tasks(group), self._rules_of(group), self._max_delay_ms(group), at_ms)
        return rejoining(next_cluster, at_ms)

    def _stops_and_starts(
        self, state: GroupState, next_cluster: ConnectGroup, holdings: Sequence[Holding]
    ) -> list[Step]:
        """Return what stops, then what starts."""
        self._remember(state)
        group, stops, starts = state.group, list[Step](), list[Step]()
        absent = _absent(state, next_cluster)
        for consumer, (previous, current) in enumerate(zip(state.holdings, holdings, strict=True)):
            previous_tasks, current_tasks, seat = {*previous.active}, {*current.active}, _seat(state, consumer)
            for task in sorted(previous_tasks - current_tasks):
                reason = _NOT_CONFIGURED if task in absent else _MOVES_AWAY
                stops.append(Revoke(group.tasks[task].task_id, seat, reason))
            for task in sorted(current_tasks - previous_tasks):
                owner = self._owners.get(task)
                from_seat = owner if owner is not None and owner[:2] in group.consumer_index and owner != seat else None
                reason = _STOOD_STILL if task in self._stood_still else _LEAST_LOADED
                starts.append(HandOver(group.tasks[task].task_id, from_seat, seat, True, 0, reason))
            self._stood_still -= current_tasks
        return [*stops, *starts]

    def _unassigned_steps(
        self, state: GroupState, next_cluster: ConnectGroup, holdings: Sequence[Holding], at_ms: int
    ) -> list[Step]:
        """Return the steps on unassigned work: until a follow-up, or until the delay ends."""
        unassigned_tasks, steps = _unassigned_tasks(state, holdings, next_cluster), list[Step]()
        absent = sorted(_absent(state, next_cluster).difference(*(holding.active for holding in holdings)))
        if absent:
            names = tuple(state.group.tasks[task].task_id for task in absent)
            steps.append(NobodyRuns(names, None, _NOT_CONFIGURED))
        again_ms = due_ms(next_cluster)
        if not unassigned_tasks:
            return steps
        stopped_tasks = {task for holding in state.holdings for task in holding.active}
        at_once = again_ms is not None and again_ms <= at_ms
        delay_ms = kept_until_ms(next_cluster)
        reserved_tasks = (
            []
            if delay_ms is None or delay_ms <= at_ms
            else [task for task in unassigned_tasks if task not in stopped_tasks]
        )
        other_tasks = sorted(set(unassigned_tasks) - set(reserved_tasks))
        until_ms = self._followed_up_ms(at_ms) if at_once else again_ms
        for tasks, to_ms, code in (
            (other_tasks, until_ms, ReasonCode.DEALT_OUT_NEXT),
            (reserved_tasks, delay_ms, ReasonCode.KEPT_FOR_RETURN),
        ):
            if tasks:
                names = tuple(state.group.tasks[task].task_id for task in tasks)
                steps.append(NobodyRuns(names, to_ms, Reason(code)))
        return steps

    def _rebalance(
        self,
        state: GroupState,
        next_cluster: ConnectGroup,
        at_ms: int,
        holdings: Sequence[Holding],
        steps: Sequence[Step],
    ) -> ConnectRebalance:
        any_start = any(isinstance(step, HandOver) for step in steps)
        unassigned_tasks, is_last = _unassigned_tasks(state, holdings, next_cluster), due_ms(next_cluster) is None
        settles = is_last and not unassigned_tasks
        in_the_end = (
            self._cluster_after_round(next_cluster, self._followed_up_ms(at_ms))
            if is_last and unassigned_tasks
            else next_cluster
        )
        end = tuple(holdings) if settles else holdings_of(state, self._in_the_end(in_the_end))
        return ConnectRebalance(
            at_ms=at_ms,
            state=state,
            generation=next_cluster.generation,
            decided=Holdings.of(state.group, holdings),
            held=Holdings.of(state.group, holdings),
            target=Target(tuple(holding.active for holding in end), ((),) * len(end)),
            steps=tuple(steps),
            phases=(Phase.CUT_OVER,) * any_start + (Phase.SETTLED,) * settles,
            queued=len(unassigned_tasks),
            next_cluster=next_cluster,
        )

    def _in_the_end(self, group: ConnectGroup) -> ConnectGroup:
        """Return the cluster once it has settled, without further joins and leaves."""
        at_ms = None
        for _ in range(_MOST_ROUNDS):
            again_ms = due_ms(group)
            if again_ms is None:
                break
            at_ms = again_ms if at_ms is None or again_ms > at_ms else self._followed_up_ms(at_ms)
            group = self._cluster_after_round(group, at_ms)
        return group


def holdings_of(state: GroupState, cluster: ConnectGroup) -> tuple[Holding, ...]:
    """Return what every worker holds, by consumer."""
    of_member = {worker.member_id: worker.held for worker in cluster.workers}
    number = state.group.task_index_by_text
    return tuple(
        Holding(tuple(sorted(number[name] for name in of_member[instance.process_id].names())))
        for instance in state.group.instances
    )


def _cluster(state: GroupState) -> ConnectGroup:
    assert isinstance(state.memory, ConnectGroup)
    return state.memory


def _absent(state: GroupState, cluster: ConnectGroup) -> set[int]:
    """Return the work that is configured at some time, but not now."""
    number = state.group.task_index_by_text
    if len(number) == sum(1 + tasks for _, tasks in cluster.task_counts):
        return set()
    return {*range(len(number))}.difference(number[name] for name in all_items(cluster.task_counts).names())


def _unassigned_tasks(state: GroupState, holdings: Sequence[Holding], cluster: ConnectGroup) -> list[int]:
    """Return the configured work that is unassigned."""
    run = _absent(state, cluster).union(*(holding.active for holding in holdings))
    return [task for task in range(len(state.group.tasks)) if task not in run]


def _is_not_configured(step: Step) -> bool:
    return isinstance(step, NobodyRuns) and step.reason.code is ReasonCode.NOT_CONFIGURED


def _of_leader(step: Step, leader: str | None) -> Step:
    """Return the step that a worker left; the leader's has its own reason."""
    if isinstance(step, MemberLeft) and step.process_id == leader:
        return replace(step, reason=_LEADER_LEFT)
    return step


def _seat(state: GroupState, consumer: int) -> Seat:
    group = state.group
    return Seat(group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer], Role.ACTIVE)
