"""A simulation survives being saved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.scenario_file import load_scenario, read_scenario
from kstream_plan.errors import PlanFileError
from kstream_plan.model.scenario import Event, Join
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.pages.simulation import event_text
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import simulation_cases
from tests.helpers.random_scenarios import random_case
from tests.helpers.schemas import validator

pytestmark = pytest.mark.xdist_group("simulations")

SCHEMA = validator("plan")
WIDTHS = (60, 80, 120)
EXAMPLE = Path(__file__).parents[3] / "examples" / "scale-out"


def read_again(simulated: Simulation) -> Simulation:
    [saved] = read_saved(simulation_json(simulated).encode(), "plan.json")
    assert saved.simulation is not None
    assert saved.simulation.plan is saved.plan
    assert saved.draws == simulated.over_draws
    return saved.simulation


def _pages(simulated: Simulation) -> list[str]:
    return [simulation_table(simulated, width=width, verbose=verbose) for width in WIDTHS for verbose in (False, True)]


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_a_simulation_comes_back_and_is_shown_as_it_was(name: str) -> None:
    simulated = simulation_cases.case(name)
    read = read_again(simulated)
    assert (read.draws, read.what_ifs, read.cure) == (simulated.draws, simulated.what_ifs, simulated.cure)
    assert _pages(read) == _pages(simulated)
    assert simulation_json(read) == simulation_json(simulated)


def test_the_size_of_a_record_comes_back() -> None:
    read = read_again(replace(simulation_cases.case("remove-one"), record_size=100))
    assert "48,000 records, 4.8 MB" in simulation_table(read)


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_every_kind_of_event_comes_back(first: int) -> None:
    for seed in range(first, first + 10):
        snapshot, scenario = random_case(seed)
        simulated = simulate(snapshot, scenario, number_of_draws=1, what_ifs=seed % 5 == 0)
        read = read_again(simulated)
        assert [_plain(outcome.event) for outcome in read.events] == [_plain(of.event) for of in simulated.events]
        assert _pages(read) == _pages(simulated), f"seed {seed}"
        SCHEMA.validate(json.loads(simulation_json(simulated)))


def _plain(event: Event) -> Event:
    """Without where it was written; of new instances only the ids (threads may start and stop later)."""
    if isinstance(event, Join):
        ids = tuple(instance.process_id for instance in event.instances)
        return replace(event, where="", instances=ids)  # type: ignore[arg-type]
    return replace(event, where="")


def test_the_simulation_of_the_example_comes_back() -> None:
    row = json.loads((EXAMPLE / "before.json").read_text())
    simulated = simulate(snapshot_from_row(row, "x"), load_scenario(EXAMPLE / "scenario.yaml"), number_of_draws=3)
    assert len(simulated.events) == 4
    assert _pages(read_again(simulated)) == _pages(simulated)


def test_a_bounce_with_new_settings_and_new_instances_comes_back() -> None:
    row = json.loads((EXAMPLE / "before.json").read_text())
    text = "events: [{bounce: {restart: 20s, pause: 3m, surge: 2, leave: true, config: {max.warmup.replicas: 4}}}]"
    simulated = simulate(snapshot_from_row(row, "x"), read_scenario(text, "s.yaml"), number_of_draws=2, what_ifs=False)
    read = read_again(simulated)
    assert [replace(outcome.event, where="") for outcome in read.events] == [
        replace(outcome.event, where="") for outcome in simulated.events
    ]
    assert _pages(read) == _pages(simulated)
    [shown] = [event_text(outcome.event, Names(simulated.plan.group)) for outcome in simulated.events]
    what = "i1, i2, i3 give way to new-1, new-2, new-3, 2 at a time, that join 20s before"
    assert shown == f"{what}, with max.warmup.replicas=4"
    SCHEMA.validate(json.loads(simulation_json(simulated)))


def test_what_0_1_0_saved_is_shown_as_its_plan() -> None:
    document = json.loads(simulation_json(simulation_cases.case("add-two")))
    del document["simulation"]["record_size"]
    [saved] = read_saved(json.dumps(document).encode(), "plan.json")
    assert saved.simulation is None
    assert saved.draws == simulation_cases.case("add-two").over_draws


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("record_size",), 0, r"simulation.record_size is 0, below 1"),
        (("draws", "number"), 0, r"draws.number is 0, below 1"),
        (("draws", "settled"), 21, r"draws.settled is 21, of 20 random simulations"),
        (("draws", "moves", "most"), "many", r"draws.moves.most is not a whole number"),
        (("events", 0, "kind"), "feast", r"events\[0\].kind is 'feast', not one of join, leave, stop, .*crash"),
        (("events", 0, "process_ids"), ["x"], r"events\[0\].process_ids\[0\] is 'x', which is not among the instances"),
        (("events", 0, "kind"), "bounce", r"events\[0\] has no field 'restart_ms'"),
        (("events", 0, "kind"), "threads", r"events\[0\] has no field 'threads'"),
        (("what_ifs", 0, "setting"), "luck", r"what_ifs\[0\].setting is 'luck', not one of"),
        (("what_ifs", 0, "verdict"), "fine", r"what_ifs\[0\].verdict is 'fine', not one of settled"),
        (("cure",), 7, r"simulation.cure is not an object"),
    ],
)
def test_a_damaged_simulation_is_refused_with_the_place(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    document = json.loads(simulation_json(simulation_cases.case("add-two")))
    part: Any = document["simulation"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with pytest.raises(PlanFileError, match=message):
        read_saved(json.dumps(document).encode(), "f")
