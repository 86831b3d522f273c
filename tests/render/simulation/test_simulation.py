"""What people see of a simulation, looked at line by line once and kept."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_document
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.plans.activity import events
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_markdown as simulation_markdown
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.plan.relief import relief_in_short, told
from kstream_plan.render.report.picture import PictureColumn, kept_columns
from kstream_plan.render.simulation.json_form import simulation_json
from kstream_plan.render.text.numbers import amount, durations
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios, simulation_cases
from tests.helpers.goldens import assert_golden
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
@pytest.mark.parametrize("width", [60, 80, 97, 120, 200])
def test_no_line_is_wider_than_the_page_and_none_ends_in_blanks(name: str, width: int) -> None:
    for line in simulation_table(simulation_cases.case(name), width=width, verbose=True).splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_a_simulation_is_a_plan_with_one_field_more(name: str) -> None:
    simulated = simulation_cases.case(name)
    document = json.loads(simulation_json(simulated, full=True))
    SCHEMA.validate(document)
    beside = document.pop("simulation")
    assert document == json.loads(json.dumps(plan_document(simulated.plan, full=True)))
    assert (beside["draws"] is None) == (simulated.draws is None)


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_a_saved_simulation_is_shown_like_any_plan(name: str) -> None:
    simulated = simulation_cases.case(name)
    [read] = read_plans(simulation_json(simulated).encode(), "plan.json")
    assert table(read) == table(simulated.plan)


def test_what_stands_still_at_once_is_that_of_the_worst_draw() -> None:
    before = captured_scenarios.before("scale-out")
    simulated = simulate(before, scale_out(before.state.group, add=2), number_of_draws=12, what_ifs=False)
    assert simulated.draws is not None
    worst = simulated.draws.worst["max_paused_tasks_at_once"]
    shown = simulated.plan.ends("paused_tasks_at_once")[1]
    told = re.search(r"PAUSES +~[\d.-]+ s each, ≤ (\d+)", simulation_table(simulated))
    assert told is not None
    assert int(told[1]) == worst >= shown

    more = replace(simulated.draws, worst={**simulated.draws.worst, "max_paused_tasks_at_once": shown + 7})
    assert f"each, ≤ {shown + 7} " in simulation_table(replace(simulated, draws=more))


def test_the_bound_has_a_range_where_chance_decides_who_gets_the_larger_share() -> None:
    """New instances with twice the threads are dealt as much or a task more than their share, by their ids."""
    before = captured_scenarios.before("scale-out")
    scenario = scale_out(before.state.group, add=2, threads=4)
    simulated = simulate(before, scenario, number_of_draws=6, what_ifs=False, bounds=True)
    assert simulated.draws is not None
    assert simulated.draws.least_restored_records == (24_000, 24_000, 32_000)
    assert "; least 24,000-32,000)" in simulation_table(simulated)
    SCHEMA.validate(json.loads(simulation_json(simulated)))


def test_bytes_are_shown_where_the_size_of_a_record_is_known() -> None:
    text = simulation_table(simulation_cases.case("remove-one"), record_size=100)
    assert "48,000 records = 4.8 MB" in text
    assert [amount(size) for size in (0, 999, 1000, 5_800_000, 2 * 10**15)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "5.8 MB",
        "2.0 PB",
    ]


@st.composite
def busiest_loads(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """What the busiest instance runs now, and from when on something else."""
    loads = [draw(st.integers(0, 12))]
    for step in draw(st.lists(st.sampled_from([-3, -2, -1, 1, 2, 3]), min_size=1, max_size=12)):
        loads.append(loads[-1] + step if loads[-1] + step >= 0 else loads[-1] + 1)
    return loads[0], [(load, place * 60_000) for place, load in enumerate(loads[1:], 1)]


@given(busiest_loads(), st.integers(3, 6))
def test_a_shortened_relief_leaves_out_neither_the_worst_nor_a_sign(
    found: tuple[int, list[tuple[int, int]]], number: int
) -> None:
    now, changes = found
    loads = [load for load, _ in changes]
    text = told(changes, number)
    shown = [int(item.removeprefix("… ").split(" ")[0]) for item in text.split(", ")]
    assert shown[-1] == loads[-1]
    assert {max(loads), min(loads)} <= set(shown)
    assert len(shown) <= number
    assert ("…" in text) == (f"({len(changes)} changes)" in text) == (len(shown) < len(loads))
    if "…" not in text:
        assert shown == loads
    for text in relief_in_short(now, changes):
        assert text.endswith(f"{loads[-1]} from {len(changes)}:00 on")
        numbers = {int(number) for number in re.findall(r"(?<![:\d])\d+(?![:\d])", text)}
        assert {max(now, *loads), min(now, *loads)} <= numbers


def test_a_setting_is_never_proposed_beyond_what_there_is_to_warm_up() -> None:
    for name in simulation_cases.NAMES:
        simulated = simulation_cases.case(name)
        stateful = len(simulated.plan.group.stateful)
        assert all(one.value <= stateful for one in simulated.what_ifs if one.setting == "max_warmup_replicas")


def _played(events: str, restore_rate: float | None = None) -> Simulation:
    """Play events, in one draw."""
    before = captured_scenarios.before("scale-out", restore_rate)
    return simulate(before, read_scenario(f"events: [{events}]", "s.yaml"), number_of_draws=1, what_ifs=False)


def test_markdown_takes_the_columns_that_say_most_of_many_and_tells_so() -> None:
    bounces = ", ".join(f"{{at: {hours}h, bounce: {{restart: 2m, pause: 2m}}}}" for hours in range(5))
    text = simulation_markdown(_played(bounces))
    [heads] = re.findall(r"^\| probe \| (.*) \|$", text, re.MULTILINE)
    [(shown, columns)] = re.findall(r"(\d+) of (\d+) columns; ", text)
    assert len(heads.split(" | ")) == int(shown) < int(columns)


def test_what_returns_is_not_new() -> None:
    """Every instance restarts beyond the session time-out, then one joins: only that one is new."""
    made = _played("{at: 0s, bounce: {restart: 2m, pause: 2m}}, {at: 20m, join: {hosts: [i4]}}").plan
    assert re.search(r" to i4, \d+ only among the other 3", table(made, width=200))


@pytest.mark.parametrize(
    "events_of_it",
    [
        "{at: 0s, bounce: {restart: 2m, pause: 2m}}, {at: 20m, bounce: {restart: 2m, pause: 2m}}",
        "{at: 0s, leave: i1}, {at: 5s, return: i1}",  # one changes its thread before it has restored
    ],
)
def test_each_cold_task_is_named_once_and_each_cold_start_counted(events_of_it: str) -> None:
    simulated = _played(events_of_it, restore_rate=5_000.0)
    made, page = simulated.plan, simulation_table(simulated)
    cold = [move.task_id for event in events(made) for move in event.cold]
    assert len(cold) == made.summary.cold_handovers > len(set(cold))
    remark = " ".join(page.split()).split("! COLD: ")[1].split(" restore ")[0]
    named = re.findall(r"\b\d_\d+\b", remark)
    more = int(match[1]) if (match := re.search(r"and (\d+) more", remark)) else 0
    assert len(named) + more == len({*named}) + more == len(set(cold))
    assert f"({len(cold)} starts)" in remark


def test_a_folded_row_reads_the_same_in_markdown() -> None:
    made = _played("{at: 0s, bounce: {restart: 2m, pause: 2m}}, {at: 20m, join: {hosts: [i4]}}").plan
    [folded, *_] = re.findall(r"\d+ tasks, \d+-\d+ a probe", table(made, width=200))
    assert f"| {folded} |" in markdown(made)
    assert ",," not in markdown(made)


def test_no_more_tasks_are_paused_than_there_are() -> None:
    simulated = _played("{at: 0s, bounce: {restart: 20s, pause: 10s}}, {at: 5m, join: 1}")
    [paused] = re.findall(r"^ tasks paused (.*)$", simulation_table(simulated, width=200), re.MULTILINE)
    assert max(map(int, paused.split())) <= len(simulated.plan.group.tasks)


def test_pauses_are_called_as_long_as_they_are() -> None:
    simulated = _played("{at: 0s, crash: i3}")
    found = simulated.plan.pauses
    assert found.shortest_ms < found.longest_ms == 10_000
    page = simulation_table(simulated)
    assert f" {durations(found.shortest_ms, found.longest_ms)} each" in page.replace("~", " ")
    assert "≤ 10.0 s, new starts" in table(simulated.plan)
    assert "≤ 10.0 s, new starts" in markdown(simulated.plan)


def test_what_folds_keeps_the_first_and_the_last_column() -> None:
    narrow = simulation_table(simulation_cases.case("add-two"), width=60).splitlines()
    times = next(line for line in narrow if line.startswith(" at "))
    wide = simulation_table(simulation_cases.case("add-two"), width=200).splitlines()
    all_times = next(line for line in wide if line.startswith(" at ")).split()
    assert times.split()[1] == all_times[1]
    assert times.split()[-1] == all_times[-1]
    assert len(times.split()) < len(all_times)


def test_columns_that_are_as_the_one_before_go_first() -> None:
    def shown(cells: str, room: int) -> str:
        columns = [PictureColumn(str(place), "0:00", (cell,), "", plain=True) for place, cell in enumerate(cells)]
        return "".join(column.cells[0] for column in kept_columns(columns, room))

    assert shown("1112223334", 4) == "1234"
    assert shown("1111111112", 2) == "12"
    assert len(shown("1111111112", 5)) == 5
    assert shown("12", 5) == "12"


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_the_worst_pause_is_that_of_the_draw_in_the_middle(name: str) -> None:
    simulated = simulation_cases.case(name)
    if simulated.draws is not None and simulated.draws.max_paused_ms.median:
        median = durations(*[simulated.draws.max_paused_ms.median] * 2)
        assert re.search(rf"^PAUSES .* {median}( \(|$| in )", simulation_table(simulated, width=200), re.MULTILINE)


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_the_last_line_of_a_picture_comes_when_the_plan_ends(name: str) -> None:
    simulated = simulation_cases.case(name)
    said = re.search(r"settled at ([0-9:]+)", simulation_table(simulated, width=200))
    if said is not None:
        seconds = sum(60**place * int(part) for place, part in enumerate(reversed(said[1].split(":"))))
        assert seconds == pytest.approx(simulated.plan.summary.duration_ms / 1000, abs=0.5)
