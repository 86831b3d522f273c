"""One group under the classic protocol: decide, withhold, let copies catch up, decide again.

Source: page ``rules``, "From one generation to the next".

What is withheld follows up; while copies warm up, the leader probes; who comes or goes starts a rebalance at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kstream_plan.assignors import Assignor
from kstream_plan.assignors.high_availability.assign import target_of
from kstream_plan.assignors.planned.target_file import NO_TARGET, TargetNow
from kstream_plan.designs.classic import uncertainty
from kstream_plan.designs.classic.caught_up_estimate import CaughtUpEstimate, silent_copies
from kstream_plan.designs.classic.next_rebalance import LATE_MS, TYPICAL, RebalanceTiming, next_rebalance, probe_ms
from kstream_plan.designs.classic.simulated_group import Columns, SimulatedGroup, seats_of
from kstream_plan.designs.classic.stuck_or_cyclic import cause, repeated
from kstream_plan.engine.cycle_detection import Probes
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import (
    Assignment,
    Group,
    GroupState,
    Holding,
    KnownDecision,
    Note,
    Rates,
    Target,
    WorkId,
)
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import KnownHistory
from kstream_plan.plans import (
    Phase,
    StatelessChanges,
    StatelessSteps,
    Step,
    Trigger,
    Verdict,
)
from kstream_plan.plans.design import Ahead, Conclusion, Coordinator, Interval, NextRebalance, Rebalance
from kstream_plan.plans.membership import MembershipChange
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import Protocol, Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicRebalance(Rebalance):
    """A rebalance: what the assignor decided, and what the protocol makes of it."""

    trigger: Trigger | None
    assignment: Assignment
    transition: Transition


class ClassicCoordinator(Coordinator[ClassicRebalance]):
    """Coordinates one group by an assignor and a rebalance protocol, in the engine's columns."""

    def __init__(
        self,
        assign: Assignor,
        protocol: Protocol,
        config: AssignmentConfig,
        timing: RebalanceTiming = TYPICAL,
        *,
        times_alone: bool = False,
        target: TargetNow = NO_TARGET,
    ) -> None:
        """``times_alone``: only the times of rebalances are wanted, so their steps are not recorded.

        ``target``: the file that the assignor ``planned`` follows, and when the plan begins.
        """
        self._times_alone = times_alone
        self._target = target
        self._assign = assign
        self._protocol = protocol
        self._of_group = assign, protocol
        self._config = config
        self._cleaner = StateCleaner(config.state_cleanup_delay_ms)
        self._timing = timing
        self._in_play: SimulatedGroup | None = None
        self._probes = Probes()
        self._no_follow_up_ms = 0  # when the last rebalance came that was no follow-up
        self._maker: StepMaker | None = None
        self._previous: tuple[GroupState, Assignment] | None = None
        self._stateless: StatelessSteps | None = None
        #: stateful task → the consumer that the last assignment revoked it from, for a group not in simulation
        self._revoked_by: Mapping[int, int] = {}
        self._notes: tuple[Note, ...] | None = None
        self._short: set[int] = set()
        self._races: set[int] = set()
        self._deletions: set[int] = set()
        self._late: set[int] = set()
        self._ready: set[int] = set()
        self._beginning: KnownHistory | None = None
        self._known_decision: KnownDecision | None = None
        self._readiness: CaughtUpEstimate | None = None

    def resume(self, state: GroupState) -> ClassicRebalance | None:
        """Return the known decision of the group, and what the members hold since."""
        beginning = state.memory
        if not isinstance(beginning, KnownHistory) or beginning.decision is None:
            return None
        known_decision = beginning.decision
        state_at_decision = replace(state, memory=None, generation=known_decision.generation - 1)
        self._begin(beginning)
        rebalance = self.rebalance(
            state_at_decision, state.at_ms, None, (), _assignment(state_at_decision, known_decision)
        )
        self._stateless = None  # whose decision it was is unknown
        self._beginning, self._known_decision = beginning, known_decision
        return rebalance

    def restoring_copies(self, state: GroupState) -> Iterable[tuple[int, int]]:
        """Return the copies, as (task, instance), that members hold and that are not caught up."""
        limit = self._config.acceptable_recovery_lag
        return (
            (task, copy.instance)
            for task, copies in enumerate(state.copies)
            for copy in copies
            if copy.consumer is not None and not is_caught_up(copy.remaining, limit)
        )

    def advance_to_now(self, state: GroupState, interval: Interval) -> GroupState:
        """Advance copies that were reported before now to now, where no decision is known."""
        beginning = state.memory
        if not isinstance(beginning, KnownHistory):
            return state
        self._begin(beginning)
        reported_state = replace(state, memory=None)
        rates = interval.spans[0].rates
        self._readiness = CaughtUpEstimate(beginning, interval.from_ms, interval.to_ms, self._config, rates)
        if interval.to_ms <= interval.from_ms:
            return replace(reported_state, copies=silent_copies(reported_state, self._readiness, rates))
        aged_state = self._columns_of(reported_state, None).go_on(
            interval, tick=False, at_probes=False, readiness=self._readiness
        )
        return replace(aged_state, copies=tuple(aged_state.copies))

    def rebalance(
        self,
        state: GroupState,
        at_ms: int,
        trigger: Trigger | None,
        members: tuple[Step, ...],
        assignment: Assignment | None = None,
    ) -> ClassicRebalance:
        """Rebalance: decide, and withhold what its owner has to give up first; ``assignment`` is a known decision."""
        if assignment is None and not self._assign.by_engine:
            target = self._target._replace(now_ms=self._target.now_ms + at_ms)
            assignment = self._assign(state, self._config, self._previous, target=target)
        in_play, limit = self._columns_of(state, assignment), self._config.acceptable_recovery_lag
        if self._maker is None or self._maker.group is not state.group or self._maker.limits[1] != limit:
            self._maker = StepMaker(state.group, (None, limit))
        if assignment is None:
            balanced_target, short = target_of(state.group, self._config, self._assign.laws)
            rebalance = in_play.decide(
                self._maker, at_ms, target=balanced_target, short_standbys=short, times_alone=self._times_alone
            )
        else:
            rebalance = in_play.adopt(self._maker, at_ms, assignment, times_alone=self._times_alone)
        assignment, transition, steps = rebalance.assignment, rebalance.transition, rebalance.steps
        stateless = self._stateless_changes(state, assignment, transition, first=len(members))
        members = () if self._times_alone else members
        probes = assignment.probing_rebalance
        return ClassicRebalance(
            at_ms=at_ms,
            state=state,
            generation=state.generation + 1,
            decided=transition.decided_holdings,
            held=transition.holdings,
            target=assignment.target,
            steps=steps,
            members=members,
            stateless=stateless,
            phases=phases(
                warms_up=rebalance.warms_up,
                cuts_over=transition.follow_up or stateless is not None or rebalance.starts_any,
                settles=_is_settled(assignment, transition),
                waits=probes and not (members or steps) and stateless is None,
                probes=probes,
            ),
            balance=in_play.balance,
            probing_rebalance=probes,
            queued=rebalance.queued_tasks,
            movements=len(assignment.movements),
            trigger=trigger,
            assignment=assignment,
            transition=transition,
            follows=assignment.follows,
        )

    def changes_nothing(self, rebalance: ClassicRebalance) -> bool:
        """Tell whether what is held is what is decided: standbys, warm-ups and temporary standbys counted alike."""

        def flat(holding: Holding) -> tuple[tuple[int, ...], list[int]]:
            return holding.active, sorted(holding.standby + holding.warmup + holding.temporary)

        return not rebalance.probing_rebalance and all(
            current_holding == decided_holding or flat(current_holding) == flat(decided_holding)
            for current_holding, decided_holding in zip(
                rebalance.state.holdings, rebalance.assignment.consumers, strict=True
            )
        )

    def on_recorded(self, rebalance: ClassicRebalance) -> None:
        """Record what the notes at the end tell of this decision."""
        if self._times_alone:
            return
        assert self._in_play is not None
        races, deletions = self._in_play.left_to_chance_now()
        self._deletions |= deletions
        if self._previous is None:
            self._short |= {task for task, _ in rebalance.assignment.short_standbys}
        if self._notes is None:
            self._notes = rebalance.assignment.notes
            tuple(rebalance.state.copies)  # which are looked at when the plan is made
        else:
            self._races |= races

    def next_rebalance(self, rebalance: ClassicRebalance, _ahead: Ahead) -> NextRebalance | None:
        """Return when the follow-up or the probing rebalance comes (page ``plans``, clock)."""
        known_decision, self._known_decision = self._known_decision, None
        return next_rebalance(rebalance, rebalance.transition, known_decision, self._config, self._timing)

    def advance(self, rebalance: ClassicRebalance, interval: Interval) -> GroupState:
        """Let copies catch up and fall behind, and members report what they then have."""
        assert self._in_play is not None
        beginning, self._beginning = self._beginning, None
        readiness = None
        if beginning is not None:
            rates = interval.spans[0].rates
            readiness = self._readiness = CaughtUpEstimate(
                beginning, interval.from_ms, interval.to_ms, self._config, rates
            )
        if interval.paced:
            self._probes = Probes()
        tick, at_probes = self._is_tick(rebalance, interval), self._timing.at_probes
        if not (interval.idle or self._times_alone):
            self._doubt_late(rebalance, interval)
        next_state = self._in_play.go_on(interval, tick=tick, at_probes=at_probes, readiness=readiness)
        if rebalance.trigger is not None and not interval.idle:
            self._previous = rebalance.state, rebalance.assignment
        return next_state

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        """Apply joins, leaves and changed settings; drop what was cached of the group before."""
        if taking.config.release != self._config.release:  # that of the leader now
            assign, protocol = self._of_group
            if (release := taking.config.release) is not None:
                assign, protocol = assign.of_release(release), protocol.of_release(release)
            self._assign, self._protocol = assign, protocol
        self._leave()
        self._config = taking.config
        self._cleaner.delay_ms = taking.config.state_cleanup_delay_ms
        for arrival in taking.change.arrivals:
            self._cleaner.started_ms[arrival.instance.process_id] = taking.change.at_ms
        self._probes = Probes()
        self._previous = self._stateless = None
        old, group = state.group, taking.group
        index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
        owners = {task: old.consumer_ids[consumer] for task, consumer in self._revoked_by.items()}
        self._revoked_by = {task: index[owner_id] for task, owner_id in owners.items() if owner_id in index}
        return super().apply_change(state, taking)

    def detect_cycle(self, rebalance: ClassicRebalance) -> Verdict | None:
        """Compare a probing rebalance, or one with another cause, with those before.

        A follow-up is compared, too, once follow-ups have come for a whole probing interval: they may never end.
        """
        if rebalance.trigger is not Trigger.FOLLOW_UP:
            self._no_follow_up_ms = rebalance.at_ms
        elif rebalance.at_ms - self._no_follow_up_ms < probe_ms(rebalance, self._config):
            return None
        if _is_settled(rebalance.assignment, rebalance.transition):
            return None
        assert self._in_play is not None
        period = self._in_play.probe(self._probes)
        return None if period is None else repeated(rebalance.state, rebalance.assignment, rebalance.trigger, period)

    def pending_work(self, rebalance: ClassicRebalance) -> tuple[WorkId, ...]:
        """Return the tasks on their way, in task order."""
        tasks = sorted(rebalance.assignment.movements.tasks)
        return tuple(rebalance.state.group.tasks[task].task_id for task in tasks)

    def conclude(self, rebalance: ClassicRebalance, verdict: Verdict, rates: Rates) -> Conclusion:
        """Name the copy that is waited for, and what is missing or left to chance."""
        self._remember()
        if verdict.kind != "settled":
            verdict = replace(verdict, cause=cause(rebalance.state, rebalance.assignment, rates, self._config))
        if self._notes is None:
            self._short |= {task for task, _ in rebalance.assignment.short_standbys}
        return Conclusion(
            verdict,
            _shortages(rebalance.state.group, self._short)
            + rebalance.assignment.warnings
            + uncertainty.notes(rebalance.state, self._races, self._deletions, self._late, self._ready),
            self._notes or (),
            () if self._readiness is None else tuple(doubt for _, doubt in sorted(self._readiness.doubts.items())),
            tuple(sorted(self._cleaner.other_cleanings)),
        )

    def _is_tick(self, rebalance: ClassicRebalance, interval: Interval) -> bool:
        """Tell whether every copy is caught up by the end of a time if no restore rate says otherwise."""
        long = interval.to_ms - interval.from_ms >= probe_ms(rebalance, self._config)
        too_soon = interval.more_changes and self._timing.ready_last
        follows_up = rebalance.transition.follow_up and not interval.idle
        return self._timing.assume_caught_up or (long and not follows_up and not too_soon)

    def _doubt_late(self, rebalance: ClassicRebalance, interval: Interval) -> None:
        """Record the tasks that are caught up if the follow-up comes late."""
        rates, transition = interval.spans[0].rates, rebalance.transition
        if rates.any_restore and transition.follow_up and len(transition.disturbed) == len(rebalance.held):
            limit = self._config.acceptable_recovery_lag
            self._late |= uncertainty.caught_up_if_late(rebalance.state, rebalance.steps, limit, rates, LATE_MS)

    def _columns_of(self, state: GroupState, assignment: Assignment | None) -> SimulatedGroup:
        """Return the group in simulation at a state, for the engine's decision or for another one."""
        in_play, group, by_engine = self._in_play, state.group, self._assign.by_engine and assignment is None
        standbys = 1 if assignment is None else seats_of(group, assignment)
        if in_play is not None and in_play.state is state:
            columns = in_play.columns
            if columns.is_engine == by_engine and (by_engine or standbys <= columns.standbys):
                return in_play
        self._leave()
        target = target_of(group, self._config, self._assign.laws)[0] if by_engine else None
        columns = Columns(
            group, target, self._config, self._cleaner, self._assign.laws, self._protocol, standbys=standbys
        )
        self._in_play = SimulatedGroup(columns, state, self._revoked_by)
        return self._in_play

    def _leave(self) -> None:
        """Put the group aside: other members, settings or assignors come."""
        if self._in_play is not None:
            self._remember()
            self._revoked_by = self._in_play.revoked_by()
            self._in_play = None

    def _remember(self) -> None:
        """Remember what was left to chance while the group was in simulation."""
        if self._in_play is not None and not self._times_alone:
            deletions, ready = self._in_play.left_to_chance()
            self._deletions |= deletions
            self._ready |= ready

    def _begin(self, beginning: KnownHistory) -> None:
        self._cleaner = StateCleaner(
            self._config.state_cleanup_delay_ms,
            beginning.started_ms,
            beginning.in_stores,
            beginning.cleaning,
            beginning.in_memory,
        )

    def _stateless_changes(
        self, state: GroupState, assignment: Assignment, transition: Transition, *, first: int
    ) -> StatelessChanges | None:
        """Return what happens to stateless tasks; ``first`` is the place of its steps."""
        if self._times_alone:
            return None
        if self._stateless is None:
            limit = self._config.acceptable_recovery_lag
            self._stateless = StatelessSteps(state.group, limit, evened_out=assignment.keeps_stateless)
        return self._stateless.changes(first, *transition.owners)


def _assignment(state: GroupState, known_decision: KnownDecision) -> Assignment:
    """Return a decision whose outcome alone is known."""
    holdings = state.holdings if known_decision.consumers is None else known_decision.consumers
    instances = [
        Holding(
            *(
                tuple(sorted(sum(roles, ())))
                for roles in zip(*(holdings[consumer] for consumer in consumers), strict=True)
            )
        )
        for consumers in state.group.consumers_of
    ]
    target = Target(tuple(holding.active for holding in instances), tuple(holding.standby for holding in instances))
    return Assignment(
        instances=instances,
        consumers=tuple(holdings),
        probing_rebalance=bool(known_decision.probing_rebalance),
        target=target,
    )


def _is_settled(assignment: Assignment, transition: Transition) -> bool:
    return not transition.follow_up and not assignment.probing_rebalance


def phases(*, warms_up: bool, cuts_over: bool, settles: bool, waits: bool, probes: bool) -> tuple[Phase, ...]:
    """Return what a round is for; ``waits``: it probes and has no steps."""
    round_phases = [phase for phase, holds in ((Phase.WARM_UP, warms_up), (Phase.CUT_OVER, cuts_over)) if holds]
    if settles:
        round_phases.append(Phase.SETTLED)
    elif waits or (probes and not round_phases):
        round_phases.append(Phase.PROBING)
    return tuple(round_phases)


def _shortages(group: Group, short: set[int]) -> tuple[Note, ...]:
    if not short:
        return ()
    tasks = tuple(str(group.tasks[task].task_id) for task in sorted(short))
    return (
        Note(
            "standbys-short",
            f"{len(tasks)} tasks get fewer than num.standby.replicas standbys: there are not enough instances for them",
            tasks,
        ),
    )
