"""What rules that are kept do not say: each caveat of a plan in its words, and which plan is the worst."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Holding, Holdings, Note, TaskId
from kstream_plan.model.answer import Answer
from kstream_plan.plans import Plan
from kstream_plan.policy.findings import (
    Check,
    CheckedPlan,
    Finding,
    Standard,
    Status,
    Tally,
    badness,
    check_answer,
)
from kstream_plan.policy.limits import Level, Limit, Policy, Waiver
from kstream_plan.policy.rules import RULES, Kind, Offence
from kstream_plan.render.pages.plan import plan_page
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers import captured_scenarios, plan_cases

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
TASKS = tuple(f"0_{number}" for number in range(1_200))


def checked(plan: Plan, *findings: Finding) -> CheckedPlan:
    return CheckedPlan(plan, findings, None)


def said(*notes: Note, assumed: tuple[Note, ...] = ()) -> list[tuple[str, str, tuple[str, ...]]]:
    result = replace(plan_cases.case("settled"), warnings=notes, assumptions=assumed)
    return [(note.code, note.message, note.subjects) for note in checked(result).caveats]


@pytest.mark.parametrize(
    ("code", "number", "message"),
    [
        ("restores-within-limit", 1, "1 task counts as caught up and restores all the same"),
        ("restores-within-limit", 2, "2 tasks count as caught up and restore all the same"),
        ("restores-within-limit", 1_200, "1,200 tasks count as caught up and restore all the same"),
        ("tasks-maybe-restoring", 1, "1 task, started cold before, may not run yet"),
        ("tasks-maybe-restoring", 1_200, "1,200 tasks, started cold before, may not run yet"),
        ("copies-together", 3, "rack.aware.assignment.tags does not keep all copies apart"),
        ("threads-not-planned", 3, "num.stream.threads is not planned: instances have other threads now"),
        ("held-by-several", 2, "several workers run the same now: 2 of 30 connectors and tasks"),
        ("held-by-several", 1_200, "several workers run the same now: 1,200 of 30 connectors and tasks"),
    ],
)
def test_a_caveat_counts_and_names_what_it_is_about(code: str, number: int, message: str) -> None:
    assert len(plan_cases.case("settled").group.tasks) == 30
    note = Note(code, "as the plan says it", TASKS[:number])
    assert said(note) == said(assumed=(note,)) == [(code, message, TASKS[:number])]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("worker-silent", "a worker does not answer: it may have gone"),
        ("delay-unknown", "a delay may run that is not known of"),
        ("counts-only", "unless a worker has crashed: REST does not tell"),
    ],
)
def test_what_the_rest_interface_leaves_open_is_told(code: str, message: str) -> None:
    assert said(Note(code, "")) == [(code, message, ())]
    assert said() == []


def test_a_delay_that_may_run_is_told_instead_of_what_counts_alone_do_not_tell() -> None:
    assert [code for code, *_ in said(Note("counts-only", ""), Note("delay-unknown", ""))] == ["delay-unknown"]


def test_copies_that_come_no_closer_are_counted_over_all_that_the_plan_warns_of() -> None:
    notes = [Note("comes-no-closer", "", (task,)) for task in TASKS[:2]]
    assert said(notes[0]) == [("comes-no-closer", "of 1 copy the lag did not fall while it was observed", TASKS[:1])]
    assert said(*notes) == [("comes-no-closer", "of 2 copies the lag did not fall while it was observed", TASKS[:2])]
    many = [Note("comes-no-closer", "", TASKS)]
    assert said(*many)[0][1] == "of 1,200 copies the lag did not fall while it was observed"
    assert said(assumed=tuple(notes)) == []


def test_a_plan_warns_of_cold_starts_of_its_own_and_of_caveats_that_it_does_not_name_itself() -> None:
    result = replace(plan_cases.case("settled"), warnings=(), assumptions=())
    for cold, message in ((1, "1 start is cold"), (2, "2 starts are cold"), (1_200, "1,200 starts are cold")):
        started = replace(result, summary=replace(result.summary, cold_handovers=cold))
        assert [(note.code, note.message) for note in checked(started).warnings] == [("cold-starts", message)]
    assert checked(result).warnings == ()
    own = Note("copies-together", "in the plan's own words", TASKS[:1])
    assert checked(replace(result, warnings=(own,))).warnings == (own,)
    assumed = checked(replace(result, assumptions=(own,))).warnings
    assert [note.code for note in assumed] == ["copies-together"]
    assert assumed != (own,)


def found(
    *offences: Offence,
    rule: str = "max_moves",
    level: Level = Level.ERROR,
    measured: int | None = 9,
    allowed: int | None = 3,
    application_id: str = "a",
    waived: bool = False,
    invariant: bool = False,
    unknown: bool = False,
    applies: bool = True,
) -> Finding:
    return Finding(
        rule=rule,
        kind=Kind.COUNT,
        application_id=application_id,
        limit=Limit(3, level),
        allowed=allowed,
        value=measured,
        offences=offences,
        waiver=Waiver("*", rule, date(2027, 1, 1), "") if waived else None,
        invariant=invariant,
        unknown=unknown,
        applies=applies,
    )


BAD = Offence(9, 4)


def test_who_is_to_blame_is_named_worst_first_and_once() -> None:
    first, second = TaskId(0, 1), TaskId(0, 2)
    blamed = found(Offence(9, 4, second), Offence(8, 2, first), Offence(7, None, second), Offence(6))
    assert (blamed.round_number, blamed.tasks) == (4, (second, first))
    assert (found().round_number, found().tasks) == (None, ())


@pytest.mark.parametrize(
    ("allowed", "measured", "excess"),
    [(3, 9, 3.0), (9, 3, 3.0), (5, 5, 1.0), (0, 4, 5.0), (4, 0, 5.0), (None, 4, float("inf")), (4, None, float("inf"))],
)
def test_how_far_beyond_the_limit_is_a_ratio_and_what_is_unknown_the_farthest(
    allowed: int | None, measured: int | None, excess: float
) -> None:
    assert found(BAD, allowed=allowed, measured=measured).excess == excess
    assert found(BAD, allowed=True, measured=0).excess == float("inf")


@pytest.mark.parametrize(
    ("finding", "status", "answer"),
    [
        (found(), Status.PASSED, Answer.YES),
        (found(BAD), Status.ERROR, Answer.NO),
        (found(BAD, unknown=True), Status.ERROR, Answer.UNKNOWN),
        (found(BAD, level=Level.WARNING), Status.WARNING, Answer.NO),
        (found(BAD, waived=True), Status.WAIVED, Answer.NO),
        (found(BAD, applies=False), Status.NOT_APPLICABLE, Answer.YES),
    ],
)
def test_a_finding_has_a_status_and_an_answer(finding: Finding, status: Status, answer: Answer) -> None:
    assert (finding.status, finding.answer) == (status, answer)
    plan = checked(plan_cases.case("settled"), finding)
    assert plan.findings_of(status) == (finding,)
    assert plan.answer is (answer if status is Status.ERROR else Answer.YES)
    assert plan.worst is (status if status in (Status.ERROR, Status.WARNING) else Status.PASSED)


#: From the worst to the best.
_IN_ORDER = [
    found(BAD, invariant=True, application_id="z"),
    found(BAD, measured=None),
    found(BAD, measured=30),
    found(BAD, application_id="a", rule="max_rebalances"),
    found(BAD, application_id="a"),
    found(BAD, application_id="a", rule="not-a-rule"),
    found(BAD, application_id="b", rule="max_rebalances"),
    found(BAD, level=Level.WARNING, measured=99),
    found(BAD, waived=True, measured=999),
    found(BAD, applies=False),
    found(measured=9_999, rule="max_rebalances"),
    found(measured=1),
]


@given(st.permutations(_IN_ORDER))
def test_findings_are_sorted_by_how_bad_they_are(findings: list[Finding]) -> None:
    assert list(RULES).index("max_rebalances") < list(RULES).index("max_moves")
    assert sorted(findings, key=badness) == _IN_ORDER
    assert Check((checked(plan_cases.case("settled"), *findings),), NOW).findings == tuple(_IN_ORDER)


def test_the_plan_with_most_errors_comes_first_then_most_warnings_then_most_waived() -> None:
    warns, waived = found(BAD, level=Level.WARNING), found(BAD, waived=True)
    result = plan_cases.case("settled")
    ordered = [
        checked(result, found(BAD), found(BAD)),
        checked(result, found(BAD), warns),
        checked(result, found(BAD)),
        checked(result, warns),
        checked(result, waived),
        checked(result, found()),
        replace(checked(result), source="b.json"),
        checked(replace(result, digest="~")),
    ]
    for few in permutations(ordered, 2):
        assert [ordered.index(entry) for entry in sorted(few, key=lambda item: item.place)] == sorted(
            map(ordered.index, few)
        )


def test_a_whole_check_is_unknown_where_something_is_amiss_and_no_where_a_plan_is() -> None:
    warning, error = ("a", Note("unused", "")), ("a", "is wrong")
    for answers, errors, warnings, strict, answer in (
        ((Answer.YES,), (), (), False, Answer.YES),
        ((Answer.YES,), (), (warning,), False, Answer.YES),
        ((Answer.YES,), (), (warning,), True, Answer.UNKNOWN),
        ((Answer.YES,), (), (), True, Answer.YES),
        ((Answer.YES,), (error,), (), False, Answer.UNKNOWN),
        ((Answer.NO,), (error,), (), False, Answer.NO),
        ((), (), (), False, Answer.UNKNOWN),
    ):
        tally = Tally((), answers, NOW, strict, False, errors, warnings)
        assert tally.answer is answer
    assert check_answer([Answer.YES], amiss=False) is Answer.YES
    assert check_answer([Answer.YES], amiss=True) is Answer.UNKNOWN


def test_a_tally_keeps_what_its_check_says() -> None:
    result, warning = replace(plan_cases.case("settled"), warnings=()), ("b", Note("unused", ""))
    plans = (
        checked(result, found(BAD, unknown=True)),
        checked(result, found(BAD, level=Level.WARNING)),
        checked(result),
    )
    for strict in (True, False):
        check = Check(plans, NOW, strict, (("a", "is wrong"),), (warning,))
        assert check.tally == Tally(
            (Status.ERROR, Status.WARNING, Status.PASSED),
            (Answer.UNKNOWN, Answer.NO if strict else Answer.YES, Answer.YES),
            NOW,
            strict,
            True,
            (("a", "is wrong"),),
            (warning,),
        )
        assert check.answer is check.tally.answer is (Answer.NO if strict else Answer.UNKNOWN)
    assert Check(plans[1:], NOW, True).violated
    assert not Check(plans[1:], NOW, False, (), (warning,)).violated
    assert Check(plans[2:], NOW, True, (), (warning,)).violated


def test_a_standard_without_guards_has_none() -> None:
    assert dict(Standard(Policy(), NOW).guards) == {}


def test_tasks_that_are_unassigned_at_first_are_said_beside_rules_that_are_kept() -> None:
    snapshot = captured_scenarios.before("scale-out")
    group, (first, *others) = snapshot.state.group, snapshot.state.holdings
    kept = tuple(task for task in first.active if group.tasks[task].stateful)
    holdings = Holdings.of(group, [Holding(active=kept, standby=first.standby, warmup=first.warmup), *others])
    unassigned = len(first.active) - len(kept)
    result = plan_checked(replace(snapshot, state=replace(snapshot.state, holdings=holdings)))
    caveat = next(caveat for caveat in checked(result).caveats if caveat.code == "paused-before")
    assert caveat.message.startswith(f"{unassigned} task pauses when the plan begins, since when is unknown")
    assert len(caveat.subjects) == unassigned
    pause = next(fact.value for fact in plan_page(result).facts if fact.key == "pause")
    assert pause == f"none from then on; {unassigned} task paused before, since when is unknown"
    assert "paused-before" not in {caveat.code for caveat in checked(plan_checked(snapshot)).caveats}
