"""One group under the classic protocol: decide, withhold, let copies catch up, decide again.

What is withheld follows up; while copies warm up, the leader probes; who comes or goes starts a rebalance at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from kstream_plan.assignors import Assignor
from kstream_plan.designs.classic import uncertainty
from kstream_plan.designs.classic.advance import AT_ONCE_MS, Interval, advance
from kstream_plan.designs.classic.ending import Recurrence, cause
from kstream_plan.designs.classic.round_steps import steps_of
from kstream_plan.model import Assignment, Group, GroupState, Holding, Holdings, Note, Rates, WorkId
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
    HandOver,
    Phase,
    Promote,
    Role,
    StatelessSteps,
    Step,
    ThreadMove,
    Trigger,
    Verdict,
    stateless_changes,
)
from kstream_plan.plans.design import Ahead, Coordinator, Due, Ending, Lapse, Turn
from kstream_plan.plans.membership import TakingIn
from kstream_plan.protocols import Protocol
from kstream_plan.protocols.transition import Transition


@dataclass(frozen=True, slots=True)
class LastDecision:
    """What a group's leader decided last, at ``at_ms`` of the plan's clock: the memory of a state that was found then.

    Its follow-up or probing rebalance is still to come. Only ``consumers`` and ``probing_rebalance`` of ``assignment``
    have to be known.
    """

    at_ms: int
    assignment: Assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicTurn(Turn):
    """A rebalance: what the assignor decided, and what the protocol makes of it."""

    trigger: Trigger | None
    assignment: Assignment
    transition: Transition
    stateful: tuple[Step, ...]


class ClassicCoordinator(Coordinator[ClassicTurn]):
    """Coordinates one group by an assignor and a rebalance protocol."""

    def __init__(self, assign: Assignor, rebalance: Protocol, config: AssignmentConfig) -> None:
        self._assign = assign
        self._rebalance = rebalance
        self._config = config
        self._recurrence = Recurrence(config)
        self._previous: tuple[GroupState, Assignment] | None = None
        self._stateless: StatelessSteps | None = None
        #: stateful task → the consumer that the last assignment made give it up for another one
        self._revoked_by: Mapping[int, int] = {}
        self._notes: tuple[Note, ...] | None = None
        self._short: set[int] = set()
        self._races: set[int] = set()
        self._deletions: set[int] = set()

    def last(self, state: GroupState) -> ClassicTurn | None:
        """Return the decision that the state remembers, and what the members hold since."""
        if not isinstance(state.memory, LastDecision):
            return None
        turn = self._turn(replace(state, memory=None), state.memory.assignment, state.memory.at_ms, None, ())
        self._stateless = None  # whose decision it was is not known
        return turn

    def under_way(self, state: GroupState) -> Iterable[tuple[int, int]]:
        """Return the copies, as (task, instance), that members hold and that are not caught up."""
        limit = self._config.acceptable_recovery_lag
        return (
            (task, copy.instance)
            for task, copies in enumerate(state.copies)
            for copy in copies
            if copy.consumer is not None and not is_caught_up(copy.remaining, limit)
        )

    def take(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> ClassicTurn:
        """Rebalance: decide, and withhold what its owner has to give up first."""
        return self._turn(state, self._assign(state, self._config, self._previous), at_ms, trigger, members)

    def changes_nothing(self, turn: ClassicTurn) -> bool:
        """Tell whether what is held is what is decided: standbys, warm-ups and temporary standbys counted alike."""

        def flat(held: Holding) -> tuple[tuple[int, ...], list[int]]:
            return held.active, sorted(held.standby + held.warmup + held.temporary)

        return not turn.probing_rebalance and all(
            held == decided or flat(held) == flat(decided)
            for held, decided in zip(turn.state.holdings, turn.assignment.consumers, strict=True)
        )

    def took(self, turn: ClassicTurn) -> None:
        """Remember what of the decision is told at the end."""
        if self._previous is None:
            self._short |= {task for task, _ in turn.assignment.short_standbys}
        if self._notes is None:
            self._notes = turn.assignment.notes
        else:
            self._races |= uncertainty.taken_back(turn.state, turn.stateful)

    def next(self, turn: ClassicTurn, _ahead: Ahead) -> Due | None:
        """Say when the follow-up or the probing rebalance comes, typically (README, clock)."""
        heartbeat_ms = self._config.heartbeat_interval_ms
        if turn.transition.follow_up:
            everyone_at_once = len(turn.transition.disturbed) == len(turn.held)
            due_ms = turn.at_ms + (AT_ONCE_MS if everyone_at_once else heartbeat_ms)
            return Due(due_ms, Trigger.FOLLOW_UP, begun=True)
        if turn.probing_rebalance:
            return Due(turn.at_ms + self._config.probing_rebalance_interval_ms + heartbeat_ms, Trigger.PROBING)
        return None

    def later(self, turn: ClassicTurn, lapse: Lapse) -> GroupState:
        """Let copies catch up and fall behind, and members report what they then have."""
        transition = _nothing(turn.state) if lapse.idle else turn.transition
        long = lapse.to_ms - lapse.from_ms >= self._config.probing_rebalance_interval_ms
        interval = Interval(lapse.from_ms, lapse.to_ms, tick=long and not transition.follow_up, idle=lapse.idle)
        if lapse.paced:
            self._recurrence = Recurrence(self._config)
        after = advance(turn.state, transition, interval, self._config, lapse.spans[0].rates, lapse.spans)
        if lapse.idle:
            return replace(after, generation=turn.state.generation)
        self._revoked_by = {task: owner for task, owner, _, _ in transition.withheld}
        if turn.trigger is not None:
            self._previous = turn.state, turn.assignment
        self._deletions |= uncertainty.cleaned_up(turn.state, after, turn.assignment, self._config)
        return after

    def take_in(self, state: GroupState, taking: TakingIn) -> tuple[GroupState, Sequence[Step]]:
        """Let members come and go, and settings change: nothing that was known of the group before saves work now."""
        self._config = taking.config
        self._recurrence = Recurrence(taking.config)
        self._previous = self._stateless = None
        old, group = state.group, taking.group
        index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
        owners = {task: old.consumer_ids[consumer] for task, consumer in self._revoked_by.items()}
        self._revoked_by = {task: index[of] for task, of in owners.items() if of in index}
        return super().take_in(state, taking)

    def repeats(self, turn: ClassicTurn) -> Verdict | None:
        """Compare a probing rebalance, or one that was called for, with those before."""
        if turn.trigger is Trigger.FOLLOW_UP or _settled(turn.assignment, turn.transition):
            return None
        return self._recurrence.verdict(turn.state, turn.assignment)

    def waited_for(self, turn: ClassicTurn) -> tuple[WorkId, ...]:
        """Return the tasks on their way, in task order."""
        tasks = sorted({movement.task for movement in turn.assignment.movements})
        return tuple(turn.state.group.tasks[task].task_id for task in tasks)

    def ended(self, turn: ClassicTurn, verdict: Verdict, rates: Rates) -> Ending:
        """Name the copy that is waited for, and what is missing or left to chance."""
        if verdict.kind != "settled":
            verdict = replace(verdict, cause=cause(turn.state, turn.assignment, rates, self._config))
        if self._notes is None:
            self._short |= {task for task, _ in turn.assignment.short_standbys}
        return Ending(
            verdict,
            _shortages(turn.state.group, self._short)
            + turn.assignment.warnings
            + uncertainty.notes(turn.state, self._races, self._deletions),
            self._notes or (),
        )

    def _turn(
        self,
        state: GroupState,
        assignment: Assignment,
        at_ms: int,
        trigger: Trigger | None,
        members: tuple[Step, ...],
    ) -> ClassicTurn:
        transition = self._rebalance(state, assignment)
        if self._stateless is None:
            limit = self._config.acceptable_recovery_lag
            self._stateless = StatelessSteps(state.group, limit, evened_out=assignment.keeps_stateless)
        revoked_by = self._revoked_by
        if transition.given_up:
            revoked_by = {**revoked_by, **transition.given_up}
        stateful = steps_of(state, assignment, transition, self._config, revoked_by)
        steps = self._stateless.with_others(members, stateful, *transition.owners)
        return ClassicTurn(
            at_ms=at_ms,
            state=state,
            generation=state.generation + 1,
            decided=transition.decided,
            held=transition.holdings,
            target=assignment.target,
            steps=steps,
            phases=_phases(assignment, transition, steps),
            decided_of=assignment.instances,
            probing_rebalance=assignment.probing_rebalance,
            queued=len(assignment.movements),
            trigger=trigger,
            assignment=assignment,
            transition=transition,
            stateful=stateful,
        )


def _settled(assignment: Assignment, transition: Transition) -> bool:
    return not transition.follow_up and not assignment.probing_rebalance


def _nothing(state: GroupState) -> Transition:
    """Return what becomes of a group that does nothing."""
    held = Holdings.of(state.group, state.holdings)
    return Transition(before=held, decided=held, holdings=held)


def _phases(decision: Assignment, transition: Transition, steps: Sequence[Step]) -> tuple[Phase, ...]:
    """Return what the round is for."""
    warming_up = any(map(attrgetter("warmup"), transition.decided.stateful))
    cutting_over = transition.follow_up or stateless_changes(steps) is not None or any(map(_starts, steps))
    phases = [phase for phase, holds in ((Phase.WARM_UP, warming_up), (Phase.CUT_OVER, cutting_over)) if holds]
    if _settled(decision, transition):
        phases.append(Phase.SETTLED)
    elif decision.probing_rebalance and (not steps or not phases):
        phases.append(Phase.PROBING)
    return tuple(phases)


def _starts(step: Step) -> bool:
    return isinstance(step, HandOver | Promote) or (isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE)


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
