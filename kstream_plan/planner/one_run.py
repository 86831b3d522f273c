"""One simulation of a request, added up, and put together as a plan: without other outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kstream_plan.model import Group, GroupState, Holding, Note
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.starting_state import known_history_of
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
from kstream_plan.planner.digest import input_digest
from kstream_plan.planner.end_of_plan import end_of
from kstream_plan.planner.loop import OnRound, RunResult
from kstream_plan.planner.plan_request import PlanRequest, held_at_first
from kstream_plan.planner.restores import restores_below_lag, restoring_starts
from kstream_plan.planner.roster import Roster
from kstream_plan.planner.summarize import least_moves, still_configured, summarize
from kstream_plan.planner.tag_spread import tags_not_spread
from kstream_plan.planner.unproven_starts import unproven_starts
from kstream_plan.plans import Plan, Round, Summary, Verdict
from kstream_plan.plans.balance import initial_balance
from kstream_plan.plans.caught_up_evidence import AssumedFacts, UnprovenStart
from kstream_plan.plans.design import CopyDoubt, FinishedRun
from kstream_plan.plans.end import PlanEnd
from kstream_plan.plans.known_rates import known_rates
from kstream_plan.plans.pauses import Pauses, pauses_of
from kstream_plan.plans.plan import CopyBehind
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.restore_times import RestoringStart
from kstream_plan.plans.rounds import in_effect_ms


class RunFigures(NamedTuple):
    """One simulation with its figures; ``initial`` and ``stopping`` are by consumer of ``roster``.

    ``unproven_starts`` are those that count as warm, and are not proven to be; ``restoring_starts`` count as caught up,
    and restore for long all the same.
    """

    run: FinishedRun
    outcome: RunResult
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


class OneRun(NamedTuple):
    """One simulation: its plan, without the outcome's warnings, and what it was made of."""

    plan: Plan
    run: FinishedRun
    outcome: RunResult


@without_cycle_collector()
def run_figures(request: PlanRequest, on_round: OnRound | None = None, *, balances: bool = False) -> RunFigures:
    """Simulate it, and add up what comes; ``on_round`` as in :func:`kstream_plan.planner.plan.plan`.

    ``balances``: count how even the load is after every round, which no figure tells.
    """
    state, roster, outcome = request.simulate(on_round=on_round, balances=balances or request.enough is not None)
    group, rounds = roster.group, tuple(outcome.rounds)
    run = _completed_run(request, group, state, rounds, outcome)
    initial = roster.holdings(state.group, held_at_first(state, outcome.previous_rebalance))
    stopping = request.design.stopping(group)
    outages = request.outside.unnoticed
    pauses = pauses_of(group, initial, rounds, stopping, request.snapshot.config, outages, from_start=True)
    summary = _summary(request, group, initial, pauses, run, outcome)
    unproven = _unproven(request, group, initial, rounds, outcome.doubts) if request.options.proofs != "none" else ()
    restoring = restoring_starts(request.snapshot, group, rounds, request.outside.paces)
    return RunFigures(run, outcome, roster, initial, stopping, pauses, summary, unproven, restoring)


@without_cycle_collector()
def run_once(request: PlanRequest, on_round: OnRound | None = None, *, is_shown: bool = True) -> OneRun:
    """Simulate it, and say what comes; ``on_round`` and ``is_shown`` as in :func:`kstream_plan.planner.plan.plan`."""
    figures = run_figures(request, on_round, balances=is_shown)
    run, outcome, roster, initial, stopping, pauses, summary, unproven, restoring = figures
    snapshot, design, group, previous_rebalance = (
        request.snapshot,
        request.design,
        roster.group,
        outcome.previous_rebalance,
    )
    rounds = run.rounds
    final = rounds[-1].assigned if rounds else initial
    digest, snapshot_digest = _digests(request) if is_shown else ("", "")
    plan = Plan(
        group=group,
        digest=digest,
        snapshot_digest=snapshot_digest,
        generation=run.state.generation if previous_rebalance is None else previous_rebalance.generation,
        captured_at=snapshot.captured_at,
        design=design.name,
        models=design.models,
        probes=design.probes,
        assignor=design.assignor,
        protocol=design.protocol,
        config=snapshot.config,
        assumptions=_assumed(request, run, outcome),
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
            + emptied(request.outside)
            + (input_behind(snapshot) if rounds else ())
            + restores_below_lag(restoring)
            + (tags_not_spread(group, final, run.configs[-1]) if outcome.verdict.kind == "settled" else ())
        ),
        verdict=outcome.verdict,
        later_configs=outcome.settings,
        outages=request.outside.unnoticed,
        rates=known_rates(snapshot.rates, snapshot.state.group),
        end=_end(request, run, outcome) if is_shown and design.goes_on else None,
        unproven_starts=unproven,
        restoring_starts=restoring,
        behind=tuple(_copies_behind(request, figures)) if is_shown and design.moves_when_caught_up else (),
    )
    return OneRun(plan, run, outcome)


def _copies_behind(request: PlanRequest, figures: RunFigures) -> Iterator[CopyBehind]:
    """Yield the assigned copies that are not caught up at the first decision, by consumer, then task."""
    first, group, limit = figures.outcome.first, figures.roster.group, request.snapshot.config.acceptable_recovery_lag
    if first is None:
        return
    copies = {
        (task, first.group.instances[copy.instance].process_id): copy
        for task, of_task in enumerate(first.copies)
        for copy in of_task
    }
    for consumer, holding in enumerate(figures.initial):
        process_id = group.instances[group.instance_of[consumer]].process_id
        for task in sorted({*holding.active, *holding.standby, *holding.warmup, *holding.temporary}):
            copy = copies.get((task, process_id))
            if copy is not None and (copy.lag is None or not is_caught_up(copy.lag, limit)):
                yield CopyBehind(group.tasks[task].task_id, process_id, copy.remaining)


def _unproven(
    request: PlanRequest, group: Group, initial: Sequence[Holding], rounds: Sequence[Round], doubts: Sequence[CopyDoubt]
) -> tuple[UnprovenStart, ...]:
    return unproven_starts(
        request.snapshot,
        request.design,
        group,
        initial,
        rounds,
        request.outside,
        now_ms=request.now_ms,
        trust_ms=request.options.trust_ms,
        undated=request.is_undated,
        assumed=AssumedFacts(
            caught_up=request.options.proofs == "stores", left_over=request.options.cleaning == "late"
        ),
        doubts=doubts,
    )


def _completed_run(
    request: PlanRequest, group: Group, state: GroupState, rounds: tuple[Round, ...], outcome: RunResult
) -> FinishedRun:
    taken_ms = request.snapshot.captured_at_ms
    return FinishedRun(
        snapshot=request.snapshot,
        scenario=request.scenario,
        state=state,
        rounds=rounds,
        group=outcome.group,
        target=outcome.target,
        rates=outcome.rates,
        configs=(request.snapshot.config, *(later for _, later in outcome.settings)),
        unrated=outcome.restore_totals.unrated(group),
        goes_on=outcome.previous_rebalance is not None,
        begins_at=None if taken_ms is None else format_time(taken_ms + request.now_ms),
    )


def _digests(request: PlanRequest) -> tuple[str, str]:
    """Return those of all that it was made from, and of the snapshot alone."""
    snapshot, begins = request.snapshot, known_history_of(request.snapshot, request.now_ms)
    made_from = snapshot.state, snapshot.config, snapshot.rates
    snapshot_digest = input_digest(*made_from, beginning=begins)
    return snapshot_digest if request.scenario is None else input_digest(
        *made_from, request.scenario, begins
    ), snapshot_digest


def _assumed(request: PlanRequest, run: FinishedRun, outcome: RunResult) -> tuple[Note, ...]:
    return (
        request.design.assumptions(run)
        + assumptions(
            request.design, run, outcome, request.now_ms, ready=request.options.ready, is_undated=request.is_undated
        )
        + assumed_release(request.design, run)
        + not_noticed(request.outside)
        + leavers_without_option(run)
        + late_stops(request.outside)
        + after_crashes(request.outside.crashed, request.snapshot)
        + led_by_restarted(request.events, request.outside)
        + led_by_release(outcome.settings, request.snapshot)
        + version_probing(request.events, request.snapshot)
        + outcome.notes
    )


def _summary(
    request: PlanRequest,
    group: Group,
    initial: Sequence[Holding],
    pauses: Pauses,
    run: FinishedRun,
    outcome: RunResult,
) -> Summary:
    rounds, design = run.rounds, request.design
    moves = least_moves(group, still_configured(group, initial, rounds), outcome.group, outcome.target)
    return summarize(
        group,
        initial,
        rounds,
        design.lower_bounds(moves, run, solve=request.options.bounds),
        pauses,
        duration_ms=max(in_effect_ms(rounds, request.snapshot.config, outcome.settings), default=0),
        duration_is=design.unrated_times if run.unrated else "estimate",
        max_cold_restore_ms=outcome.max_cold_ms if outcome.follows_restores else outcome.restore_totals.max_cold_ms,
        runs_by_ms=outcome.runs_by_ms,
    )


def _end(request: PlanRequest, run: FinishedRun, outcome: RunResult) -> PlanEnd:
    config, rounds = run.configs[-1], len(run.rounds)
    return end_of(outcome.last, request.snapshot, request.now_ms, request.outside, outcome.rates, config, rounds=rounds)
