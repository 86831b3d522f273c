"""A whole plan: the loop played, what came out put together, and how else it may come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.case import Case, Enough
from kstream_plan.planner.loop import OnRound
from kstream_plan.planner.one_play import one_play
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.side_by_side import SideBySide, in_turn
from kstream_plan.planner.unproven_starts import with_unproven
from kstream_plan.planner.what_else import WhatElse
from kstream_plan.plans import Plan
from kstream_plan.plans.design import Design
from kstream_plan.plans.python_gc import without_cycle_collector

__all__ = ["Enough", "OnRound", "plan"]

#: After so many rounds a play is a long one: what else may be is begun, before it is known what of that is wanted.
_LONG_PLAY = 100


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
    shown: bool = True,
) -> Plan:
    """Say what follows in a group that coordinates by ``design``, from now on or of what ``scenario`` does to it.

    Of the ``options`` those count that are about any design. With a scenario the plan's group is everyone who ever
    takes part. ``on_round`` is told how many rounds there are, how many tasks still have to move, and in how many
    movements. ``enough`` is asked after every round whether to leave it ``unfinished``, and told of the end, of either
    end of what nobody knows as well; ``on_played`` is told the plan before it is known what else may be, which others
    may be playing meanwhile. What is not ``shown`` to anybody has no digests, no end to go on from, and
    does not say how even the load is. Deterministic: the same snapshot, design and options give the same plan.

    Raises:
        ScenarioError: the scenario does not fit the group.
        UsageError: the plan is to begin before the snapshot was taken.
    """
    case = Case.of(snapshot, design, options, scenario, enough)
    what_else = WhatElse(case, side_by_side)
    told = partial(_told, what_else, on_round)
    played = one_play(case, told, shown=shown)
    made = played.plan
    on_played(replace(made, warnings=made.warnings + played.outcome.warnings))
    summary, ranges, warnings = what_else.found(played)
    ranges = with_unproven(ranges, summary, made.unproven_starts)
    return replace(made, summary=replace(summary, ranges=ranges), warnings=made.warnings + warnings)


def _told(what_else: WhatElse, on_round: OnRound | None, rounds: int, tasks: int, movements: int) -> None:
    """Tell ``on_round`` of a round; once it is a long play, begin with what else may be and mostly is asked for."""
    if rounds == _LONG_PLAY:
        what_else.begin()
    if on_round is not None:
        on_round(rounds, tasks, movements)
