"""Many draws of one scenario: what is the rule, and how far from it chance may lead."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.model import Group, Note, Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import plan
from kstream_plan.planner.runner import Runner, sequential
from kstream_plan.plans import Plan, Summary
from kstream_plan.plans.interruptions import Stops, stops_of
from kstream_plan.plans.plan import ENDS_NOT_PLAYED, ENDS_OF_OTHERS_NOT_PLAYED
from kstream_plan.plans.simulated import Draws, Figures, Range, ends_of, figures_of
from kstream_plan.policy.rules.over_draws import measure_rules, worst
from kstream_plan.simulation.one_plan import design_of
from kstream_plan.simulation.processes import work_of_one_ms
from kstream_plan.simulation.random_ids import with_random_ids

#: draws done, draws in all
OnDraw: TypeAlias = Callable[[int, int], None]

MOST_DRAWS = 200
#: So much work (:func:`work_of_one_ms`) is worth while unless told otherwise: about as much as reading takes.
_WORTH = 2_000
#: The least number of draws if simulations are quick, and the time up to which one is.
_A_FEW, _WORTH_A_FEW_MS = 5, 5_000
#: With this many stateless tasks a round takes about twice as long as without.
_DEALT_OUT = 600


class Outcome(NamedTuple):
    """One draw: how it ends, its figures, what every rule of a policy measures, what stops, and its plan's summary.

    ``least`` and ``most`` are the ends of the figures that depend on something unknown; ``warnings`` are its plan's.
    """

    settles: bool
    figures: Figures
    least: Figures
    most: Figures
    measures: Mapping[str, int | None]
    stops: Stops
    summary: Summary
    warnings: tuple[Note, ...] = ()


def usual_number(group: Group, config: AssignmentConfig) -> int:
    """Return how many draws are worth while for a group of this size: all of them take a few seconds at most."""
    return min(MOST_DRAWS, max(1, int(_WORTH / work_of_one_ms(group, config))))


def usual_draws(snapshot: Snapshot, options: PlanOptions) -> int:
    """Return the default number of draws: a few at least if each is one quick simulation.

    It depends on the size of the group and on its design. With ``long_ranges`` a draw is several simulations.
    """
    a_few = not options.long_ranges and is_quick(snapshot, options)
    return max(usual_number(snapshot.state.group, snapshot.config), _A_FEW if a_few else 1)


def is_quick(snapshot: Snapshot, options: PlanOptions) -> bool:
    """Tell whether one simulation of a group takes seconds at most; each round assigns all stateless tasks, too."""
    group = snapshot.state.group
    work_ms = work_of_one_ms(group, snapshot.config) * (1 + len(group.stateless) / _DEALT_OUT)
    return work_ms <= _WORTH_A_FEW_MS and design_of(snapshot, options).is_quick


def draws(
    snapshot: Snapshot,
    scenario: Scenario,
    options: PlanOptions = PlanOptions(),
    *,
    number: int,
    side_by_side: Runner = sequential,
    within_ms: int | None = None,
    on_draw: OnDraw = lambda _number, _total: None,
) -> tuple[Outcome, ...]:
    """Simulate draws 0 to ``number`` - 1, fewer if ``within_ms`` is over before (then how many depends on the machine).

    The result does not depend on how many of them are simulated ``side_by_side``.
    """
    simulate = partial(_outcome, snapshot, scenario, options)
    deadline = None if within_ms is None else time.monotonic() + within_ms / 1000
    outcomes: list[Outcome] = []
    for outcome in side_by_side.run_each(simulate, number):
        outcomes.append(outcome)
        on_draw(len(outcomes), number)
        if deadline is not None and time.monotonic() >= deadline:
            break
    return tuple(outcomes)


def shown_draw(
    plan_with: Callable[[PlanOptions], Plan], options: PlanOptions, all_draws: Draws, outcomes: Sequence[Outcome]
) -> tuple[Plan, Draws]:
    """Return the plan of the draw that is shown, and the ranges of all of them.

    Other outcomes of a draw are known since it was drawn, and not simulated again; if not, they are simulated if
    ``options`` ask for ``long_ranges``. If they are unknown of one of the draws, the plan says so.
    """
    shown_outcome = outcomes[all_draws.shown]
    unplayed = [outcome for outcome in outcomes if _is_unplayed(outcome)]
    if options.long_ranges and _is_unplayed(shown_outcome):
        result = plan_with(options)
        shown_outcome = _outcome_of(result, measure_rules(result))
        all_draws = summarize_draws([*outcomes[: all_draws.shown], shown_outcome, *outcomes[all_draws.shown + 1 :]])
    else:
        result = plan_with(replace(options, ranges=False))
        summary = replace(result.summary, ranges=shown_outcome.summary.ranges)
        result = replace(result, summary=summary, warnings=shown_outcome.warnings)
    if unplayed and result.tells_ends:
        result = replace(result, warnings=(*result.warnings, _others_not_played(all_draws)))
    return result, all_draws


def _is_unplayed(outcome: Outcome) -> bool:
    return any(note.code == ENDS_NOT_PLAYED for note in outcome.warnings)


def _others_not_played(all_draws: Draws) -> Note:
    message = (
        "What is unknown was varied in the shown simulation only: the others may take longer, have more cold starts, "
        f"or not settle (--set ranges=true --set draws={all_draws.number} varies it in all)"
    )
    return Note(ENDS_OF_OTHERS_NOT_PLAYED, message)


def one_draw(plan: Plan) -> Draws:
    """Return the ranges of a single draw."""
    return summarize_draws([_outcome_of(plan, {})])


def by_chance_ms(outcomes: Sequence[Outcome]) -> int:
    """Return by how much the draws differ in how long they take, by chance alone."""
    durations_ms = [outcome.figures.duration_ms for outcome in outcomes]
    return max(durations_ms, default=0) - min(durations_ms, default=0)


def _outcome(snapshot: Snapshot, scenario: Scenario, options: PlanOptions, draw: int) -> Outcome:
    scenario, options = with_random_ids(scenario, snapshot.state.group, draw), replace(options, floor=False)
    result = plan(snapshot, design_of(snapshot, options), options, scenario=scenario, is_shown=False)
    return _outcome_of(result, measure_rules(result))


def _outcome_of(plan: Plan, measures: Mapping[str, int | None]) -> Outcome:
    figures = figures_of(plan)
    ends, stops = ends_of(plan, figures), stops_of(plan)
    return Outcome(plan.verdict.kind == "settled", figures, *ends, measures, stops, plan.summary, plan.warnings)


def summarize_draws(outcomes: Sequence[Outcome]) -> Draws:
    """Return the range of every figure over these draws, and which of them is shown.

    The range has the ends of what is unknown of each of several draws; for a single one its plan has them.
    """
    columns = zip(*(outcome.figures for outcome in outcomes), strict=True)
    ranges = [_range(column) for column in columns]
    bounds = [outcome.summary.lower_bounds.restored_records for outcome in outcomes]
    known_bounds = [bound for bound in bounds if bound is not None]

    def distance(draw: int) -> tuple[bool, float, int]:
        settles, figures = outcomes[draw][:2]
        deviation = sum(
            abs(figure - figure_range.median) / max(1, figure_range.most - figure_range.least)
            for figure, figure_range in zip(figures, ranges, strict=True)
        )
        return not settles, deviation, draw

    settled_count = sum(outcome.settles for outcome in outcomes)
    mostly_settled = 2 * settled_count >= len(outcomes)
    candidates = [draw for draw, outcome in enumerate(outcomes) if outcome.settles == mostly_settled]
    answer = ranges if len(outcomes) == 1 else _with_ends(ranges, outcomes)
    return Draws(
        number=len(outcomes),
        shown=min(candidates, key=distance),
        settled=settled_count,
        worst=MappingProxyType(worst(outcome.measures for outcome in outcomes)),
        least_restored_records=_range(known_bounds) if len(known_bounds) == len(bounds) else None,
        **dict(zip(Figures._fields, answer, strict=True)),
    )


def _with_ends(ranges: Sequence[Range], outcomes: Sequence[Outcome]) -> list[Range]:
    least = map(min, zip(*(outcome.least for outcome in outcomes), strict=True))
    most = map(max, zip(*(outcome.most for outcome in outcomes), strict=True))
    return [Range(draw_range.median, low, high) for draw_range, low, high in zip(ranges, least, most, strict=True)]


def _range(figures: Sequence[int]) -> Range:
    return Range(statistics.median_low(figures), min(figures), max(figures))
