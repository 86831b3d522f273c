"""Reports of every kind: they say what the tables say, load nothing, and whatever is in a name does nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kstream_plan.cli.actions.variants import axes_of
from kstream_plan.comparison.alternatives import beside_each_other
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.errors import UsageError
from kstream_plan.policy.findings import Status
from kstream_plan.policy.rules import GUARDS, RULES
from kstream_plan.render.check.wording import heading, sentence
from kstream_plan.render.diff.happened_story import tell_happened
from kstream_plan.render.diff.story import tell_diff
from kstream_plan.render.pages.compare import compare_page
from kstream_plan.render.report.check_section import ABOUT
from kstream_plan.render.report.compare_section import compare_section
from kstream_plan.render.report.drain_section import drain_section, drains_svg
from kstream_plan.render.report.markup import isolated
from kstream_plan.render.report.page import Drawing, Table
from kstream_plan.render.report.plain import plain
from kstream_plan.render.report.reports import plan_svg, plans_html
from kstream_plan.render.simulation.drain import tell_drain
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import records
from kstream_plan.simulation.alternatives import alternatives
from kstream_plan.simulation.drain import drain
from tests.helpers import check_cases, diff_cases, plan_cases, report_cases
from tests.helpers.pages import Page

pytestmark = pytest.mark.xdist_group("simulations")

TAGS = {"script", "style", "html", "head", "meta", "link", "title", "body", "main", "article", "header", "section"}
TAGS |= {"h1", "h2", "h3", "h4", "p", "strong", "dl", "dt", "dd", "div", "ul", "li", "details", "summary", "span"}
TAGS |= {
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "time",
    "footer",
    "svg",
    "g",
    "path",
    "line",
    "rect",
    "text",
    "pre",
}
#: What Connect groups do not have, as on their other pages.
_OF_STATE = re.compile(
    r"\b(stateful|stateless|cold|warm|warmed|disks?|restored?|copy|copies|standbys?|probes?)\b", re.I
)


def in_it(text: str, page: Page) -> bool:
    return " ".join(text.split()) in page.text


@pytest.mark.parametrize("name", report_cases.NAMES)
def test_a_page_holds_nothing_but_itself(name: str) -> None:
    html = report_cases.case(name)
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= TAGS
    given = [(tag, key, value) for tag, of in page.tags for key, value in of.items()]
    assert not [key for _, key, _ in given if key.startswith("on")]
    assert [one for one in given if one[1] in ("src", "href", "action", "xlink:href")] == [("link", "href", "data:,")]
    assert [of for tag, of in page.tags if tag == "script" and of.get("type") != "application/json"] == [{}]
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search("[\u202e\u200b\x1b]", html)
    assert len([tag for tag, _ in page.tags if tag == "h1"]) == 1


@pytest.mark.parametrize("name", ["connect", "drain-workers"])
def test_no_page_of_a_connect_group_is_about_state(name: str) -> None:
    assert not _OF_STATE.findall(Page(report_cases.case(name)).text)


def test_hostile_names_are_shown() -> None:
    page = Page(report_cases.case("evil-plan"))
    assert "</script><script>alert(1)</script>" in page.text
    assert "\\u202e" in page.text
    assert "{{7*7}}" in page.text
    ElementTree.fromstring(plan_svg([SavedPlan(plan_cases.case("evil-names"))]))


@pytest.mark.parametrize("name", ["strict", "fleet"])
def test_a_check_says_what_its_table_says(name: str) -> None:
    of, page = check_cases.case(name), Page(report_cases.case("check" if name == "strict" else "check-fleet"))
    for checked in of.plans:
        names = Names(checked.plan.group)
        assert in_it(heading(checked, names), page)
        for finding in checked.findings:
            assert in_it(finding.rule, page)
            assert in_it(sentence(finding, checked.plan, names), page)
    rules = [row for table in page.tables if table[0][1:3] == ["status", "rule"] for row in table[1:]]
    broken = [row for row in rules if row[1] == Status.ERROR.value]
    assert len(broken) == sum(len(checked.of(Status.ERROR)) for checked in of.plans)
    for application_id, message in of.errors:
        assert in_it(message, page), application_id


def test_every_rule_says_what_it_is_about() -> None:
    assert ABOUT.keys() == {*RULES, *GUARDS}
    page = Page(report_cases.case("check"))
    rules = next(table for table in page.tables if table[0][1:3] == ["status", "rule"])[1:]
    assert all(row[3] for row in rules)


@pytest.mark.parametrize("name", [*report_cases.NAMES, "settled-standbys", "unfinished", "unknown-end-offsets"])
def test_nothing_that_a_page_begins_with_is_about_commands(name: str) -> None:
    html = report_cases.case(name) if name in report_cases.NAMES else plans_html([SavedPlan(plan_cases.case(name))])
    for first in re.findall(r'<header.*?</header>|<dl class="(?:facts|in-short)">.*?</dl>', html, re.DOTALL):
        told = re.sub(r"\((?:no )?--(?:restore|produce)-rate\)", "", first)  # where a figure comes from
        assert not re.search(r"(?<![-\w])--[a-z]|kstream-plan [a-z]|SNAPSHOT", told), told
        assert "<dt></dt>" not in first


@pytest.mark.parametrize(
    "name", ["plan", "drain", "drain-workers", "diff", "happened", "compare", "fleet", "check", "streams"]
)
def test_a_page_says_what_its_words_mean(name: str) -> None:
    html = report_cases.case(name)
    words = html[html.index("<h2>Words</h2>") :]
    body = Page(html[: html.index("<h2>Words</h2>")]).text.lower()
    for word in ("rebalance", "generation", "probe", "standby", "settled"):
        assert (f"<dt>{word}</dt>" in words) >= bool(re.search(rf"\b{word}\b", body))


def test_a_diff_says_what_its_table_says() -> None:
    story, page = tell_diff(diff_cases.case("scale-out"), verbose=True), Page(report_cases.case("diff"))
    for fact in (story.title, *story.facts):
        assert in_it(plain(fact.forms[0]), page)
    rows = next(table for table in page.tables if table[0][0] == "tasks")[1:]
    assert [tuple(row) for row in rows] == [(row.tasks, row.what, ", ".join(row.ways), row.why) for row in story.rows]


def test_what_happened_is_told_as_in_its_table() -> None:
    found = tell_happened(report_cases.happened(), verbose=True)
    page = Page(report_cases.case("happened"))
    assert [tuple(row) for row in page.tables[0][1:]] == list(found.rows)
    assert all(in_it(fact.forms[0], page) for fact in found.facts)


def test_alternatives_have_the_figures_of_the_table() -> None:
    [table, *_] = compare_page(report_cases.alike(), verbose=True).tables
    page = Page(report_cases.case("compare"))
    assert page.tables[0][0] == [column.head for column in table.columns]
    assert page.tables[0][1:] == [[" ".join("".join(cell.items).split()) for cell in row.cells] for row in table.rows]
    assert in_it("max.warmup.replicas=8", page)


def test_a_drain_says_what_becomes_of_each_task() -> None:
    answer = drain(plan_cases.snapshot("scale-out"), ["i1"])
    story, page = tell_drain(answer, Names(answer.plan.group)), Page(report_cases.case("drain"))
    for fact in (story.title, *story.facts):
        assert in_it(plain(fact.forms[0]), page)
    rows = page.tables[0][1:]
    assert [row[0].split()[0] for row in rows] == [str(task.task_id) for task in answer.now]
    assert [row[3] for row in rows] == [
        "" if task.restore_records == 0 else records(task.restore_records) for task in answer.now
    ]
    assert all(in_it(note.message, page) for note in answer.plan.assumptions)
    assert drains_svg([drain_section(answer)]).startswith("<svg ")


def test_a_column_that_is_blank_in_every_row_is_left_out() -> None:
    answer = drain(plan_cases.snapshot("scale-out"), ["i1"])
    shown = next(block for block in drain_section(answer).blocks if isinstance(block, Table))
    assert shown.heads[3:] == ("records to restore", "nobody runs it for")
    warm = replace(answer, now=tuple(task._replace(restore_records=0) for task in answer.now))
    without = next(block for block in drain_section(warm).blocks if isinstance(block, Table))
    assert without.heads == (*shown.heads[:3], "nobody runs it for")
    assert [row.cells for row in without.rows] == [row.cells[:3] + row.cells[4:] for row in shown.rows]
    assert without.right == {3}


def test_many_tasks_that_all_start_warm_are_listed_on_demand() -> None:
    answer = drain(plan_cases.snapshot("scale-out-standbys"), ["i1"])
    many = replace(answer, now=answer.now * 2)
    starts_cold = (*answer.now, *(task._replace(caught_up=False) for task in answer.now))
    cold = replace(answer, now=starts_cold, at_best=starts_cold)
    folded = [
        next(block for block in drain_section(one).blocks if isinstance(block, Table)).folded
        for one in (answer, many, cold)
    ]
    assert folded == [False, True, False]


def test_a_drain_that_was_not_played_to_its_end_says_so_at_first() -> None:
    answer = drain(plan_cases.snapshot("scale-out-standbys"), ["i1"])
    cut = replace(answer, plan=replace(answer.plan, verdict=plan_cases.case("unfinished").verdict))
    assert (drain_section(answer).tone, drain_section(cut).tone) == ("good", "warn")
    said = drain_section(cut).answer
    assert said is not None
    assert "what follows was not played to its end" in said.text
    told = {fact.label: fact.text for fact in drain_section(cut).facts}
    assert told["Afterwards"].startswith("played were ")
    assert ", and more follow. By then " in told["Afterwards"]
    assert told["What else stands still"].endswith(", as far as it was played")


def test_where_nothing_follows_there_is_no_picture() -> None:
    with pytest.raises(UsageError, match="nothing follows"):
        plan_svg([SavedPlan(plan_cases.case("settled"))])


def test_what_starts_cold_stands_still_for_so_long_at_least() -> None:
    page = Page(plans_html([SavedPlan(plan_cases.case("crash"))]))
    moves = next(table for table in page.tables if table[0][-1] == "stands still in all")[1:]
    cold = {row[2] for row in moves if row[5] == "COLD"}
    assert cold
    assert {row[2] for row in moves if row[-1].startswith("≥ ")} == cold
    assert in_it("not drawn, for nobody knows it: how long what starts cold restores before it runs", page)


def test_a_row_says_what_nobody_runs_after_it() -> None:
    page = Page(report_cases.case("connect"))
    when = next(table for table in page.tables if table[0][-1] == "nobody runs afterwards")[1:]
    left = next(row for row in when if row[2] == "w1 leaves")
    assert left[3] == ""
    assert re.fullmatch(r"\S.* until 5:00, run by 5:03", left[-1])
    assert when[-1][-1] == when[-2][-1] == "", "in the end all runs"


def test_the_best_of_alternatives_is_said_with_its_figures() -> None:
    said = Page(report_cases.case("compare")).text
    assert "Best: max.warmup.replicas = 8 the fastest: settles " in said
    assert "to deploy it:" not in said
    assert "How long each takes, by max.warmup.replicas" in said


def test_an_alternative_that_does_not_end_has_no_bar() -> None:
    page = compare_section(
        beside_each_other(alternatives(plan_cases.snapshot("never-ready"), axes_of(["max.warmup.replicas=2,4"])))
    )
    [bars] = [block for block in page.blocks if isinstance(block, Drawing) and block.title.startswith("How long")]
    assert {(row.sums_up.split()[0], row.shapes) for row in bars.figure.rows} == {("STUCK", ())}


def test_a_page_of_a_connect_group_is_about_workers() -> None:
    for name in ("connect", "drain-workers"):
        page = Page(report_cases.case(name))
        assert not re.search(r"\binstances?\b", page.text, re.IGNORECASE)
        assert in_it("scheduled.rebalance.max.delay.ms 5 min", page)


def test_a_page_says_where_its_rates_come_from() -> None:
    assert in_it("restored 500/s per instance (--restore-rate)", Page(report_cases.case("streams")))
    assert plain("restored 5/s per instance, written 2/s per task; from options").count("--") == 2
    assert plain("written 2/s per task; from options") == "written 2/s per task (--produce-rate)"
    assert in_it("is not known (no --restore-rate)", Page(report_cases.case("plan")))


@pytest.mark.parametrize("name", ["connect", "drain-workers"])
def test_a_page_of_workers_says_when_it_draws_what_rebalances_change(name: str) -> None:
    page = Page(report_cases.case(name))
    assert in_it("drawn when all workers have heard of it, which may take 3.0 s", page)
    assert in_it("Taken for granted", page)
    assert not in_it("Assumed:", page)


HEBREW, ARABIC = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders-1→orders-2, 3 of them", "orders-1→orders-2, 3 of them"),
        (f"{HEBREW}-1→{ARABIC}-2: 5", f"\u2068{HEBREW}-1\u2069→\u2068{ARABIC}-2\u2069: 5"),
        (f"0_0 ({HEBREW} {ARABIC}) on ≥ 2", f"0_0 (\u2068{HEBREW} {ARABIC}\u2069) on ≥ 2"),
    ],
)
def test_names_that_are_read_from_the_right_are_put_in_order_by_themselves(text: str, shown: str) -> None:
    assert isolated(text) == shown
    assert isolated(7) == 7


def test_no_page_has_such_a_name_that_is_not_isolated() -> None:
    html = report_cases.case("evil-and-long")
    body = re.sub(r"<script.*?</script>", "", html[html.index("<main>") :], flags=re.DOTALL)
    assert body.count(HEBREW) == len(re.findall(f"\u2068[^\u2068\u2069]*{HEBREW}[^\u2068\u2069]*\u2069", body)) > 0
