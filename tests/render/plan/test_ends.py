"""First lines say both ends of what nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.cli.exit_codes import ExitCode, outcome
from kstream_plan.comparison.alternatives import alternative_figures
from kstream_plan.fleet.figures import is_bad
from kstream_plan.model import Note
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.plan import ENDS_OF_OTHERS_NOT_PLAYED
from kstream_plan.plans.result import result_of
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_markdown as simulation_markdown
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.check.wording import figures
from kstream_plan.render.pages.fleet import fleet_markdown, fleet_page, fleet_table
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
SAID = (
    "(1m01s-2h00m)",
    "0-8 COLD STARTS",
    "it may not settle",
    "55.0 s each, ≤ 23 tasks at once",
    "(0.1 s-1m17s)",
    "(0-58,001)",
    "(3-21) of 24",
)


def open_ended(made: Plan) -> Plan:
    return replace(made, summary=replace(made.summary, ranges=tuple(FigureRange(of, *ENDS[of]) for of in ENDS)))


@pytest.mark.parametrize("show", [markdown, lambda made: " ".join(table(made, width=300).split())])
def test_a_plan_whose_end_nobody_knows_says_both_ends_in_its_first_lines(show: object) -> None:
    shown = show(open_ended(plan_cases.case("scale-out"))).partition("Not known, so between")[0]  # type: ignore[operator]
    for text in (*SAID, "(3-1,022)", "0-8 COLD:"):
        assert text in shown


@pytest.mark.parametrize("draws", [True, False])
def test_so_does_a_simulation(draws: bool) -> None:
    simulated = simulation_cases.case("add-two")
    of = replace(simulated, plan=open_ended(simulated.plan), draws=simulated.draws if draws else None)
    for shown in (simulation_markdown(of), " ".join(simulation_table(of, width=300).split())):
        first_lines = shown.partition("Not known, so between")[0]
        for text in (*SAID, "(1-99)", "≤ 17 copies beside"):
            assert text in first_lines
    results = [result_of(one.plan, one) for one in (of, simulated)]
    assert "20 (3 to 21) of 24" in fleet_table(results, results, width=200)


def test_what_is_known_of_the_shown_draw_is_said_beside_that_others_were_not_played() -> None:
    simulated = simulation_cases.case("add-two")
    ended = open_ended(simulated.plan)
    ended = replace(ended, warnings=(*ended.warnings, Note(ENDS_OF_OTHERS_NOT_PLAYED, "not played")))
    text = " ".join(simulation_table(replace(simulated, plan=ended), width=300).split())
    assert "It is not known: it may not settle. How else other draws may come out was not played" in text


def test_so_do_the_lines_of_several_and_alternatives() -> None:
    made = open_ended(plan_cases.case("scale-out"))
    result = result_of(made)
    assert (result.cold_handovers_most, result.duration_ms_most) == (8, 7_200_000)
    for shown in (fleet_table([result], [result], width=200), fleet_markdown([result], [result])):
        words = " ".join(shown.split())
        assert "1 moving application may not settle. 1 application is at risk: 1 with cold starts" in words
        for text in ("uncertain", "20 (3 to 21) of 24", "0 (0 to 8)", "at least 28.5s"):
            assert text in shown
    found = alternative_figures(made, None)
    assert (found.cold_handovers.least, found.cold_handovers.most) == (0, 8)
    assert found.balanced_ms.most == 7_200_000
    assert found.paused_at_once == 23


def test_nothing_to_do_is_not_said_of_what_may_change() -> None:
    settled = open_ended(plan_cases.case("settled"))
    assert "or, which is not known, up to 1,022 rebalances in ~2h00m. 0-8 COLD STARTS" in table(settled, width=300)
    nobody = simulation_cases.case("nobody")
    shown = simulation_table(replace(nobody, plan=open_ended(nobody.plan)), width=300)
    assert "0-8 COLD STARTS" in shown
    assert "≤ 23 tasks at once for ≤ 55.0 s" in shown
    of_nobody = result_of(open_ended(nobody.plan), replace(nobody, plan=open_ended(nobody.plan)))
    results = [result_of(settled), of_nobody, result_of(plan_cases.case("settled"))]
    assert [is_bad(result) for result in results] == [True, True, False]
    page = fleet_page(results, results)
    assert page.title == "3 applications: 2 moving, 1 settled"
    assert page.sentences == ("2 moving applications may not settle. 2 applications are at risk: 2 with cold starts.",)
    assert outcome(settled, fail_on_changes=True) is ExitCode.CHANGES
    assert figures(settled) == "nothing would change (or, which is not known, up to 1,022 rebalances)"


def test_draws_that_do_not_settle_end_with_their_exit_code() -> None:
    simulated = simulation_cases.case("add-two")
    assert simulated.draws is not None
    assert outcome(simulated.plan, fail_on_changes=False, draws=simulated.draws) is ExitCode.DONE
    some = replace(simulated.draws, settled=simulated.draws.number - 1)
    assert outcome(simulated.plan, fail_on_changes=False, draws=some) is ExitCode.NOT_SETTLED
    may_not = replace(simulated, draws=replace(simulated.draws, worst={**simulated.draws.worst, "must_settle": 0}))
    assert result_of(may_not.plan, may_not).settles_surely is False
    assert is_bad(result_of(may_not.plan, may_not))


def test_pauses_of_cold_starts_that_restore_nobody_knows_how_long_are_no_certainty() -> None:
    made = plan_cases.case("crash")
    assert made.summary.cold_handovers
    unknown = replace(made, summary=replace(made.summary, max_cold_restore_ms=None))
    shown = " ".join(table(unknown, width=300).split())
    assert "PAUSES ≥ " in shown
    assert "how long cold starts restore is unknown" in shown
    assert "≤" not in shown.partition("PAUSES")[2].partition("RESTORE")[0]
    assert "at least 15.3s" in fleet_table([result_of(unknown)], [result_of(unknown)], width=120)
    worst = unknown.summary.max_paused_task
    assert worst is not None
    at_once = replace(unknown, summary=replace(unknown.summary, max_paused_task=worst._replace(ms=0)))
    assert "PAUSES unknown: nobody knows how long cold starts restore" in " ".join(table(at_once, width=300).split())
