"""Which other settings are tried."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.plan import ENDLESS, ENDS_NOT_PLAYED
from kstream_plan.plans.result import result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from kstream_plan.simulation.what_ifs import cure, what_if, what_ifs
from tests.helpers import one_standby, plan_cases


def test_of_what_takes_long_only_what_has_far_fewer_rounds_is_tried() -> None:
    result = plan_cases.case("scale-out")
    now = result.config
    tried: list[AssignmentConfig] = []

    def play(config: AssignmentConfig) -> Plan:
        tried.append(config)
        return result

    assert what_ifs(result, play) == ()  # none is any shorter
    assert len(tried) > 2
    tried.clear()
    what_ifs(result, play, long=True)
    needed = min(result.summary.hops, len(result.group.stateful))
    assert [item.max_warmup_replicas for item in tried] == sorted({min(10 * now.max_warmup_replicas, needed), needed})
    assert {item.probing_rebalance_interval_ms for item in tried} == {now.probing_rebalance_interval_ms}


def test_what_may_start_cold_with_another_setting_is_not_hidden() -> None:
    result = plan_cases.case("scale-out")
    ends = (FigureRange("duration_ms", 1_000, 900_000), FigureRange("cold_handovers", 0, 2))
    ranged = replace(result, summary=replace(result.summary, ranges=ends))
    known = what_if(result.config, "max_warmup_replicas", 4, lambda _config: ranged)
    assert (known.least_duration_ms, known.most_duration_ms, known.most_cold_handovers) == (1_000, 900_000, 2)
    one = what_if(result.config, "max_warmup_replicas", 4, lambda _config: result)
    assert one.least_duration_ms == one.most_duration_ms == one.duration_ms == result.summary.duration_ms
    assert one.most_cold_handovers == one.cold_handovers == 0
    cut = replace(result, warnings=(Note(ENDS_NOT_PLAYED, "not played"),))
    unknown = what_if(result.config, "max_warmup_replicas", 4, lambda _config: cut)
    assert (unknown.most_duration_ms, unknown.most_cold_handovers) == (None, None)
    endless = replace(result, warnings=(Note(ENDLESS, "may take for ever", ("duration_ms",)),))
    assert what_if(result.config, "max_warmup_replicas", 4, lambda _config: endless).most_duration_ms is None


def test_an_old_report_may_start_cold_with_every_other_setting() -> None:
    old = one_standby.snapshot(reported_at="2026-11-22T09:00:00.000Z", captured_at="2026-11-22T12:00:00.000Z")
    gone = Scenario(events=(Stop(at_ms=0, process_ids=(one_standby.IDS[0],)),))
    simulated = simulate(old, gone)
    assert simulated.plan.ends("cold_handovers")[1] > 0
    others = [what_if(old.config, "max_warmup_replicas", value, partial(_under, old, gone)) for value in (4, 8)]
    assert all(other.most_cold_handovers == simulated.plan.ends("cold_handovers")[1] for other in others)


def _under(snapshot: Snapshot, scenario: Scenario, config: AssignmentConfig) -> Plan:
    return plan_checked(replace(snapshot, config=config), scenario=scenario)


def test_a_row_names_no_cure_with_which_a_group_may_not_settle() -> None:
    stuck, settled = plan_cases.case("never-ready"), plan_cases.case("scale-out")
    assert stuck.verdict.kind != "settled"
    may_not = replace(settled, summary=replace(settled.summary, ranges=(FigureRange("settles", 0, 1),)))
    for plan, is_sure in ((settled, True), (may_not, False)):
        setting = cure(stuck, lambda _config, plan=plan: plan)
        assert setting is not None
        assert setting.may_not_settle is not is_sure
        nothing = Scenario(events=())
        simulated = Simulation(plan=stuck, scenario=nothing, draws=None, events=(), what_ifs=(), cure=setting)
        assert (result_of(stuck, simulated).cure is not None) == is_sure
