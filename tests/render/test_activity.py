"""Rounds become events, events become rows, and nothing important is folded away."""

import captured_scenarios
import plan_cases
import pytest

from kstream_plan.config.scenario_file import read_scenario
from kstream_plan.pauses import plan_standstill
from kstream_plan.render.activity import Event, events
from kstream_plan.render.folding import WHOLE, Run, fold
from kstream_plan.render.numbers import span
from kstream_plan.render.sentences import because
from kstream_plan.steps import Reason, ReasonCode, Trigger
from kstream_plan.studies.simulation import simulate


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_pauses_add_up_to_what_the_summary_says(name: str) -> None:
    plan = plan_cases.case(name)
    assert sum(plan_standstill(plan).ms.values()) == plan.summary.paused_task_ms


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_events_hold_every_round_and_every_move_of_the_summary(name: str) -> None:
    plan = plan_cases.case(name)
    found = events(plan)
    assert [rnd for event in found for rnd in event.rounds] == list(plan.rounds)
    assert all(event.rounds[0].trigger is not Trigger.FOLLOW_UP for event in found)
    assert sum(len(event.moves) for event in found) == plan.summary.hops
    assert sum(len(event.cold) for event in found) == plan.summary.cold_handovers
    assert sum(event.stateless for event in found) == plan.summary.stateless_hops
    assert sum(event.probe is not None for event in found) == plan.summary.probing_rebalances
    amounts = [event.records for event in found]
    assert (None if None in amounts else sum(amounts)) == plan.summary.restored_records  # type: ignore[arg-type]


def test_what_is_back_on_its_instance_has_not_changed_its_thread() -> None:
    """Within the session time-out a restart changes nothing, but every task of the instance starts again."""
    before = captured_scenarios.before("scale-out")
    made = simulate(before, read_scenario("events: [{at: 0s, bounce: {instances: i2, restart: 5s}}]", "s.yaml")).plan
    [event] = events(made)
    assert event.left == event.joined
    assert {(move.source, move.destination) for move in event.moves} == {(None, event.left[0])}
    assert event.threads == 0


def test_most_at_once_counts_overlaps_only() -> None:
    plan = plan_cases.case("scale-out")
    assert plan_standstill(plan).most_at_once == 9


def probe(number: int, moves: int = 2, ready: int = 2, cold: bool = False) -> Event:
    """A probe with so many moves and copies; for folding nothing else counts."""
    source = events(plan_cases.case("scale-out"))[1]
    return Event(
        rounds=source.rounds,
        probe=number,
        ready=ready,
        expected=2,
        moves=[source.moves[0]._replace(cold=cold)] * moves,
        copies=[source.copies[0]] * moves,
    )


def shapes(found: list[Event]) -> list[str]:
    rows = [(row.events[0], row.events[-1]) if isinstance(row, Run) else (row, row) for row in fold(found)]
    return [span(first.probe or 0, last.probe or 0) for first, last in rows]


def test_up_to_twelve_rows_are_whole() -> None:
    found = [probe(number) for number in range(WHOLE)]
    assert fold(found) == found


def test_a_run_of_one_shape_is_folded_after_its_first_row() -> None:
    assert shapes([probe(n) for n in range(1, 15)]) == ["1", "2-14"]


def test_an_unready_probe_and_a_cold_start_are_never_folded() -> None:
    found = [probe(n) for n in range(1, 41)]
    found[9] = probe(10, ready=1)
    found[29] = probe(30, cold=True)
    assert shapes(found) == ["1", "2-9", "10", "11", "12-29", "30", "31", "32-40"]


def test_many_shapes_are_folded_in_the_middle_of_each_stretch() -> None:
    found = [probe(n, moves=n % 3) for n in range(1, 41)]
    rows = shapes(found)
    assert len(rows) <= WHOLE
    assert rows[0] == "1"
    assert rows[-1] == "40"
    assert sum("-" in row for row in rows) == 1


def test_every_reason_has_words() -> None:
    for code in ReasonCode:
        for lag in (None, -2, -3, 0, 500):
            text = because(Reason(code, lag, 100, 7))
            assert text
            assert "{" not in text
