"""A policy held against plans: limits, levels, waivers, the most specific glob, and orders that do not matter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.model import Snapshot
from kstream_plan.plans import Plan
from kstream_plan.plans.longest_pause import PAUSE_RULES
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Check, CheckedPlan, Finding, Standard, Status
from kstream_plan.policy.limits import Level, Limit, LimitValue, Percent, Policy, Waiver
from kstream_plan.policy.rules import RULES, Kind, Rule
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.table import table_report
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases, strategies

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
NUMBERS = [
    name
    for name, rule in RULES.items()
    if not rule.of_workers and rule.kind in (Kind.DURATION, Kind.COUNT, Kind.RECORDS)
]


def checked(made: Plan, waivers: tuple[Waiver, ...] = (), **limits: Limit) -> CheckedPlan:
    return check_plan(made, Standard(Policy(defaults=limits, waivers=waivers), NOW))


def finding(found: CheckedPlan, rule: str) -> Finding:
    return next(one for one in found.findings if one.rule == rule)


def _generous(rule: Rule) -> LimitValue:
    return 0 if rule.at_least else 2**63 - 1


@given(strategies.snapshots())
@settings(max_examples=60)
def test_the_measured_value_is_allowed_and_one_less_is_not(snapshot: Snapshot) -> None:
    made = plan(replace(snapshot, captured_at="2026-11-21T12:00:00.000Z"), max_rounds=12)
    for name in NUMBERS:
        rule = RULES[name]
        measured = finding(checked(made, **{name: Limit(_generous(rule))}), name).value
        if measured is None:
            assert _unknown(name, made), name
            continue
        if measured > _generous(rule) and not rule.at_least:
            continue  # several tasks may restore more than the highest limit there is, and that is broken by then
        assert not (RULES[name].figure and made.verdict.kind == "unfinished"), name
        assert finding(checked(made, **{name: Limit(measured)}), name).status is Status.PASSED
        stricter = measured + 1 if rule.at_least else measured - 1
        if rule.at_least and not made.group.stateful:
            continue
        if stricter >= 0:
            broken = finding(checked(made, **{name: Limit(stricter)}), name)
            assert broken.status is Status.ERROR, name
            assert broken.value == measured


def _unknown(name: str, made: Plan) -> bool:
    """Whether what a rule measures is unknown for a reason that the plan gives."""
    if made.verdict.kind != "settled":
        return True
    if name in PAUSE_RULES:
        return (made.pauses_are_least and made.ends("cold_handovers")[1] > 0) or _restores_within_limit(made)
    return name == "max_restored_records" and made.may_be_endless("restored_records")


def _restores_within_limit(made: Plan) -> bool:
    return any(note.code == RESTORES_WITHIN_LIMIT for note in made.warnings)


@given(strategies.snapshots())
@settings(max_examples=40)
def test_figures_are_those_of_the_summary(snapshot: Snapshot) -> None:
    made = plan(snapshot, max_rounds=12)
    found = checked(made, **{name: Limit(_generous(RULES[name])) for name in NUMBERS})
    worst = {one.figure: one.high for one in made.summary.ranges}
    for name in NUMBERS:
        if (figure := RULES[name].figure) and made.verdict.kind == "settled":
            measured, told = finding(found, name).value, worst.get(figure, made.figure(figure))
            if name in PAUSE_RULES and _restores_within_limit(made):
                assert measured is None
            elif name in PAUSE_RULES and made.ends("cold_handovers")[1]:  # what these restore comes on top
                assert told is not None
                assert measured is None if made.pauses_are_least else (measured or 0) >= told
            elif name == "max_cold_handovers" and made.ends("restoring_first")[1]:  # in some outcome
                assert measured is not None
                assert told is not None
                assert measured > told
            else:
                assert measured == told, name


@given(st.permutations(["scale-out", "settled", "crash", "pods", "never-ready"]))
@settings(max_examples=10)
def test_the_order_of_plans_does_not_matter(names: list[str]) -> None:
    strict = {"max_moves": Limit(3), "max_duration": Limit(60_000, Level.WARNING)}
    ordered = check_all([checked(plan_cases.case(name), **strict) for name in sorted(names)], NOW)
    shuffled = check_all([checked(plan_cases.case(name), **strict) for name in names], NOW)
    assert table_report(shuffled) == table_report(ordered)
    for write in REPORTS.values():
        assert write(shuffled) == write(ordered)


def test_an_empty_policy_demands_that_plans_settle() -> None:
    assert [one.rule for one in checked(plan_cases.case("scale-out")).findings] == ["must_settle"]
    assert checked(plan_cases.case("never-ready")).findings[0].status is Status.ERROR
    assert not checked(plan_cases.case("never-ready"), must_settle=Limit(False)).findings_of(Status.ERROR)


@pytest.mark.parametrize(
    "name", ["max_duration", "max_rebalances", "max_moves", "max_cold_handovers", "balance_factor"]
)
def test_a_plan_that_was_cut_keeps_to_no_limit_of_what_is_still_to_come(name: str) -> None:
    cut = checked(plan_cases.case("unfinished"), must_settle=Limit(False), **{name: Limit(_generous(RULES[name]))})
    found = finding(cut, name)
    assert found.status is Status.ERROR
    assert found.value is None
    assert "the plan stops before its end" in table_report(check_all([cut], NOW), width=200)


def test_who_probes_for_ever_keeps_to_no_limit_of_time() -> None:
    limits = {name: Limit(_generous(RULES[name])) for name in ("max_duration", "max_rebalances", "max_moves")}
    stuck = checked(plan_cases.case("never-ready"), must_settle=Limit(False), **limits)
    assert {one.rule for one in stuck.findings_of(Status.ERROR)} == {"max_duration", "max_rebalances"}
    some = OverDraws(10, 3, {})
    made = plan_cases.case("scale-out")
    standard = Standard(Policy({"must_settle": Limit(False), **limits}), NOW)
    drawn = check_plan(made, standard, draws=some)
    assert {one.rule for one in drawn.findings_of(Status.ERROR)} == {"max_duration", "max_rebalances"}
    assert not check_plan(made, standard, draws=some._replace(unsettled_draws=0)).findings_of(Status.ERROR)


def test_guards_are_about_what_a_plan_that_was_cut_was_made_from() -> None:
    cut = plan_cases.case("unfinished")
    standard = Standard(Policy({"must_settle": Limit(False)}), NOW, {"--expect-digest": (cut.digest,)})
    assert not check_plan(cut, standard).findings_of(Status.ERROR)


def test_the_most_specific_glob_wins_rule_by_rule() -> None:
    policy = Policy(
        defaults={"max_moves": Limit(1), "max_warmups": Limit(1)},
        applications={
            "payments-eu": {"max_moves": Limit(5)},
            "*": {"max_moves": Limit(2), "max_rebalances": Limit(2)},
            "payments-*": {"max_moves": Limit(4), "max_duration": Limit(4)},
            "pay*": {"max_moves": Limit(3), "max_duration": Limit(3)},
            "payments-[ab]*": {"max_moves": Limit(6)},
        },
    )

    def limits(application_id: str) -> dict[str, LimitValue]:
        return {name: limit.value for name, limit in policy.limits(application_id).items()}

    always = {"must_settle": True, "max_warmups": 1, "max_rebalances": 2}
    assert limits("payments-eu") == {**always, "max_moves": 5, "max_duration": 4}
    assert limits("payments-us") == {**always, "max_moves": 4, "max_duration": 4}
    assert limits("payroll") == {**always, "max_moves": 3, "max_duration": 3}
    assert limits("Payroll") == {**always, "max_moves": 2}


def test_of_globs_with_as_many_characters_the_one_with_fewer_wildcards_is_more_specific() -> None:
    globs = ["p*ay*", "pay*", "?ay*", "[pq]ay*"]
    for order in permutations(globs):
        policy = Policy(applications={glob: {"max_moves": Limit(glob)} for glob in order})  # type: ignore[arg-type]
        assert policy.limits("pay")["max_moves"].value == "pay*"
    for order in permutations(["p*ay*", "pa*y*"]):
        policy = Policy(applications={glob: {"max_moves": Limit(glob)} for glob in order})  # type: ignore[arg-type]
        assert policy.limits("pay")["max_moves"].value == "pa*y*", "whatever the order of the file"


@pytest.mark.parametrize(
    ("until", "application", "status"),
    [
        (date(2026, 11, 21), "S*", Status.WAIVED),
        (date(2026, 11, 20), "S*", Status.ERROR),
        (date(2027, 1, 1), "payments", Status.ERROR),
    ],
)
def test_waivers(until: date, application: str, status: Status) -> None:
    waiver = Waiver(application, "max_moves", until, "OPS-1")
    found = finding(checked(plan_cases.case("scale-out"), (waiver,), max_moves=Limit(1)), "max_moves")
    assert found.status is status
    assert (found.waiver == waiver) == (status is Status.WAIVED)
    assert (found.expired == waiver) == (until < NOW.date())


def test_a_waiver_that_is_not_needed_changes_nothing() -> None:
    waiver = Waiver("*", "max_moves", date(2027, 1, 1), "OPS-1")
    found = finding(checked(plan_cases.case("settled"), (waiver,), max_moves=Limit(1)), "max_moves")
    assert (found.status, found.waiver) == (Status.PASSED, None)


def test_warnings_fail_only_where_they_are_told_to() -> None:
    found = checked(plan_cases.case("scale-out"), max_moves=Limit(1, Level.WARNING))
    assert not check_all([found], NOW).violated
    assert check_all([found], NOW, fail_on_warning=True).violated


def test_percent_is_of_the_whole_that_the_rule_counts() -> None:
    found = finding(checked(plan_cases.case("scale-out"), max_moves=Limit(Percent(Decimal("83.4")))), "max_moves")
    assert (found.allowed, found.value, found.status) == (20, 20, Status.PASSED)
    found = finding(checked(plan_cases.case("scale-out"), max_moves=Limit(Percent(Decimal("83.3")))), "max_moves")
    assert (found.allowed, found.status) == (19, Status.ERROR)


def test_percent_of_records_is_of_all_that_stateful_tasks_have() -> None:
    made = plan_cases.case("scale-out")
    whole = sum(made.group.tasks[task].end_offset_sum for task in made.group.stateful)
    limit = Limit(Percent(Decimal("12.5")))
    assert finding(checked(made, max_restored_records=limit), "max_restored_records").allowed == int(whole * 0.125) > 0


def test_percent_of_something_unknown_is_broken() -> None:
    limit = Limit(Percent(Decimal(100)))
    found = finding(checked(plan_cases.case("unknown-end-offsets"), max_restored_records=limit), "max_restored_records")
    assert (found.allowed, found.value, found.status) == (None, None, Status.ERROR)


def test_no_waiver_lets_anybody_off_a_guard() -> None:
    waiver = Waiver("*", "require_generation", date(2030, 1, 1), "never")
    standard = Standard(Policy(waivers=(waiver,)), NOW, {"--require-generation": 5})
    assert check_plan(plan_cases.case("scale-out"), standard).findings[0].status is Status.ERROR


def test_a_broken_invariant_is_told_as_a_defect_of_ours() -> None:
    made = plan_cases.case("scale-out")
    broken = replace(made, summary=replace(made.summary, moves=1))
    found = check_all([checked(broken)], NOW)
    assert found.violated
    assert found.findings[0].rule == "summary-adds-up"
    assert "a defect of kstream-plan" in table_report(found, width=200)
    assert "contradicts itself" in table_report(found, width=200)
    assert not any(one.invariant for one in checked(made).findings)


def test_the_baseline_shows_what_was_before() -> None:
    before, after = plan_cases.case("settled"), plan_cases.case("scale-out")
    standard = Standard(Policy(defaults={"max_moves": Limit(1)}), NOW)
    found = finding(check_plan(after, standard, baseline=before), "max_moves")
    assert (found.value, found.baseline_value, found.kept_before) == (20, 0, True)


def test_the_baseline_s_own_snapshot_does_not_matter() -> None:
    policy = Policy(defaults={"max_snapshot_age": Limit(1), "require_generation": Limit(1)})
    found = check_plan(plan_cases.case("scale-out"), Standard(policy, NOW), baseline=plan_cases.case("settled"))
    for rule in ("max_snapshot_age", "require_generation"):
        assert finding(found, rule).kept_before is None


def test_a_check_of_nothing_is_not_violated() -> None:
    assert not Check((), NOW).violated
    assert table_report(Check((), NOW)) == "UNKNOWN: 0 applications, 0 passed\n"
