"""The loop: simulates one rebalance after the other, and the changes from outside between them.

It knows the group, the clock and the external events. A design's coordinator decides what happens in a rebalance, when
the next one comes and why, and what state the group is in then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from kstream_plan.model import Group, GroupState, Holding, Holdings, Note, Rates, Target
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import Cleaning
from kstream_plan.planner.external_events import ExternalEvents
from kstream_plan.planner.restores import RestoreTotals
from kstream_plan.planner.roster import Roster
from kstream_plan.plans import Balance, Phase, Round, Step, Trigger, Verdict
from kstream_plan.plans.balance import RunningBalance
from kstream_plan.plans.design import Coordinator, CopyDoubt, Interval, NextRebalance, Rebalance
from kstream_plan.plans.membership import Disk, GroupChange, MembershipChange, disk_of, first_joined, left_of
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.rounds import NOT_COUNTED, MemberUpdate
from kstream_plan.plans.step_rows import StepMaker

#: Called after every round with the number of rounds so far, of tasks that still have to move, and of their movements:
#: an active copy and a standby of the same task move one after the other.
OnRound: TypeAlias = Callable[[int, int, int], None]
#: Called after each round, and once at the end, with (the rebalance before the plan or ``None``, the rounds so far,
#: whether the plan has ended). Returns True to stop: the verdict is ``unfinished``. At the end alone the last round has
#: the updates of single members.
StopWhen: TypeAlias = Callable[[Rebalance | None, Sequence[Round], bool], bool]

_SETTLED = Verdict("settled", (), "the members hold what was decided")
_NOTHING_CHANGES = Verdict("settled", (), "another decision would change nothing")
#: The reason of the verdict of a simulation that ``enough`` stopped.
STOPPED_EARLY = "the simulation was stopped before the end"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The outcome of the loop: its rounds, by the indices of the roster.

    previous_rebalance: the rebalance before the plan that the first round follows from; ``None``: there is none.
    rounds: the rounds.
    target: the target at the end, by the indices of ``group``.
    verdict: whether the group settles.
    warnings: what may hurt.
    group: the members at the end.
    rates: the rates at the end, by the indices of ``group``.
    restore_totals: the records restored so far.
    settings: new settings, each with the number of the first round by them.
    notes, doubts, cleanings, follows_restores, max_cold_ms, runs_by_ms: as in
        :class:`~kstream_plan.plans.design.Conclusion`.
    last: the last rebalance.
    first: the group before the first decision of the plan; ``None``: there is none.
    """

    previous_rebalance: Rebalance | None
    rounds: list[Round]
    target: Target
    verdict: Verdict
    warnings: tuple[Note, ...]
    group: Group
    rates: Rates
    restore_totals: RestoreTotals
    settings: tuple[tuple[int, AssignmentConfig], ...]
    notes: tuple[Note, ...]
    doubts: tuple[CopyDoubt, ...]
    cleanings: tuple[Cleaning, ...]
    last: Rebalance
    first: GroupState | None = None
    follows_restores: bool = False
    max_cold_ms: int | None = None
    runs_by_ms: int | None = None


def run_rounds(
    state: GroupState,
    config: AssignmentConfig,
    coordinator: Coordinator[Any],
    outside: ExternalEvents,
    roster: Roster,
    *,
    first_trigger: Trigger,
    max_rounds: int,
    on_round: OnRound,
    enough: StopWhen = lambda _rebalance, _rounds, _ended: False,
    balances: bool = True,
) -> RunResult:
    """Simulate the rebalances of a group, with the events from ``outside``, until none is due.

    The first decision comes at 0. If it would change nothing, it comes with the first change from outside; if the group
    waits for a member that is away, once the group notices that, or the member is back. If the state tells of a
    decision before the plan, the first rebalance follows from that one. A change during a rebalance joins it; else it
    replaces the one that is due.

    Args:
        state: the group at the beginning.
        config: the settings.
        coordinator: how the group rebalances.
        outside: changes of members, settings and rates.
        roster: everyone who ever takes part.
        first_trigger: why the first rebalance comes.
        max_rounds: the rounds after which the simulation is cut off.
        on_round: called after each round.
        enough: tells whether to stop early.
        balances: whether to count how even the load is after each round.
    """
    previous_rebalance = coordinator.resume(state)
    if previous_rebalance is None:
        interval = Interval(state.at_ms, 0, outside.spans(state.at_ms, 0), idle=True)
        state = coordinator.advance_to_now(state, interval)
    restore_totals = RestoreTotals(
        state.group, coordinator.restoring_copies(state), outside.rates_from(0), outside.is_steady
    )
    maker = StepMaker(roster.group)
    run = _Run(
        state, config, coordinator, outside, roster, maker, restore_totals, first_trigger, previous_rebalance, balances
    )
    if previous_rebalance is None:
        run.may_end = True
        run.apply_change(outside.take_changes(0))
    else:
        run.follow(previous_rebalance)
    while True:
        rebalance = run.take()
        if run.may_wait(rebalance):
            if not run.wait(rebalance):
                return run.ended(rebalance, _NOTHING_CHANGES)
            continue
        due = run.record(rebalance)
        on_round(len(run.rounds), rebalance.queued, max(rebalance.queued, rebalance.movements))
        if enough(run.previous_rebalance, run.rounds, False):
            return run.ended(rebalance, Verdict("unfinished", (), STOPPED_EARLY))
        verdict = run.verdict(rebalance, due, rounds_left=max_rounds - len(run.rounds))
        if verdict is not None:
            ended = run.ended(rebalance, verdict)
            enough(run.previous_rebalance, run.rounds, True)
            return ended
        run.go_on(rebalance, due)


@dataclass(slots=True)
class _Run:
    """The state of the loop; private to one call of :func:`run_rounds`."""

    state: GroupState
    config: AssignmentConfig
    coordinator: Coordinator[Any]
    outside: ExternalEvents
    roster: Roster
    maker: StepMaker
    restore_totals: RestoreTotals
    trigger: Trigger
    previous_rebalance: Rebalance | None
    balances: bool
    at_ms: int = 0
    may_end: bool = False
    under_way: bool = False
    first: GroupState | None = None
    rounds: list[Round] = field(default_factory=list)
    balance: RunningBalance | None = None
    arrived: list[GroupChange] = field(default_factory=list)
    disks: dict[str, Disk] = field(default_factory=dict)
    settings: list[tuple[int, AssignmentConfig]] = field(default_factory=list)
    members: list[Step] = field(default_factory=list)
    updates: list[tuple[Rebalance, RoundSteps]] = field(default_factory=list)

    def take(self) -> Rebalance:
        """Make the rebalance that is due now."""
        members = tuple(self.members)
        if not self.arrived and not self.rounds and self.trigger is Trigger.JOIN:
            members = first_joined(self.state)
        rebalance: Rebalance = self.coordinator.rebalance(self.state, self.at_ms, self.trigger, members)
        self._set_state(rebalance.state)
        return rebalance

    def record(self, rebalance: Rebalance) -> NextRebalance | None:
        """Record the rebalance; return when the next one comes by itself."""
        if rebalance.silent:
            return self.coordinator.next_rebalance(rebalance, partial(self.outside.spans_ahead, self.at_ms))
        self.coordinator.on_recorded(rebalance)
        rates, steps = (
            self.outside.rates_from(self.at_ms),
            RoundSteps.from_steps(self.maker, rebalance.steps, rebalance.stateless),
        )
        if rebalance.members:
            steps = RoundSteps.from_steps(steps.maker, rebalance.members).followed_by(steps)
        self.restore_totals.add(self.at_ms, rebalance.state.group, rates, steps)
        self.members.clear()
        if rebalance.member is not None and self.rounds:
            self.updates.append((rebalance, steps))
        else:
            self._close_round()
            self.first = self.first or rebalance.state
            self.rounds.append(self._round(rebalance, steps))
        return self.coordinator.next_rebalance(rebalance, partial(self.outside.spans_ahead, self.at_ms))

    def verdict(self, rebalance: Rebalance, due: NextRebalance | None, *, rounds_left: int) -> Verdict | None:
        """Return the verdict if it ends here: never while something is still to come from outside."""
        goes_on = due is not None or self.outside.next_change_ms() is not None
        if rounds_left <= 0 and goes_on and not (due is not None and due.of_member):
            return Verdict("unfinished", self.coordinator.pending_work(rebalance), "the limit of rounds was reached")
        repeats = self.coordinator.detect_cycle(rebalance)
        if goes_on and self.outside.more_after(self.at_ms):
            return None
        return _SETTLED if due is None else repeats

    def follow(self, rebalance: Rebalance) -> None:
        """Begin with what follows from the rebalance before the plan; if nothing does, the first decision comes now."""
        self.at_ms = rebalance.at_ms
        steps = RoundSteps.from_steps(self.maker, rebalance.steps)
        self.restore_totals.add(self.at_ms, rebalance.state.group, self.outside.rates, steps)
        self.restore_totals.begin(steps)
        due = self.coordinator.next_rebalance(rebalance, partial(self.outside.spans_ahead, self.at_ms))
        if due is None and self.outside.next_change_ms() is None:
            due, self.may_end = NextRebalance(0, self.trigger), True
        self.go_on(rebalance, due)

    def go_on(self, rebalance: Rebalance, due: NextRebalance | None) -> None:
        """Advance to the next rebalance; a change from outside before it takes its place."""
        change_ms = self.outside.next_change_ms()
        if due is None or (change_ms is not None and change_ms <= due.at_ms and not due.under_way):
            assert change_ms is not None
            due = NextRebalance(change_ms, Trigger.MANUAL)
        to_ms = self._earliest_ms(max(0, due.at_ms))
        self.trigger, self.under_way = due.trigger, due.under_way
        self._pass(rebalance, to_ms)
        self.apply_change(self.outside.take_changes(to_ms))

    def may_wait(self, rebalance: Rebalance) -> bool:
        """Tell whether nothing can be decided at the beginning, or nothing would change and no member came or went."""
        if self.rounds or not self.may_end:
            return False
        somebody_is_away = self._earliest_ms(self.at_ms) > self.at_ms
        return somebody_is_away or (not self.arrived and self.coordinator.changes_nothing(rebalance))

    def wait(self, rebalance: Rebalance) -> bool:
        """Let the time pass until everybody is there, or else the first change comes; return whether there is any."""
        somebody_is_away = self._earliest_ms(self.at_ms) > self.at_ms
        to_ms = self.at_ms if somebody_is_away else self.outside.next_change_ms()
        if to_ms is None:
            return False
        self._pass(rebalance, self._earliest_ms(to_ms), idle=True)
        earlier, trigger = self.arrived, self.trigger
        self.apply_change(self.outside.take_changes(self.at_ms))
        if earlier:
            self.arrived, self.trigger = [*earlier, *self.arrived], trigger
        return True

    def apply_change(self, changes: list[GroupChange]) -> None:
        """Let members come and go, and settings change, now."""
        self.arrived = changes
        if not changes:
            return
        for change in changes:
            if change.settings:
                self.config = replace(self.config, **dict(change.settings))  # type: ignore[arg-type]
                self.settings.append((len(self.rounds) + 1, self.config))
            self._regroup(change)
        if not self.under_way:
            self.trigger = changes[0].trigger

    def ended(self, rebalance: Rebalance, verdict: Verdict) -> RunResult:
        """Put together the outcome."""
        self._close_round()
        conclusion = self.coordinator.conclude(rebalance, verdict, self.outside.rates)
        return RunResult(
            previous_rebalance=self.previous_rebalance,
            rounds=self.rounds,
            target=rebalance.target,
            verdict=conclusion.verdict,
            warnings=conclusion.warnings,
            group=self.state.group,
            rates=self.outside.rates,
            restore_totals=self.restore_totals,
            settings=tuple(self.settings),
            notes=conclusion.notes,
            doubts=conclusion.doubts,
            cleanings=conclusion.cleanings,
            last=rebalance,
            first=self.first,
            follows_restores=conclusion.follows_restores,
            max_cold_ms=conclusion.max_cold_ms,
            runs_by_ms=conclusion.runs_by_ms,
        )

    def _round(self, rebalance: Rebalance, steps: RoundSteps) -> Round:
        """Return the round that a decision begins."""
        group = rebalance.state.group
        return Round(
            number=len(self.rounds) + 1,
            generation=rebalance.generation,
            at_ms=self.at_ms,
            trigger=self.trigger,
            phases=rebalance.phases,
            probing_rebalance=rebalance.probing_rebalance,
            steps=steps,
            balance=self._balance(rebalance),
            decided=self.roster.holdings(group, rebalance.decided),
            assigned=self.roster.holdings(group, rebalance.held),
            follows=rebalance.follows,
        )

    def _balance(self, rebalance: Rebalance, running: RunningBalance | None = None) -> Balance:
        """Count how evenly a decision spreads the load, by default from the round before on."""
        if not self.balances:
            return NOT_COUNTED
        group, of_instances = rebalance.state.group, rebalance.decided_of
        if rebalance.balance is not None:
            return self.roster.balance(group, rebalance.balance())
        if running is None:
            running = self.balance = self.balance or RunningBalance(group)
        if of_instances is None:
            of_instances = _by_instance(group, rebalance.decided)
        return self.roster.balance(group, running.balance_after(Holdings.of(group, of_instances)))

    def _close_round(self) -> None:
        """Add the members' rebalances to the last round."""
        if not self.updates:
            return
        rnd, parts, updates = self.rounds[-1], [self.rounds[-1].steps], list[MemberUpdate]()
        for rebalance, steps in self.updates:
            assert rebalance.member is not None
            updates.append(MemberUpdate(rebalance.at_ms, *rebalance.member, sum(map(len, parts))))
            parts.append(steps)
        last, reached_phases = (
            self.updates[-1][0],
            {*rnd.phases}.union(*(rebalance.phases for rebalance, _ in self.updates)),
        )
        self.rounds[-1] = replace(
            rnd,
            steps=RoundSteps.concatenate(parts),
            turns=tuple(updates),
            phases=tuple(phase for phase in Phase if phase in reached_phases),
            balance=self._balance(last, RunningBalance(last.state.group)),
            decided=self.roster.holdings(last.state.group, last.decided),
            assigned=self.roster.holdings(last.state.group, last.held),
        )
        self.updates.clear()

    def _earliest_ms(self, at_ms: int) -> int:
        return self.outside.earliest_end_ms(at_ms) if self.coordinator.waits_for_all else at_ms

    def _pass(self, rebalance: Rebalance, to_ms: int, *, idle: bool = False) -> None:
        spans = self.outside.spans(self.at_ms, to_ms)
        rates_change = self.outside.rates_change(self.at_ms, to_ms)
        more_changes = self.outside.next_change_ms() is not None
        self._set_state(
            self.coordinator.advance(rebalance, Interval(self.at_ms, to_ms, spans, rates_change, idle, more_changes))
        )
        self.at_ms = to_ms

    def _set_state(self, state: GroupState) -> None:
        """Go on with a state, whose group may have let members go."""
        self.state = state
        if state.group is not self.outside.group:
            self._regrouped()

    def _regrouped(self) -> None:
        self.balance = None
        self.outside.regroup(self.state.group)

    def _regroup(self, change: GroupChange) -> None:
        old = self.state.group
        group = self.roster.same_or(Group.of(old.application_id, list(old.tasks), list(change.members)))
        for process_id, stopped_at_ms in change.departures:
            instance, produced = old.instance_index[process_id], self.outside.produced
            self.disks[process_id] = disk_of(self.state, instance, stopped_at_ms, self.at_ms, produced)
        disks = {
            arrival.instance.process_id: left_of(self.disks.pop(arrival.disk_of, ()), group, arrival)
            for arrival in change.arrivals
            if arrival.disk_of is not None
        }
        membership_change = MembershipChange(
            change=change,
            group=group,
            disks=disks,
            at_ms=self.at_ms,
            produced=self.outside.produced,
            config=self.config,
        )
        self.state, steps = self.coordinator.apply_change(self.state, membership_change)
        self.members += steps
        self._regrouped()


def _by_instance(group: Group, holdings: Sequence[Holding]) -> list[Holding]:
    """Return what the consumers of each instance hold together."""
    return [
        Holding(*(tuple(sorted(sum(roles, ()))) for roles in zip(*(holdings[c] for c in consumers), strict=True)))
        for consumers in group.consumers_of
    ]
