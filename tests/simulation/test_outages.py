"""Restarts that leave the tasks of several instances standing still at once."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model import Rates
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.simulation.overlapping_restarts import OUTAGE
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.recorded_events import BY_NAME, before

EVENT = BY_NAME["bounce"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "scale-out" / "snapshot.json"


def _simulated(events: str) -> Simulation:
    scenario = read_scenario(f"events: [{events}]", "s.yaml")
    known = replace(before(EVENT), stores="persistent", rates=Rates(restore_per_instance=1e6, produce_per_task=0.0))
    return simulate(known, scenario, now_ms=EVENT.at_ms, number_of_draws=1)


@pytest.mark.parametrize(
    "events",
    [
        "{bounce: {restart: 3s, pause: 20s}}",  # as it was captured: about 10 tasks at a time
        "{bounce: {restart: 3s, static: true}}",
        "{bounce: {restart: 12s}}",  # one at a time, each away until the session time-out
        "{bounce: {restart: 12s, static: true}}",
        "{bounce: {restart: 20s, surge: 1, leave: true}}",
        "{bounce: {restart: 20s, pause: 30s, leave: true}}",
        "{bounce: {restart: 2s, leave: true}}",  # handed over, in a tenth of a second
        "{stop: [i1, i2]}",  # no restart
    ],
)
def test_what_goes_one_by_one_is_none(events: str) -> None:
    simulated = _simulated(events)
    assert OUTAGE not in {note.code for note in simulated.plan.warnings}
    assert "pause at the same time during restarts" not in simulation_table(simulated, width=160)


def test_two_instances_that_restart_at_once_are_one_and_the_first_line_says_so() -> None:
    both = "{bounce: {instances: i1, restart: 20s}}, {at: 1s, bounce: {instances: i2, restart: 20s}}"
    simulated = _simulated(both)
    [note] = [note for note in simulated.plan.warnings if note.code == OUTAGE]
    assert note.message == "20 of 30 tasks pause at the same time during restarts; not with leave: true (simulated)"
    assert " ".join(simulation_table(simulated, width=120).split()).count(f"Warning: {note.message}") == 1


def test_what_may_start_tasks_cold_instead_is_no_help() -> None:
    """Without rates nothing proves that the copies that take over have caught up."""
    both = "{bounce: {instances: i1, restart: 20s}}, {at: 1s, bounce: {instances: i2, restart: 20s}}"
    scenario = read_scenario(f"events: [{both}]", "s.yaml")
    simulated = simulate(before(EVENT), scenario, now_ms=EVENT.at_ms, number_of_draws=1)
    [note] = [note for note in simulated.plan.warnings if note.code == OUTAGE]
    assert note.message.endswith("; with every simulated alternative too, or tasks may start cold")


def test_what_starts_tasks_cold_instead_is_no_help() -> None:
    """A group without standbys: who leaves cleanly hands its tasks to empty disks."""
    restarts = read_scenario("events: [{bounce: {restart: 40s, pause: 8s}}]", "s.yaml")
    settled = snapshot_from_row(json.loads(EXAMPLE.read_text(encoding="utf-8")), "x")
    simulated = simulate(settled, restarts, number_of_draws=1)
    left = replace(restarts, events=tuple(replace(event, leaves=True) for event in restarts.events))
    assert simulate(settled, left, number_of_draws=1, what_ifs=False).most_cold_handovers > 0
    [note] = [note for note in simulated.plan.warnings if note.code == OUTAGE]
    assert "leave: true" not in note.message


def test_also_one_that_is_over_within_a_heartbeat_interval() -> None:
    one, other = (
        f"{{at: {at}s, bounce: {{instances: {who}, restart: 3s, static: true}}}}" for at, who in ((0, "i1"), (1, "i2"))
    )
    [note] = [note for note in _simulated(f"{one}, {other}").plan.warnings if note.code == OUTAGE]
    assert note.message == "20 of 30 tasks pause at the same time during restarts; not with leave: true (simulated)"


def test_a_surge_whose_old_instances_close_by_default_is_one_and_what_helps_does_help() -> None:
    """i1's tasks wait for the session time-out when i2's stop as well."""
    simulated = _simulated("{bounce: {restart: 20s, surge: 1}}")
    answer = re.search(
        r"Warning: \d+ of 30 tasks pause at the same time during restarts; not with (pause: \d+s), or leave: true ",
        simulation_table(simulated, width=160),
    )
    assert answer is not None
    helped = simulation_table(_simulated(f"{{bounce: {{restart: 20s, surge: 1, {answer[1]}}}}}"), width=160)
    assert "pause at the same time during restarts" not in helped
