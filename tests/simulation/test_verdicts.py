"""Groups built not to settle: each is recognised, with its task, its instance and a setting that helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model import LATEST, Consumer, Copy, Group, GroupState, Holding, Instance, Snapshot, Task, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import CauseCode, Trigger, Withhold
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from kstream_plan.simulation.what_ifs import starts_empty
from tests.helpers import captured_scenarios
from tests.helpers.random_scenarios import hard_case

JOIN = "{at: 0s, join: {count: 1, hosts: [new], process_ids: [8772d290-3ede-4e2d-aa72-8c0277e14a59]}}"


def _simulated(
    restore_rate: float | None, produce_rate: float | None, more: str = "", max_rounds: int | None = None
) -> Simulation:
    before = captured_scenarios.before("scale-out", restore_rate, produce_rate)
    return simulate(before, read_scenario(f"events: [{JOIN}{more}]", "s.yaml"), max_rounds=max_rounds)


CASES = [
    ("too slow for two copies at once", 60.0, 50.0, "", CauseCode.RESTORE_TOO_SLOW, ("max_warmup_replicas", 1)),
    ("too slow for any", 20.0, 50.0, "", CauseCode.RESTORE_TOO_SLOW, ("acceptable_recovery_lag", 4_000)),
    ("a standing lag", 1e6, 2_000.0, "", CauseCode.STANDING_LAG, ("acceptable_recovery_lag", 1_000)),
    (
        "an instance that reports nothing",
        1_000.0,
        None,
        ", {at: 0s, restore_rate: {rate: 0/s, instances: new}}",
        CauseCode.SILENT_INSTANCE,
        ("acceptable_recovery_lag", 4_000),
    ),
]


@pytest.mark.parametrize(
    ("restore_rate", "produce_rate", "more", "code", "cure"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_stuck_group_is_recognised_and_its_cure_works(
    restore_rate: float, produce_rate: float | None, more: str, code: CauseCode, cure: tuple[str, int]
) -> None:
    simulated = _simulated(restore_rate, produce_rate, more)
    verdict = simulated.plan.verdict
    assert verdict.kind == "stuck"
    assert verdict.cause is not None
    assert (verdict.cause.code, verdict.cause.process_id) == (code, "8772d290-3ede-4e2d-aa72-8c0277e14a59")
    assert verdict.cause.task_id in verdict.tasks
    assert simulated.cure is not None
    assert (simulated.cure.setting, simulated.cure.value) == cure
    before = captured_scenarios.before("scale-out", restore_rate, produce_rate)
    cured = replace(before, config=replace(before.config, **{cure[0]: cure[1]}))
    assert simulate(cured, simulated.scenario, what_ifs=False).plan.verdict.kind == "settled"


@pytest.mark.parametrize("produce_rate", [50.0, 60.0, 500.0, 50_000.0])
def test_no_copy_catches_up_that_falls_behind_faster_than_it_restores(produce_rate: float) -> None:
    """However small its state: what is written meanwhile counts."""
    before = captured_scenarios.before("scale-out", 50.0, produce_rate)
    lenient = replace(before, config=replace(before.config, max_warmup_replicas=1, acceptable_recovery_lag=1_900))
    result = simulate(lenient, read_scenario(f"events: [{JOIN}]", "s.yaml"), what_ifs=False).plan
    assert result.verdict.kind == "stuck"


def test_a_copy_catches_up_by_what_it_restores_more_than_is_written() -> None:
    """2,000 records at 50 - 45 a second take 400 s, and the limit of 100 saves 20 s of them."""
    before = captured_scenarios.before("scale-out", 50.0, 45.0)
    one = replace(before, config=replace(before.config, max_warmup_replicas=1))
    result = simulate(one, read_scenario(f"events: [{JOIN}]", "s.yaml"), what_ifs=False).plan
    withheld = [
        rnd.at_ms
        for rnd in result.rounds
        for step in rnd.steps
        if isinstance(step, Withhold) and str(step.task_id) == "0_0"
    ]
    probes = [rnd.at_ms for rnd in result.rounds if rnd.trigger is Trigger.PROBING]
    assert withheld[0] == next(at_ms for at_ms in probes if at_ms > 380_000)


def test_a_slow_group_is_told_from_a_stuck_one() -> None:
    simulated = _simulated(2.0, None, max_rounds=12)
    verdict = simulated.plan.verdict
    assert verdict.kind == "unfinished"
    assert verdict.cause is not None
    assert verdict.cause.code is CauseCode.SLOW
    assert str(verdict.cause.task_id) == "0_0"
    assert simulated.cure is not None


def test_the_cause_and_the_cure_are_shown() -> None:
    simulated = _simulated(60.0, 50.0)
    text = " ".join(simulation_table(simulated, width=160).replace("│", " ").split())
    assert "In this simulation the group does not settle: two consecutive probes decided the same" in text
    cause = "on new: the copies that the instance restores grow by 100 records/s, and it restores only 60"
    assert cause in text
    assert "max.warmup.replicas=1 about 1h36m" in text
    assert cause in " ".join(table(simulated.plan, width=160).replace("│", " ").split())


def test_a_cure_that_lets_tasks_start_without_state_says_so() -> None:
    says = "tasks also start on instances without any state, and restore before they run"
    too_slow, standing = _simulated(20.0, 50.0), _simulated(1e6, 2_000.0)
    for simulated, empty in ((too_slow, True), (standing, False)):
        cure = simulated.cure
        assert cure is not None
        assert starts_empty(simulated.plan, cure.setting, cure.value) == empty
        assert (says in " ".join(simulation_table(simulated).split())) == empty
    assert not starts_empty(too_slow.plan, "max_warmup_replicas", 10**9)


def test_a_limit_below_what_an_interval_brings_does_not_keep_a_group() -> None:
    simulated = _simulated(10_000.0, 25.0)
    assert simulated.plan.config.acceptable_recovery_lag < 25 * 60
    assert simulated.plan.verdict.kind == "settled"
    assert simulated.cure is None


@pytest.mark.parametrize(
    ("seed", "period", "cure"),
    [(193, 2, "acceptable_recovery_lag"), (157, 3, "acceptable_recovery_lag")],
)
def test_a_cyclic_group_is_recognised_and_its_cure_works(seed: int, period: int, cure: str) -> None:
    snapshot, scenario = hard_case(seed)
    simulated = simulate(snapshot, scenario, number_of_draws=1)
    verdict = simulated.plan.verdict
    assert (verdict.kind, verdict.reason.split()[1]) == ("cyclic", str(period))
    assert verdict.cause is not None
    assert verdict.cause.code is CauseCode.RESTORE_TOO_SLOW
    assert verdict.cause.task_id in verdict.tasks
    ticks = [rnd for rnd in simulated.plan.rounds if rnd.trigger is Trigger.PROBING]
    assert ticks[-1].decided == ticks[-1 - period].decided
    assert any(rnd.decided != ticks[-1].decided for rnd in ticks[-period:])
    assert simulated.cure is not None
    assert simulated.cure.setting == cure


def test_a_hundred_moves_take_more_than_eight_hours() -> None:
    tasks = [Task(task_id=TaskId(0, p), stateful=True, end_offset_sum=1_000_000) for p in range(200)]
    group = Group.of("orders", tasks, [Instance(process_id="i-1", consumers=(Consumer(consumer_id="c1"),))])
    state = GroupState(
        group=group,
        generation=1,
        at_ms=0,
        holdings=(Holding(active=tuple(range(200))),),
        copies=tuple((Copy(0, LATEST, (0,)),) for _ in tasks),
    )
    simulated = simulate(Snapshot(state=state, config=AssignmentConfig()), scale_out(group, add=1), what_ifs=False)
    assert simulated.draws is None
    summary = simulated.plan.summary
    assert (summary.moves, summary.probing_rebalances) == (100, 50)
    assert summary.duration_ms / 3_600_000 == pytest.approx(8.3, abs=0.15)
