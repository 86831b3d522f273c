"""The loop under the clock: turn after turn, and the changes from outside meanwhile.

It knows the group, the clock, what comes from outside, and a design's coordinator, which it asks what happens in a
turn, when the next one comes and why, and how the group is found then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from kstream_plan.model import Group, GroupState, Holding, Holdings, Note, Rates, Target
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import Cleaning
from kstream_plan.planner.outside_events import OutsideEvents
from kstream_plan.planner.restore_totals import RestoreTotals
from kstream_plan.planner.roster import Roster
from kstream_plan.plans import Balance, Phase, Round, Step, Trigger, Verdict
from kstream_plan.plans.balance import RunningBalance
from kstream_plan.plans.design import Coordinator, CopyDoubt, Due, Lapse, Turn
from kstream_plan.plans.membership import Disk, GroupChange, TakingIn, disk_of, first_joined, left_of
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.rounds import NOT_COUNTED, MemberTurn
from kstream_plan.plans.step_rows import StepMaker

#: Called after every round with the number of rounds so far, of tasks that still have to move, and of their movements:
#: an active copy and a standby of the same task move one after the other.
OnRound: TypeAlias = Callable[[int, int, int], None]
#: Called after every round, and once at the end, with (the turn before the plan or ``None``, the rounds so far, whether
#: the plan has ended). Returns True to stop: the verdict is ``unfinished``. The turns that members take by themselves
#: are in all rounds but the last; at the end in that as well.
EnoughRounds: TypeAlias = Callable[[Turn | None, Sequence[Round], bool], bool]

_SETTLED = Verdict("settled", (), "the members hold what was decided")
_NOTHING_CHANGES = Verdict("settled", (), "another decision would change nothing")
#: The reason of the verdict of a simulation that ``enough`` stopped.
NOT_WANTED = "the simulation was stopped before the end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The outcome of the loop: its rounds, by the indices of the roster.

    ``previous_turn`` is the turn before the plan that the first round follows from, if there is one. ``group``,
    ``rates`` and ``target`` are those of the end, by the indices of that ``group``; ``settings`` are the new settings
    and the number of the first round with each. ``last`` is the last turn, ``first`` the group before the first
    decision of the plan; ``None``: there is none. ``follows_restores`` and what comes after it are as in
    :class:`~kstream_plan.plans.design.Ending`.
    """

    previous_turn: Turn | None
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
    last: Turn
    first: GroupState | None = None
    follows_restores: bool = False
    max_cold_ms: int | None = None
    runs_by_ms: int | None = None


def rehearse(
    state: GroupState,
    config: AssignmentConfig,
    coordinator: Coordinator[Any],
    outside: OutsideEvents,
    roster: Roster,
    *,
    first_trigger: Trigger,
    max_rounds: int,
    on_round: OnRound,
    enough: EnoughRounds = lambda _turn, _rounds, _ended: False,
    balances: bool = True,
) -> Rehearsal:
    """Simulate the turns of ``state``, with the events from ``outside``, until none is due.

    The first decision comes at 0. If it would change nothing, it comes with the first change from outside; if the group
    waits for a member that is away, once the group notices that, or the member is back. If the state tells of a
    decision before the plan, the first turn follows from that one. A change while a turn is under way joins that turn;
    else it brings a turn of its own, in place of the one that is due. ``balances``: count how even the load is after
    every round.
    """
    previous_turn = coordinator.last(state)
    if previous_turn is None:
        lapse = Lapse(state.at_ms, 0, outside.spans(state.at_ms, 0), idle=True)
        state = coordinator.until_now(state, lapse)
    restore_totals = RestoreTotals(state.group, coordinator.under_way(state), outside.rates_from(0), outside.is_steady)
    maker = StepMaker(roster.group)
    run = _Run(
        state, config, coordinator, outside, roster, maker, restore_totals, first_trigger, previous_turn, balances
    )
    if previous_turn is None:
        run.may_end = True
        run.take_in(outside.take_changes(0))
    else:
        run.follow(previous_turn)
    while True:
        turn = run.take()
        if run.may_wait(turn):
            if not run.wait(turn):
                return run.ended(turn, _NOTHING_CHANGES)
            continue
        due = run.record(turn)
        on_round(len(run.rounds), turn.queued, max(turn.queued, turn.movements))
        if enough(run.previous_turn, run.rounds, False):
            return run.ended(turn, Verdict("unfinished", (), NOT_WANTED))
        verdict = run.verdict(turn, due, rounds_left=max_rounds - len(run.rounds))
        if verdict is not None:
            ended = run.ended(turn, verdict)
            enough(run.previous_turn, run.rounds, True)
            return ended
        run.go_on(turn, due)


@dataclass(slots=True)
class _Run:
    """The state of the loop; private to one call of :func:`rehearse`."""

    state: GroupState
    config: AssignmentConfig
    coordinator: Coordinator[Any]
    outside: OutsideEvents
    roster: Roster
    maker: StepMaker
    restore_totals: RestoreTotals
    trigger: Trigger
    previous_turn: Turn | None
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
    turns: list[tuple[Turn, RoundSteps]] = field(default_factory=list)

    def take(self) -> Turn:
        """Let the turn be taken that is due now."""
        members = tuple(self.members)
        if not self.arrived and not self.rounds and self.trigger is Trigger.JOIN:
            members = first_joined(self.state)
        turn: Turn = self.coordinator.take(self.state, self.at_ms, self.trigger, members)
        self._set_state(turn.state)
        return turn

    def record(self, turn: Turn) -> Due | None:
        """Write down the turn; return when the next one comes by itself."""
        if turn.silent:
            return self.coordinator.next(turn, partial(self.outside.spans_ahead, self.at_ms))
        self.coordinator.took(turn)
        rates, steps = (
            self.outside.rates_from(self.at_ms),
            RoundSteps.from_steps(self.maker, turn.steps, turn.stateless),
        )
        if turn.members:
            steps = RoundSteps.from_steps(steps.maker, turn.members).followed_by(steps)
        self.restore_totals.add(self.at_ms, turn.state.group, rates, steps)
        self.members.clear()
        if turn.member is not None and self.rounds:
            self.turns.append((turn, steps))
        else:
            self._close_round()
            self.first = self.first or turn.state
            self.rounds.append(self._round(turn, steps))
        return self.coordinator.next(turn, partial(self.outside.spans_ahead, self.at_ms))

    def verdict(self, turn: Turn, due: Due | None, *, rounds_left: int) -> Verdict | None:
        """Return the verdict if it ends here: never while something is still to come from outside."""
        goes_on = due is not None or self.outside.next_change_ms() is not None
        if rounds_left <= 0 and goes_on and not (due is not None and due.of_member):
            return Verdict("unfinished", self.coordinator.waited_for(turn), "the limit of rounds was reached")
        repeats = self.coordinator.repeats(turn)
        if goes_on and self.outside.more_after(self.at_ms):
            return None
        return _SETTLED if due is None else repeats

    def follow(self, turn: Turn) -> None:
        """Begin with what follows from the turn before the plan; a turn of its own comes now if nothing does."""
        self.at_ms = turn.at_ms
        steps = RoundSteps.from_steps(self.maker, turn.steps)
        self.restore_totals.add(self.at_ms, turn.state.group, self.outside.rates, steps)
        self.restore_totals.begin(steps)
        due = self.coordinator.next(turn, partial(self.outside.spans_ahead, self.at_ms))
        if due is None and self.outside.next_change_ms() is None:
            due, self.may_end = Due(0, self.trigger), True
        self.go_on(turn, due)

    def go_on(self, turn: Turn, due: Due | None) -> None:
        """Let the time until the next turn pass; what is due after a change from outside gives way to it."""
        change_ms = self.outside.next_change_ms()
        if due is None or (change_ms is not None and change_ms <= due.at_ms and not due.under_way):
            assert change_ms is not None
            due = Due(change_ms, Trigger.MANUAL)
        to_ms = self._earliest_ms(max(0, due.at_ms))
        self.trigger, self.under_way = due.trigger, due.under_way
        self._pass(turn, to_ms)
        self.take_in(self.outside.take_changes(to_ms))

    def may_wait(self, turn: Turn) -> bool:
        """Tell whether nothing can be decided at the beginning, or nothing would change and no member came or went."""
        if self.rounds or not self.may_end:
            return False
        somebody_is_away = self._earliest_ms(self.at_ms) > self.at_ms
        return somebody_is_away or (not self.arrived and self.coordinator.changes_nothing(turn))

    def wait(self, turn: Turn) -> bool:
        """Let the time pass until everybody is there, or else the first change comes; return whether there is any."""
        somebody_is_away = self._earliest_ms(self.at_ms) > self.at_ms
        to_ms = self.at_ms if somebody_is_away else self.outside.next_change_ms()
        if to_ms is None:
            return False
        self._pass(turn, self._earliest_ms(to_ms), idle=True)
        earlier, trigger = self.arrived, self.trigger
        self.take_in(self.outside.take_changes(self.at_ms))
        if earlier:
            self.arrived, self.trigger = [*earlier, *self.arrived], trigger
        return True

    def take_in(self, changes: list[GroupChange]) -> None:
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

    def ended(self, turn: Turn, verdict: Verdict) -> Rehearsal:
        """Put together the outcome."""
        self._close_round()
        conclusion = self.coordinator.ended(turn, verdict, self.outside.rates)
        return Rehearsal(
            previous_turn=self.previous_turn,
            rounds=self.rounds,
            target=turn.target,
            verdict=conclusion.verdict,
            warnings=conclusion.warnings,
            group=self.state.group,
            rates=self.outside.rates,
            restore_totals=self.restore_totals,
            settings=tuple(self.settings),
            notes=conclusion.notes,
            doubts=conclusion.doubts,
            cleanings=conclusion.cleanings,
            last=turn,
            first=self.first,
            follows_restores=conclusion.follows_restores,
            max_cold_ms=conclusion.max_cold_ms,
            runs_by_ms=conclusion.runs_by_ms,
        )

    def _round(self, turn: Turn, steps: RoundSteps) -> Round:
        """Return the round that a decision begins."""
        group = turn.state.group
        return Round(
            number=len(self.rounds) + 1,
            generation=turn.generation,
            at_ms=self.at_ms,
            trigger=self.trigger,
            phases=turn.phases,
            probing_rebalance=turn.probing_rebalance,
            steps=steps,
            balance=self._balance(turn),
            decided=self.roster.holdings(group, turn.decided),
            assigned=self.roster.holdings(group, turn.held),
            follows=turn.follows,
        )

    def _balance(self, turn: Turn, running: RunningBalance | None = None) -> Balance:
        """Count how evenly a decision spreads the load, by default from the round before on."""
        if not self.balances:
            return NOT_COUNTED
        group, of_instances = turn.state.group, turn.decided_of
        if turn.balance is not None:
            return self.roster.balance(group, turn.balance())
        if running is None:
            running = self.balance = self.balance or RunningBalance(group)
        if of_instances is None:
            of_instances = _by_instance(group, turn.decided)
        return self.roster.balance(group, running.balance_after(Holdings.of(group, of_instances)))

    def _close_round(self) -> None:
        """Add the members' turns to the last round."""
        if not self.turns:
            return
        rnd, parts, turns = self.rounds[-1], [self.rounds[-1].steps], list[MemberTurn]()
        for turn, steps in self.turns:
            assert turn.member is not None
            turns.append(MemberTurn(turn.at_ms, *turn.member, sum(map(len, parts))))
            parts.append(steps)
        last, reached_phases = self.turns[-1][0], {*rnd.phases}.union(*(turn.phases for turn, _ in self.turns))
        self.rounds[-1] = replace(
            rnd,
            steps=RoundSteps.concatenate(parts),
            turns=tuple(turns),
            phases=tuple(phase for phase in Phase if phase in reached_phases),
            balance=self._balance(last, RunningBalance(last.state.group)),
            decided=self.roster.holdings(last.state.group, last.decided),
            assigned=self.roster.holdings(last.state.group, last.held),
        )
        self.turns.clear()

    def _earliest_ms(self, at_ms: int) -> int:
        return self.outside.earliest_end_ms(at_ms) if self.coordinator.waits_for_all else at_ms

    def _pass(self, turn: Turn, to_ms: int, *, idle: bool = False) -> None:
        spans = self.outside.spans(self.at_ms, to_ms)
        rates_change = self.outside.rates_change(self.at_ms, to_ms)
        more_changes = self.outside.next_change_ms() is not None
        self._set_state(self.coordinator.later(turn, Lapse(self.at_ms, to_ms, spans, rates_change, idle, more_changes)))
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
        membership_change = TakingIn(
            change=change,
            group=group,
            disks=disks,
            at_ms=self.at_ms,
            produced=self.outside.produced,
            config=self.config,
        )
        self.state, steps = self.coordinator.take_in(self.state, membership_change)
        self.members += steps
        self._regrouped()


def _by_instance(group: Group, holdings: Sequence[Holding]) -> list[Holding]:
    """Return what the consumers of each instance hold together."""
    return [
        Holding(*(tuple(sorted(sum(roles, ()))) for roles in zip(*(holdings[c] for c in consumers), strict=True)))
        for consumers in group.consumers_of
    ]
