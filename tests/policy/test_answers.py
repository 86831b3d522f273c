"""YES, NO or UNKNOWN: of a rule, of a plan, of a whole check, and in every report."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart
from kstream_plan.plans.plan import PAUSES
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import CheckedPlan, Finding, Standard, Status
from kstream_plan.policy.limits import Level, Limit, Policy, Waiver
from kstream_plan.policy.rules import RULES
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.table import table_report
from kstream_plan.render.check.wording import figures
from kstream_plan.render.pages.check import check_page
from tests.helpers import plan_cases
from tests.helpers.schemas import validator

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
FIGURES = [name for name, rule in RULES.items() if rule.figure and name != "must_settle"]


def likely(name: str = "scale-out") -> Plan:
    """A plan without a warning."""
    return replace(plan_cases.case(name), warnings=())


def ranged(figure: str, more: int = 5) -> Plan:
    """A plan of which one figure may be larger by so much than is likely."""
    result = likely()
    value = result.figure(figure)
    assert value is not None
    return replace(result, summary=replace(result.summary, ranges=(FigureRange(figure, value, value + more),)))


def checked(
    plan: Plan, draws: OverDraws | None = None, waivers: tuple[Waiver, ...] = (), **limits: Limit
) -> CheckedPlan:
    return check_plan(plan, Standard(Policy(defaults=limits, waivers=waivers), NOW), draws=draws)


def finding(checked_plan: CheckedPlan, rule: str) -> Finding:
    return next(one for one in checked_plan.findings if one.rule == rule)


@pytest.mark.parametrize("rule", FIGURES)
@given(limit=st.integers(-3, 8))
def test_no_is_likely_and_unknown_is_the_worst_end(rule: str, limit: int) -> None:
    result = ranged(RULES[rule].figure)
    value = result.figure(RULES[rule].figure) or 0
    allowed = max(0, value + limit)
    answer = finding(checked(result, **{rule: Limit(allowed)}), rule).answer
    expected = Answer.NO if value > allowed else Answer.UNKNOWN if value + 5 > allowed else Answer.YES
    assert answer is expected


@given(limit=st.integers(15, 30), worst=st.integers(20, 25) | st.none())
def test_the_worst_of_many_draws_is_not_ruled_out(limit: int, worst: int | None) -> None:
    result = likely()
    assert result.summary.moves == 20
    found = finding(checked(result, OverDraws(10, 0, {"max_moves": worst}), max_moves=Limit(limit)), "max_moves")
    expected = Answer.UNKNOWN if worst is None or worst > limit else Answer.YES
    assert found.answer is (Answer.NO if limit < 20 else expected)


def test_a_plan_that_does_not_settle_is_no_and_draws_that_do_not_are_unknown() -> None:
    assert checked(likely("never-ready")).answer is Answer.NO
    some = OverDraws(10, 3, {"must_settle": 0})
    assert checked(likely(), some).answer is Answer.UNKNOWN
    assert checked(likely(), some._replace(unsettled_draws=0, worst={"must_settle": 1})).answer is Answer.YES


@pytest.mark.parametrize("rule", ["max_pause_per_task", "max_pause_per_handover", "max_pause_in_all"])
def test_pauses_of_cold_starts_that_are_not_ruled_out_are_unknown(rule: str) -> None:
    result = likely("settled")
    assert all(not result.figure(figure) for figure in PAUSES)
    cold = (FigureRange("cold_handovers", 0, 1), FigureRange("max_cold_restore_ms", 0, 60_000))
    maybe = replace(result, summary=replace(result.summary, ranges=cold))
    assert finding(checked(maybe, **{rule: Limit(59_999)}), rule).answer is Answer.UNKNOWN
    assert finding(checked(maybe, **{rule: Limit(60_000)}), rule).answer is Answer.YES
    assert finding(checked(maybe, **{rule: Limit(0)}), rule).answer is Answer.UNKNOWN, "what is likely is no pause"
    surely = replace(result, summary=replace(result.summary, cold_handovers=1, max_cold_restore_ms=60_000))
    assert finding(checked(surely, **{rule: Limit(59_999)}), rule).answer is Answer.NO


def test_without_a_rate_the_likely_time_counts_and_says_so() -> None:
    result = likely()
    assert result.summary.duration_is == "probes"
    limits = {"max_duration": Limit(result.summary.duration_ms)}
    found = finding(checked(result, **limits), "max_duration")
    assert (found.answer, found.likely) == (Answer.YES, True)
    assert "(likely; the restore rate is unknown)" in table_report(
        check_all([checked(result, **limits)], NOW), width=200
    )
    known = replace(result, summary=replace(result.summary, duration_is="estimate", floor_ms=None))
    assert not finding(checked(known, **limits), "max_duration").likely
    assert not finding(checked(result, must_settle=Limit(True)), "must_settle").likely


def test_how_old_a_snapshot_is_that_does_not_say_so_is_unknown() -> None:
    for captured_at in (None, "", "yesterday"):
        undated = replace(likely(), captured_at=captured_at)
        found = finding(checked(undated, max_snapshot_age=Limit(10**15)), "max_snapshot_age")
        assert (found.status, found.answer, found.value) == (Status.ERROR, Answer.UNKNOWN, None)
        assert [one.note for one in found.offences] == ["the snapshot does not say when it was taken"]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_rate_may_be_required(wanted: bool) -> None:
    result = likely()
    limits = {"max_duration": Limit(result.summary.duration_ms), "require_restore_rate": Limit(wanted)}
    item = checked(result, **limits)
    expected = Answer.UNKNOWN if wanted else Answer.YES
    assert [finding(item, rule).answer for rule in limits] == [expected, expected]
    assert (item.answer, check_all([item], NOW).violated) == (expected, wanted)
    known = replace(result, summary=replace(result.summary, duration_is="estimate", floor_ms=None))
    assert checked(known, **limits).answer is Answer.YES
    sentences = [" ".join(check_page(checked(plan, **limits)).sentences) for plan in (result, known)]
    assert ["if copies are caught up at the next probe" in text for text in sentences] == [not wanted, False]


def test_no_beats_unknown_beats_yes() -> None:
    result = ranged("moves")
    value = result.summary.moves
    assert checked(result, max_moves=Limit(value + 5)).answer is Answer.YES
    assert checked(result, max_moves=Limit(value)).answer is Answer.UNKNOWN
    assert checked(result, max_moves=Limit(value), max_rebalances=Limit(1)).answer is Answer.NO


def test_what_is_waived_or_only_warns_does_not_count() -> None:
    result = ranged("moves")
    value = result.summary.moves
    waiver = Waiver("*", "max_moves", date(2027, 1, 31), "OPS-1")
    waived = checked(result, waivers=(waiver,), max_moves=Limit(value))
    assert (waived.answer, finding(waived, "max_moves").answer) == (Answer.YES, Answer.UNKNOWN)
    warns = checked(result, max_moves=Limit(value, Level.WARNING))
    assert (warns.answer, warns.check_answer(warnings_too=True)) == (Answer.YES, Answer.UNKNOWN)
    broken = checked(result, max_moves=Limit(value - 1, Level.WARNING))
    assert broken.check_answer(warnings_too=True) is Answer.NO


@pytest.mark.parametrize("fail_on_warning", [True, False])
def test_what_the_plan_warns_of_fails_where_warnings_do(fail_on_warning: bool) -> None:
    result = replace(likely(), warnings=(Note("copies-stale", "Copies may start cold", ("0_1",)),))
    check = check_all([checked(result, max_moves=Limit(20))], NOW, fail_on_warning=fail_on_warning)
    assert check.violated is fail_on_warning
    assert check.answer is (Answer.UNKNOWN if fail_on_warning else Answer.YES)
    document = json.loads(REPORTS["json"](check))
    warning = {"application_id": "S1", "code": "copies-stale", "message": "Copies may start cold", "subjects": ["0_1"]}
    assert document["warnings"] == [{**warning, "application_id": result.group.application_id}]
    assert document["plans"][0]["warnings"] == document["warnings"]
    assert document["plans"][0]["answer"] == document["answer"] == check.answer.value
    assert "Warning: Copies may start cold" in table_report(check)
    validator("check").validate(document)


def test_a_rule_that_warns_is_among_the_warnings() -> None:
    check = check_all([checked(likely(), max_moves=Limit(1, Level.WARNING))], NOW, fail_on_warning=True)
    document: Any = json.loads(REPORTS["json"](check))
    assert [warning["code"] for warning in document["warnings"]] == ["max_moves"]
    assert document["answer"] == "no"


def test_a_warning_of_no_plan_counts_as_well() -> None:
    unused = [("other", Note("baseline-unused", "not checked"))]
    check = check_all([checked(likely())], NOW, fail_on_warning=True, warnings=unused)
    assert (check.violated, check.answer) == (True, Answer.UNKNOWN)
    document = json.loads(REPORTS["json"](check))
    assert [(one["application_id"], one["code"]) for one in document["warnings"]] == [("other", "baseline-unused")]
    assert not check_all([checked(likely())], NOW, warnings=unused).violated


def test_unknown_fails_in_every_report() -> None:
    result = ranged("moves")
    check = check_all([checked(result, max_moves=Limit(result.summary.moves))], NOW)
    assert finding(check.plans[0], "max_moves").status is Status.ERROR
    table = table_report(check)
    assert "│ UNKNOWN: " in table
    assert "\n?  max_moves " in table
    assert "**UNKNOWN**: " in REPORTS["markdown"](check)
    assert "| **`?`** | max_moves |" in REPORTS["markdown"](check)
    assert '<failure message="25, above the limit of 20' in REPORTS["junit"](check)
    assert 'type="unknown"' in REPORTS["junit"](check)
    assert REPORTS["github"](check).startswith("::error title=S1%3A max_moves::25, above the limit of 20")
    document = json.loads(REPORTS["json"](check))
    found = next(one for one in document["plans"][0]["findings"] if one["rule"] == "max_moves")
    assert (found["answer"], found["status"], document["violated"]) == ("unknown", "error", True)
    assert "<strong>UNKNOWN:" in REPORTS["html"](check)


def test_several_plans_are_counted_by_their_answers() -> None:
    result = ranged("moves")
    plans = [checked(result, max_moves=Limit(limit)) for limit in (19, 20, 25)]
    text = table_report(check_all(plans, NOW))
    assert text.startswith("NO: 3 applications, 1 breaks the policy, 1 unknown, 1 passed\n")


def test_beside_a_rule_that_is_unknown_a_likely_duration_is_not_called_kept_without_its_condition() -> None:
    result = ranged("moves")
    assert result.summary.duration_is == "probes"
    limits = {"max_moves": Limit(result.summary.moves), "max_duration": Limit(10**12)}
    item = checked(result, **limits)
    assert (item.answer, finding(item, "max_duration").answer) == (Answer.UNKNOWN, Answer.YES)
    assert "max_duration is kept if copies are caught up at the next probe" in " ".join(check_page(item).sentences)


def test_cold_starts_of_another_outcome_are_not_those_of_the_tasks_of_this_one() -> None:
    known = replace(likely(), unproven_starts=())
    assert not known.summary.cold_handovers
    evidence = Evidence(known=Known.UNKNOWN, fact=Fact.STORES_UNKNOWN, words="stores are unknown")
    start = UnprovenStart(task_id=known.group.tasks[0].task_id, process_id="p", at_ms=0, evidence=evidence)
    unproven = (start, start)
    for most, words in ((2, "0 to 2 cold starts of 1 task"), (7, "0 to 7 cold starts")):
        ranges = (FigureRange("cold_handovers", 0, most),)
        plan = replace(known, unproven_starts=unproven, summary=replace(known.summary, ranges=ranges))
        assert figures(plan).endswith(words)
