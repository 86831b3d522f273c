"""What people see of a simulation, looked at line by line once and kept."""

import json
import re

import pytest
from rich.cells import cell_len

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_document
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model.scenario import Return, Scenario, Stop
from kstream_plan.plans import Trigger
from kstream_plan.plans.note_codes import COLD_STARTS
from kstream_plan.plans.rebalance_events import events
from kstream_plan.plans.remarks import remarks
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import page_of
from kstream_plan.render.answers import to_markdown as simulation_markdown
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.pages.plan import plan_page
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured_scenarios, simulation_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.recorded_events import generations
from tests.helpers.schemas import validator

pytestmark = pytest.mark.xdist_group("simulations")

SCHEMA = validator("plan")


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_simulation_at_80_columns(name: str) -> None:
    assert_golden(f"simulation/{name}.txt", simulation_table(simulation_cases.case(name)))


@pytest.mark.parametrize("name", ["add-two", "replace-one", "evil-names", "nobody"])
def test_simulation_as_markdown(name: str) -> None:
    verbose = name == "nobody"
    assert_golden(f"simulation/{name}.md", simulation_markdown(simulation_cases.case(name), verbose=verbose))


@pytest.mark.parametrize("name", simulation_cases.NAMES)
@pytest.mark.parametrize("width", [40, 60, 80, 97, 120, 200])
def test_no_line_is_wider_than_the_page_and_none_ends_in_blanks(name: str, width: int) -> None:
    for line in simulation_table(simulation_cases.case(name), width=width, verbose=True).splitlines():
        assert cell_len(line) <= width or line.startswith("Next: ")  # a command stays in one piece
        assert line == line.rstrip()


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_a_simulation_is_a_plan_with_one_field_more(name: str) -> None:
    simulated = simulation_cases.case(name)
    document = json.loads(simulation_json(simulated, full=True))
    SCHEMA.validate(document)
    beside = document.pop("simulation")
    alone = json.loads(json.dumps(plan_document(simulated.plan, full=True)))
    del document["seal"], alone["seal"]  # each is that of its own document
    for plan in (document, alone):
        plan.pop("longest_pause", None)  # its ends are over all draws, as those of this warning
        plan["warnings"] = [note for note in plan["warnings"] if note["code"] != COLD_STARTS]
    assert document == alone
    assert (beside["draws"] is None) == (simulated.draws is None)


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_a_saved_simulation_is_shown_like_any_plan(name: str) -> None:
    simulated = simulation_cases.case(name)
    [read] = read_plans(simulation_json(simulated).encode(), "plan.json")
    assert table(read) == table(simulated.plan)


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_the_panel_and_the_table_of_settings_have_the_same_figures(name: str) -> None:
    page = page_of(simulation_cases.case(name))
    facts = {fact.key: fact.value for fact in page.facts}
    for settings in (each for each in page.tables if each.title == "With other settings"):
        now = {column.head: cell.text for column, cell in zip(settings.columns, settings.rows[0].cells, strict=True)}
        assert facts["duration"].startswith(now["Duration"]) or now["Duration"] == "does not settle"
        assert f", {now['Extra copies']} extra" in facts["restore"] or now["Extra copies"] == "0"


def test_the_bound_has_a_range_where_chance_decides_who_gets_the_larger_share() -> None:
    """New instances with twice the threads are dealt as much or a task more than their share, by their ids."""
    before = captured_scenarios.before("scale-out")
    scenario = scale_out(before.state.group, add=2, threads=4)
    simulated = simulate(before, scenario, number_of_draws=6, what_ifs=False, bounds=True)
    assert simulated.draws is not None
    assert simulated.draws.least_restored_records == (24_000, 24_000, 32_000)
    SCHEMA.validate(json.loads(simulation_json(simulated)))


def test_a_setting_is_never_proposed_beyond_what_there_is_to_warm_up() -> None:
    for name in simulation_cases.NAMES:
        simulated = simulation_cases.case(name)
        stateful = len(simulated.plan.group.stateful)
        assert all(one.value <= stateful for one in simulated.what_ifs if one.setting == "max_warmup_replicas")


def _played(events: str, restore_rate: float | None = None) -> Simulation:
    """Play events, in one draw."""
    before = captured_scenarios.before("scale-out", restore_rate)
    return simulate(before, read_scenario(f"events: [{events}]", "s.yaml"), number_of_draws=1, what_ifs=False)


@pytest.mark.parametrize(
    "events_of_it",
    [
        "{at: 0s, bounce: {restart: 2m, pause: 2m}}, {at: 20m, bounce: {restart: 2m, pause: 2m}}",
        "{at: 0s, leave: i1}, {at: 5s, return: i1}",  # one changes its thread before it has restored
    ],
)
def test_each_cold_task_is_named_once_and_each_cold_start_counted(events_of_it: str) -> None:
    result = _played(events_of_it, restore_rate=5_000.0).plan
    cold = [str(move.task_id) for event in events(result) for move in event.cold]
    assert len(cold) == result.summary.cold_handovers > len(set(cold))
    [note] = [note for note in remarks(result).warnings if note.code == COLD_STARTS]
    assert sorted(note.subjects) == sorted(set(cold))
    assert f", in {len(cold)}" in note.message


def test_no_more_tasks_are_paused_than_there_are() -> None:
    simulated = _played("{at: 0s, bounce: {restart: 20s, pause: 10s}}, {at: 5m, join: 1}")
    rounds = plan_page(simulated).tables[0]
    place = [column.head for column in rounds.columns].index("Paused")
    paused = [row.cells[place].items[0].replace("at most ", "") for row in rounds.rows[:-1]]
    assert max(int(number) for number in paused if number != "–") <= len(simulated.plan.group.tasks)


def test_members_that_join_in_a_follow_up_are_counted_once_and_what_is_due_is_named() -> None:
    """The snapshot is of a moment between a rebalance and its follow-up: the new member takes part in that one."""
    snapshot = snapshot_from_row(checked_rows(generations("big")[14:15])[0], "big")
    simulated = simulate(snapshot, scale_out(snapshot.state.group, add=1), number_of_draws=2, what_ifs=False)
    page, plan = page_of(simulated), simulated.plan
    first = plan.rounds[0]
    assert (first.trigger, len(first.member_steps)) == (Trigger.FOLLOW_UP, 1)
    value = next(fact.value for fact in page.facts if fact.key == "rebalances")
    assert ": 1 follow-up with joins, " in value
    assert sum(int(part.split()[0]) for part in value.partition(": ")[2].split(", ")) == plan.summary.rebalances
    [due] = (line.text for line in page.lines if line.code == "goes-on")
    assert "Time 0s is 2026-11-22 12:26:54 UTC; 0_3, which the last rebalance revoked, starts first; the next" in due
    [stopped] = [note for note in drain(snapshot, ["i3"]).plan.assumptions if note.code == "goes-on"]
    assert "next probe" not in stopped.message, "it comes later, for a member is gone"
    [command] = (line.text for line in page.lines if line.kind == "next")
    assert command.startswith("kstream-plan compare SNAPSHOT --add 1 --vary max.warmup.replicas=")


def test_a_late_return_is_named_and_so_is_what_may_make_tasks_start_cold() -> None:
    """Within a heartbeat of the session time-out the group may notice the stop, or not."""
    snapshot = captured_scenarios.before("scale-out")
    process_ids = (snapshot.state.group.instances[2].process_id,)
    stop, back = Stop(at_ms=0, process_ids=process_ids), Return(at_ms=9_000, process_ids=process_ids)
    page = plan_page(simulate(snapshot, Scenario(events=(stop, back))))
    assert page.title.endswith("; i2 stops, then i2 returns")
    assert "In the end no stateful task has moved (8 starts meanwhile)." in page.sentences[0]
    assert re.search(r"Up to \d+ cold starts if the group notices the stop before the return\.", page.sentences[0])
