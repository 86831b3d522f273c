"""Reports of every kind: they say what the tables say, load nothing, and whatever is in a name does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kstream_plan.cli.actions.variants import axes_of
from kstream_plan.comparison.alternatives import beside_each_other
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.errors import UsageError
from kstream_plan.render.page import Page as Answer
from kstream_plan.render.report.markup import Drawing, isolate
from kstream_plan.render.report.reports import plan_svg, plans_html, sections_svg
from kstream_plan.render.report.sections import compare_section, drain_section
from kstream_plan.simulation.alternatives import alternatives
from kstream_plan.simulation.drain import drain
from tests.helpers import plan_cases, report_cases
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
    given = [(tag, key, value) for tag, item in page.tags for key, value in item.items()]
    assert not [key for _, key, _ in given if key.startswith("on")]
    assert [one for one in given if one[1] in ("src", "href", "action", "xlink:href")] == [("link", "href", "data:,")]
    assert [item for tag, item in page.tags if tag == "script" and item.get("type") != "application/json"] == [{}]
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


def bare(text: str) -> str:
    """A text as a page has it, but for what keeps names in their order."""
    return " ".join(re.sub("[\u2066-\u2069]", "", text).split())


def texts_of(answer: Answer) -> Iterator[str]:
    """Every text of a page that a report has as well; a page's own title is left to the overview of a fleet."""
    yield answer.title
    yield from answer.sentences
    yield answer.source
    for fact in answer.facts:
        yield from (fact.label, fact.value)
    for table in answer.tables:
        yield from (table.title, table.note, *(column.head for column in table.columns))
        yield from (", ".join(cell.items) for row in table.rows for cell in row.cells)
    yield from (line.text for line in answer.lines)
    for section in answer.sections:
        yield from (section.heading, *section.sentences)


@pytest.mark.parametrize("name", report_cases.ANSWERED)
def test_every_text_of_a_page_stands_in_its_report(name: str) -> None:
    text = bare(Page(report_cases.case(name)).text)
    answers = report_cases.answers(name)
    assert answers
    assert [said for answer in answers for said in texts_of(answer) if bare(said) not in text] == []


@pytest.mark.parametrize("name", report_cases.ANSWERED)
def test_the_tables_of_a_report_are_those_of_the_page(name: str) -> None:
    tables = Page(report_cases.case(name)).tables
    for answer in report_cases.answers(name):
        for table in answer.tables:
            rows = [[bare(", ".join(cell.items)) for cell in row.cells] for row in table.rows]
            drawn = {place for row in table.rows for place, cell in enumerate(row.cells) if cell.bar is not None}
            wanted = [[column.head for column in table.columns], *rows]

            def without_bars(item: list[list[str]], drawn: set[int] = drawn) -> list[list[str]]:
                return [[bare(text) for place, text in enumerate(row) if place not in drawn] for row in item]

            assert without_bars(wanted) in [without_bars(shown) for shown in tables]


@pytest.mark.parametrize("name", report_cases.NAMES)
def test_no_label_and_no_heading_is_empty(name: str) -> None:
    assert not re.search(r"<(dt|h\d|strong|summary|li)></\1>", report_cases.case(name))


@pytest.mark.parametrize(
    "name", ["plan", "drain", "drain-workers", "diff", "happened", "compare", "fleet", "check", "streams"]
)
def test_a_page_says_what_its_words_mean(name: str) -> None:
    html = report_cases.case(name)
    words = html[html.index("<h2>Words</h2>") :]
    body = Page(html[: html.index("<h2>Words</h2>")]).text.lower()
    for word in ("rebalance", "generation", "probe", "standby", "settled"):
        assert bool(re.search(rf"<dt>([^<]*, )?{word}(, [^<]*)?</dt>", words)) >= bool(re.search(rf"\b{word}\b", body))


def test_where_nothing_follows_there_is_no_picture() -> None:
    with pytest.raises(UsageError, match="nothing follows"):
        plan_svg([SavedPlan(plan_cases.case("settled"))])


def test_an_alternative_that_does_not_end_has_no_bar() -> None:
    section = compare_section(
        beside_each_other(alternatives(plan_cases.snapshot("never-ready"), axes_of(["max.warmup.replicas=2,4"])))
    )
    [bars] = [
        block for block in section.drawings if isinstance(block, Drawing) and block.title.startswith("Duration by ")
    ]
    assert {(row.sums_up.split()[0], row.shapes) for row in bars.figure.rows} == {("does", ())}


def test_a_page_of_a_connect_group_is_about_workers() -> None:
    for name in ("connect", "drain-workers"):
        page = Page(report_cases.case(name))
        assert not re.search(r"\binstances?\b", page.text, re.IGNORECASE)
        assert in_it("scheduled.rebalance.max.delay.ms 5m", page)


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
    assert isolate(text) == shown
    assert isolate(7) == 7


def test_no_page_has_such_a_name_that_is_not_isolated() -> None:
    html = report_cases.case("evil-and-long")
    body = re.sub(r"<script.*?</script>", "", html[html.index("<main>") :], flags=re.DOTALL)
    assert body.count(HEBREW) == len(re.findall(f"\u2068[^\u2068\u2069]*{HEBREW}[^\u2068\u2069]*\u2069", body)) > 0


def test_what_starts_cold_is_paused_for_at_least_so_long() -> None:
    page = Page(plans_html([SavedPlan(plan_cases.case("crash"))]))
    moves = next(table for table in page.tables if table[0][-1] == "paused in all")[1:]
    cold = {row[2] for row in moves if row[5] == "cold start"}
    assert cold
    assert {row[2] for row in moves if row[-1].startswith("at least ")} == cold
    assert in_it("unknown and not drawn: how long a cold start restores before it runs", page)


def test_a_drain_that_was_not_simulated_to_its_end_is_no_green_page() -> None:
    answer = drain(plan_cases.snapshot("scale-out-standbys"), ["i1"])
    cut = replace(answer, plan=replace(answer.plan, verdict=plan_cases.case("unfinished").verdict))
    assert drain_section(answer).page.tone == "good"
    assert drain_section(cut).page.tone != "good"
    assert sections_svg([drain_section(answer)]).startswith("<svg ")


def test_a_page_of_workers_says_when_it_draws_what_rebalances_change() -> None:
    for name in ("connect", "drain-workers"):
        assert in_it("drawn when all workers have heard of it, which may take 3s", Page(report_cases.case(name)))
