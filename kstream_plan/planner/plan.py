"""A whole plan: the loop played, and what came out put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import TypeAlias

from kstream_plan.errors import UsageError
from kstream_plan.model import GroupState, Holdings, Note, Rates, Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.starting_state import Cleaning, beginning_of, newcomers, state_now
from kstream_plan.planner.assumptions import after_crashes, assumptions, emptied, led_by_restarted, not_noticed
from kstream_plan.planner.digest import input_digest
from kstream_plan.planner.end_of_plan import end_of
from kstream_plan.planner.loop import NOT_WANTED, OnRound, Rehearsal, rehearse
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.outside_events import OutsideEvents
from kstream_plan.planner.roster import Roster
from kstream_plan.planner.scenario_as_noticed import NextLeader, Timeline, timeline
from kstream_plan.planner.side_by_side import Ends, SideBySide, in_turn
from kstream_plan.planner.summarize import kept, least_moves, summarize
from kstream_plan.plans import FigureRange, Plan, PlayedSoFar, Round, Summary, Trigger
from kstream_plan.plans.balance import initial_balance
from kstream_plan.plans.design import (
    CLOSE_TO_TIME_OUT,
    LATE_FOLLOW_UP,
    LEFT_OVER_CLEANUP,
    Design,
    Played,
    Turn,
)
from kstream_plan.plans.known_rates import known_rates
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.plan import ENDLESS, ENDS_NOT_PLAYED, PAUSES
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.rounds import in_effect_ms
from kstream_plan.plans.summary import FIGURES

__all__ = ["Enough", "OnRound", "plan"]

#: How many rounds were played, whether none comes after them, and what they are → whether that is all that is wanted.
Enough: TypeAlias = Callable[[int, bool, Callable[[], PlayedSoFar]], bool]
#: After so many rounds a play is a long one: what else may be is begun, before it is known what of that is wanted.
_LONG_PLAY = 100
#: A plan with more steps is a long one: each play of what else may be takes ten seconds and more.
_MANY_STEPS = 100_000


@without_cycle_collector()
def plan(
    snapshot: Snapshot,
    design: Design,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
    enough: Enough | None = None,
    on_played: Callable[[Plan], object] = lambda _made: None,
    side_by_side: SideBySide = in_turn,
) -> Plan:
    """Say what follows in a group that coordinates by ``design``, from now on or of what ``scenario`` does to it.

    Of the ``options`` those count that are about any design. With a scenario the plan's group is everyone who ever
    takes part. ``on_round`` is told how many rounds there are, how many tasks still have to move, and in how many
    movements. ``enough`` is asked after every round whether to leave it ``unfinished``, and told of the end, of either
    end of what nobody knows as well; ``on_played`` is told the plan before it is known what else may be, which others
    may be playing meanwhile. Deterministic: the same snapshot, design and options give the same plan.

    Raises:
        ScenarioError: the scenario does not fit the group.
        UsageError: the plan is to begin before the snapshot was taken.
    """
    if options.replay:
        now_ms = options.now_ms if snapshot.decision is None else None  # else it begins when that was made
        snapshot, options = snapshot.before_decision(), replace(options, now_ms=now_ms)
    config = snapshot.config
    events = tuple(design.happening(event, snapshot) for event in (scenario.events if scenario else ()))
    outside = timeline(
        snapshot.state.group.instances,
        config,
        events,
        in_stores=snapshot.offsets_in_stores,
        leader=snapshot.state.leader,
        next_leader=options.next_leader,
    )
    case = _Case(snapshot, options, scenario, outside, _now_ms(snapshot, options), enough)
    told = partial(case.told, design, side_by_side, on_round)
    state, everyone, outcome = case.played(design, snapshot.rates, ready=options.ready, on_round=told)
    group, rounds, before = everyone.group, tuple(outcome.rounds), outcome.before
    held = Holdings.of(state.group, state.holdings) if before is None else before.held
    initial = everyone.holdings(state.group, held)
    stopping = design.stopping(group)
    paused = pauses_of(group, initial, rounds, stopping, config, outside.unnoticed)
    played = Played(
        snapshot=snapshot,
        scenario=scenario,
        state=state,
        rounds=rounds,
        group=outcome.group,
        target=outcome.target,
        rates=outcome.rates,
        configs=(config, *(later for _, later in outcome.settings)),
        unrated=outcome.restored.unrated(group),
        goes_on=before is not None,
    )
    moves = least_moves(group, kept(group, initial, rounds), outcome.group, outcome.target)
    bounds = design.lower_bounds(moves, played, solve=options.bounds)
    summary = summarize(
        group,
        initial,
        rounds,
        bounds,
        paused,
        duration_ms=max(in_effect_ms(rounds, config, outcome.settings), default=0),
        duration_is=design.unrated_times if played.unrated else "estimate",
        max_cold_restore_ms=outcome.max_cold_ms if outcome.follows_restores else outcome.restored.max_cold_ms,
        runs_by_ms=outcome.runs_by_ms,
    )
    made_from = snapshot.state, config, snapshot.rates
    begins = beginning_of(snapshot, case.now_ms)
    snapshot_digest = input_digest(*made_from, beginning=begins)
    made = Plan(
        group=group,
        digest=snapshot_digest if scenario is None else input_digest(*made_from, scenario, begins),
        snapshot_digest=snapshot_digest,
        generation=state.generation if before is None else before.generation,
        captured_at=snapshot.captured_at,
        design=design.name,
        models=design.models,
        probes=design.probes,
        assignor=design.assignor,
        protocol=design.protocol,
        config=config,
        assumptions=(
            design.assumptions(played)
            + assumptions(design, played, outcome, case.now_ms)
            + not_noticed(outside)
            + after_crashes(outside.crashed, snapshot)
            + led_by_restarted(events, outside)
            + outcome.notes
        ),
        initial=initial,
        initial_balance=initial_balance(group, initial, rounds),
        stopping=stopping,
        rounds=rounds,
        final=rounds[-1].assigned if rounds else initial,
        members=tuple((instance.process_id, instance.capacity) for instance in outcome.group.instances),
        target=everyone.target(outcome.group, outcome.target),
        pauses=paused,
        summary=summary,
        warnings=(),
        verdict=outcome.verdict,
        later_configs=outcome.settings,
        outages=outside.unnoticed,
        rates=known_rates(snapshot.rates, snapshot.state.group),
        end=end_of(outcome.last, snapshot, case.now_ms, outside, outcome.rates, played.configs[-1], rounds=len(rounds))
        if design.goes_on
        else None,
    )
    known = snapshot.warnings + emptied(outside)
    on_played(replace(made, warnings=known + outcome.warnings))
    floored, ranges, warnings = case.otherwise(made, design, outcome, played, side_by_side)
    return replace(made, summary=replace(floored, ranges=ranges), warnings=known + warnings)


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One snapshot with what happens to it, to be played as it is, and as it might be; private to one plan."""

    snapshot: Snapshot
    options: PlanOptions
    scenario: Scenario | None
    outside: Timeline
    now_ms: int
    enough: Enough | None = None

    def played(
        self, design: Design, rates: Rates, *, ready: bool, on_round: OnRound | None = None
    ) -> tuple[GroupState, Roster, Rehearsal]:
        """Play it; ``ready`` as in :class:`PlanOptions`."""
        snapshot, outside, config = self.snapshot, self.outside, self.snapshot.config
        now = state_now(snapshot, self.now_ms, ready=ready, cleaning=self.options.cleaning)
        state = design.start(now, self.scenario)
        everyone = Roster(state.group, outside.everyone if self.scenario else None)
        most = 4 * (len(state.group.stateful) + 10) * (1 + len(outside.changes))
        outcome = rehearse(
            state,
            config,
            design.coordinator(config),
            OutsideEvents(state.group, rates, outside.changes, outside.outages, outside.paces),
            everyone,
            first_trigger=self.options.trigger
            or (Trigger.JOIN if design.newcomers_hold_nothing and newcomers(state) else Trigger.MANUAL),
            max_rounds=most if self.options.max_rounds is None else self.options.max_rounds,
            on_round=on_round or (lambda _rounds, _tasks, _movements: None),
            enough=partial(self._is_enough, design, state, everyone),
        )
        return state, everyone, outcome

    def _is_enough(
        self,
        design: Design,
        state: GroupState,
        everyone: Roster,
        before: Turn | None,
        rounds: Sequence[Round],
        ended: bool,
    ) -> bool:
        def so_far() -> PlayedSoFar:
            group, config, outages = everyone.group, self.snapshot.config, self.outside.unnoticed
            held = Holdings.of(state.group, state.holdings) if before is None else before.held
            initial = everyone.holdings(state.group, held)
            paused = pauses_of(group, initial, rounds, design.stopping(group), config, outages)
            played = tuple(rounds)
            return PlayedSoFar(
                group=group, config=config, initial=initial, rounds=played, pauses=paused, outages=outages
            )

        return self.enough is not None and self.enough(len(rounds), ended, so_far)

    def told(
        self,
        design: Design,
        side_by_side: SideBySide,
        on_round: OnRound | None,
        rounds: int,
        tasks: int,
        movements: int,
    ) -> None:
        """Tell ``on_round`` of a round; once it is a long play, begin with what else may be and mostly is asked for."""
        if rounds == _LONG_PLAY and design.unrated_times == "probes":
            likely = list[_Play]()
            if self.options.ranges and self.options.long_ranges:
                one = self.options.of_one_play()
                likely += [_Play(self, design, replace(one, cleaning=when)) for when in _EITHER_END]
            if self.options.floor and not self.snapshot.rates.any_restore:
                likely.append(_Play(self, design, None))
            side_by_side.begin(likely)
        if on_round is not None:
            on_round(rounds, tasks, movements)

    def otherwise(
        self, made: Plan, design: Design, outcome: Rehearsal, played: Played, side_by_side: SideBySide
    ) -> tuple[Summary, tuple[FigureRange, ...], tuple[Note, ...]]:
        """Play what else may be: return the summary with the least that it takes, where a restore rate is not known.

        With it come the ranges of what hangs on what nobody knows, and the outcome's warnings as far as they matter.
        """
        summary, warnings, plays = made.summary, outcome.warnings, dict[str, Sequence[Callable[[], Ends]]]()
        if self.options.floor and played.unrated and played.rounds and summary.duration_is == "probes":
            plays[_FLOOR] = [_Play(self, design, None)]
        ranged = self.options.ranges and outcome.verdict.reason != NOT_WANTED
        if ranged:
            what_else = self._plays(made, design, outcome)
            if self._is_too_long(made, design) and any(what_else.values()):
                ranged, warnings = False, (*warnings, _not_played(made))
            else:
                plays.update(what_else)
        come = iter(side_by_side([play for of in plays.values() for play in of]))
        found = {why: [next(come) for _ in of] for why, of in plays.items()}
        for least in found.pop(_FLOOR, ()):
            summary = replace(summary, floor_ms=min(least["duration_ms"] or 0, summary.duration_ms))
        if not ranged:
            return summary, (), warnings
        first = _ends(made)
        ends = [first, *found[_ALWAYS]]
        if self.outside.close_by_ms:
            both = self._sides_of_the_time_out(made, design, self.options.of_one_play())
            ends += map(_ends, both)
            warnings = (*warnings, _close_to_time_out(*both, tuple(self.outside.close_by_ms)))
        options = self.options.of_one_play()
        other_beginnings = [
            plan(self.snapshot, other, options, scenario=self.scenario, enough=self.enough)
            for other in design.other_beginnings(self.snapshot)
        ]
        ends += map(_ends, other_beginnings)
        warnings = (*warnings, *_not_firm(made, other_beginnings))
        for code in (LEFT_OVER_CLEANUP, LATE_FOLLOW_UP):
            others = found.get(code, [])
            if [*_ranges([first, *others])]:
                ends += others
            else:
                warnings = tuple(note for note in warnings if note.code != code)
        return summary, tuple(_ranges(ends, *found.get(_COLDEST, ()))), (*warnings, *_endless(ends))

    def _plays(self, made: Plan, design: Design, outcome: Rehearsal) -> Mapping[str, Sequence[Callable[[], Ends]]]:
        """Return what else may be, each to be played, by the warning that says so, if one does."""
        options = self.options.of_one_play()
        always = list[Callable[[], Ends]]()
        if outcome.doubts:
            always.append(_Play(self, design, replace(options, ready=not options.ready)))
        if design.times_vary:
            always += [_Play(self, other, options) for other in (design.soonest(), design.late())]
        if self.snapshot.least_lags:
            worst = replace(self, snapshot=self.snapshot.at_worst())
            always.append(_Play(worst, design, replace(options, ready=False)))
        if self.outside.any_leads:
            always += [_Play(self, design, replace(options, next_leader=who)) for who in _EITHER_LEADS]
        plays: dict[str, Sequence[Callable[[], Ends]]] = {_ALWAYS: always}
        codes = {note.code for note in outcome.warnings}
        if LEFT_OVER_CLEANUP in codes:
            cleanings = [replace(options, cleaning=when) for when in outcome.cleanings]
            plays[LEFT_OVER_CLEANUP] = [_Play(self, design, other) for other in cleanings]
        if LATE_FOLLOW_UP in codes:
            plays[LATE_FOLLOW_UP] = [_Play(self, design.late(), options)]
        if self._may_be_colder(made):
            unmeasured = replace(self.snapshot.rates, restore=MappingProxyType({}))
            coldest = replace(self, snapshot=replace(self.snapshot, rates=unmeasured))
            plays[_COLDEST] = [_Play(coldest, design, replace(options, ready=False))]
        return plays

    def _is_too_long(self, made: Plan, design: Design) -> bool:
        """Tell whether nobody asked to wait for what else may be; either side of a time-out is always told."""
        if self.options.long_ranges or design.unrated_times != "probes" or self.outside.close_by_ms:
            return False
        return sum(len(rnd.single_steps) for rnd in made.rounds) > _MANY_STEPS

    def _may_be_colder(self, made: Plan) -> bool:
        """Tell whether more may start cold than by the restore rates, which were measured: they are no promise.

        It is the same where somebody runs every task all the time: then none moves before its copy has caught up.
        """
        rates, run = self.snapshot.rates, {task for held in made.initial for task in held.active}
        goes = any(change.left for change in self.outside.changes) or not run.issuperset(made.group.stateful)
        return bool(rates.restore) and rates.restore_per_instance is None and bool(self.outside.changes) and goes

    def _sides_of_the_time_out(self, made: Plan, design: Design, options: PlanOptions) -> tuple[Plan, Plan]:
        """Return what follows if who came back close to the time-out is back within it, and if beyond it."""
        config, by_ms = self.snapshot.config, self.outside.close_by_ms.values()

        def with_time_out(timeout_ms: int) -> Plan:
            other = replace(config, session_timeout_ms=max(0, timeout_ms))
            return plan(
                replace(self.snapshot, config=other), design, options, scenario=self.scenario, enough=self.enough
            )

        more_ms = config.heartbeat_interval_ms + 1
        within = made if min(by_ms) > 0 else with_time_out(config.session_timeout_ms + more_ms)
        beyond = made if max(by_ms) <= 0 else with_time_out(config.session_timeout_ms - more_ms)
        return within, beyond

    def again(self, design: Design, options: PlanOptions) -> Ends:
        """Play it as one of these may be."""
        return _ends(plan(self.snapshot, design, options, scenario=self.scenario, enough=self.enough))

    def least(self, design: Design) -> Ends:
        """Return the least that it takes."""
        soonest = self._soonest(design)
        return {"duration_ms": soonest.rounds[-1].ends_ms if soonest.rounds else 0}

    def _soonest(self, design: Design) -> Rehearsal:
        """Play it with everything restored at once and every rebalance as early as it can be."""
        config, events = self.snapshot.config, self.scenario.events if self.scenario else ()
        noticed_ms = max(0, config.session_timeout_ms - config.heartbeat_interval_ms)
        outside = timeline(
            self.snapshot.state.group.instances,
            replace(config, session_timeout_ms=noticed_ms),
            events,
            in_stores=self.snapshot.offsets_in_stores,
            leader=self.snapshot.state.leader,
        )
        rates = replace(self.snapshot.rates, restore_per_instance=inf)
        return replace(self, outside=outside).played(design.soonest(), rates, ready=True)[2]


@dataclass(frozen=True, slots=True)
class _Play:
    """One play of a case; two of the same are equal. ``options``: ``None`` for the least that it takes."""

    case: _Case
    design: Design
    options: PlanOptions | None

    def __call__(self) -> Ends:
        if self.options is None:
            return self.case.least(self.design)
        return self.case.again(self.design, self.options)


def _not_firm(made: Plan, others: Sequence[Plan]) -> Iterator[Note]:
    """Say which tasks end elsewhere if what nobody knows is otherwise."""
    owners = [{task: of for of, held in enumerate(one.final) for task in held.active} for one in (made, *others)]
    differ = [task for task in owners[0] if len({of.get(task) for of in owners}) > 1]
    if differ:
        names = tuple(str(made.group.tasks[task].task_id) for task in sorted(differ))
        message = f"Where these end is one of several, for nobody knows what decides it: {', '.join(names)}"
        yield Note("placement-not-firm", message, names)


def _close_to_time_out(within: Plan, beyond: Plan, process_ids: tuple[str, ...]) -> Note:
    """Say what follows on either side of the session time-out."""
    sides = (f"{side}: {_in_short(made.summary)}" for side, made in (("Within it", within), ("beyond it", beyond)))
    message = (
        "Back within a heartbeat interval of the session time-out: the group may have noticed by then or not. "
        + "; ".join(sides)
    )
    return Note(CLOSE_TO_TIME_OUT, message, process_ids)


def _in_short(summary: Summary) -> str:
    rebalances = "1 rebalance" if summary.rebalances == 1 else f"{summary.rebalances:,} rebalances"
    cold = "1 cold start" if summary.cold_handovers == 1 else f"{summary.cold_handovers:,} cold starts"
    still = f"{summary.paused_task_ms / 1000:,.0f} s of tasks that stand still"
    return f"{summary.duration_ms / 1000:,.1f} s, {rebalances}, {cold}, {still}"


#: Who leads after the leader: settings of restarted members count as early as they can, and as late.
_EITHER_LEADS: Sequence[NextLeader] = ("restarted", "others")
#: When left-over state is deleted, where nobody knows it; the one that takes longer to play first.
_EITHER_END: Sequence[Cleaning] = ("early", "late")


#: What is played beside, where no warning says why: the least that it takes, what counts anyway, and of cold starts.
_FLOOR, _ALWAYS, _COLDEST = "floor", "always", "coldest"


def _ends(made: Plan) -> Ends:
    return {figure: made.figure(figure) for figure in FIGURES}


def _ranges(plays: Sequence[Ends], coldest: Ends | None = None) -> Iterator[FigureRange]:
    """Yield the figures that differ, of cold starts with those of ``coldest``."""
    for figure in FIGURES:
        of = (*plays, coldest) if coldest is not None and figure == "cold_handovers" else plays
        ends = [end for play in of if (end := play[figure]) is not None]
        if len(ends) == len(of) and min(ends) != max(ends):
            yield FigureRange(figure, min(ends), max(ends))


def _endless(plays: Sequence[Ends]) -> Iterator[Note]:
    """Warn of times that are known in the first play, and not in every other one."""
    known = (figure for figure in (*PAUSES, "runs_by_ms") if plays[0][figure] is not None)
    figures = tuple(figure for figure in known if any(play[figure] is None for play in plays))
    if figures:
        message = "It may also be that nobody knows how long tasks stand still, or when everything runs"
        yield Note(ENDLESS, message, figures)


def _not_played(made: Plan) -> Note:
    """Warn that a long plan is one of several, and nobody played the others."""
    message = (
        f"How else it may come out was not played, for one play has {made.summary.rebalances:,} rebalances: times and "
        "counts are those of the likely one. Others may take longer, start more tasks cold, or not settle (--ranges "
        "plays them as well)"
    )
    return Note(ENDS_NOT_PLAYED, message)


def _now_ms(snapshot: Snapshot, options: PlanOptions) -> int:
    """Return when the plan begins, counted from when the snapshot was taken."""
    if options.now_ms is None or snapshot.captured_at_ms is None:
        return snapshot.known_until_ms
    now_ms = options.now_ms - snapshot.captured_at_ms
    if now_ms < 0:
        where = f"application {snapshot.state.group.application_id!r}"
        fix = "give a later --now, or an earlier snapshot: --as-of chooses one of a history"
        raise UsageError(f"now is before the snapshot, which is of {snapshot.captured_at}", where=where, fix=fix)
    return now_ms
