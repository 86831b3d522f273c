"""One simulation of a case, added up, and put together as a plan: without other outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.model import Group, GroupState, Holding, Note
from kstream_plan.model.starting_state import beginning_of
from kstream_plan.model.times import format_time
from kstream_plan.planner.assumptions import (
    after_crashes,
    assumed_release,
    assumptions,
    emptied,
    input_behind,
    late_stops,
    leavers_without_option,
    led_by_release,
    led_by_restarted,
    maybe_restoring,
    not_noticed,
    version_probing,
)
from kstream_plan.planner.case import Case, held_at_first
from kstream_plan.planner.copies_apart import copies_together
from kstream_plan.planner.copies_behind import copies_behind
from kstream_plan.planner.digest import input_digest
from kstream_plan.planner.end_of_plan import end_of
from kstream_plan.planner.loop import OnRound, Rehearsal
from kstream_plan.planner.roster import Roster
from kstream_plan.planner.summarize import least_moves, still_configured, summarize
from kstream_plan.planner.unproven_starts import unproven_starts
from kstream_plan.planner.within_the_limit import restores_within_limit, restoring_starts
from kstream_plan.plans import Plan, Round, Summary, Verdict
from kstream_plan.plans.balance import initial_balance
from kstream_plan.plans.caught_up_evidence import AssumedFacts, UnprovenStart
from kstream_plan.plans.design import CopyDoubt, Played
from kstream_plan.plans.end import PlanEnd
from kstream_plan.plans.known_rates import known_rates
from kstream_plan.plans.pauses import Pauses, pauses_of
from kstream_plan.plans.plan import CopyBehind
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.restore_times import RestoringStart
from kstream_plan.plans.rounds import in_effect_ms


class PlayInFigures(NamedTuple):
    """One simulation with its figures; ``initial`` and ``stopping`` are by consumer of ``roster``.

    ``unproven_starts`` are those that count as warm, and are not proven to be; ``restoring_starts`` count as caught up,
    and restore for long all the same.
    """

    run: Played
    outcome: Rehearsal
    roster: Roster
    initial: Sequence[Holding]
    stopping: frozenset[int]
    pauses: Pauses
    summary: Summary
    unproven_starts: tuple[UnprovenStart, ...]
    restoring_starts: tuple[RestoringStart, ...]

    @property
    def verdict(self) -> Verdict:
        """How it ends."""
        return self.outcome.verdict


class OnePlay(NamedTuple):
    """One simulation: its plan, without the outcome's warnings, and what it was made of."""

    plan: Plan
    run: Played
    outcome: Rehearsal


@without_cycle_collector()
def in_figures(case: Case, on_round: OnRound | None = None, *, balances: bool = False) -> PlayInFigures:
    """Simulate it, and add up what comes; ``on_round`` as in :func:`kstream_plan.planner.plan.plan`.

    ``balances``: count how even the load is after every round, which no figure tells.
    """
    state, roster, outcome = case.simulate(on_round=on_round, balances=balances or case.enough is not None)
    group, rounds = roster.group, tuple(outcome.rounds)
    run = _completed_run(case, group, state, rounds, outcome)
    initial = roster.holdings(state.group, held_at_first(state, outcome.previous_turn))
    stopping = case.design.stopping(group)
    outages = case.outside.unnoticed
    pauses = pauses_of(group, initial, rounds, stopping, case.snapshot.config, outages, from_start=True)
    summary = _summary(case, group, initial, pauses, run, outcome)
    unproven = _unproven(case, group, initial, rounds, outcome.doubts) if case.options.proofs != "none" else ()
    restoring = restoring_starts(case.snapshot, group, rounds, case.outside.paces)
    return PlayInFigures(run, outcome, roster, initial, stopping, pauses, summary, unproven, restoring)


@without_cycle_collector()
def one_play(case: Case, on_round: OnRound | None = None, *, is_shown: bool = True) -> OnePlay:
    """Simulate it, and say what comes; ``on_round`` and ``is_shown`` as in :func:`kstream_plan.planner.plan.plan`."""
    play = in_figures(case, on_round, balances=is_shown)
    run, outcome, roster, initial, stopping, pauses, summary, unproven, restoring = play
    snapshot, design, group, previous_turn = case.snapshot, case.design, roster.group, outcome.previous_turn
    rounds = run.rounds
    final = rounds[-1].assigned if rounds else initial
    digest, snapshot_digest = _digests(case) if is_shown else ("", "")
    plan = Plan(
        group=group,
        digest=digest,
        snapshot_digest=snapshot_digest,
        generation=run.state.generation if previous_turn is None else previous_turn.generation,
        captured_at=snapshot.captured_at,
        design=design.name,
        models=design.models,
        probes=design.probes,
        assignor=design.assignor,
        protocol=design.protocol,
        config=snapshot.config,
        assumptions=_assumed(case, run, outcome),
        initial=initial,
        initial_balance=initial_balance(group, initial, rounds),
        stopping=stopping,
        rounds=tuple(rounds),
        final=final,
        members=tuple((instance.process_id, instance.capacity) for instance in outcome.group.instances),
        target=roster.target(outcome.group, outcome.target),
        pauses=pauses,
        pauses_from_start=True,
        summary=summary,
        warnings=(
            snapshot.warnings
            + maybe_restoring(outcome.doubts)
            + emptied(case.outside)
            + (input_behind(snapshot) if rounds else ())
            + restores_within_limit(restoring)
            + (copies_together(group, final, run.configs[-1]) if outcome.verdict.kind == "settled" else ())
        ),
        verdict=outcome.verdict,
        later_configs=outcome.settings,
        outages=case.outside.unnoticed,
        rates=known_rates(snapshot.rates, snapshot.state.group),
        end=_end(case, run, outcome) if is_shown and design.goes_on else None,
        unproven_starts=unproven,
        restoring_starts=restoring,
        behind=_copies_behind(case, play) if is_shown and design.moves_when_caught_up else (),
    )
    return OnePlay(plan, run, outcome)


def _copies_behind(case: Case, play: PlayInFigures) -> tuple[CopyBehind, ...]:
    first, limit = play.outcome.first, case.snapshot.config.acceptable_recovery_lag
    return () if first is None else tuple(copies_behind(play.roster.group, play.initial, first, limit))


def _unproven(
    case: Case, group: Group, initial: Sequence[Holding], rounds: Sequence[Round], doubts: Sequence[CopyDoubt]
) -> tuple[UnprovenStart, ...]:
    return unproven_starts(
        case.snapshot,
        case.design,
        group,
        initial,
        rounds,
        case.outside,
        now_ms=case.now_ms,
        trust_ms=case.options.trust_ms,
        undated=case.is_undated,
        assumed=AssumedFacts(caught_up=case.options.proofs == "stores", left_over=case.options.cleaning == "late"),
        doubts=doubts,
    )


def _completed_run(
    case: Case, group: Group, state: GroupState, rounds: tuple[Round, ...], outcome: Rehearsal
) -> Played:
    taken_ms = case.snapshot.captured_at_ms
    return Played(
        snapshot=case.snapshot,
        scenario=case.scenario,
        state=state,
        rounds=rounds,
        group=outcome.group,
        target=outcome.target,
        rates=outcome.rates,
        configs=(case.snapshot.config, *(later for _, later in outcome.settings)),
        unrated=outcome.restore_totals.unrated(group),
        goes_on=outcome.previous_turn is not None,
        begins_at=None if taken_ms is None else format_time(taken_ms + case.now_ms),
    )


def _digests(case: Case) -> tuple[str, str]:
    """Return those of all that it was made from, and of the snapshot alone."""
    snapshot, begins = case.snapshot, beginning_of(case.snapshot, case.now_ms)
    made_from = snapshot.state, snapshot.config, snapshot.rates
    snapshot_digest = input_digest(*made_from, beginning=begins)
    return snapshot_digest if case.scenario is None else input_digest(
        *made_from, case.scenario, begins
    ), snapshot_digest


def _assumed(case: Case, run: Played, outcome: Rehearsal) -> tuple[Note, ...]:
    return (
        case.design.assumptions(run)
        + assumptions(case.design, run, outcome, case.now_ms, ready=case.options.ready, is_undated=case.is_undated)
        + assumed_release(case.design, run)
        + not_noticed(case.outside)
        + leavers_without_option(run)
        + late_stops(case.outside)
        + after_crashes(case.outside.crashed, case.snapshot)
        + led_by_restarted(case.events, case.outside)
        + led_by_release(outcome.settings, case.snapshot)
        + version_probing(case.events, case.snapshot)
        + outcome.notes
    )


def _summary(
    case: Case,
    group: Group,
    initial: Sequence[Holding],
    pauses: Pauses,
    run: Played,
    outcome: Rehearsal,
) -> Summary:
    rounds, design = run.rounds, case.design
    moves = least_moves(group, still_configured(group, initial, rounds), outcome.group, outcome.target)
    return summarize(
        group,
        initial,
        rounds,
        design.lower_bounds(moves, run, solve=case.options.bounds),
        pauses,
        duration_ms=max(in_effect_ms(rounds, case.snapshot.config, outcome.settings), default=0),
        duration_is=design.unrated_times if run.unrated else "estimate",
        max_cold_restore_ms=outcome.max_cold_ms if outcome.follows_restores else outcome.restore_totals.max_cold_ms,
        runs_by_ms=outcome.runs_by_ms,
    )


def _end(case: Case, run: Played, outcome: Rehearsal) -> PlanEnd:
    config, rounds = run.configs[-1], len(run.rounds)
    return end_of(outcome.last, case.snapshot, case.now_ms, case.outside, outcome.rates, config, rounds=rounds)
