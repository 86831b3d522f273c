"""One group under other settings, by another assignor, in another scenario: every alternative planned or simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from kstream_plan.comparison.alternatives import Alternative, Change, alternative_figures
from kstream_plan.comparison.sides import are_rivals
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.not_modelled import RELEASE_NOT_MODELLED, with_release_warned_of
from kstream_plan.model.scenario import Scenario, SettingValue
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Draws
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard, Status
from kstream_plan.simulation.draws import Outcome, draws, shown_draw, summarize_draws, usual_draws
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.processes import at_once, in_processes, worth_sharing
from kstream_plan.simulation.random_ids import is_random, with_random_ids
from kstream_plan.simulation.simulate import simulate

#: alternatives done, alternatives in all
OnAlternative: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One value of what varies: how it is told, and the settings, options or scenario that it means.

    ``settings`` are pairs of a name of :class:`~kstream_plan.model.settings.AssignmentConfig` and its value,
    ``options`` of one of :class:`~kstream_plan.planner.options.PlanOptions`; ``scenario``: ``None`` leaves what happens
    as it is. ``release``: of Kafka; ``None`` leaves it, too.
    """

    change: Change
    settings: tuple[tuple[str, SettingValue], ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    scenario: Scenario | None = None
    release: str | None = None


class _Entry(NamedTuple):
    """One alternative before it is simulated; ``scenario``: ``None`` if a rebalance starts now."""

    changes: tuple[Change, ...]
    snapshot: Snapshot
    options: PlanOptions
    scenario: Scenario | None


def alternatives(
    snapshot: Snapshot,
    axes: Sequence[Sequence[Variant]],
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    standard: Standard | None = None,
    number_of_draws: int | None = None,
    workers: int = 1,
    on_alternative: OnAlternative = lambda _number, _total: None,
) -> tuple[Alternative, ...]:
    """Simulate every combination of one variant of each axis, the last axis fastest, and nothing else different.

    New instances have the same ids in the same draw of every alternative; there are ``number_of_draws`` of each
    (default: those of a simulation of the group as it is, whose figures the alternative without a change has), by so
    many ``workers``. Every alternative is held against ``standard``, if there is one.

    Raises:
        ConfigError: settings do not go together.
        ScenarioError: a scenario does not fit the group.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    grid = [
        _Entry(tuple(variant.change for variant in variants), *_applied(snapshot, options, scenario, variants))
        for variants in product(*axes)
    ]
    number = usual_draws(snapshot, options) if number_of_draws is None else number_of_draws
    # each of few alternatives is shared out itself, by its draws
    processes = workers if len(grid) >= workers and _worth_sharing(grid, number) else 1
    plan_with = partial(_play, grid, standard, number, 1 if processes > 1 else workers)
    outcomes = []
    for played_alternative in in_processes(plan_with, len(grid), processes):
        outcomes.append(played_alternative)
        on_alternative(len(outcomes), len(grid))
    return tuple(outcomes)


def saved_alternatives(
    saved: Sequence[tuple[str, Plan, Draws | None]], standard: Standard | None = None
) -> tuple[Alternative, ...]:
    """Return plans that were saved, by the name each is told by, as alternatives, held against ``standard``.

    ``Draws`` are those of a simulation that was saved; ``None``: it has none.

    Raises:
        UsageError: they are of different snapshots, or there is one alone.
    """
    for name, result, _ in saved[1:]:
        if result != saved[0][1] and not are_rivals(saved[0][1], result):
            message = f"{name} is a plan of another snapshot than {saved[0][0]}"
            raise UsageError(message, fix="compare plans of one snapshot, or see what kstream-plan diff says")
    if len(saved) < 2:
        raise UsageError("one plan alone has nothing to compare with", fix="give several plans of one snapshot")
    return tuple(alternative((Change("plan", name),), outcome, draws, standard) for name, outcome, draws in saved)


def alternative(
    changes: tuple[Change, ...],
    plan: Plan,
    draws: Draws | None,
    standard: Standard | None,
    outcomes: Sequence[Outcome] = (),
) -> Alternative:
    """Return a simulated alternative, checked against ``standard``; ``outcomes`` are those of its draws."""
    broken_rules = None if standard is None else _broken_rules(plan, draws, standard)
    return Alternative(
        changes=changes,
        plan=plan,
        draws=draws,
        figures=alternative_figures(plan, draws, [outcome.stops for outcome in outcomes]),
        drawn_ms=tuple(outcome.figures.duration_ms for outcome in outcomes),
        keeps_policy=None if broken_rules is None else not broken_rules,
        broken_rules=tuple(broken_rules or ()),
        maybe_broken_rules=tuple(rule for rule, answer in (broken_rules or {}).items() if answer is Answer.UNKNOWN),
    )


def _play(grid: Sequence[_Entry], standard: Standard | None, number: int, workers: int, place: int) -> Alternative:
    changes, snapshot, options, scenario = grid[place]
    if scenario is None:
        return alternative(changes, plan_checked(snapshot, options), None, standard)
    group = snapshot.state.group
    if not is_random(scenario, group) or number == 1:
        simulation = simulate(snapshot, scenario, options, number_of_draws=1, what_ifs=False)
        return alternative(changes, simulation.plan, simulation.draws, standard)
    with at_once(group, snapshot.config, workers, number) as side_by_side:
        outcomes = draws(snapshot, scenario, options, number=number, side_by_side=side_by_side)
        all_draws = summarize_draws(outcomes)
        shown_scenario = with_random_ids(scenario, group, all_draws.shown)
        plan_with = partial(plan_checked, snapshot, scenario=shown_scenario, side_by_side=side_by_side)
        result, all_draws = shown_draw(plan_with, options, all_draws, outcomes)
    return alternative(changes, result, all_draws, standard, outcomes)


def _worth_sharing(grid: Sequence[_Entry], number: int) -> bool:
    draws_of_each = (number if entry.scenario is not None else 1 for entry in grid)
    return worth_sharing(grid[0].snapshot.state.group, sum(draws_of_each))


def _applied(
    snapshot: Snapshot, options: PlanOptions, scenario: Scenario | None, variants: Sequence[Variant]
) -> tuple[Snapshot, PlanOptions, Scenario | None]:
    for variant in variants:
        options = replace(options, **dict(variant.options))
        scenario = variant.scenario or scenario
        snapshot = snapshot if variant.release is None else snapshot.of_release(variant.release)
    for variant in variants:
        config = replace(snapshot.config, **dict(variant.settings))  # type: ignore[arg-type]
        snapshot = replace(snapshot, config=config)
    snapshot = with_release_warned_of(snapshot)
    warned_of = next((note for note in snapshot.warnings if note.code == RELEASE_NOT_MODELLED), None)
    if warned_of is not None and any(variant.release for variant in variants):
        raise UsageError(warned_of.message, where="--vary release", fix="compare releases that are modelled")
    return snapshot, options, scenario


def _broken_rules(plan: Plan, draws: Draws | None, standard: Standard) -> dict[str, Answer]:
    checked_plan = check_plan(plan, standard, draws=None if draws is None else draws.for_rules)
    return {finding.rule: finding.answer for finding in checked_plan.findings_of(Status.ERROR)}
