"""What people see of a simulation, looked at line by line once and kept."""

import json

import captured_scenarios
import jsonschema
import pytest
import simulation_cases
from goldens import assert_golden
from rich.cells import cell_len

from kstream_plan.render.numbers import amount
from kstream_plan.render.plan_json import plan_document
from kstream_plan.render.simulation import simulation_table
from kstream_plan.render.simulation_json import simulation_json
from kstream_plan.render.table import table
from kstream_plan.snapshots import json_schemas
from kstream_plan.snapshots.saved_plan import read_plans
from kstream_plan.studies.scale_out import scale_out
from kstream_plan.studies.simulation import simulate

SCHEMA = jsonschema.Draft202012Validator(json.loads(json_schemas.load("plan")))


@pytest.mark.parametrize("name", simulation_cases.NAMES)
def test_simulation_at_80_columns(name: str) -> None:
    assert_golden(f"simulation/{name}.txt", simulation_table(simulation_cases.case(name)))


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


def test_what_folds_keeps_the_first_and_the_last_column() -> None:
    narrow = simulation_table(simulation_cases.case("add-two"), width=60).splitlines()
    times = next(line for line in narrow if line.startswith(" at "))
    wide = simulation_table(simulation_cases.case("add-two"), width=200).splitlines()
    all_times = next(line for line in wide if line.startswith(" at ")).split()
    assert times.split()[1] == all_times[1]
    assert times.split()[-1] == all_times[-1]
    assert len(times.split()) < len(all_times)
