"""One play of a case, added up, and put together as a plan: without what else may be."""

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
from kstream_plan.planner.summarize import kept, least_moves, summarize
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
    """What came out, and what it comes to; ``initial`` and ``stopping`` are by consumer of ``everyone``.

    ``unproven_starts`` are those that count as warm, and are not proven to be; ``restoring_starts`` count as caught up,
    and restore for long all the same.
    """

    played: Played
    outcome: Rehearsal
    everyone: Roster
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
    """What came out: the plan, without the outcome's warnings, and what it was made of."""

    plan: Plan
    played: Played
    outcome: Rehearsal


@without_cycle_collector()
def in_figures(case: Case, on_round: OnRound | None = None, *, balances: bool = False) -> PlayInFigures:
    """Play it, and add up what comes; ``on_round`` as in :func:`kstream_plan.planner.plan.plan`.

    ``balances``: count how even the load is after every round, which no figure tells.
    """
    state, everyone, outcome = case.played(on_round=on_round, balances=balances or case.enough is not None)
    group, rounds = everyone.group, tuple(outcome.rounds)
    played = _played(case, group, state, rounds, outcome)
    initial = everyone.holdings(state.group, held_at_first(state, outcome.before))
    stopping = case.design.stopping(group)
    outages = case.outside.unnoticed
    paused = pauses_of(group, initial, rounds, stopping, case.snapshot.config, outages, from_start=True)
    summary = _summary(case, group, initial, paused, played, outcome)
    unproven = _unproven(case, group, initial, rounds, outcome.doubts) if case.options.proofs != "none" else ()
    restoring = restoring_starts(case.snapshot, group, rounds, case.outside.paces)
    return PlayInFigures(played, outcome, everyone, initial, stopping, paused, summary, unproven, restoring)


@without_cycle_collector()
def one_play(case: Case, on_round: OnRound | None = None, *, shown: bool = True) -> OnePlay:
    """Play it, and say what comes; ``on_round`` and ``shown`` as in :func:`kstream_plan.planner.plan.plan`."""
    play = in_figures(case, on_round, balances=shown)
    played, outcome, everyone, initial, stopping, paused, summary, unproven, restoring = play
    snapshot, design, group, before = case.snapshot, case.design, everyone.group, outcome.before
    rounds = played.rounds
    final = rounds[-1].assigned if rounds else initial
    digest, snapshot_digest = _digests(case) if shown else ("", "")
    made = Plan(
        group=group,
        digest=digest,
        snapshot_digest=snapshot_digest,
        generation=played.state.generation if before is None else before.generation,
        captured_at=snapshot.captured_at,
        design=design.name,
        models=design.models,
        probes=design.probes,
        assignor=design.assignor,
        protocol=design.protocol,
        config=snapshot.config,
        assumptions=_assumed(case, played, outcome),
        initial=initial,
        initial_balance=initial_balance(group, initial, rounds),
        stopping=stopping,
        rounds=tuple(rounds),
        final=final,
        members=tuple((instance.process_id, instance.capacity) for instance in outcome.group.instances),
        target=everyone.target(outcome.group, outcome.target),
        pauses=paused,
        pauses_from_start=True,
        summary=summary,
        warnings=(
            snapshot.warnings
            + maybe_restoring(outcome.doubts)
            + emptied(case.outside)
            + (input_behind(snapshot) if rounds else ())
            + restores_within_limit(restoring)
            + (copies_together(group, final, played.configs[-1]) if outcome.verdict.kind == "settled" else ())
        ),
        verdict=outcome.verdict,
        later_configs=outcome.settings,
        outages=case.outside.unnoticed,
        rates=known_rates(snapshot.rates, snapshot.state.group),
        end=_end(case, played, outcome) if shown and design.goes_on else None,
        unproven_starts=unproven,
        restoring_starts=restoring,
        behind=_behind(case, play) if shown and design.moves_when_caught_up else (),
    )
    return OnePlay(made, played, outcome)


def _behind(case: Case, play: PlayInFigures) -> tuple[CopyBehind, ...]:
    first, limit = play.outcome.first, case.snapshot.config.acceptable_recovery_lag
    return () if first is None else tuple(copies_behind(play.everyone.group, play.initial, first, limit))


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
        taken=AssumedFacts(caught_up=case.options.proofs == "stores", left_over=case.options.cleaning == "late"),
        doubts=doubts,
    )


def _played(case: Case, group: Group, state: GroupState, rounds: tuple[Round, ...], outcome: Rehearsal) -> Played:
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
        unrated=outcome.restored.unrated(group),
        goes_on=outcome.before is not None,
        begins_at=None if taken_ms is None else format_time(taken_ms + case.now_ms),
    )


def _digests(case: Case) -> tuple[str, str]:
    """Return those of all that it was made from, and of the snapshot alone."""
    snapshot, begins = case.snapshot, beginning_of(case.snapshot, case.now_ms)
    made_from = snapshot.state, snapshot.config, snapshot.rates
    alone = input_digest(*made_from, beginning=begins)
    return alone if case.scenario is None else input_digest(*made_from, case.scenario, begins), alone


def _assumed(case: Case, played: Played, outcome: Rehearsal) -> tuple[Note, ...]:
    return (
        case.design.assumptions(played)
        + assumptions(case.design, played, outcome, case.now_ms, ready=case.options.ready, is_undated=case.is_undated)
        + assumed_release(case.design, played)
        + not_noticed(case.outside)
        + leavers_without_option(played)
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
    paused: Pauses,
    played: Played,
    outcome: Rehearsal,
) -> Summary:
    rounds, design = played.rounds, case.design
    moves = least_moves(group, kept(group, initial, rounds), outcome.group, outcome.target)
    return summarize(
        group,
        initial,
        rounds,
        design.lower_bounds(moves, played, solve=case.options.bounds),
        paused,
        duration_ms=max(in_effect_ms(rounds, case.snapshot.config, outcome.settings), default=0),
        duration_is=design.unrated_times if played.unrated else "estimate",
        max_cold_restore_ms=outcome.max_cold_ms if outcome.follows_restores else outcome.restored.max_cold_ms,
        runs_by_ms=outcome.runs_by_ms,
    )


def _end(case: Case, played: Played, outcome: Rehearsal) -> PlanEnd:
    config, rounds = played.configs[-1], len(played.rounds)
    return end_of(outcome.last, case.snapshot, case.now_ms, case.outside, outcome.rates, config, rounds=rounds)
