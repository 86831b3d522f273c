"""What ``check`` shows and writes: looked at line by line once, read back by others' parsers, safe with any name."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from rich.cells import cell_len

from kstream_plan.documents.policy_file import read_policy
from kstream_plan.model import Group, Note
from kstream_plan.model.answer import Answer
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.plans.verdict import Verdict
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Check, Standard, Status
from kstream_plan.policy.limits import Level
from kstream_plan.policy.rules import Offence
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.github import not_for_the_runner
from kstream_plan.render.check.markdown import MARK
from kstream_plan.render.check.table import table_report
from kstream_plan.render.check.wording import figures
from kstream_plan.render.pages.check import check_page
from kstream_plan.render.report.reports import MOST_SECTIONS
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.cures import cures
from tests.helpers import check_cases, plan_cases
from tests.helpers.check_cases import NOW
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator

_SUFFIXES = {"json": "json", "markdown": "md", "junit": "xml", "github": "txt"}


@pytest.mark.parametrize("name", check_cases.NAMES)
def test_table(name: str) -> None:
    assert_golden(f"check/{name}.txt", table_report(check_cases.case(name)))


@pytest.mark.parametrize("form", ["markdown", "junit", "github"])
@pytest.mark.parametrize("name", ["sample", "uneven", "waived", "evil-names", "fleet", "defect", "passed"])
def test_report(form: str, name: str) -> None:
    assert_golden(f"check/{name}.{form}.{_SUFFIXES[form]}", REPORTS[form](check_cases.case(name)))


@pytest.mark.parametrize("name", check_cases.NAMES)
@pytest.mark.parametrize("width", [60, 80, 121])
def test_no_line_is_wider_than_the_page(name: str, width: int) -> None:
    for line in table_report(check_cases.case(name), width=width).splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("name", check_cases.NAMES)
def test_json_is_as_its_schema_says(name: str) -> None:
    document = json.loads(REPORTS["json"](check_cases.case(name)))
    validator("check").validate(document)
    assert document["violated"] == check_cases.case(name).violated


@pytest.mark.parametrize("name", check_cases.NAMES)
def test_junit_is_read_back_with_one_case_per_rule_and_application(name: str) -> None:
    check = check_cases.case(name)
    suites = list(JUnitXml.fromstring(REPORTS["junit"](check).encode()))
    assert len(suites) == len(check.plans) + len(check.errors)
    for suite, checked in zip(suites, check.plans, strict=False):
        caveats = [f"caveat: {caveat.code}" for caveat in checked.caveats]
        cases = [case for case in suite if case.name not in caveats]
        assert [case.name for case in cases] == [finding.rule for finding in checked.findings]
        fatal = {Status.ERROR, Status.WARNING} if check.fail_on_warning else {Status.ERROR}
        for case, finding in zip(cases, checked.findings, strict=True):
            kinds = [type(result) for result in case.result]
            wanted = Failure if finding.status in fatal else Skipped if finding.status is Status.WAIVED else None
            assert kinds == ([wanted] if wanted else [])
        assert (suite.tests - len(caveats), suite.failures) == (
            len(cases),
            sum(f.status in fatal for f in checked.findings),
        )
    for suite in suites[len(check.plans) :]:
        assert [type(result) for case in suite for result in case.result] == [Error]


def _commands(text: str) -> list[tuple[str, str, str]]:
    """Read workflow commands as GitHub's runner does: (kind, title, message)."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) title=([^:,]*)::(.*)", line)
        assert match, line
        title = match[2].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        found.append((match[1], title, match[3].replace("%25", "%")))
    return found


@pytest.mark.parametrize("name", check_cases.NAMES)
def test_github_gets_one_annotation_per_violation_worst_first(name: str) -> None:
    check = check_cases.case(name)
    caveats = {caveat.code for checked in check.plans for caveat in checked.caveats}
    found = [line for line in _commands(REPORTS["github"](check)) if line[1].rpartition(": ")[2] not in caveats]
    broken = [finding for finding in check.findings if finding.status is not Status.PASSED]
    words = {Status.ERROR: "error", Status.WARNING: "warning", Status.WAIVED: "notice"}
    assert [kind for kind, _, _ in found[len(check.errors) :]] == [words[finding.status] for finding in broken]
    assert [title.rpartition(": ")[2] for _, title, _ in found[len(check.errors) :]] == [f.rule for f in broken]


_NASTY = st.text(st.sampled_from(":,%\r\n\u2028a-|`<>[]#\x1b\ud800&\"' "), max_size=20)


@given(_NASTY, _NASTY)
def test_no_name_writes_a_command_or_breaks_a_report(application_id: str, host: str) -> None:
    check = _named(check_cases.case("sample"), application_id, f"::error::{host}")
    text = REPORTS["github"](check)
    assert len(text.splitlines()) == len(_commands(text)) == 1
    for line in text.split("\n")[:-1]:
        assert "::" not in line.removeprefix("::error title=").replace("::", "", 1)
        assert re.search(r"%(?!25|3A|2C)", line) is None
    (suite,) = JUnitXml.fromstring(REPORTS["junit"](check).encode())
    assert len(list(suite)) == 7
    json.loads(REPORTS["json"](check))
    comment = REPORTS["markdown"](check)
    assert comment.startswith(f"{MARK}\n")
    assert "<script" not in MarkdownIt("commonmark").render(comment)


def _named(check: Check, application_id: str, host: str) -> Check:
    (checked,) = check.plans
    plan = checked.plan
    instances = tuple(replace(instance, host=f"{host}{n}") for n, instance in enumerate(plan.group.instances))
    named = replace(plan, group=Group(application_id, plan.group.tasks, instances))
    findings = tuple(replace(finding, application_id=application_id) for finding in checked.findings)
    return check_all([replace(checked, plan=named, findings=findings)], check.now)


def test_the_comment_is_found_by_its_mark_and_renders() -> None:
    comment = REPORTS["markdown"](check_cases.case("sample"))
    assert comment.splitlines()[0] == "<!-- kstream-plan check -->"
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(comment)
    assert html.count("<li>") >= 2
    assert html.count("<details>") == html.count("</details>") == 1
    assert "<table>" in html


def test_the_comment_fits_whatever_the_plans() -> None:
    plans = [replace(checked, source=f"{n}.json") for n in range(400) for checked in check_cases.case("fleet").plans]
    comment = REPORTS["markdown"](check_all(plans, check_cases.NOW))
    assert len(comment) < 65_536
    assert "more applications do not fit into a comment" in comment
    large = check_cases.case("sample").plans[0]
    long = replace(large, plan=replace(large.plan, rounds=large.plan.rounds * 400))
    assert "<details>" not in REPORTS["markdown"](check_all([long], check_cases.NOW))


def test_the_comment_fits_whatever_could_not_be_checked() -> None:
    errors = [(f"shop-{n}", "x.json, line 1: " + "protocol is 'learner', not one of eager " * 9) for n in range(300)]
    comment = REPORTS["markdown"](check_all(check_cases.case("sample").plans, check_cases.NOW, errors=errors))
    assert len(comment) < 65_536
    answer = comment.count("could not be checked")
    assert 100 < answer < 300
    left_out = 300 - answer + ("snapshot generation" not in comment)
    assert f"✗ {left_out} more applications do not fit into a comment" in comment
    long = [("a", "x " * 40_000)]
    assert "✗ 1 more application does not fit into" in REPORTS["markdown"](check_all([], check_cases.NOW, errors=long))


def _broken_alone(draws: int | None = None) -> Check:
    """The one rule there is, broken."""
    checked = check_cases.case("uneven").plans[0]
    (settles,) = (finding for finding in checked.findings if finding.rule == "must_settle")
    item = None if draws is None else OverDraws(draws, 0, {})
    return check_all([replace(checked, findings=(settles,), draws=item)], check_cases.NOW)


def test_what_is_broken_alone_and_by_one_draw_is_said_plainly() -> None:
    for draws, ending in (
        (None, "no cold starts"),
        (1, "no cold starts (one random simulation of many)"),
        (2, "no cold starts (one of 2 random simulations)"),
    ):
        [checked] = _broken_alone(draws).plans
        page = check_page(checked)
        assert page.sentences[0].startswith("The one rule is broken: ")
        assert page.facts[0].value.endswith(ending)
        assert page.tables[0].note == "--output json has all"


@pytest.mark.parametrize("unknown", [False, True])
def test_the_first_words_agree_with_the_answer(unknown: bool) -> None:
    """A rule of level warning counts only where warnings do; else it stands behind what does."""
    checked = _broken_alone().plans[0]
    (broken,) = checked.findings
    mild = replace(broken, limit=replace(broken.limit, level=Level.WARNING), unknown=unknown, value=None)
    checked = replace(checked, findings=(mild,))
    page = check_page(checked)
    assert page.answer is Answer.YES
    assert page.sentences[0].startswith("No rule of level error is broken. ")
    assert "1 rule of level warning is " in page.sentences[0]
    strict = check_page(checked, warnings_too=True)
    assert strict.answer is (Answer.UNKNOWN if unknown else Answer.NO)
    assert strict.sentences[0].startswith("It is unknown whether the one rule is" if unknown else "The one rule is")
    plan = replace(checked.plan, warnings=(Note("may-hurt", "it may hurt"),))
    warned = replace(checked, plan=plan, findings=(replace(mild, offences=()),))
    assert check_page(warned, warnings_too=True).sentences[0].startswith("The plan has ")


def test_beside_what_is_kept_stand_the_figures_of_the_worst_draw() -> None:
    checked = check_cases.case("strict").plans[0]
    cold, moves = (checked.plan.ends(figure)[1] for figure in ("cold_handovers", "moves"))
    worst = OverDraws(9, 1, {"max_cold_handovers": cold + 3, "max_moves": moves, "max_duration": 3_600_000})
    shown = check_page(replace(checked, draws=worst)).facts[0].value
    assert f"(one of 9 random simulations; the worst: 1 do not settle, about 1h, {cold + 3} cold starts)" in shown
    same = OverDraws(9, 0, {"max_cold_handovers": cold, "max_moves": moves})
    assert "(one of 9 random simulations)" in check_page(replace(checked, draws=same)).facts[0].value


def test_a_rule_broken_in_another_draw_than_the_one_shown_has_no_more_to_tell() -> None:
    checked = check_cases.case("strict").plans[0]
    (paused,) = (finding for finding in checked.findings if finding.rule == "max_pause_per_handover")
    elsewhere = replace(paused, rule="max_pause_per_task", worst_of=200, offences=(Offence(36_000),), cure=None)
    [table, _] = check_page(replace(checked, findings=(elsewhere,), draws=OverDraws(200, 0, {}))).tables
    assert table.rows[0].cells[4].items == ("the worst of 200 random simulations",)


def test_the_runner_takes_no_command_from_the_table() -> None:
    table = f"{plan_cases.EVIL}\n::error::x\n"
    first, *_, last = not_for_the_runner(table).splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    assert first.removeprefix("::stop-commands::") not in table


def test_a_page_of_many_errors_leaves_out_plans_instead_of_some_of_the_last() -> None:
    errors = [(f"app-{number}", "no") for number in range(MOST_SECTIONS + 1)]
    plans = check_cases.case("fleet").plans
    assert len(plans) > 1
    few, many = (REPORTS["html"](check_all(plans, check_cases.NOW, errors=some)) for some in (errors[:1], errors))
    answers = ("<dt>Plan</dt>",)
    assert any(answer in few for answer in answers)
    assert not any(answer in many for answer in answers)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_setting_that_would_help_stays_in_one_piece(width: int) -> None:
    [checkup] = check_cases.case("sample").plans
    long_settings = (("probing_rebalance_interval_ms", 1_800_000), ("max_warmup_replicas", 4))
    findings = tuple(
        replace(finding, cure=replace(finding.cure, settings=long_settings)) if finding.cure else finding
        for finding in checkup.findings
    )
    shown = to_terminal(check_page(replace(checkup, findings=findings)), width=width)
    assert "probing.rebalance.interval.ms=1800000" in shown


def test_the_rule_that_no_policy_has_to_name_is_named() -> None:
    """Whoever counts the rules of a policy finds why there is one more."""
    standard = Standard(read_policy(b"version: 1\ndefaults: {max_cold_handovers: 0, max_duration: 45m}\n", "p"), NOW)
    checkup = check_plan(plan_cases.case("settled"), standard)
    assert check_page(checkup).sentences == ("All 3 rules are kept (must_settle is in every policy).",)


def test_every_broken_rule_has_a_row_that_says_what_helps_or_that_no_setting_does() -> None:
    """One setting helps against a rule, and leaves another one broken, against which none does."""
    policy = read_policy(b"version: 1\ndefaults: {max_moves: 1, max_pause_per_task: 20s}", "p")
    snapshot, standard = plan_cases.snapshot("scale-out"), Standard(policy, NOW)
    checkup = cures(check_plan(plan_cases.case("scale-out"), standard), snapshot, standard)
    rules, remedies = check_page(checkup).tables
    assert rules.columns[2].head == "Worst"
    assert [(row.cells[0].text, row.cells[1].items) for row in remedies.rows] == [
        ("max_moves", ("no setting",)),
        (
            "max_pause_per_task",
            ("max.warmup.replicas=4", "then 15.1s", "settled in about 5m30s", "still broken: max_moves (20)"),
        ),
    ]
    assert remedies.note == "no setting: change the scenario, raise the limit, or waive the rule in the policy"
    assert len(check_page(replace(checkup, cures_sought=False)).tables) == 1, "none were sought for a saved plan"


def test_of_a_plan_that_is_cut_off_only_its_own_part_has_no_cold_starts() -> None:
    whole = plan_cases.case("scale-out")
    cut = replace(whole, verdict=Verdict("unfinished"))
    assert figures(whole).endswith("no cold starts")
    assert figures(cut).endswith("no cold starts in this simulation")
