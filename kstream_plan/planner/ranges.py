"""Other outcomes of a plan: the least time it takes, and both ends of what is unknown, each simulated again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Unpack

from kstream_plan.model import LATEST, Note
from kstream_plan.model.scenario import Burst, ProduceRate, RestoreRate, Scenario
from kstream_plan.model.starting_state import Cleaning
from kstream_plan.model.times import duration
from kstream_plan.planner.leader_settings import NextLeader
from kstream_plan.planner.loop import STOPPED_EARLY
from kstream_plan.planner.membership_timeline import Noticed
from kstream_plan.planner.one_run import OneRun, run_figures, run_once
from kstream_plan.planner.options import PlanKeywords, PlanOptions, Proofs
from kstream_plan.planner.plan_request import PlanRequest
from kstream_plan.planner.runner import Ends, Runner, sequential
from kstream_plan.plans import FigureRange, Plan, Summary, probes_after_ms
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.plans.design import Design
from kstream_plan.plans.note_codes import CLOSE_TO_TIME_OUT, LATE_FOLLOW_UP, LEFT_OVER_CLEANUP, MEMORY_UNSETTLED
from kstream_plan.plans.plan import (
    ENDLESS,
    ENDS_NOT_PLAYED,
    INPUT_BEHIND,
    PAUSES,
    READY_AT_FOLLOW_UP,
    HasFigures,
    figure_of,
)
from kstream_plan.plans.summary import FIGURES

#: A plan with more steps is long: the simulation of each other outcome takes seconds.
_MANY_STEPS = 100_000
#: At most this many probes are simulated in which nothing is ready yet, because members are still to come or go.
_MOST_WAITING = 2_000
#: Who leads after the leader: settings of restarted members count as early as they can, and as late.
_EITHER_LEADS: Sequence[NextLeader] = ("restarted", "others")
#: When left-over state is deleted, if that is unknown; the one that takes longer to simulate first.
_EITHER_END: Sequence[Cleaning] = ("early", "late")
#: Why variants are simulated, if no warning says it: for the least time, always, or for cold starts.
_FLOOR, _ALWAYS, _COLDEST, _IN_MEMORY = "floor", "always", "coldest", "in-memory"
#: How long a simulation takes, unless only the least is known.
_KNOWN_TIME = "known_duration_ms"
#: How many tasks start cold at most: no unproven start is warm.
_MOST_COLD = "most_cold"
#: Whether a simulation settles with stores in memory, if their kind is unknown.
_SETTLES_IN_MEMORY = "settles_in_memory"
_UNSETTLED = "If stores are in memory, the group may not settle; whether they are is unknown (--set stores would tell)"
#: Whether a cold start restores for longer with stores in memory, if their kind is unknown.
_LONGER_IN_MEMORY = "longer_in_memory"
_RESTORES_LONGER = (
    "If stores are in memory, cold starts may restore for longer; whether they are is unknown (--set stores would tell)"
)
#: How long the slowest cold start restores; 0: there is none.
_COLD_RESTORE = "max_cold_restore_ms"
#: How many tasks start warm by Kafka's rule and restore for long first, and how long one of them does at most.
_RESTORING_FIRST = ("restoring_first", "max_restoring_first_ms")
#: What may be known in one outcome, and not in another: in words, and its figures.
_MAY_BE_UNKNOWN = {
    "how long tasks pause, or when everything runs": (*PAUSES, "runs_by_ms"),
    "how much is restored": ("restored_records",),
    "how long tasks restore first": ("max_restoring_first_ms",),
    "how long a cold start restores": (_COLD_RESTORE,),
}


@dataclass(frozen=True, slots=True)
class FloorRun:
    """The simulation of a request that takes the least time; two of the same are equal."""

    request: PlanRequest

    def __call__(self) -> Ends:
        """Return how long it takes, with everything restored at once."""
        soonest = self.request.soonest()
        rates = replace(soonest.snapshot.rates, restore_per_instance=inf)
        rounds = soonest.simulate(rates, balances=soonest.enough is not None)[2].rounds
        return {"duration_ms": rounds[-1].ends_ms if rounds else 0}


@dataclass(frozen=True, slots=True)
class VariantRun:
    """A simulation of a request under other assumptions; two of the same are equal."""

    request: PlanRequest
    design: Design
    options: PlanOptions

    def plan(self) -> Plan:
        """Return its plan."""
        return run_once(self._other_request()).plan

    def __call__(self) -> Ends:
        """Return its figures."""
        return self.ends(run_figures(self._other_request()))

    def ends(self, run: HasFigures) -> Ends:
        """Return the figures of its outcome; with stores in memory more may start cold, or it may not settle.

        Whether they are is unknown. They leave no state over, whenever that is deleted: it is as in the likely outcome.
        """
        ends = _ends(run)
        if self.options.cleaning != self.request.options.cleaning or not _stores_matter(self.request, run):
            return ends
        in_memory = replace(self, request=_in_memory(self.request))()
        most_cold = max(ends[_MOST_COLD] or 0, in_memory[_MOST_COLD] or 0)
        longer = _restores_longer(in_memory, ends)
        return {
            **ends,
            _MOST_COLD: most_cold,
            _SETTLES_IN_MEMORY: in_memory["settles"],
            _LONGER_IN_MEMORY: longer,
        }

    def _other_request(self) -> PlanRequest:
        request = self.request
        return PlanRequest.from_snapshot(request.snapshot, self.design, self.options, request.scenario, request.enough)


@dataclass(frozen=True, slots=True)
class Ranges:
    """The other outcomes of a request, simulated ``side_by_side``."""

    request: PlanRequest
    side_by_side: Runner

    def begin(self) -> None:
        """Begin the simulations that are mostly needed, before it is known."""
        request, options, likely = self.request, self.request.options, list[Callable[[], Ends]]()
        if request.design.unrated_times != "probes":
            return
        if options.ranges and options.long_ranges:
            likely += [self._cleaned(cleaning) for cleaning in _EITHER_END]
        if options.floor and not request.snapshot.rates.any_restore:
            likely.append(FloorRun(request))
        self.side_by_side.begin(likely)

    def find_ranges(self, run: OneRun) -> tuple[Summary, tuple[FigureRange, ...], tuple[Note, ...]]:
        """Return the summary with the least time, if a restore rate is unknown, the ranges, and the warnings.

        Ranges are of the figures that depend on something unknown. Warnings of the outcome are kept as far as they
        matter.
        """
        likely_plan, warnings, variants_by_reason = (
            run.plan,
            run.outcome.warnings,
            dict[str, Sequence[Callable[[], Ends]]](),
        )
        options, summary = self.request.options, likely_plan.summary
        if options.floor and run.run.unrated and run.run.rounds and summary.duration_is == "probes":
            variants_by_reason[_FLOOR] = [FloorRun(self.request)]
        ranged = options.ranges and run.outcome.verdict.reason != STOPPED_EARLY
        if ranged:
            what_else = self.simulations(run)
            too_long = self._too_long(run)
            if too_long and any(what_else.values()):
                ranged, warnings = False, (*warnings, too_long)
            else:
                variants_by_reason.update(what_else)
        outcomes = iter(
            self.side_by_side([variant for variants in variants_by_reason.values() for variant in variants])
        )
        outcomes_by_reason = {
            reason: [next(outcomes) for _ in variants] for reason, variants in variants_by_reason.items()
        }
        floors = outcomes_by_reason.pop(_FLOOR, ())
        ranges, warnings = self._ranged(run, outcomes_by_reason, warnings) if ranged else ((), warnings)
        ends_ms = [summary.duration_ms, *(bound.low for bound in ranges if bound.figure == "duration_ms")]
        for least in floors:
            summary = replace(summary, floor_ms=min(least["duration_ms"] or 0, *ends_ms))
        return summary, ranges, warnings

    def _ranged(
        self, run: OneRun, outcomes_by_reason: Mapping[str, Sequence[Ends]], warnings: tuple[Note, ...]
    ) -> tuple[tuple[FigureRange, ...], tuple[Note, ...]]:
        """Return the ranges of these outcomes, and of those that need a whole plan; and the warnings that matter."""
        request, likely_plan, likely_ends, extra_probes = (
            self.request,
            run.plan,
            _ends(run.plan),
            self._extra_probes(run),
        )
        ends = [likely_ends, *outcomes_by_reason[_ALWAYS]]
        if request.outside.close_by_ms:
            sides = self._sides_of_the_time_out()
            plan_within, plan_beyond = (
                likely_plan if side is request else self._variant(request=side).plan() for side in sides
            )
            ends += (
                self._variant(request=side).ends(plan)
                for side, plan in zip(sides, (plan_within, plan_beyond), strict=True)
                if side is not request
            )
            if extra_probes or run.outcome.doubts:
                ends += [self._least_ready(side, extra_probes)() for side in sides if side is not request]
            warnings = (*warnings, _close_to_time_out(plan_within, plan_beyond, tuple(request.outside.close_by_ms)))
        starts = [self._variant(design) for design in request.design.other_beginnings(request.snapshot)]
        beginnings = [start.plan() for start in starts]
        ends += (start.ends(plan) for start, plan in zip(starts, beginnings, strict=True))
        warnings = (*warnings, *_not_firm(likely_plan, beginnings))
        for code in (LEFT_OVER_CLEANUP, LATE_FOLLOW_UP, READY_AT_FOLLOW_UP):
            other_ends = outcomes_by_reason.get(code, [])
            if _differ([likely_ends, *other_ends]):
                ends += other_ends
            else:
                warnings = tuple(note for note in warnings if note.code != code)
        coldest, in_memory = outcomes_by_reason.get(_COLDEST, ()), outcomes_by_reason.get(_IN_MEMORY, ())
        on_disks = (*ends, *coldest)
        ranges = tuple(
            _ranges(
                [*ends, *({**likely_ends, **_restoring_first(likely_ends, memory_ends)} for memory_ends in in_memory)],
                (*coldest, *in_memory),
            )
        )
        if all(ends["settles"] for ends in on_disks) and not _settle_in_memory((*on_disks, *in_memory)):
            warnings = (*warnings, Note(MEMORY_UNSETTLED, _UNSETTLED))
        longer = any(outcome[_LONGER_IN_MEMORY] for outcome in ends) or any(
            _restores_longer(memory_ends, likely_ends) for memory_ends in in_memory
        )
        if longer and any(outcome[_COLD_RESTORE] for outcome in ends):
            warnings = (*warnings, Note(ENDLESS, _RESTORES_LONGER, (_COLD_RESTORE,)))
        return ranges, (*warnings, *_endless(ends, input_behind=_is_input_behind(likely_plan)))

    def _variant(
        self, other_design: Design | None = None, request: PlanRequest | None = None, **keywords: Unpack[PlanKeywords]
    ) -> VariantRun:
        """Return a variant: by default of the same request by the same design."""
        options = replace(self.request.options.of_one_run(), **keywords)
        return VariantRun(request or self.request, other_design or self.request.design, options)

    def _cleaned(self, cleaning: Cleaning) -> VariantRun:
        """Return the variant in which left-over state is deleted early or late: late it is there for sure."""
        return self._variant(cleaning=cleaning)

    @property
    def _of_stores(self) -> Proofs:
        """What is not proven where copies that may be behind count as caught up."""
        return "none" if self.request.options.proofs == "none" else "stores"

    def _least_ready(self, request: PlanRequest, extra_probes: int = 0) -> VariantRun:
        """Return the variant in which nothing counts as caught up, or as running, before a probe may find it so.

        Nor does anything while members are to come or go yet: ``extra_probes`` are simulated until then.
        """
        most = (
            request.most_rounds(request.snapshot.state.group) + extra_probes
            if extra_probes
            else request.options.max_rounds
        )
        return self._variant(request.design.ready_last(), request, ready="none", max_rounds=most)

    def simulations(self, run: OneRun) -> Mapping[str, Sequence[VariantRun]]:
        """Return the variants, each to be simulated, by the warning that says so, if one does."""
        request, outcome, always = self.request, run.outcome, list[VariantRun]()
        extra_probes = self._extra_probes(run)
        if any(not doubt.is_likely_ready for doubt in outcome.doubts):
            always.append(self._variant(ready="all", proofs=self._of_stores))
        if extra_probes or any(doubt.is_likely_ready for doubt in outcome.doubts):
            always.append(self._least_ready(request, extra_probes))
        always += noticed_otherwise(request)
        always += self._paced_otherwise(run)
        always += self._with_other_copies(run, extra_probes)
        always += self._events_otherwise()
        by_warning: dict[str, Sequence[VariantRun]] = {_ALWAYS: always}
        codes = {note.code for note in outcome.warnings}
        if _stores_matter(request, run.plan) or (LEFT_OVER_CLEANUP in codes and _stores_unknown(request)):
            by_warning[_IN_MEMORY] = [self._variant(request=_in_memory(request))]
        if LEFT_OVER_CLEANUP in codes:
            by_warning[LEFT_OVER_CLEANUP] = [self._cleaned(cleaning) for cleaning in outcome.cleanings]
        if LATE_FOLLOW_UP in codes:
            by_warning[LATE_FOLLOW_UP] = [self._variant(request.design.late())]
        if READY_AT_FOLLOW_UP in codes:
            by_warning[READY_AT_FOLLOW_UP] = [self._variant(request.design.at_probes())]
        if self._may_be_colder(run.plan):
            unmeasured = replace(request.snapshot.rates, restore=MappingProxyType({}))
            coldest = replace(request, snapshot=replace(request.snapshot, rates=unmeasured))
            by_warning[_COLDEST] = [self._variant(request.design.at_probes(), coldest, ready="none")]
        return by_warning

    def _events_otherwise(self) -> Iterator[VariantRun]:
        """Yield the variants in which the group reacts to the events otherwise."""
        if self.request.outside.waits_first:
            yield self._variant(closes_wait=False)
        if self.request.outside.is_next_leader_unknown:
            yield from (self._variant(next_leader=next_leader) for next_leader in _EITHER_LEADS)
        scenario = self.request.scenario
        one_by_one = scenario and self.request.design.leaving_in_turn(scenario, self.request.snapshot)
        if one_by_one is not None:
            yield self._variant(request=replace(self.request, scenario=one_by_one))

    def _with_other_copies(self, run: OneRun, extra_probes: int) -> Iterator[VariantRun]:
        """Yield the variants in which copies lack more, or less, than is reported of them."""
        request, snapshot = self.request, self.request.snapshot
        if snapshot.least_lags:
            yield self._least_ready(replace(request, snapshot=snapshot.at_worst()), extra_probes)
        undated = snapshot.undated_caught_up()
        if snapshot.rates.any_restore and undated is not snapshot:
            yield self._variant(request=replace(request, snapshot=undated), proofs=self._of_stores)
        if _is_input_behind(run.plan):
            yield self._least_ready(replace(request, snapshot=snapshot.with_input_processed()), extra_probes)

    def _paced_otherwise(self, run: OneRun) -> Iterator[VariantRun]:
        """Yield the variants in which copies restore slower and faster than by the known rates.

        Each thread restores what it has at a rate of its own. One alone restores at its part of the instance's; where
        a thread was measured, all of the instance restore at a multiple, and copies of unknown size may take nothing of
        it. No copy has to begin at once, either, nor does a probe have to come as late as in a plan: a heartbeat
        interval earlier it finds less restored.
        """
        request, rounds = self.request, run.run.rounds
        rated = request.snapshot.rates.any_restore or any(
            isinstance(pace, RestoreRate) for pace in request.outside.paces
        )
        if not rated or not rounds or not self._any_restores(run):
            return
        threads, late_design = (
            max(instance.capacity for instance in request.outside.all_instances),
            request.design.at_probes(),
        )
        if threads > 1 or late_design != request.design:
            config = request.snapshot.config
            interval_ms = config.probing_rebalance_interval_ms
            early = interval_ms / (interval_ms + config.heartbeat_interval_ms) if late_design != request.design else 1
            yield self._variant(late_design, self._at_other_rates(early / threads))
        fastest = self._at_other_rates(threads)
        if threads > 1:
            yield self._variant(request=fastest)
        sized = fastest.snapshot.at_least_sizes()
        if sized is not fastest.snapshot:
            yield self._variant(request=replace(fastest, snapshot=sized))

    def _any_restores(self, run: OneRun) -> bool:
        """Tell whether some copy has something to restore: in the simulation, or since it was reported."""
        rates, copies = self.request.snapshot.rates, self.request.snapshot.state.copies
        if run.plan.summary.restored_records != 0 or any(
            isinstance(pace, ProduceRate | Burst) for pace in self.request.outside.paces
        ):
            return True
        return any(
            copy.remaining
            or (copy.lag not in (None, LATEST) and rates.knows_produce(task) and rates.produce_rate(task))
            for task, of_task in enumerate(copies)
            for copy in of_task
        )

    def _at_other_rates(self, factor: float) -> PlanRequest:
        """Return the request in which instances restore faster by a factor, by the events of its scenario as well."""
        request = self.request
        scenario = request.scenario and Scenario(
            events=tuple(
                replace(event, per_second=event.per_second * factor) if isinstance(event, RestoreRate) else event
                for event in request.scenario.events
            )
        )
        rates = request.snapshot.rates.times(factor)
        return replace(request, snapshot=replace(request.snapshot, rates=rates), scenario=scenario)

    def _extra_probes(self, run: OneRun) -> int:
        """Return how many probes come before the last change from outside, if no copy is to be ready before it.

        0 if every restore rate is known.
        """
        request, outside = self.request, self.request.outside
        until_ms = [change.at_ms for change in outside.changes[-1:]]
        unrated = bool(run.run.unrated)
        if outside.close_by_ms:  # beyond the time-out they are changes, and tasks may restore that do not within it
            until_ms += [outage.to_ms for outage in outside.outages]
            unrated = unrated or not request.snapshot.rates.any_restore
        if not unrated or not until_ms or request.design.unrated_times != "probes":
            return 0
        return max(until_ms) // min(probes_after_ms(run.run.rounds, run.run.configs))

    def _too_long(self, run: OneRun) -> Note | None:
        """Warn if the other outcomes take too long to simulate, or longer than the options allow.

        Both sides of a time-out are always simulated if they can be.
        """
        request, plan, extra_probes = self.request, run.plan, self._extra_probes(run)
        if extra_probes > _MOST_WAITING:
            return _not_played(f"{extra_probes:,} probes come before the last change", "--restore-rate would tell")
        if request.options.long_ranges or request.design.unrated_times != "probes" or request.outside.close_by_ms:
            return None
        if not _is_long(plan):
            return None
        return _not_played(
            f"one simulation has {plan.summary.rebalances:,} rebalances", "--set ranges=true simulates them as well"
        )

    def _may_be_colder(self, plan: Plan) -> bool:
        """Tell whether more may start cold than by the restore rates, which were measured: they are no promise.

        Not if every task has an owner all the time: then none moves before its copy has caught up.
        """
        rates, changes = self.request.snapshot.rates, self.request.outside.changes
        run = {task for holding in plan.initial for task in holding.active}
        goes = any(change.departures for change in changes) or not run.issuperset(plan.group.stateful)
        return bool(rates.restore) and rates.restore_per_instance is None and bool(changes) and goes

    def _sides_of_the_time_out(self) -> tuple[PlanRequest, PlanRequest]:
        """Return the request with an instance that came back close to the time-out within it, and that beyond."""
        request, config, by_ms = self.request, self.request.snapshot.config, self.request.outside.close_by_ms.values()

        def with_time_out(timeout_ms: int) -> PlanRequest:
            config_with_time_out = replace(config, session_timeout_ms=max(0, timeout_ms))
            return replace(request, snapshot=replace(request.snapshot, config=config_with_time_out))

        more_ms = config.heartbeat_interval_ms + 1
        case_within = request if min(by_ms) > 0 else with_time_out(config.session_timeout_ms + more_ms)
        case_beyond = request if max(by_ms) <= 0 else with_time_out(config.session_timeout_ms - more_ms)
        return case_within, case_beyond


def other_outcomes(request: PlanRequest) -> Iterator[Plan]:
    """Yield the plan of every other outcome that is possible, but for stores in memory and without measured rates."""
    by_warning = Ranges(request, sequential).simulations(run_once(request))
    for warning, variants in by_warning.items():
        if warning not in (_IN_MEMORY, _COLDEST):
            yield from (variant.plan() for variant in variants)
    yield from (
        VariantRun(request, design, request.options).plan()
        for design in request.design.other_beginnings(request.snapshot)
    )


def noticed_otherwise(request: PlanRequest) -> Iterator[VariantRun]:
    """Yield the simulations in which heartbeats come, and stopped members expire, as early and as late as can be.

    Where members decide nothing together, the broker may decide between two of those that expire one by one.
    """
    design, stops = request.design, request.outside.notices_late

    def variant(timed_design: Design, notice_timing: Noticed) -> VariantRun:
        return VariantRun(request, timed_design, replace(request.options.of_one_run(), noticed=notice_timing))

    if design.times_vary:
        yield variant(design.soonest(), "early")
        yield variant(design.late(), request.options.noticed)
        for place, timed_design in enumerate(design.at_other_times()):
            yield variant(timed_design, "early" if place % 2 else request.options.noticed)
    elif stops:
        yield variant(design, "early")
        yield variant(design, "late")
    if design.times_vary and stops:
        yield variant(design.soonest(), "one-by-one")
        yield variant(design.soonest(), "reversed")


def _stores_matter(request: PlanRequest, run: HasFigures) -> bool:
    """Tell whether more may start cold if stores are in memory, and whether they are is unknown."""
    if not _stores_unknown(request):
        return False
    facts = {start.evidence.fact for start in run.unproven_starts}
    return bool(run.summary.hops) or Fact.STORES_UNKNOWN in facts


def _stores_unknown(request: PlanRequest) -> bool:
    return request.snapshot.stores in (None, "mixed") and request.options.proofs != "none"


def _in_memory(request: PlanRequest) -> PlanRequest:
    return replace(request, snapshot=replace(request.snapshot, stores="in-memory"))


def _not_firm(likely_plan: Plan, other_plans: Sequence[Plan]) -> Iterator[Note]:
    """Name the tasks whose final instance depends on something unknown."""
    owners = [
        {task: consumer for consumer, holding in enumerate(plan.final) for task in holding.active}
        for plan in (likely_plan, *other_plans)
    ]
    differ = [task for task in owners[0] if len({owner_of.get(task) for owner_of in owners}) > 1]
    if differ:
        names = tuple(str(likely_plan.group.tasks[task].task_id) for task in sorted(differ))
        message = f"The final instance of some tasks depends on something unknown: {', '.join(names)}"
        yield Note("placement-not-firm", message, names)


def _close_to_time_out(plan_within: Plan, plan_beyond: Plan, process_ids: tuple[str, ...]) -> Note:
    """Return the note on what follows on either side of the session time-out."""
    sides = (
        f"{side}: {_in_short(plan.summary)}" for side, plan in (("Within it", plan_within), ("beyond it", plan_beyond))
    )
    message = (
        "The return is within one heartbeat interval of session.timeout.ms: the group may have noticed by then or not. "
    ) + "; ".join(sides)
    return Note(CLOSE_TO_TIME_OUT, message, process_ids)


def _in_short(summary: Summary) -> str:
    rebalances = "1 rebalance" if summary.rebalances == 1 else f"{summary.rebalances:,} rebalances"
    cold = "1 cold start" if summary.cold_handovers == 1 else f"{summary.cold_handovers:,} cold starts"
    pauses = f"{duration(summary.paused_task_ms)} of pauses"
    return f"{duration(summary.duration_ms)}, {rebalances}, {cold}, {pauses}"


def _ends(run: HasFigures) -> Ends:
    known_ms = None if run.summary.duration_is == "least" else run.summary.duration_ms
    most_cold = run.summary.cold_handovers + len(run.unproven_starts)
    return {
        _KNOWN_TIME: known_ms,
        _MOST_COLD: most_cold,
        _SETTLES_IN_MEMORY: 1,
        _LONGER_IN_MEMORY: 0,
        **{figure: figure_of(run, figure) for figure in FIGURES},
    }


def _settle_in_memory(outcomes: Sequence[Ends]) -> bool:
    """Tell whether every simulation settles, and would with stores in memory, too."""
    return all(outcome["settles"] and outcome[_SETTLES_IN_MEMORY] for outcome in outcomes)


def _ranges(outcomes: Sequence[Ends], coldest: Sequence[Ends] = ()) -> Iterator[FigureRange]:
    """Yield the figures that differ; of cold starts with those of ``coldest`` and what is not proven.

    Whether all settle is of ``coldest`` as well, and of stores in memory.
    """
    for figure in FIGURES:
        is_cold = figure == "cold_handovers"
        bounds = _both_ends((*outcomes, *coldest) if is_cold else outcomes, figure)
        if figure == "settles" and bounds is not None and not _settle_in_memory((*outcomes, *coldest)):
            bounds = 0, bounds[1]
        if bounds is not None and is_cold:
            bounds = bounds[0], max(outcome[_MOST_COLD] or 0 for outcome in (*outcomes, *coldest))
        if bounds is not None and bounds[0] != bounds[1]:
            yield FigureRange(figure, *bounds)


def _differ(outcomes: Sequence[Ends]) -> bool:
    """Tell whether a figure differs, apart from the unproven starts of each simulation."""
    return any(
        bounds is not None and bounds[0] != bounds[1] for bounds in (_both_ends(outcomes, name) for name in FIGURES)
    )


def _both_ends(outcomes: Sequence[Ends], figure: str) -> tuple[int, int] | None:
    """Return the least and the most of a figure; ``None``: it is unknown in one of the simulations."""
    ends = [end for outcome in outcomes if (end := outcome[figure]) is not None]
    return (min(ends), max(ends)) if len(ends) == len(outcomes) else None


def _is_long(plan: Plan) -> bool:
    return sum(len(rnd.single_steps) for rnd in plan.rounds) > _MANY_STEPS


def _is_input_behind(plan: Plan) -> bool:
    return any(note.code == INPUT_BEHIND for note in plan.warnings)


def _endless(outcomes: Sequence[Ends], *, input_behind: bool) -> Iterator[Note]:
    """Warn of figures that are known in the first simulation, and not in every other, or not with a backlog."""
    for subject, names in _MAY_BE_UNKNOWN.items():
        known_figures = (
            figure for figure in names if outcomes[0][figure] is not None and _is_told(outcomes[0], figure)
        )
        figures = tuple(figure for figure in known_figures if any(outcome[figure] is None for outcome in outcomes))
        if figures:
            yield Note(ENDLESS, f"In some outcomes it is unknown {subject}", figures)
    if outcomes[0][_KNOWN_TIME] is not None and (
        input_behind or any(outcome[_KNOWN_TIME] is None for outcome in outcomes)
    ):
        yield Note(ENDLESS, "In some outcomes the duration is unknown", ("duration_ms",))


def _is_told(outcome: Ends, figure: str) -> bool:
    """Tell whether a simulation has such a figure: the time of a cold start only where there is one."""
    return figure != _COLD_RESTORE or bool(outcome[figure])


def _restoring_first(on_disks: Ends, in_memory: Ends) -> Ends:
    """Return how many tasks restore first at worst, and for how long, with stores on disks or in memory."""
    numbers, times = ([outcome[name] for outcome in (on_disks, in_memory)] for name in _RESTORING_FIRST)
    known_ms = [lasts_ms for lasts_ms in times if lasts_ms is not None]
    most_ms = max(known_ms) if len(known_ms) == len(times) else None
    return dict(zip(_RESTORING_FIRST, (max(number or 0 for number in numbers), most_ms), strict=True))


def _restores_longer(in_memory: Ends, on_disks: Ends) -> bool:
    """Tell whether a cold start restores for longer with stores in memory, or for an unknown time.

    It is unknown for starts that count as warm, and are not proven to be.
    """
    lasts_ms, likely_cold = in_memory[_COLD_RESTORE], in_memory["cold_handovers"] or 0
    return lasts_ms is None or (in_memory[_MOST_COLD] or 0) > likely_cold or lasts_ms > (on_disks[_COLD_RESTORE] or 0)


def _not_played(reason: str, what_helps: str) -> Note:
    """Warn that a long plan is one of several outcomes, and the others were not simulated."""
    message = (
        f"Other outcomes were not simulated, because {reason}: times and counts are those of the likely outcome. "
        f"Others may take longer, have more cold starts, or not settle ({what_helps})"
    )
    return Note(ENDS_NOT_PLAYED, message)
