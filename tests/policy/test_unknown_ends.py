"""Rules on plans of which nobody knows all: the worse end of a range counts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import LATEST, Copy, Holding, Note, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.note_codes import MEMORY_UNSETTLED
from kstream_plan.plans.plan import ENDS_NOT_PLAYED, ENDS_NOT_SAVED, ENDS_OF_OTHERS_NOT_PLAYED
from kstream_plan.plans.result import result_of
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import CheckedPlan, Finding, Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.policy.rules import RULES
from kstream_plan.policy.rules.over_draws import measure_rules
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.table import table_report
from kstream_plan.render.check.wording import settled_by
from kstream_plan.render.pages.check import check_page
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases
from tests.helpers.small_groups import group, state

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)


def snapshot(**beside: object) -> Snapshot:
    """i3's only task has a copy on i1 that is caught up, as far as anybody says."""
    held = {0: Holding((0,), standby=(2,)), 2: Holding((1,)), 4: Holding((2,))}
    runs = {task: Copy(task, LATEST, (2 * task,), 0, 2 * task, True) for task in range(3)}
    copies = {0: (runs[0],), 1: (runs[1],), 2: (Copy(0, 0, (0,), 0, 0), runs[2])}
    item = state(group(stateful=3, stateless=0), held, copies)
    config = AssignmentConfig(acceptable_recovery_lag=0)
    return replace(Snapshot(state=item, config=config, stores="persistent"), **beside)  # type: ignore[arg-type]


def stopped(snapshot: Snapshot) -> Plan:
    i3 = snapshot.state.group.instances[2].process_id
    return plan(snapshot, scenario=Scenario(events=(Stop(at_ms=0, process_ids=(i3,)),)))


def finding(plan: Plan, rule: str, value: int) -> Finding:
    checked = check_plan(plan, Standard(Policy(defaults={rule: Limit(value)}), NOW))
    return next(one for one in checked.findings if one.rule == rule)


def test_what_rests_on_the_least_that_a_copy_is_behind_is_not_called_safe() -> None:
    sure, at_least = stopped(snapshot()), stopped(snapshot(least_lags=frozenset({(2, 0)})))
    assert finding(sure, "max_cold_handovers", 0).status is Status.PASSED
    found = finding(at_least, "max_cold_handovers", 0)
    assert (found.status, found.value, found.value_range) == (Status.ERROR, 1, (0, 1))
    assert finding(at_least, "max_cold_handovers", 1).status is Status.PASSED
    assert finding(at_least, "max_restored_records", 0).status is Status.ERROR
    assert finding(sure, "max_restored_records", 0).status is Status.PASSED
    [saved] = read_plans(plan_json(at_least).encode(), "plan")
    assert finding(saved, "max_cold_handovers", 0) == found


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.figure and name != "must_settle"])
def test_every_rule_about_a_figure_takes_the_worse_end(rule: str) -> None:
    result = plan_cases.case("scale-out")
    shown = finding(result, rule, 2**62)
    assert shown.value is not None
    low, high = shown.value, shown.value + 7
    ends = (FigureRange(RULES[rule].figure, low, high),)
    ranged = replace(result, summary=replace(result.summary, ranges=ends))
    assert finding(ranged, rule, high).status is Status.PASSED
    found = finding(ranged, rule, high - 1)
    assert (found.status, found.value, found.value_range) == (Status.ERROR, high, (low, high))
    assert found.answer is Answer.UNKNOWN, "it is not broken by what is likely"
    assert low == 0 or finding(ranged, rule, low - 1).answer is Answer.NO
    assert finding(ranged, rule, high).answer is Answer.YES
    assert finding(result, rule, high - 1).status is Status.PASSED


def test_a_plan_that_may_not_settle_does_not_count_as_one_that_does() -> None:
    result = plan_cases.case("scale-out")
    assert result.verdict.kind == "settled"
    ranged = replace(result, summary=replace(result.summary, ranges=(FigureRange("settles", 0, 1),)))
    checked = check_plan(ranged, Standard(Policy(defaults={"must_settle": Limit(True)}), NOW))
    [found] = [one for one in checked.findings if one.rule == "must_settle"]
    assert (found.status, found.value, found.value_range) == (Status.ERROR, 0, (0, 1))
    said = " ".join(table_report(check_all([checked], NOW), width=200).split())
    assert "the plan may not settle: that depends on what is unknown" in said
    left_out = check_plan(ranged, Standard(Policy(defaults={"must_settle": Limit(False)}), NOW))
    assert all(one.status is Status.PASSED for one in left_out.findings)


@pytest.mark.parametrize(
    ("notes", "options", "told"),
    [
        (
            (Note(MEMORY_UNSETTLED, "If stores are in memory, it may not settle"),),
            ["--set stores=persistent", "--set stores=in-memory"],
            "To find out, add --set stores=persistent or --set stores=in-memory.",
        ),
        (
            (),
            ["--restore-rate", "--set produce.rate"],
            "To find out, add --restore-rate, and if that is not enough --set produce.rate.",
        ),
        ((Note(ENDS_NOT_PLAYED, "not played"),), ["--set ranges=true"], "To find out, add --set ranges=true."),
        ((Note(ENDS_NOT_SAVED, "not saved"),), [], ""),
    ],
)
def test_what_would_tell_whether_a_plan_settles_is_said(notes: tuple[Note, ...], options: list[str], told: str) -> None:
    result = plan_cases.case("scale-out")
    ranges = (FigureRange("settles", 0, 1),) if all(note.code == MEMORY_UNSETTLED for note in notes) else ()
    ranged = replace(result, summary=replace(result.summary, ranges=ranges), warnings=(*result.warnings, *notes))
    checked = check_plan(ranged, Standard(Policy(defaults={"must_settle": Limit(True)}), NOW))
    [found] = checked.findings
    assert (found.answer, settled_by([found], ranged)) == (Answer.UNKNOWN, options)
    text = " ".join(check_page(checked).sentences)
    assert told in text if told else "To find out" not in text


NOT_PLAYED = {
    ENDS_NOT_PLAYED: "other outcomes were not simulated",
    ENDS_OF_OTHERS_NOT_PLAYED: "what is unknown was varied in one simulation only",
}


@pytest.mark.parametrize("code", NOT_PLAYED)
@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.figure and name != "must_settle"])
def test_no_rule_passes_where_one_play_of_several_was_played(rule: str, code: str) -> None:
    sure = plan_cases.case("scale-out")
    result = replace(sure, warnings=(*sure.warnings, Note(code, "not played")))
    found = finding(result, rule, 2**62)
    assert (found.status, found.value, found.answer) == (Status.ERROR, None, Answer.UNKNOWN)
    shown = finding(sure, rule, 0)
    if shown.offences:
        assert finding(result, rule, 0) == shown, "what one play breaks is broken"
    [saved] = read_plans(plan_json(result).encode(), "plan")
    assert finding(saved, rule, 2**62) == found
    said = " ".join(table_report(check_all([_checked(result, {rule: Limit(2**62)})], NOW), width=200).split())
    assert re.search(rf"\? {rule} unknown [0-9,dh]+ {NOT_PLAYED[code]}", said)


@pytest.mark.parametrize("code", NOT_PLAYED)
def test_whether_it_settles_is_unknown_where_one_play_of_several_was_played(code: str) -> None:
    sure = plan_cases.case("scale-out")
    result = replace(sure, warnings=(*sure.warnings, Note(code, "not played")))
    [found] = [one for one in _checked(result, {}).findings if one.rule == "must_settle"]
    assert (found.status, found.value) == (Status.ERROR, None)
    said = " ".join(table_report(check_all([_checked(result, {})], NOW), width=200).split())
    assert f"whether the plan always settles is unknown: {NOT_PLAYED[code]}" in said
    left_out = _checked(result, {"must_settle": Limit(False)})
    assert all(one.status is Status.PASSED for one in left_out.findings)
    assert (result_of(sure).settles_surely, result_of(result).settles_surely) == (True, False)


def _checked(plan: Plan, limits: dict[str, Limit]) -> CheckedPlan:
    return check_plan(plan, Standard(Policy(defaults=limits), NOW))


def test_pauses_have_both_ends_where_the_time_out_is_close() -> None:
    item, heartbeat_ms = snapshot(), AssignmentConfig().heartbeat_interval_ms
    timeout_ms = item.config.session_timeout_ms
    i3 = item.state.group.instances[2].process_id
    away_ms = timeout_ms - heartbeat_ms // 2
    events = (Stop(at_ms=0, process_ids=(i3,), crash=True), Return(at_ms=away_ms, process_ids=(i3,)))
    result = plan(item, scenario=Scenario(events=events))
    ranges = {one.figure: (one.low, one.high) for one in result.summary.ranges}
    for figure in ("max_paused_task_ms", "longest_pause_ms"):
        low, high = ranges[figure]
        assert low <= (result.figure(figure) or 0) <= high
        assert low < high
    allowed_ms = ranges["max_paused_task_ms"][1] - 1
    assert finding(result, "max_pause_per_task", allowed_ms).status is Status.ERROR
    assert finding(result, "max_pause_per_task", allowed_ms + 1).status is Status.PASSED


def test_of_every_draw_the_worse_end_counts() -> None:
    result = stopped(snapshot(least_lags=frozenset({(2, 0)})))
    shown = replace(result, summary=replace(result.summary, ranges=()))
    assert measure_rules(result)["max_cold_handovers"] == 1
    assert measure_rules(shown)["max_cold_handovers"] == 0


def test_the_range_is_told() -> None:
    result = stopped(snapshot(least_lags=frozenset({(2, 0)})))
    for limit in (0, 1):
        standard = Standard(Policy(defaults={"max_cold_handovers": Limit(limit)}), NOW)
        check = check_all([check_plan(result, standard)], NOW)
        if limit == 0:
            assert check.answer is Answer.UNKNOWN
            assert "1 0 the worst end of what is unknown (0 to 1)" in " ".join(table_report(check, width=200).split())
        found = json.loads(REPORTS["json"](check))["plans"][0]["findings"]
        assert [one["between"] for one in found if one["rule"] == "max_cold_handovers"] == [[0, 1]]
