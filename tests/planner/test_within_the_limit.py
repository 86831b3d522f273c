"""Tasks that count as caught up and restore all the same before they run are told: no pause counts that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.model import UNKNOWN, Rates
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Leave, RestoreRate, Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.longest_pause import longest_pause
from kstream_plan.plans.restore_times import RestoringStart
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.digests.cases import case
from tests.helpers import captured, captured_scenarios, one_standby, plan_cases
from tests.helpers.check_cases import NOW


def _told(plan: Plan) -> list[str]:
    return [note.message for note in plan.warnings if note.code == "restores-within-limit"]


@pytest.mark.parametrize(
    ("limit", "rates", "answer"),
    [
        (100, Rates(restore_per_instance=100.0), False),
        (10_000, Rates(), True),
        (10_000, Rates(restore_per_instance=100.0), True),
        (10_000, Rates(restore_per_instance=10_000_000.0), False),
    ],
)
def test_an_empty_copy_that_counts_as_caught_up_is_told(limit: int, rates: Rates, answer: bool) -> None:
    joined = captured.join("scale-out")
    result = plan(replace(joined, rates=rates, config=replace(joined.config, acceptable_recovery_lag=limit)))
    assert bool(_told(result)) is answer
    caveats = check_plan(result, Standard(Policy(), NOW)).caveats
    assert ("restores-within-limit" in {note.code for note in caveats}) is answer
    if answer and rates.any_restore:
        (message,) = _told(result)
        assert "restore up to 4,000 records (" in message


def test_a_drain_calls_nothing_warm_that_begins_on_an_empty_disk() -> None:
    before = captured_scenarios.before("scale-out")
    lenient = replace(
        before,
        config=replace(before.config, acceptable_recovery_lag=10_000),
        rates=Rates(restore_per_instance=100.0),
    )
    process_id = before.state.group.instances[0].process_id
    drained = drain(lenient, (process_id,))
    assert "restores-within-limit" in [doubt.code for doubt in drained.doubts]
    assert drained.answer is Answer.NO
    least, most = drained.how_many_cold
    assert least == 0 < most


@pytest.mark.parametrize(
    ("limit_ms", "rate", "answer"),
    [(10_000, 100.0, Answer.NO), (600_000, 100.0, Answer.YES), (10_000, None, Answer.UNKNOWN)],
)
@pytest.mark.parametrize("rule", ["max_pause_per_task", "max_pause_per_handover"])
def test_rules_about_pauses_include_what_is_restored_within_the_limit(
    rule: str, limit_ms: int, rate: float | None, answer: Answer
) -> None:
    """Tasks start with up to 4,000 records to restore: 40s at 100 records a second."""
    joined = captured.join("scale-out")
    config = replace(joined.config, acceptable_recovery_lag=10_000)
    result = plan(replace(joined, rates=Rates(restore_per_instance=rate), config=config, stores="persistent"))
    assert result.summary.cold_handovers == 0
    assert check_plan(result, Standard(Policy({rule: Limit(limit_ms)}), NOW)).answer is answer


@pytest.mark.parametrize(
    ("rate", "answer"),
    [(100.0, Answer.NO), (None, Answer.NO), (10_000_000.0, Answer.YES)],
    ids=["slow", "none", "fast"],
)
def test_drain_bounce_and_check_agree_on_what_restores_within_the_limit(rate: float | None, answer: Answer) -> None:
    """i0's tasks start on copies that count as caught up, by a high limit, and begin with nothing."""
    row = one_standby.row(lag=1_000_000)
    row["config"]["acceptable_recovery_lag"] = 2_000_000
    found = snapshot_from_row({**row, "stores": "persistent"}, "x")
    found = replace(found, rates=Rates(restore_per_instance=rate, produce_per_task=0.0))
    away = Scenario(events=(Leave(at_ms=0, process_ids=(one_standby.IDS[0],)),))
    result = plan(found, scenario=away)
    assert result.summary.cold_handovers == 0
    checked = check_plan(result, Standard(Policy({"max_cold_handovers": Limit(0)}), NOW))
    drained = drain(found, ["i0"], leave=True)
    restarted = bounce(found, 60_000, instances=["i0"])
    assert (checked.answer, drained.answer, restarted.answer) == (answer, answer, answer)


def test_the_gate_counts_what_restores_within_the_limit_beside_cold_starts() -> None:
    row = one_standby.row(lag=1_000_000)
    row["config"]["acceptable_recovery_lag"] = 2_000_000
    found = snapshot_from_row({**row, "stores": "persistent"}, "x")
    found = replace(found, rates=Rates(restore_per_instance=100.0, produce_per_task=0.0))
    away = Scenario(events=(Leave(at_ms=0, process_ids=(one_standby.IDS[0],)),))
    result = plan(found, scenario=away)
    restoring = len(result.restores_first)
    assert restoring > 0
    for limit in range(restoring + 1):
        (finding,) = (
            each
            for each in check_plan(result, Standard(Policy({"max_cold_handovers": Limit(limit)}), NOW)).findings
            if each.rule == "max_cold_handovers"
        )
        assert finding.value == restoring
        assert finding.answer is (Answer.YES if limit == restoring else Answer.NO)
        assert len(finding.offences) == (0 if limit == restoring else restoring)


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        ({"end_offset_sum": 1_000_000, "lag": 0}, Answer.YES),
        ({"end_offset_sum": 1_000_000, "lag": 20_000}, Answer.NO),
        ({"end_offset_sum": None, "lag": 5_000}, Answer.UNKNOWN),
        ({"end_offset_sum": 1_000_000, "lag": UNKNOWN}, Answer.NO),  # 0_1 itself is likely to restore all
    ],
    ids=["nothing", "much", "end-unknown", "offset-unknown"],
)
def test_a_restore_takes_as_long_as_those_beside_it_let_it(other: dict[str, int | None], answer: Answer) -> None:
    """0_0 lacks 3,000 records, 600ms alone at 5,000 a second; ``i1`` restores 0_1 at the same time."""
    row = one_standby.row(lag=3_000, stores="persistent")
    row["instances"][0]["consumers"][0]["active"] = ["0_0", "0_1"]
    row["instances"][1]["consumers"][0].update(active=[], standby=["0_0", "0_1"])
    row["lags"].append({**row["lags"][0], "task_id": "0_1", "lag": other["lag"]})
    row["tasks"][1] = {"task_id": "0_1", "stateful": True, "end_offset_sum": other["end_offset_sum"]}
    if other["end_offset_sum"] is None:
        del row["tasks"][1]["end_offset_sum"]
    found = snapshot_from_row(row, "x")
    found = replace(found, rates=Rates(restore_per_instance=5_000.0, produce_per_task=0.0))
    drained = drain(found, ["i0"], leave=True)
    answers = {str(task_id): each for task_id, each in drained.answers.items()}
    assert {task.destination for task in drained.now} == {one_standby.IDS[1]}
    assert answers["0_0"] is answer


def test_the_page_of_a_plan_is_not_surer_than_the_warning() -> None:
    made = plan_cases.case("scale-out")
    assert page_of(made).tone == "good"
    starts = [RestoringStart(made.group.tasks[task].task_id, "i1", 1, 0, 5_000, None) for task in (0, 1)]
    page = page_of(replace(made, restoring_starts=tuple(starts)))
    assert page.tone == "bad"
    assert "2 tasks restore state before running, though their copies count as caught up." in page.sentences[0]


@pytest.mark.parametrize(
    ("given", "changes", "restoring_ms"),
    [
        (None, ((0, 500.0),), 8_000),
        (500.0, ((700_000, 1_000_000.0),), 8_000),
        (1_000_000.0, ((700_000, 500.0),), 0),
        (500.0, ((1_000, 1_000_000.0),), 0),
        (1_000_000.0, ((1_000, 500.0),), 0),
        (1_000.0, ((2_000, 500.0), (700_000, 1_000.0)), 6_000),
        (500.0, ((6_000, 1_000.0),), 6_000),
    ],
    ids=[
        "in the scenario alone",
        "faster later",
        "slower later",
        "faster before",
        "restored before it is slower",
        "slower for a while",
        "faster while it restores",
    ],
)
def test_a_task_restores_first_at_the_rate_that_the_scenario_has_when_it_starts(
    given: float | None, changes: tuple[tuple[int, float], ...], restoring_ms: int
) -> None:
    """0_0 lacks 5,000 records and leaves i0 after 2s; without a rate there would be no warning."""
    found = snapshot_from_row(one_standby.row(lag=5_000, stores="persistent"), "x")
    found = replace(found, rates=Rates(restore_per_instance=given, produce_per_task=0.0))
    rates = tuple(RestoreRate(at_ms=at_ms, per_second=rate) for at_ms, rate in changes)
    away = Leave(at_ms=2_000, process_ids=(one_standby.IDS[0],))
    result = plan(found, scenario=Scenario(events=(*rates, away)))
    assert result.figure("max_restoring_first_ms") == restoring_ms
    for rule, limit in (("max_cold_handovers", 0), ("max_pause_per_task", 5_000)):
        answer = check_plan(result, Standard(Policy({rule: Limit(limit)}), NOW)).answer
        assert answer is (Answer.NO if restoring_ms else Answer.YES)


@pytest.mark.parametrize(("number", "design", "restoring_ms"), [(16070, "learner", 10_000), (16710, "streams", 97_805)])
def test_plans_without_rates_at_their_end_tell_how_long_a_task_restores_first(
    number: int, design: str, restoring_ms: int
) -> None:
    recorded = case(number)
    made = plan(recorded.snapshot, recorded.options, scenario=recorded.scenario)
    assert (made.design, made.end, made.figure("max_restoring_first_ms")) == (design, None, restoring_ms)
    assert longest_pause(made).most_ms is not None


def test_a_task_that_restores_first_twice_does_so_in_all_and_each_time_until_it_moves_on() -> None:
    """i1 has restored it for 20s when it goes to i2, which restores 0_1 beside it: 50 records a second for each."""
    row = one_standby.row(lag=5_000, stores="persistent", streams_version="4.1")
    row["config"]["num_standby_replicas"] = 2
    row["instances"][2]["consumers"][0]["standby"] = ["0_0"]
    row["lags"].append({**row["lags"][0], "process_id": one_standby.IDS[2]})
    found = replace(snapshot_from_row(row, "x"), rates=Rates(restore_per_instance=100.0, produce_per_task=0.0))
    gone = [Leave(at_ms=at_ms, process_ids=(of,)) for at_ms, of in zip((2_000, 22_000), one_standby.IDS, strict=False)]
    made = plan(found, scenario=Scenario(events=tuple(gone)))
    of_0_0 = [(start.process_id, start.records, start.restores_ms) for start in made.restoring_starts]
    assert of_0_0 == [(one_standby.IDS[1], 4_900, 20_000), (one_standby.IDS[2], 3_900, 78_000)]
    assert made.figure("max_restoring_first_ms") == 98_000
    (warning,) = _told(made)
    assert "up to 4,900 records (1m18s) before they run" in warning
