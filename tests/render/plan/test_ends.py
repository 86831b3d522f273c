"""First lines say both ends of what nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.cli.exit_codes import ExitCode, outcome
from kstream_plan.comparison.alternatives import alternative_figures
from kstream_plan.fleet.figures import is_bad
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.result import result_of
from kstream_plan.render.answers import to_markdown, to_table
from tests.helpers import plan_cases, simulation_cases

pytestmark = pytest.mark.xdist_group("simulations")

ENDS = {
    "rebalances": (3, 1_022),
    "probing_rebalances": (1, 99),
    "duration_ms": (61_000, 7_200_000),
    "moves": (3, 21),
    "cold_handovers": (0, 8),
    "max_cold_restore_ms": (0, 60_000),
    "restored_records": (0, 58_001),
    "longest_pause_ms": (100, 55_000),
    "max_paused_task_ms": (100, 77_000),
    "paused_tasks_at_once": (1, 23),
    "peak_extra_copies": (0, 17),
    "settles": (0, 1),
}


def open_ended(plan: Plan) -> Plan:
    return replace(plan, summary=replace(plan.summary, ranges=tuple(FigureRange(item, *ENDS[item]) for item in ENDS)))


def test_so_do_the_lines_of_several_and_alternatives() -> None:
    outcome = open_ended(plan_cases.case("scale-out"))
    result = result_of(outcome)
    assert (result.cold_handovers_most, result.duration_ms_most) == (8, 7_200_000)
    for shown in (to_table([result], width=200), to_markdown([result])):
        words = " ".join(shown.split())
        assert (
            "1 moving application may not settle. 1 application is at risk: 1 with tasks that may start cold" in words
        )
        for text in ("uncertain", "20 (3 to 21) of 24", "0 (0 to 8 or more)", "at least 28.5s"):
            assert text in shown
    found = alternative_figures(outcome, None)
    assert (found.cold_handovers.least, found.cold_handovers.most) == (0, 8)
    assert found.balanced_ms.most == 7_200_000
    assert found.paused_at_once == 23


def test_draws_that_do_not_settle_end_with_their_exit_code() -> None:
    simulated = simulation_cases.case("add-two")
    assert simulated.draws is not None
    assert outcome(simulated.plan, fail_on_changes=False, draws=simulated.draws) is ExitCode.DONE
    some = replace(simulated.draws, settled=simulated.draws.number - 1)
    assert outcome(simulated.plan, fail_on_changes=False, draws=some) is ExitCode.NOT_SETTLED
    may_not = replace(simulated, draws=replace(simulated.draws, worst={**simulated.draws.worst, "must_settle": 0}))
    assert result_of(may_not.plan, may_not).settles_surely is False
    assert is_bad(result_of(may_not.plan, may_not))
