"""Connect groups under a policy: what nobody runs counts, and what is about state does not apply, which is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.remarks import remarks
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import CheckedPlan, Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.policy.rules import RULES, Kind
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.table import table_report
from kstream_plan.simulation.cures import cures
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers import plan_cases
from tests.helpers.connect_rows import even, row, snapshot
from tests.helpers.schemas import validator

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LENIENT = {
    "max_duration": 900_000,
    "max_rebalances": 9,
    "max_pause_per_task": 600_000,
    "max_pause_per_handover": 600_000,
    "max_pause_in_all": 9_000_000,
    "max_paused_tasks_at_once": 100,
    "max_moves": 100,
}
OF_STATE = {name for name, rule in RULES.items() if rule.of_state}
LEAVE = Scenario(events=(Leave(at_ms=0, process_ids=("w1",)),))


def standard(**limits: Any) -> Standard:
    return Standard(Policy({name: Limit(value) for name, value in limits.items()}), NOW)


def checked(result: Plan | None = None, draws: OverDraws | None = None, **limits: Any) -> CheckedPlan:
    result = result or plan_checked(snapshot(even(3)), scenario=LEAVE)
    return check_plan(result, standard(**limits), draws=draws)


@pytest.mark.parametrize(
    ("rule", "measured"),
    [
        ("max_pause_per_task", 303_000),
        ("max_pause_per_handover", 303_000),
        ("max_pause_in_all", 1_515_000),
        ("max_paused_tasks_at_once", 5),
        ("max_duration", 303_000),  # the delay begins once the leave is heard of
        ("max_rebalances", 2),
        ("max_moves", 5),
        ("balance_factor", 1),
    ],
)
def test_what_nobody_runs_counts_as_a_pause(rule: str, measured: int) -> None:
    for limit, status in ((measured, Status.PASSED), (measured - 1, Status.ERROR)):
        (finding,) = (one for one in checked(**{rule: limit}).findings if one.rule == rule)
        assert (finding.status, finding.value) == (status, measured)


def test_a_duration_counts_until_all_have_heard_but_not_where_they_join_by_themselves() -> None:
    heard = plan_checked(snapshot(even(3)), scenario=Scenario(events=(Leave(at_ms=5_000, process_ids=("w1",)),)))
    waiting = even(3)
    gone = waiting["instances"].pop()
    waiting["instances"][0]["memory"] = {
        "previous": [group for item in [*waiting["instances"], gone] for group in item["held"]],
        "scheduled_at": "2026-11-22T12:01:00Z",
        "delay_ms": 300_000,
        "generation": 12,
        "members": ["w0", "w1"],
    }
    by_itself = plan_checked(snapshot(waiting), scenario=Scenario(events=()))
    for result, more_ms in ((heard, 3_000), (by_itself, 0)):
        assert result.summary.duration_ms == result.rounds[-1].at_ms + more_ms > 0
        for limit_ms, status in (
            (result.summary.duration_ms - 1, Status.ERROR),
            (result.summary.duration_ms, Status.PASSED),
        ):
            findings = checked(result, max_duration=limit_ms).findings
            (finding,) = (one for one in findings if one.rule == "max_duration")
            assert (finding.value, finding.status) == (result.summary.duration_ms, status)


def test_rules_about_state_do_not_apply_and_are_not_passed_in_any_form() -> None:
    limits = {name: ((("zone", 2),) if RULES[name].kind is Kind.TAGS else 0) for name in OF_STATE}
    found = checked(**limits)
    assert {one.rule for one in found.findings_of(Status.NOT_APPLICABLE)} == OF_STATE
    assert {one.rule for one in found.findings_of(Status.PASSED)} == {"must_settle"}
    result = check_all([found], NOW)
    assert not result.violated
    answer = table_report(result, width=120)
    assert "no policy has a rule for this application" in answer
    assert answer.count("does not apply: connectors and tasks have no state") == len(OF_STATE)
    document = json.loads(REPORTS["json"](result))
    validator("check").validate(document)
    assert sum(one["status"] == "not-applicable" for one in document["plans"][0]["findings"]) == len(OF_STATE)
    suite = ElementTree.fromstring(REPORTS["junit"](result))[0]
    assert suite.get("skipped") == str(len(OF_STATE))
    assert REPORTS["github"](result).count("::notice ") == len(OF_STATE)
    assert REPORTS["markdown"](result).count(" | does not apply: connectors") == len(OF_STATE)


def test_they_apply_to_groups_that_have_state() -> None:
    found = checked(plan_cases.case("scale-out"), **dict.fromkeys(OF_STATE - {"distinct_tag_values"}, 0))
    assert not found.findings_of(Status.NOT_APPLICABLE)


def test_a_policy_that_limits_no_pause_is_told() -> None:
    for limits, answer in (({"max_rebalances": 9}, True), ({"max_pause_per_task": 10**9}, False)):
        text = table_report(check_all([checked(**limits)], NOW), width=200)
        assert "5 unassigned at once, at most 5m03s each" in text
        assert ("no rule limits that" in text) is answer


def test_a_shorter_delay_cures_and_is_measured() -> None:
    item = snapshot(even(3))
    for limit, delay_ms, measured in ((90_000, 60_000, 63_000), (30_000, 0, 3_000)):
        held = standard(max_pause_per_task=limit)
        found = cures(
            check_plan(plan_checked(item, scenario=LEAVE), held), item, held, scenario=LEAVE, number_of_draws=1
        )
        (finding,) = found.findings_of(Status.ERROR)
        assert finding.cure is not None
        assert finding.cure.settings == (("scheduled_rebalance_max_delay_ms", delay_ms),)
        assert finding.cure.value == measured


def test_of_draws_that_were_saved_before_there_was_the_rule_nothing_is_known() -> None:
    draws = OverDraws(worst={"max_pause_per_task": 300_000}, number=7, unsettled_draws=0)
    found = checked(draws=draws, max_pause_in_all=10**9, max_pause_per_task=10**9)
    (finding,) = found.findings_of(Status.ERROR)
    assert (finding.rule, finding.value) == ("max_pause_in_all", None)


@pytest.mark.parametrize("remembers", [True, False])
def test_what_may_wait_for_a_delay_that_nobody_knows_of_passes_no_rule_about_pauses(remembers: bool) -> None:
    item = even(3)
    if remembers:
        item["instances"].append({"process_id": "w9", "java": 17, "held": []})
    else:
        item["instances"].pop()
    found = checked(plan_checked(snapshot(item)), **LENIENT)
    assert [one.status for one in found.findings if one.rule in LENIENT] == [
        Status.PASSED if remembers else Status.ERROR
    ] * len(LENIENT)


@pytest.mark.parametrize(
    ("counts", "delay_ms", "status"),
    [
        ((4, 4), 300_000, Status.ERROR),  # what a killed worker ran shows as running there
        ((4, 4), 0, Status.PASSED),
        ((4, 3), 300_000, Status.ERROR),  # a task that nobody has
        ((6, 2), 300_000, Status.ERROR),  # as in no group that has settled
        ((6, 2), 0, Status.PASSED),
    ],
)
def test_of_what_rest_tells_nothing_passes_that_looks_like_a_delay(
    counts: tuple[int, int], delay_ms: int, status: Status
) -> None:
    first, second = counts
    tasks = {"w0": (-1, *range(first)), "w1": range(first, first + second)}
    held = {"w0": {"c0": tasks["w0"]}, "w1": {"c1": (-1,), "c0": tasks["w1"]}}
    item = row({"c0": 8, "c1": 0}, held, exact=False, config={"scheduled_rebalance_max_delay_ms": delay_ms})
    result = plan_checked(snapshot(item))
    found = checked(result, **LENIENT)
    assert {one.status for one in found.findings if one.rule in LENIENT} == {status}
    said = " ".join(table_report(check_all([found], NOW), width=200).split())
    assert ("? max_duration unknown 15m whether a delay runs is unknown" in said) is (status is Status.ERROR)
    assert ("(unless a worker has crashed: REST does not tell)" in said) is (status is Status.PASSED)
    code = "delay-unknown" if status is Status.ERROR else "counts-only"
    assert [caveat.code for caveat in found.caveats] == [code]


@pytest.mark.parametrize("delay_ms", [0, 300_000])
def test_a_worker_that_does_not_answer_makes_unknown_what_depends_on_it(delay_ms: int) -> None:
    held = {"w0": {"c0": (-1, 0, 1)}, "w1": {"c0": (2, 3)}}
    item = row({"c0": 4}, held, exact=False, config={"scheduled_rebalance_max_delay_ms": delay_ms})
    item["instances"][1]["answered"] = False
    found = checked(plan_checked(snapshot(item)), **LENIENT)
    assert {one.status for one in found.findings if one.rule in LENIENT} == {Status.ERROR}
    assert "worker-silent" in {note.code for note in found.caveats}
    validator("check").validate(json.loads(REPORTS["json"](check_all([found], NOW))))


def test_no_format_reads_as_a_plain_pass_where_rest_does_not_tell_of_a_crash_or_items_run_several_times() -> None:
    held = {"w0": {"c0": (-1, 0, 1)}, "w1": {"c0": (1, 2, 3)}}
    without_delay = {"scheduled_rebalance_max_delay_ms": 0}
    found = checked(plan_checked(snapshot(row({"c0": 4}, held, exact=False, config=without_delay))), **LENIENT)
    result = check_all([found], NOW)
    assert not result.violated
    crash = "unless a worker has crashed: REST does not tell"
    several = "several workers run the same now: 1 of 5 connectors and tasks"
    document = json.loads(REPORTS["json"](result))
    validator("check").validate(document)
    assert document["plans"][0]["caveats"] == [
        {"code": "counts-only", "message": crash},
        {"code": "held-by-several", "message": several},
    ]
    assert REPORTS["github"](result).splitlines() == [
        f"::notice title=live%3A counts-only::{crash}",
        f"::notice title=live%3A held-by-several::{several}",
    ]
    suite = ElementTree.fromstring(REPORTS["junit"](result)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("skipped")) == (str(len(found.findings) + 2), "2")
    assert f"({crash}) ({several})" in " ".join(table_report(result).replace("│", "").split())


def test_the_most_tasks_of_a_connector_on_one_worker_are_limited() -> None:
    """Each worker of the fixture runs all tasks of one connector (KAFKA-17049); names the worst first."""
    rule = "max_connector_tasks_per_worker"
    unmoved = plan_checked(snapshot(even(3)))
    [kept] = [one for one in checked(unmoved, **{rule: 4}).findings if one.rule == rule]
    assert (kept.status, kept.value) == (Status.PASSED, 4)
    broken = checked(unmoved, **{rule: 3})
    [finding] = [one for one in broken.findings if one.rule == rule]
    assert (finding.status, finding.value) == (Status.ERROR, 4)
    assert [offence.note for offence in finding.offences] == [
        f"runs 4 of 4 tasks of connector c{number}" for number in range(3)
    ]
    assert "w0 runs 4 of 4 tasks of connector c0" in table_report(check_all([broken], NOW), width=200)
    assert [note.code for note in remarks(unmoved).notes] == ["connector-uneven"]


def test_rest_tells_which_tasks_a_worker_runs_unless_some_move() -> None:
    rule, of_rest = "max_connector_tasks_per_worker", even(3)
    for instance in of_rest["instances"]:
        instance.pop("leader", None)
        instance.pop("memory", None)
    of_rest["exact"] = False
    unmoved = plan_checked(snapshot(of_rest))
    [broken] = [one for one in checked(unmoved, **{rule: 3}).findings if one.rule == rule]
    assert (broken.status, broken.value, broken.unknown) == (Status.ERROR, 4, False)
    assert [note.code for note in remarks(unmoved).notes] == ["connector-uneven"]
    moved = plan_checked(snapshot(of_rest), scenario=LEAVE)
    for limit in (3, 4):  # a connector has four tasks: no worker can run more
        found = checked(moved, **{rule: limit})
        [finding] = [one for one in found.findings if one.rule == rule]
        assert finding.status is (Status.PASSED if limit == 4 else Status.ERROR)
        assert finding.unknown is (limit == 3)
        why = "REST tells neither whether work waits nor which tasks move"
        assert (why in table_report(check_all([found], NOW), width=200)) is (limit == 3)


def test_a_streams_application_has_no_connectors() -> None:
    found = checked(plan_cases.case("crash-standbys"), max_connector_tasks_per_worker=1)
    assert [one.rule for one in found.findings_of(Status.NOT_APPLICABLE)] == ["max_connector_tasks_per_worker"]
    assert "it is about workers of Kafka Connect" in table_report(check_all([found], NOW), width=200)
