"""What cold starts restore comes on top of pauses: by a literal account, and at the limit itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.plans import FigureRange, HandOver, Plan, Promote
from kstream_plan.plans.longest_pause import PAUSE_RULES, restored_key, whole
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.rules import RULES, MeasuredPlan, Measurement, Offence
from kstream_plan.policy.rules.restores import with_restores
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured_scenarios, plan_cases

INCLUDED = "restores included"


@cache
def crashed(rate: float | None = 100.0) -> Plan:
    """One of three instances without standbys stops: all of its stateful tasks start cold."""
    snapshot = captured_scenarios.before("scale-out", rate)
    (gone,) = [one.process_id for one in snapshot.state.group.instances if one.host == "i3"]
    result = plan(snapshot, scenario=Scenario(events=(Stop(at_ms=0, process_ids=(gone,)),)), floor=False, ranges=False)
    return replace(result, warnings=(), assumptions=(), summary=replace(result.summary, ranges=()))


def cold_starts(plan: Plan) -> Counter[object]:
    return Counter(
        step.task_id
        for rnd in plan.rounds
        for step in rnd.steps
        if isinstance(step, HandOver | Promote) and not step.caught_up
    )


def test_what_is_cold_restores_after_its_own_pause() -> None:
    result = crashed()
    cold, slowest_ms = cold_starts(result), result.summary.max_cold_restore_ms
    assert slowest_ms
    assert result.summary.cold_handovers == cold.total() > 1
    paused_ms = {rule: result.figure(figure) or 0 for rule, figure in PAUSE_RULES.items()}
    own_ms = {task_id: result.pauses.ms[task_id] for task_id in cold}  # type: ignore[index]
    longest_ms = max(pause.length_ms for pause in result.pauses if pause.task_id in cold)
    expected = {
        "max_pause_per_task": max(own_ms[task_id] + times * slowest_ms for task_id, times in cold.items()),
        "max_pause_per_handover": longest_ms + slowest_ms,
        "max_pause_in_all": paused_ms["max_pause_in_all"] + cold.total() * slowest_ms,
    }
    for rule in PAUSE_RULES:
        assert whole(PAUSE_RULES[rule], result, paused_ms[rule]) == expected[rule]
    times = max(cold.values())
    assert whole("max_paused_task_ms", result, 10**9) == 10**9 + times * slowest_ms, "whose pause that is, is unknown"
    assert whole("longest_pause_ms", result, 10**9) == 10**9 + slowest_ms
    assert whole("paused_task_ms", result, 10**9) == 10**9 + cold.total() * slowest_ms


def test_who_pauses_longest_without_a_cold_start_counts_as_it_is() -> None:
    """Another task than those that start cold was paused for an hour."""
    result = crashed()
    cold = cold_starts(result)
    warm = next(task.task_id for task in result.group.tasks if task.task_id not in cold)
    ms = {**result.pauses.ms, warm: 3_600_000}
    longer = replace(
        result, pauses=replace(result.pauses, ms=ms), summary=replace(result.summary, max_paused_task=warm)
    )
    longer = replace(longer, summary=replace(longer.summary, ranges=(FigureRange("max_paused_task_ms", 0, 3_600_000),)))
    assert longer.figure("max_paused_task_ms") == 3_600_000
    assert whole("max_paused_task_ms", longer, 3_600_000) == 3_600_000


def test_what_may_start_cold_beside_what_does_may_be_what_pauses_longest() -> None:
    result = crashed()
    cold, slowest_ms = cold_starts(result).total(), result.summary.max_cold_restore_ms or 0
    maybe = replace(result, summary=replace(result.summary, ranges=(FigureRange("cold_handovers", cold, cold + 1),)))
    longest_ms = result.figure("max_paused_task_ms") or 0
    assert whole("max_paused_task_ms", maybe, longest_ms) == longest_ms + slowest_ms
    in_all_ms = result.figure("paused_task_ms") or 0
    assert whole("paused_task_ms", maybe, in_all_ms) == in_all_ms + (cold + 1) * slowest_ms


def test_nothing_comes_on_top_where_nothing_starts_cold_and_what_is_unknown_is_unknown() -> None:
    warm = plan_cases.case("settled")
    assert whole("max_paused_task_ms", warm, 5) == 5
    without_rate = crashed(None)
    assert without_rate.pauses_are_least
    assert all(whole(PAUSE_RULES[rule], without_rate, 5) is None for rule in PAUSE_RULES)


def measured(rule: str, plan: Plan, limit: int, draws: OverDraws | None = None) -> Measurement:
    subject = MeasuredPlan(plan, draws=draws)
    return with_restores(rule, RULES[rule], RULES[rule].worst(subject, limit), subject, limit)


@pytest.mark.parametrize("rule", PAUSE_RULES)
def test_the_limit_itself_is_kept_and_one_less_is_broken_by_what_starts_cold(rule: str) -> None:
    result = crashed()
    alone = RULES[rule].measure(MeasuredPlan(result), 2**62).value
    assert alone is not None
    value = whole(PAUSE_RULES[rule], result, alone)
    assert value is not None
    assert value > alone
    assert measured(rule, result, value) == Measurement(value)
    broken = measured(rule, result, value - 1)
    assert (broken.value, broken.unknown, len(broken.offences)) == (value, False, 1)
    (offence,) = broken.offences
    first = RULES["max_cold_handovers"].measure(MeasuredPlan(result), 0).offences[0]
    of_all = rule == "max_pause_in_all"
    assert offence == Offence(
        value, None if of_all else first.round_number, None if of_all else first.task_id, None, INCLUDED
    )
    both = measured(rule, result, 0)
    note = both.offences[0].note
    assert note.endswith(INCLUDED)
    assert note.removesuffix(INCLUDED) in ("", "1 pause, ")
    assert both.offences[1:] == RULES[rule].measure(MeasuredPlan(result), 0).offences[1:]
    assert (both.value, both.unknown) == (value, False)


@pytest.mark.parametrize("rule", PAUSE_RULES)
def test_of_what_nobody_knows_how_long_it_restores_the_pause_is_unknown(rule: str) -> None:
    unknown = measured(rule, crashed(None), 2**62)
    note = "how long tasks restore first is unknown"
    assert unknown == Measurement(None, (Offence(None, note=note),), unknown=True)
    broken = measured(rule, crashed(None), 0)
    assert broken.value is not None, "what it breaks by its pauses alone it breaks"
    assert not broken.unknown


@pytest.mark.parametrize("rule", PAUSE_RULES)
def test_another_draw_that_restores_for_longer_counts(rule: str) -> None:
    warm = plan_cases.case("settled")
    cold = {"max_cold_handovers": 1, restored_key(rule): 70_000}
    for limit, offences in ((70_000, ()), (69_999, (Offence(70_000, note=INCLUDED),))):
        found = measured(rule, warm, limit, OverDraws(3, 0, cold))
        assert found == Measurement(70_000, offences, worst_of=3, unknown=bool(offences))
    within_limit = OverDraws(3, 0, {**cold, "max_cold_handovers": 0})
    assert measured(rule, warm, 0, within_limit).value == 70_000, "a task counts as caught up, and restores first"
    assert measured(rule, warm, 0, OverDraws(3, 0, {"max_cold_handovers": 0})) == Measurement(0)
    assert measured(rule, warm, 0, OverDraws(1, 0, cold)) == Measurement(0), "it is the only draw"
    missing = measured(rule, warm, 0, OverDraws(3, 0, {"max_cold_handovers": 1}))
    assert (missing.value, missing.unknown) == (None, True)
    unknown = measured(rule, warm, 0, OverDraws(3, 0, {**cold, "max_cold_handovers": None}))
    assert unknown.value == 70_000


def test_rules_about_anything_else_stay_as_they_are() -> None:
    found = Measurement(3, (Offence(3),))
    for rule in RULES.keys() - PAUSE_RULES.keys():
        assert with_restores(rule, RULES[rule], found, MeasuredPlan(crashed()), 0) == found
    unknown = Measurement(None, (Offence(None),), unknown=True)
    for rule in PAUSE_RULES:
        assert with_restores(rule, RULES[rule], unknown, MeasuredPlan(crashed()), 0) == unknown
