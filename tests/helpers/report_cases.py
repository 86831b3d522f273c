"""Reports of every kind, by name: as pages of HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from kstream_plan.cli.actions.variants import axes_of
from kstream_plan.comparison.alternatives import Outcomes, beside_each_other
from kstream_plan.comparison.plan_and_history import said_and_happened
from kstream_plan.comparison.prediction import Recorded, SaidAndHappened
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.fleet.figures import badness
from kstream_plan.model import Group, Rates
from kstream_plan.model.scenario import Join, Leave, Return, Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.result import Result, result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import page_of
from kstream_plan.render.check import REPORTS
from kstream_plan.render.page import Page
from kstream_plan.render.pages.check import check_page
from kstream_plan.render.pages.diff import diff_page
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.pages.happened import happened_page
from kstream_plan.render.pages.two_plans import two_plans_page
from kstream_plan.render.report.reports import (
    compare_html,
    diff_html,
    fleet_html,
    happened_html,
    plans_html,
    sections_html,
    two_plans_html,
)
from kstream_plan.render.report.sections import drain_section
from kstream_plan.simulation.alternatives import alternatives
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import (
    check_cases,
    diff_cases,
    learner_cases,
    plan_cases,
    recorded_events,
    simulation_cases,
    streams_rows,
)
from tests.helpers.connect_rows import even
from tests.helpers.connect_rows import snapshot as connect

Pages: TypeAlias = Sequence[Page]

#: What could break a page, its script, a template or the order of what is read.
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x1b{{7*7}}"
#: The same, and long, in letters that are read from the right, and in pictures.
EVIL_AND_LONG = f"{EVIL} שלום-مرحبا-🔥👩\u200d👩\u200d👧-{'orders-' * 30}"


@cache
def streams(restore_per_instance: float | None = None) -> Simulation:
    """An instance without anything joins a streams group whose three have a standby of each task."""
    held = [
        {
            "active": [f"{item}_{n}" for item, number in ((0, 12), (1, 12), (2, 6)) for n in range(place, number, 3)],
            "standby": [f"{item}_{n}" for item in (0, 1) for n in range((place + 1) % 3, 12, 3)],
        }
        for place in range(3)
    ]
    instances = {
        f"s{place}": [{"consumer_id": f"s{place}-1", "member_epoch": 12, "position": place, **item, "target": item}]
        for place, item in enumerate(held)
    }
    row = streams_rows.row("4.4", instances, standbys=1, target_epoch=12, group_state="Stable")
    known = replace(streams_rows.snapshot(row), rates=Rates(restore_per_instance=restore_per_instance))
    return simulate(known, Scenario(events=(Join(at_ms=0, instances=streams_rows.joining("s3")),)))


@cache
def restart() -> Simulation:
    """A Connect worker leaves, and comes back after a minute."""
    events = (Leave(at_ms=0, process_ids=("w1",)), Return(at_ms=60_000, process_ids=("w1",)))
    return simulate(connect(even(3)), Scenario(events=events))


def _simulated(item: Simulation) -> str:
    return plans_html([SavedPlan(item.plan, simulation=item)])


def _evil_plan(name: str = EVIL) -> str:
    item = plan_cases.case("scale-out")
    instances = tuple(replace(one, host=f"{name}{one.host}") for one in item.group.instances)
    return plans_html([SavedPlan(replace(item, group=Group(name, item.group.tasks, instances), assignor=name))])


def _simulation(name: str) -> str:
    return _simulated(simulation_cases.case(name))


def happened() -> SaidAndHappened:
    """A plan beside the generations that a real group then had."""
    event = recorded_events.BY_NAME["drain"]
    history = [
        Recorded(
            snapshot=snapshot_from_row({**entry.row, "decision": entry.decision}, "history", lags_as_reported=True),
            at_ms=entry.at_ms or 0,
            trigger=entry.decision["trigger"],
        )
        for entry in recorded_events.followed(event)
    ]
    return said_and_happened(recorded_events.planned(event), history)


@cache
def largest() -> Plan:
    """As large as groups get: 220 instances, 20 of them new, and 3,000 tasks."""
    return plan(plan_cases.many_instances(old=200, new=20, tasks_each=15), max_rounds=200)


@cache
def alike() -> Outcomes:
    """Three settings beside each other."""
    return beside_each_other(alternatives(plan_cases.snapshot("scale-out"), axes_of(["max.warmup.replicas=2,4,8"])))


def _evil_results() -> list[Result]:
    broken = Result(application_id=EVIL, outcome="unreadable", error=EVIL)
    return sorted([broken, *(result_of(plan_cases.case(name)) for name in plan_cases.NAMES)], key=badness)


def _evil_fleet() -> str:
    return fleet_html(_evil_results(), _evil_results())


def _restoring() -> str:
    return plans_html([SavedPlan(plan(replace(plan_cases.snapshot("crash"), rates=Rates(restore_per_instance=500.0))))])


_CASES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "plan": lambda: plans_html([SavedPlan(plan_cases.case("scale-out"))]),
        "cold": _restoring,
        "settled": lambda: plans_html([SavedPlan(plan_cases.case("settled"))]),
        "largest": lambda: plans_html([SavedPlan(largest())]),
        "many": lambda: plans_html([SavedPlan(plan_cases.case("many-instances"))]),
        "several": lambda: plans_html(
            [SavedPlan(plan_cases.case(name)) for name in ("settled", "crash", "never-ready")]
        ),
        "learner": lambda: plans_html([SavedPlan(learner_cases.walkthrough())]),
        "simulation": lambda: _simulation("replace-one"),
        "connect": lambda: _simulated(restart()),
        "streams": lambda: _simulated(streams(500.0)),
        "streams-unknown": lambda: _simulated(streams()),
        "check": lambda: REPORTS["html"](check_cases.case("strict")),
        "check-fleet": lambda: REPORTS["html"](check_cases.case("fleet")),
        "diff": lambda: diff_html([diff_cases.case("scale-out")]),
        "happened": lambda: happened_html([happened()]),
        "rivals": lambda: two_plans_html(plan_cases.case("scale-out-standbys"), plan_cases.case("settled-standbys")),
        "compare": lambda: compare_html([alike()]),
        "fleet": _evil_fleet,
        "drain": lambda: sections_html([drain_section(drain(plan_cases.snapshot("scale-out"), ["i1"]))], 1),
        "drain-workers": lambda: sections_html([drain_section(drain_workers(connect(even(3)), ["w1"]))], 1),
        "evil-plan": _evil_plan,
        "evil-and-long": lambda: _evil_plan(EVIL_AND_LONG),
        "evil-simulation": lambda: _simulation("evil-names"),
        "evil-check": lambda: REPORTS["html"](check_cases.case("evil-names")),
        "evil-diff": lambda: diff_html([diff_cases.case("evil-names")]),
    }
)

NAMES = tuple(_CASES)


def _plan(name: str) -> Pages:
    return [page_of(plan_cases.case(name), verbose=True)]


def _check(name: str) -> Pages:
    return [check_page(checked, verbose=True) for checked in check_cases.case(name).plans]


#: The pages whose texts stand in a report.
_ANSWERS: Mapping[str, Callable[[], Pages]] = MappingProxyType(
    {
        "plan": lambda: _plan("scale-out"),
        "settled": lambda: _plan("settled"),
        "several": lambda: [page_of(plan_cases.case(name)) for name in ("settled", "crash", "never-ready")],
        "learner": lambda: [page_of(learner_cases.walkthrough(), verbose=True)],
        "simulation": lambda: [page_of(simulation_cases.case("replace-one"), verbose=True)],
        "connect": lambda: [page_of(restart(), verbose=True)],
        "streams": lambda: [page_of(streams(500.0), verbose=True)],
        "streams-unknown": lambda: [page_of(streams(), verbose=True)],
        "check": lambda: _check("strict"),
        "check-fleet": lambda: _check("fleet"),
        "diff": lambda: [diff_page(diff_cases.case("scale-out"), verbose=True)],
        "happened": lambda: [happened_page(happened(), verbose=True)],
        "rivals": lambda: [
            two_plans_page(plan_cases.case("scale-out-standbys"), plan_cases.case("settled-standbys")),
        ],
        "compare": lambda: [page_of(alike(), verbose=True)],
        "fleet": lambda: [fleet_page(_evil_results(), _evil_results())],
        "drain": lambda: [page_of(drain(plan_cases.snapshot("scale-out"), ["i1"]), verbose=True)],
        "drain-workers": lambda: [page_of(drain_workers(connect(even(3)), ["w1"]), verbose=True)],
        "evil-simulation": lambda: [page_of(simulation_cases.case("evil-names"), verbose=True)],
        "evil-check": lambda: _check("evil-names"),
        "evil-diff": lambda: [diff_page(diff_cases.case("evil-names"), verbose=True)],
    }
)

ANSWERED = tuple(_ANSWERS)


def answers(name: str) -> Pages:
    """The pages whose texts stand in the report of that name."""
    return _ANSWERS[name]()


@cache
def case(name: str) -> str:
    """The page of that name; made once."""
    return _CASES[name]()
