"""Reports of every kind, by name: as pages of HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from kstream_plan.cli.actions.variants import axes_of
from kstream_plan.comparison.alternatives import Outcomes, beside_each_other
from kstream_plan.comparison.beside_history import said_and_happened
from kstream_plan.comparison.said_and_happened import Recorded, SaidAndHappened
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.fleet.figures import badness
from kstream_plan.model import Group, Rates
from kstream_plan.model.scenario import Leave, Return, Scenario
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.report.check_section import check_html
from kstream_plan.render.report.compare_section import compare_html
from kstream_plan.render.report.diff_section import diff_html, happened_html, rivals_html
from kstream_plan.render.report.drain_section import drain_section, drains_html
from kstream_plan.render.report.reports import fleet_html, plans_html
from kstream_plan.simulation.alternatives import alternatives
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import check_cases, diff_cases, learner_cases, plan_cases, recorded_events, simulation_cases
from tests.helpers.connect_rows import even
from tests.helpers.connect_rows import snapshot as connect

#: What could break a page, its script, a template or the order of what is read.
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x1b{{7*7}}"


def _restart() -> str:
    events = (Leave(at_ms=0, process_ids=("w1",)), Return(at_ms=60_000, process_ids=("w1",)))
    simulated = simulate(connect(even(3)), Scenario(events=events))
    return plans_html([SavedPlan(simulated.plan, simulation=simulated)])


def _evil_plan() -> str:
    of = plan_cases.case("scale-out")
    instances = tuple(replace(one, host=f"{EVIL}{one.host}") for one in of.group.instances)
    return plans_html([SavedPlan(replace(of, group=Group(EVIL, of.group.tasks, instances), assignor=EVIL))])


def _simulation(name: str) -> str:
    of = simulation_cases.case(name)
    return plans_html([SavedPlan(of.plan, simulation=of)])


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
def alike() -> Outcomes:
    """Three settings beside each other."""
    return beside_each_other(alternatives(plan_cases.snapshot("scale-out"), axes_of(["max.warmup.replicas=2,4,8"])))


def _evil_fleet() -> str:
    broken = Result(application_id=EVIL, outcome="unreadable", error=EVIL)
    results = sorted([broken, *(result_of(plan_cases.case(name)) for name in plan_cases.NAMES)], key=badness)
    return fleet_html(results, results)


def _restoring() -> str:
    return plans_html([SavedPlan(plan(replace(plan_cases.snapshot("crash"), rates=Rates(restore_per_instance=500.0))))])


_CASES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "plan": lambda: plans_html([SavedPlan(plan_cases.case("scale-out"))]),
        "cold": _restoring,
        "settled": lambda: plans_html([SavedPlan(plan_cases.case("settled"))]),
        "many": lambda: plans_html([SavedPlan(plan_cases.case("many-instances"))]),
        "several": lambda: plans_html(
            [SavedPlan(plan_cases.case(name)) for name in ("settled", "crash", "never-ready")]
        ),
        "learner": lambda: plans_html([SavedPlan(learner_cases.walkthrough())]),
        "simulation": lambda: _simulation("replace-one"),
        "connect": _restart,
        "check": lambda: check_html(check_cases.case("strict")),
        "check-fleet": lambda: check_html(check_cases.case("fleet")),
        "diff": lambda: diff_html([diff_cases.case("scale-out")]),
        "happened": lambda: happened_html([happened()]),
        "rivals": lambda: rivals_html(plan_cases.case("scale-out-standbys"), plan_cases.case("settled-standbys")),
        "compare": lambda: compare_html([alike()]),
        "fleet": _evil_fleet,
        "drain": lambda: drains_html([drain_section(drain(plan_cases.snapshot("scale-out"), ["i1"]))]),
        "drain-workers": lambda: drains_html([drain_section(drain_workers(connect(even(3)), ["w1"]))]),
        "evil-plan": _evil_plan,
        "evil-simulation": lambda: _simulation("evil-names"),
        "evil-check": lambda: check_html(check_cases.case("evil-names")),
        "evil-diff": lambda: diff_html([diff_cases.case("evil-names")]),
    }
)

NAMES = tuple(_CASES)


@cache
def case(name: str) -> str:
    """The page of that name; made once."""
    return _CASES[name]()
