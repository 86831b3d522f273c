"""Pages in a real browser: nothing is loaded, nothing goes wrong, nothing is cut off, everybody can use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers import report_cases
from tests.helpers.chromium import Browser

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

WIDTHS = (375, 1280)
#: Of hundreds of rows that are made alike these are enough to look at, which takes long for each.
_FEWER_ROWS = "for (const of of document.querySelectorAll('tbody')) [...of.rows].slice(40).forEach(row => row.remove())"
_ENTER, _TAB, _ESCAPE = 13, 9, 27


def shown(browser: Browser, folder: Path, name: str, *, width: int = 1280, dark: bool = False) -> str:
    file = folder / f"{name}.html"
    file.write_text(report_cases.case(name), encoding="utf-8")
    browser.show(file.as_uri(), width=width, dark=dark)
    return file.as_uri()


@pytest.mark.parametrize("name", report_cases.NAMES)
def test_a_page_is_whole_and_loads_nothing(name: str, browser: Browser, pages: Path) -> None:
    for width in WIDTHS:
        for dark in (False, True):
            url = shown(browser, pages, name, width=width, dark=dark)
            assert browser.requests == [url]
            assert browser.console == []
            assert browser.run("document.documentElement.scrollWidth") <= width
            ground = browser.run("getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(18, 21, 28)" if dark else "rgb(255, 255, 255)")
    assert browser.run("typeof alerted") == "undefined"
    assert browser.run("document.querySelectorAll('img, iframe, object, embed').length") == 0


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        *((name, *look) for name in report_cases.NAMES for look in ((1280, False), (375, True))),
        *((name, *look) for name in ("largest", "evil-and-long", "check") for look in ((1280, True), (375, False))),
    ],
)
def test_axe_finds_nothing_serious(name: str, width: int, dark: bool, browser: Browser, axe: str, pages: Path) -> None:
    shown(browser, pages, name, width=width, dark=dark)
    browser.run("for (const of of document.querySelectorAll('details:not(.steps)')) of.open = true")
    browser.run(_FEWER_ROWS)
    browser.ask("Runtime.evaluate", expression=axe)
    found = browser.run("axe.run({resultTypes: ['violations']}).then(of => JSON.stringify(of.violations))")
    serious = [one for one in json.loads(found) if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"]) for one in serious] == []


def test_a_task_tells_its_story_by_keyboard_alone(browser: Browser, pages: Path) -> None:
    shown(browser, pages, "plan")
    browser.run("document.querySelector('.tools input').focus()")
    for letter in "0_1":
        browser.ask("Input.insertText", text=letter)
    assert browser.run("document.querySelector('[role=status]').textContent") == "3 of 24 tasks"
    assert browser.run("document.querySelectorAll('.lanes svg').length") == 3
    for _ in range(10):
        browser.press("Tab", _TAB)
        if browser.run("document.activeElement.textContent") == "0_10":
            break
    browser.press("Enter", _ENTER, "\r")
    assert browser.run("document.activeElement.getAttribute('aria-label')") == "task 0_10"
    story = browser.run("document.querySelector('.story').innerText")
    assert "at first, until 5m27s: runs on i1" in story
    assert "from 5m30s on: runs on i5" in story
    assert "its place in the target, and caught up there" in story
    browser.press("Escape", _ESCAPE)
    assert browser.run("document.querySelector('.story')") is None
    assert browser.run("document.activeElement.textContent") == "0_10"


def test_a_filter_leaves_what_is_asked_for(browser: Browser, pages: Path) -> None:
    shown(browser, pages, "plan")
    browser.run(
        "const place = document.querySelectorAll('.tools select')[1]; place.value = [...place.options]"
        ".find(one => one.textContent == 'i5').value; place.dispatchEvent(new Event('change'))"
    )
    rows = "[...document.querySelectorAll('tbody tr[data-task]')].filter(row => !row.hidden)"
    moved = browser.run(f"{rows}.map(row => [...row.cells].slice(3, 5).map(cell => cell.textContent))")
    assert moved
    assert all("i5" in ends for ends in moved)
    assert browser.run("document.querySelectorAll('.names > .dimmed').length") == 4


def test_a_zoom_makes_the_time_wider_not_the_page(browser: Browser, pages: Path) -> None:
    shown(browser, pages, "plan")
    wide = "document.querySelector('svg.chart').getBoundingClientRect().width"
    before = browser.run(wide)
    browser.run(
        "const zoom = document.querySelector('.tools select'); zoom.value = '4';zoom.dispatchEvent(new Event('change'))"
    )
    assert browser.run(wide) == pytest.approx(4 * before, rel=0.01)
    assert browser.run("document.documentElement.scrollWidth") <= 1280


def test_a_table_sorts_by_a_column(browser: Browser, pages: Path) -> None:
    shown(browser, pages, "fleet")
    cells = "[...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[0].textContent)"
    browser.run("document.querySelector('.sortable th button').click()")
    before = browser.run(cells)
    browser.run("document.querySelector('.sortable th button').click()")
    after = browser.run(cells)
    assert sorted(before) == sorted(after)
    assert before[0] != after[0]


@pytest.mark.parametrize("name", ["check", "check-fleet", "fleet", "plan", "connect", "evil-and-long"])
def test_no_word_is_broken_that_could_be_whole(name: str, browser: Browser, pages: Path) -> None:
    shown(browser, pages, name, width=375)
    browser.run("for (const of of document.querySelectorAll('details')) of.open = true")
    heads = "[...document.querySelectorAll('th, td:not(.long)')].filter(of => of.offsetParent)"
    words = "of.textContent.split(/\\s+/).reduce((most, word) => Math.max(most, word.length), 0)"
    assert browser.run(f"{heads}.filter(of => of.clientWidth < 4 * ({words})).map(of => of.textContent)") == []


def test_without_its_script_a_page_says_the_same(browser: Browser, pages: Path) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        shown(browser, pages, "plan")
        text = browser.run("document.body.innerText")
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
    for said in ("The group settles in", "20 of 24 stateful", "Tasks per instance, before → after", "Stateful moves"):
        assert said in text


def test_a_policy_in_the_page_lets_nothing_else_run_or_load(browser: Browser, pages: Path) -> None:
    url = shown(browser, pages, "plan")
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    browser.run("document.body.setAttribute('onclick', 'window.ran = 2'); document.body.click()")
    assert browser.run("typeof window.ran") == "undefined"
    assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')") == "refused"
    assert browser.requests == [url]
    assert [said for said in browser.console if "Content Security Policy" in said]


def test_a_page_prints_on_paper(browser: Browser, pages: Path) -> None:
    shown(browser, pages, "plan")
    printed = browser.ask("Page.printToPDF", printBackground=True)
    assert len(printed["data"]) > 10_000
    browser.show((pages / "plan.html").as_uri(), width=794, dark=True, print_=True)
    sizes = "['.facts dt', 'td', '.note'].map(of => getComputedStyle(document.querySelector(of)).fontSize)"
    assert all(9 <= float(size.removesuffix("px")) <= 12 for size in browser.run(sizes))
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("dark", [False, True])
def test_a_table_that_goes_on_sideways_shows_it(dark: bool, browser: Browser, pages: Path) -> None:
    """At the side where it goes on it has a shadow, which is gone once one is there, and on paper."""
    shown(browser, pages, "plan", width=375, dark=dark)
    browser.run("for (const of of document.querySelectorAll('details')) of.open = true")
    browser.run("for (const of of document.querySelectorAll('table')) of.style.visibility = 'hidden'")
    wide = "[...document.querySelectorAll('.wide')]"
    goes_on = f"{wide}.filter(of => of.scrollWidth > of.clientWidth)[0]"
    fits = f"{wide}.filter(of => of.scrollWidth == of.clientWidth)[0]"

    def edges(which: str) -> tuple[str, str]:
        box = json.loads(browser.run(f"JSON.stringify({which}.getBoundingClientRect())"))
        top = box["top"] + browser.run("scrollY")
        clips = [{"x": x, "y": top, "width": 12, "height": 20, "scale": 1} for x in (box["left"], box["right"] - 12)]
        one, other = (
            browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
            for clip in clips
        )
        return one, other

    plain = edges(fits)
    left, right = edges(goes_on)
    assert plain == (left, left), "what fits has no shadow, nor has the beginning"
    assert right != left
    browser.run(f"{goes_on}.scrollLeft = 10000")
    at_the_end = edges(goes_on)
    assert at_the_end[0] != left
    assert at_the_end[1] == left
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.run(f"getComputedStyle({goes_on}).backgroundImage") == "none", "paper does not scroll"
