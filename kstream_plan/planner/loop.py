"""The loop under the clock: assign → withhold → advance → repeat, and what comes from outside meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from kstream_plan.assignors import Assignor
from kstream_plan.model import Assignment, Group, GroupState, Holding, Holdings, Note, Rates, Target
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner import uncertainty
from kstream_plan.planner.advance import Interval, advance
from kstream_plan.planner.clock import next_rebalance
from kstream_plan.planner.ending import Recurrence, cause
from kstream_plan.planner.membership import Disk, disk_of, regrouped
from kstream_plan.planner.outside import OutsideEvents
from kstream_plan.planner.restore_totals import Restored
from kstream_plan.planner.roster import Roster
from kstream_plan.planner.round_record import first_joined, given_up, membership_steps, phases_of
from kstream_plan.planner.round_steps import steps_of
from kstream_plan.planner.running_balance import RunningBalance
from kstream_plan.planner.timeline import GroupChange
from kstream_plan.plans import Round, StatelessSteps, Step, Trigger, Verdict
from kstream_plan.protocols import Protocol
from kstream_plan.protocols.transition import Transition

#: Called after every round with the number of rounds so far and of movements still queued.
OnRound: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Method:
    """Who decides, and how the group gets there."""

    assign: Assignor
    rebalance: Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came out: the rounds, by the indices of everyone.

    ``group``, ``rates`` and ``target`` are those of the end, by the indices of that ``group``; ``settings`` are the new
    settings and the number of the first round with each.
    """

    rounds: list[Round]
    target: Target
    verdict: Verdict
    warnings: tuple[Note, ...]
    group: Group
    rates: Rates
    restored: Restored
    settings: tuple[tuple[int, AssignmentConfig], ...]
    notes: tuple[Note, ...]


def rehearse(
    state: GroupState,
    config: AssignmentConfig,
    rules: Method,
    course: OutsideEvents,
    everyone: Roster,
    *,
    first_trigger: Trigger,
    max_rounds: int,
    on_round: OnRound,
) -> Outcome:
    """Play the rebalances of ``state``, and of ``course``, until nothing follows any more.

    The first rebalance starts at 0, unless it would change nothing: then with the first change from outside. It ends
    at 0 too, unless a member stopped right then: then when the group has noticed that, or it is back. A change
    while a follow-up is pending is taken in by it; else it starts a rebalance of its own, in place of the probing one.
    """
    restored = Restored(state, config.acceptable_recovery_lag, course.rates_from(0))
    run = _Run(state, config, rules, course, everyone, Recurrence(config), restored, trigger=first_trigger)
    run.take_in(course.due(0))
    while True:
        decision = rules.assign(run.state, run.config, run.previous)
        transition = rules.rebalance(run.state, decision)
        if not run.rounds and (run.somebody_is_away() or run.is_idle(decision)):
            if not run.wait():
                run.short |= {task for task, _ in decision.short_standbys}
                return run.ended(decision, Verdict("settled", (), "nothing would change"))
            continue
        settled = run.record(decision, transition)
        on_round(len(run.rounds), len(decision.movements))
        verdict = run.verdict(decision, settled=settled, left=max_rounds - len(run.rounds))
        if verdict is not None:
            return run.ended(decision, verdict)
        run.go_on(decision, transition, settled=settled)


@dataclass(slots=True)
class _Run:
    """Where the loop is; private to one call of :func:`rehearse`."""

    state: GroupState
    config: AssignmentConfig
    rules: Method
    course: OutsideEvents
    everyone: Roster
    recurrence: Recurrence
    restored: Restored
    trigger: Trigger
    at_ms: int = 0
    rounds: list[Round] = field(default_factory=list)
    previous: tuple[GroupState, Assignment] | None = None
    stateless: StatelessSteps | None = None
    balance: RunningBalance | None = None
    revoked_by: Mapping[int, int] = field(default_factory=dict)
    arrived: list[GroupChange] = field(default_factory=list)
    disks: dict[str, Disk] = field(default_factory=dict)
    short: set[int] = field(default_factory=set)
    settings: list[tuple[int, AssignmentConfig]] = field(default_factory=list)
    members: list[Step] = field(default_factory=list)
    notes: tuple[Note, ...] = ()
    races: set[int] = field(default_factory=set)
    deletions: set[int] = field(default_factory=set)

    def record(self, decision: Assignment, transition: Transition) -> bool:
        """Write down the round; return whether nothing follows from it."""
        state, group = self.state, self.state.group
        if self.stateless is None or self.balance is None:
            limit = self.config.acceptable_recovery_lag
            self.stateless = StatelessSteps(group, limit, evened_out=decision.keeps_stateless)
            self.balance = RunningBalance(group)
        revoked_by = {**self.revoked_by, **transition.given_up} if transition.given_up else self.revoked_by
        stateful = steps_of(state, decision, transition, self.config, revoked_by)
        self.restored.add(self.at_ms, group, self.course.rates_from(self.at_ms), stateful, self.course.steady)
        if self.previous is None:
            self.short |= {task for task, _ in decision.short_standbys}
        if not self.rounds:
            self.notes = decision.notes
        else:
            self.races |= uncertainty.taken_back(state, stateful)
        members = tuple(self.members)
        self.members.clear()
        if not self.arrived and not self.rounds and self.trigger is Trigger.JOIN:
            members = first_joined(state)
        steps = self.stateless.with_others(members, stateful, *transition.owners)
        settled = not transition.follow_up and not decision.probing_rebalance
        self.rounds.append(
            Round(
                number=len(self.rounds) + 1,
                generation=state.generation + 1,
                at_ms=self.at_ms,
                trigger=self.trigger,
                phases=phases_of(decision, transition, steps, settled=settled),
                probing_rebalance=decision.probing_rebalance,
                steps=steps,
                balance=self.everyone.balance(group, self.balance.of(Holdings.of(group, decision.instances))),
                decided=self.everyone.holdings(group, transition.decided),
                assigned=self.everyone.holdings(group, transition.holdings),
            )
        )
        return settled

    def verdict(self, decision: Assignment, *, settled: bool, left: int) -> Verdict | None:
        """Say how it ends, if it ends here: never while something is still to come from outside."""
        goes_on = not settled or self.course.next_change_ms() is not None
        if left <= 0 and goes_on:
            tasks = sorted({movement.task for movement in decision.movements})
            waiting = tuple(self.state.group.tasks[task].task_id for task in tasks)
            return Verdict("unfinished", waiting, "the limit of rounds was reached")
        repeats = None
        if not settled and self.trigger is not Trigger.FOLLOW_UP:
            repeats = self.recurrence.verdict(self.state, decision)
        if goes_on and self.course.more_after(self.at_ms):
            return None
        return Verdict("settled", (), "what was decided is what everyone holds") if settled else repeats

    def go_on(self, decision: Assignment, transition: Transition, *, settled: bool) -> None:
        """Let the time until the next rebalance pass."""
        due_ms, self.trigger = next_rebalance(self.at_ms, transition, self.config, self.course, settled=settled)
        to_ms = self.course.earliest_end_ms(due_ms)
        self.revoked_by = {task: owner for task, owner, _, _ in transition.withheld}
        self.previous = (self.state, decision)
        self._pass(transition, to_ms)
        self.deletions |= uncertainty.cleaned_up(self.previous[0], self.state, decision, self.config)
        self.take_in(self.course.due(to_ms))

    def somebody_is_away(self) -> bool:
        """Tell whether no rebalance can end now."""
        return self.course.earliest_end_ms(self.at_ms) > self.at_ms

    def is_idle(self, decision: Assignment) -> bool:
        """Tell whether nobody has come or gone and the decision is what everyone holds."""
        return not self.arrived and _nothing_to_do(self.state, decision)

    def wait(self) -> bool:
        """Let the time pass until everybody is there, or else the first change comes; return whether there is any."""
        to_ms = self.at_ms if self.somebody_is_away() else self.course.next_change_ms()
        if to_ms is None:
            return False
        generation = self.state.generation
        held = Holdings.of(self.state.group, self.state.holdings)
        nothing = Transition(before=held, decided=held, holdings=held)
        self._pass(nothing, self.course.earliest_end_ms(to_ms), idle=True)
        self.state = replace(self.state, generation=generation)
        earlier, trigger = self.arrived, self.trigger
        self.take_in(self.course.due(self.at_ms))
        if earlier:
            self.arrived, self.trigger = [*earlier, *self.arrived], trigger
        return True

    def take_in(self, changes: list[GroupChange]) -> None:
        """Let members come and go, and settings change, now."""
        self.arrived = changes
        if not changes:
            return
        self.previous = self.stateless = self.balance = None
        for change in changes:
            self._regroup(change)
            if change.settings:
                self.config = replace(self.config, **dict(change.settings))  # type: ignore[arg-type]
                self.settings.append((len(self.rounds) + 1, self.config))
        self.recurrence = Recurrence(self.config)
        if self.trigger is not Trigger.FOLLOW_UP:
            self.trigger = changes[0].trigger

    def ended(self, decision: Assignment, verdict: Verdict) -> Outcome:
        """Put together what came out."""
        if verdict.kind != "settled":
            verdict = replace(verdict, cause=cause(self.state, decision, self.course.rates, self.config))
        return Outcome(
            rounds=self.rounds,
            target=decision.target,
            verdict=verdict,
            warnings=_shortages(self.state.group, self.short)
            + decision.warnings
            + uncertainty.notes(self.state, self.races, self.deletions),
            group=self.state.group,
            rates=self.course.rates,
            restored=self.restored,
            settings=tuple(self.settings),
            notes=self.notes,
        )

    def _pass(self, transition: Transition, to_ms: int, *, idle: bool = False) -> None:
        from_ms = self.at_ms
        long = to_ms - from_ms >= self.config.probing_rebalance_interval_ms
        interval = Interval(from_ms, to_ms, tick=long and not transition.follow_up, idle=idle)
        phases = self.course.phases(from_ms, to_ms)
        if self.course.paced(from_ms, to_ms):
            self.recurrence = Recurrence(self.config)
        self.state = advance(self.state, transition, interval, self.config, self.course.rates, phases)
        self.at_ms = to_ms

    def _regroup(self, change: GroupChange) -> None:
        old = self.state.group
        group = self.everyone.same_or(Group.of(old.application_id, list(old.tasks), list(change.members)))
        for departure in change.left:
            self.disks[departure.process_id] = disk_of(
                self.state,
                old.instance_index[departure.process_id],
                departure.stopped_at_ms,
                self.at_ms,
                self.course.produced,
            )
        brought = {
            arrival.instance.process_id: self.disks.pop(arrival.disk_of, ())
            for arrival in change.joined
            if arrival.disk_of is not None
        }
        emptied = frozenset(departure.process_id for departure in change.left)
        self.members += [*membership_steps(change), *given_up(self.state, group, emptied)]
        owners = {task: old.consumer_ids[consumer] for task, consumer in self.revoked_by.items()}
        self.state = regrouped(self.state, group, emptied, brought, self.at_ms, self.course.produced)
        self.course.regroup(group)
        index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
        self.revoked_by = {task: index[of] for task, of in owners.items() if of in index}


def _nothing_to_do(state: GroupState, decision: Assignment) -> bool:
    """What is assigned is what is decided, standbys, warm-ups and temporary standbys counted alike."""

    def flat(held: Holding) -> tuple[tuple[int, ...], list[int]]:
        return held.active, sorted(held.standby + held.warmup + held.temporary)

    return not decision.probing_rebalance and all(
        held == decided or flat(held) == flat(decided)
        for held, decided in zip(state.holdings, decision.consumers, strict=True)
    )


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
