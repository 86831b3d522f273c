"""One plan of one group: the design looked up by its name, and handed to the planner."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from kstream_plan.assignors import ASSIGNORS, FOLLOWS_A_FILE
from kstream_plan.designs import DESIGNS, OF_GROUP_PROTOCOL
from kstream_plan.errors import UsageError
from kstream_plan.model import Assignment, Snapshot
from kstream_plan.model.not_modelled import without_follower
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.starting_state import seated
from kstream_plan.planner import plan as planner
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.planner.plan import Enough, OnRound
from kstream_plan.planner.plan_request import PlanRequest
from kstream_plan.planner.runner import Runner, sequential
from kstream_plan.plans import Plan
from kstream_plan.plans.design import Design


def plan(
    snapshot: Snapshot,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
    enough: Enough | None = None,
    **keywords: Unpack[PlanKeywords],
) -> Plan:
    """Simulate a rebalance that starts now, or the events of ``scenario``.

    The ``options`` may be given one by one as well: ``plan(snapshot, assignor="balanced")``. With a scenario the plan's
    group has all members that ever take part. ``on_round`` gets the number of rounds, of tasks that still have to move,
    and of their movements. Deterministic: the same snapshot and options give the same plan.

    Raises:
        KeyError: no such design, assignor or protocol.
        ScenarioError: the scenario does not fit the group.
    """
    options = replace(options, **keywords)
    design, snapshot = design_of(snapshot, options), as_assigned(snapshot, options)
    return planner.plan(snapshot, design, options, scenario=scenario, on_round=on_round, enough=enough)


def plan_checked(
    snapshot: Snapshot,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
    side_by_side: Runner = sequential,
    **keywords: Unpack[PlanKeywords],
) -> Plan:
    """Return a plan, as :func:`plan` does, and check every invariant of it.

    ``side_by_side`` simulates other outcomes: by default one after the other.

    Raises:
        KeyError: no such design, assignor or protocol.
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    options = replace(options, **keywords)
    design, snapshot = design_of(snapshot, options), as_assigned(snapshot, options)
    return planner.plan(
        snapshot,
        design,
        options,
        scenario=scenario,
        on_round=on_round,
        on_played=planner.check_invariants,  # no invariant is about ranges, nor about the warnings that come with them
        side_by_side=side_by_side,
    )


def request_of(snapshot: Snapshot, options: PlanOptions, scenario: Scenario) -> PlanRequest:
    """Return the request for one simulation, without whatever is simulated beside it.

    Raises:
        KeyError: no such design.
        ScenarioError: the scenario does not fit the group.
    """
    return PlanRequest.from_snapshot(
        as_assigned(snapshot, options), design_of(snapshot, options), options.of_one_run(), scenario
    )


def as_assigned(snapshot: Snapshot, options: PlanOptions) -> Snapshot:
    """Return the snapshot, without the warning of the class that follows target files where a plan goes by that."""
    return without_follower(snapshot) if options.assignor == FOLLOWS_A_FILE else snapshot


def design_of(snapshot: Snapshot, options: PlanOptions) -> Design:
    """Return the design that is asked for, by default the one that groups of this kind coordinate by.

    Raises:
        KeyError: there is no such design.
        UsageError: it is for groups of another kind.
    """
    fitting = OF_GROUP_PROTOCOL[snapshot.group_protocol]
    name = _usual(snapshot) if options.design is None else options.design
    design = DESIGNS[name]
    if name not in fitting:
        message = f"a {snapshot.group_protocol} group cannot be planned by --design {name}"
        raise UsageError(message, fix=f"use {' or '.join(fitting)}")
    return design(options).fitted_to(snapshot)


def _usual(snapshot: Snapshot) -> str:
    """Return the design that the group coordinates by: of Connect there are two, and workers name theirs."""
    usual = OF_GROUP_PROTOCOL[snapshot.group_protocol][0]
    consumers = (consumer for instance in snapshot.state.group.instances for consumer in instance.consumers)
    protocols = next(consumers).protocols if usual == "connect" else ()
    return "connect-eager" if protocols == ("eager",) else usual


def assign_once(snapshot: Snapshot, *, assignor: str = "high-availability") -> Assignment:
    """Return the assignor's decision from the snapshot, without the rounds that follow from it."""
    return ASSIGNORS[assignor].of_release(snapshot.streams_version)(seated(snapshot.state), snapshot.config)
