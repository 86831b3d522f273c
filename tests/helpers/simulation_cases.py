"""Simulations of every kind that an output has to show, by name.

They take 10 s: files that use several of them share a worker, by the mark ``xdist_group("simulations")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from kstream_plan.model import Group, GroupState, Holding, Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios, plan_cases, small_groups


def _of(snapshot: Snapshot, scenario: Scenario, draws: int = 20) -> Simulation:
    return simulate(snapshot, scenario, number_of_draws=draws)


def _scale_out(name: str, **change: object) -> Simulation:
    snapshot = captured_scenarios.before(name)
    return _of(snapshot, scale_out(snapshot.state.group, **change))  # type: ignore[arg-type]


def _with_bounds(name: str) -> Simulation:
    before = captured_scenarios.before(name)
    return simulate(before, scale_out(before.state.group, add=2), number_of_draws=20, bounds=True)


def _evil() -> Simulation:
    snapshot = captured_scenarios.before("scale-out")
    group = snapshot.state.group
    instances = tuple(replace(instance, host=f"{plan_cases.EVIL}{instance.host}") for instance in group.instances)
    evil = replace(snapshot, state=replace(snapshot.state, group=Group(plan_cases.EVIL, group.tasks, instances)))
    return _of(evil, scale_out(evil.state.group, add=1))


def _many() -> Simulation:
    snapshot = plan_cases.many_instances(new=0, tasks_each=2)
    slower = replace(snapshot, config=replace(snapshot.config, max_warmup_replicas=10))
    return _of(slower, scale_out(slower.state.group, add=24))


def _no_tasks() -> Simulation:
    snapshot = plan_cases.snapshot("no-tasks")
    group = Group(snapshot.state.group.application_id, (), snapshot.state.group.instances)
    state = GroupState(group=group, generation=3, at_ms=0, holdings=(Holding(),), copies=())
    return _of(replace(snapshot, state=state), scale_out(group, add=1))


def _no_state() -> Simulation:
    group = small_groups.group(stateful=0, stateless=8)
    held = small_groups.state(group, {0: Holding((0, 1, 2)), 1: Holding((3, 4, 5)), 2: Holding((6, 7))}, {})
    snapshot = Snapshot(state=held, config=AssignmentConfig())
    return _of(snapshot, scale_out(group, add=1))


_CASES: Mapping[str, Callable[[], Simulation]] = MappingProxyType(
    {
        "add-two": lambda: _scale_out("scale-out", add=2),
        "add-two-with-bounds": lambda: _with_bounds("scale-out"),
        "add-one-with-standbys": lambda: _scale_out("scale-out-standbys", add=1),
        "remove-one": lambda: _scale_out("scale-out", remove=["i3"]),
        "replace-one": lambda: _scale_out("scale-out", add=1, remove=["i3"], add_at_ms=300_000),
        "nobody": lambda: _scale_out("scale-out", add=0),
        "many-instances": _many,
        "evil-names": _evil,
        "no-tasks": _no_tasks,
        "no-state": _no_state,
    }
)

NAMES = tuple(_CASES)


@cache
def case(name: str) -> Simulation:
    """The simulation of that name; made once."""
    return _CASES[name]()
