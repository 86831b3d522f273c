"""Coordinates a classic group on arrays where it can, which comes to the same sooner; else as any other."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.assignors import Assignor
from kstream_plan.assignors.target_now import NO_TARGET, TargetNow
from kstream_plan.designs.classic.coordinator import ClassicCoordinator, ClassicTurn, phases
from kstream_plan.designs.classic.next_rebalance import TYPICAL, Clock
from kstream_plan.designs.classic.on_arrays import MOST_PROBES, Arrays, OnArrays, Pace, Probes, are_for
from kstream_plan.designs.classic.stuck_or_cyclic import repeated
from kstream_plan.model import GroupState, Holdings, Rates
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Step, Trigger, Verdict
from kstream_plan.plans.design import Ending, Lapse
from kstream_plan.plans.membership import TakingIn
from kstream_plan.plans.standstill_rows import MOST_MS
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import Protocol


class CoordinatorOnArrays(ClassicCoordinator):
    """Coordinates one group by the assignor high-availability.

    The first turn of the same members and settings is made of objects, and whatever arrays are not for.
    """

    def __init__(
        self,
        assign: Assignor,
        rebalance: Protocol,
        config: AssignmentConfig,
        clock: Clock = TYPICAL,
        *,
        times_alone: bool = False,
        target: TargetNow = NO_TARGET,
    ) -> None:
        super().__init__(assign, rebalance, config, clock, times_alone=times_alone, target=target)
        self._on_arrays: OnArrays | None = None
        self._maker: StepMaker | None = None
        #: the turn that was taken on arrays last
        self._taken: ClassicTurn | None = None
        self._pace: Pace | None = None
        #: whether the time before the next turn was one for arrays
        self._fits = False
        #: the groups that probes found that were played with objects, since they are compared
        self._found: list[GroupState] = []
        self._probes = Probes()

    def take(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> ClassicTurn:
        """Rebalance: decide, and withhold what its owner has to give up first."""
        on_arrays = None if members else self._entered(state)
        if on_arrays is None:
            self._leave()
            self._taken = None
            return super().take(state, at_ms, trigger, members)
        assert self._maker is not None
        decided = on_arrays.decide(self._maker, at_ms, times_alone=self._times_alone)
        assignment, transition, steps = decided.assignment, decided.transition, decided.steps
        stateless = self._stateless_changes(state, assignment, transition, first=0)
        probes = assignment.probing_rebalance
        self._taken = ClassicTurn(
            at_ms=at_ms,
            state=state,
            generation=state.generation + 1,
            decided=transition.decided,
            held=transition.holdings,
            target=assignment.target,
            steps=steps,
            stateless=stateless,
            phases=phases(
                warms_up=decided.warms_up,
                cuts_over=transition.follow_up or stateless is not None or decided.starts_any,
                settled=not transition.follow_up and not probes,
                waits=probes and not steps and stateless is None,
                probes=probes,
            ),
            balance=on_arrays.balance,
            probing_rebalance=probes,
            queued=decided.queued,
            movements=len(assignment.movements),
            trigger=trigger,
            assignment=assignment,
            transition=transition,
            stateful=steps,
        )
        return self._taken

    def took(self, turn: ClassicTurn) -> None:
        """Remember what of the decision is told at the end; arrays do while they tell its steps."""
        if turn is not self._taken:
            super().took(turn)

    def later(self, turn: ClassicTurn, lapse: Lapse) -> GroupState:
        """Let copies catch up and fall behind, and members report what they then have."""
        rates, group = lapse.spans[0].rates, turn.state.group
        if self._pace is None or self._pace.rates is not rates or len(self._pace.restores) != len(group.instances):
            self._pace = Pace.of(group, rates)
        self._fits = not lapse.idle and lapse.to_ms <= MOST_MS and self._pace.fits(lapse.spans)
        if lapse.paced:
            self._found, self._probes = [], Probes()
        if turn is self._taken:
            if self._on_arrays is not None and self._fits:
                self._doubt_late(turn, lapse)
                tick = self._is_tick(turn, turn.transition, lapse)
                return self._on_arrays.go_on(lapse, self._pace, self._clock, tick=tick)
            turn = self._made_of_objects(turn)
        return super().later(turn, lapse)

    def take_in(self, state: GroupState, taking: TakingIn) -> tuple[GroupState, Sequence[Step]]:
        """Let members come and go, and settings change."""
        self._leave()
        self._found, self._probes = [], Probes()
        return super().take_in(state, taking)

    def repeats(self, turn: ClassicTurn) -> Verdict | None:
        """Compare a probing rebalance, or one that was called for, with those before."""
        if not self._is_compared(turn):
            return None
        if turn is not self._taken or self._on_arrays is None:
            self._found.append(turn.state)
            return super().repeats(turn)
        period = self._on_arrays.probe(self._probes)
        return None if period is None else repeated(turn.state, turn.assignment, period)

    def ended(self, turn: ClassicTurn, verdict: Verdict, rates: Rates) -> Ending:
        """Name the copy that is waited for, and what is missing or left to chance."""
        self._remember()
        return super().ended(turn, verdict, rates)

    def _entered(self, state: GroupState) -> OnArrays | None:
        """Return the arrays at a state; ``None`` if they are not for it."""
        if self._on_arrays is not None and self._on_arrays.state is state:
            return self._on_arrays
        self._leave()
        if self._previous is None or not self._fits or len(self._found) > MOST_PROBES:
            return None
        decision = self._previous[1]
        if not are_for(state.group, self._config):
            return None
        laws, protocol = self._assign.laws, self._rebalance
        arrays = Arrays(state.group, decision.target, self._config, self._cleaner, laws, protocol)
        probes = Probes()
        for found in self._found:
            if not arrays.copies.load_state(found, {}):
                return None
            arrays.decide(Holdings.of(found.group, found.holdings).owners)
            probes.period(arrays)
        if not arrays.copies.load_state(state, self._revoked_by):
            return None
        self._probes, limit = probes, self._config.acceptable_recovery_lag
        if self._maker is None or self._maker.group is not state.group or self._maker.limits[1] != limit:
            self._maker = StepMaker(state.group, (None, limit))
        self._on_arrays = OnArrays(arrays, state, decision)
        return self._on_arrays

    def _leave(self) -> None:
        """Go on with objects."""
        if self._on_arrays is not None:
            self._remember()
            self._revoked_by = self._on_arrays.revoked()
            self._on_arrays = self._taken = self._previous = None

    def _remember(self) -> None:
        if self._on_arrays is not None:
            races, deletions, ready = self._on_arrays.left_to_chance()
            self._races |= races
            self._deletions |= deletions
            self._ready |= ready

    def _made_of_objects(self, turn: ClassicTurn) -> ClassicTurn:
        """Return the same turn made of objects, to go on from."""
        assert turn.trigger is not None
        self._leave()
        return super().take(turn.state, turn.at_ms, turn.trigger, ())
