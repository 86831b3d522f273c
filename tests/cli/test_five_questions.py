"""Every command that can answer a question gives the same answer: how long, how often, what is cold, what pauses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.render.answers import page_of
from tests.helpers.pages import Page as HtmlPage
from tests.helpers.screens import NOW, folder_of, run_in

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark")]

GROUP = "classic-5"
#: What happens → the commands that answer for it, in one random simulation, the same for all, or as many as usual.
CHANGES: Mapping[str, tuple[str, ...]] = {
    "two have joined": (
        "assign joined.json",
        "check joined.json --policy policy.yaml",
        "compare joined.json --vary max.warmup.replicas=2,4",
        "fleet joined.json",
        "why joined.json",
    ),
    "two join": (
        "simulate-scaleout before.json --add 2 --draws 1 --no-what-if",
        "simulate before.json two.yaml --draws 1 --no-what-if",
        "check before.json --add 2 --draws 1 --policy policy.yaml",
        "check before.json --scenario two.yaml --draws 1 --policy policy.yaml",
        "compare before.json --add 2 --draws 1 --vary max.warmup.replicas=2,4",
        "compare before.json --scenario two.yaml --draws 1 --vary max.warmup.replicas=2,4",
    ),
    "two join, in as many simulations as each command takes": (
        "simulate-scaleout before.json --add 2 --no-what-if",
        "check before.json --add 2 --policy policy.yaml",
        "compare before.json --add 2 --vary max.warmup.replicas=2,4",
    ),
    "one stops": (
        f"simulate-scaleout before.json --remove orders-1 --no-what-if {NOW}",
        f"check before.json --remove orders-1 --policy policy.yaml {NOW}",
        f"compare before.json --remove orders-1 --vary max.warmup.replicas=2,4 {NOW}",
        f"drain before.json orders-1 {NOW}",
    ),
}


class Told(NamedTuple):
    """What an answer tells of the five questions; ``None``: nothing.

    A plan adds up the pauses of a task, ``drain`` has the one that ends when the task starts elsewhere.
    """

    duration_ms: int | None = None
    rebalances: int | None = None
    cold_starts: int | None = None
    longest_pause_ms: int | None = None
    paused_at_once: int | None = None
    longest_single_pause_ms: int | None = None


def of_plan(document: Mapping[str, Any]) -> Told:
    summary = document["summary"]
    worst = summary["max_paused_task"]
    return Told(
        summary["duration_ms"],
        summary["rebalances"],
        summary["cold_handovers"],
        worst and worst["ms"],
        paused_at_once(),
        saved_plan().plan.figure("longest_pause_ms"),
    )


def saved_plan() -> SavedPlan:
    """Return the plan that was asked for last."""
    [saved] = read_saved((folder_of(GROUP) / "saved.json").read_bytes(), "saved.json")
    return saved


def paused_at_once() -> int | None:
    """Return how many tasks of the saved plan are paused at once; a row, which has follow-ups, may have more."""
    saved = saved_plan()
    [rounds] = (table for table in page_of(saved.simulation or saved.plan).tables if table.title == "Rounds")
    place = [column.head for column in rounds.columns].index("Paused")
    cells = ("".join(row.cells[place].items) for row in rounds.rows)
    most = saved.plan.figure("paused_tasks_at_once")
    assert most is None or max(int(cell.removeprefix("at most ") or 0) for cell in cells) >= most
    return most


def of_check(document: Mapping[str, Any]) -> Told:
    [plan] = document["plans"]
    summary = plan["summary"]
    return Told(
        summary["duration_ms"],
        summary["rebalances"],
        summary["cold_handovers"],
        summary["max_paused_task_ms"],
        summary["paused_tasks_at_once"],
    )


def of_compare(document: Mapping[str, Any]) -> Told:
    [figures] = (
        outcome["figures"]
        for outcome in document["outcomes"]
        if {"max.warmup.replicas": "2"} in outcome["alternatives"]
    )
    ranges = ("balanced_ms", "rebalances", "cold_handovers", "max_paused_ms")
    return Told(*(figures[name]["median"] for name in ranges), figures["paused_at_once"])


def of_fleet(document: Mapping[str, Any]) -> Told:
    names = ("duration_ms_likely", "rebalances", "cold_handovers_likely", "max_paused_task_ms_likely")
    return Told(*(document[name] for name in names))


def of_why(document: Mapping[str, Any]) -> Told:
    return Told(document["duration_ms"], sum(document["rebalances"]["by_trigger"].values()))


def of_drain(document: Mapping[str, Any]) -> Told:
    follows, tasks = document["follows"], document["now"]
    least, most = document["cold_now"]
    assert least == most
    return Told(
        follows["duration_ms"],
        follows["rebalances"],
        most + follows["others_cold"],
        longest_single_pause_ms=max(task["pause_ms"] for task in tasks),
    )


READERS: Mapping[str, Callable[[Mapping[str, Any]], Told]] = {
    "plan": of_plan,
    "simulation": of_plan,
    "check": of_check,
    "compare": of_compare,
    "result": of_fleet,
    "why": of_why,
    "drain": of_drain,
}


def told(words: str) -> Told:
    """Ask a command and return what it tells."""
    folder = folder_of(GROUP)
    join = "version: 1\nevents:\n  - {at: 0s, join: {count: 2}}\n"
    (folder / "two.yaml").write_text(join, encoding="utf-8")
    if words.startswith("check "):
        run_in(GROUP, f"{words} --report json=five.json")
        text = (folder / "five.json").read_text(encoding="utf-8")
    else:
        text = run_in(GROUP, f"{words} --output json")
    document = json.loads(text)
    if document["kind"] in ("plan", "simulation"):
        (folder / "saved.json").write_text(text, encoding="utf-8")
    return READERS[document["kind"]](document)


@pytest.mark.parametrize("change", CHANGES)
def test_all_commands_answer_the_same(change: str) -> None:
    answers = {words: told(words) for words in CHANGES[change]}
    if "--draws 1" not in CHANGES[change][0]:  # compare has the most of any simulation, the others of the typical one
        answers = {
            words: answer._replace(paused_at_once=None) if words.startswith("compare") else answer
            for words, answer in answers.items()
        }
    for question in Told._fields:
        values = {words: getattr(answer, question) for words, answer in answers.items()}
        known = {words: value for words, value in values.items() if value is not None}
        assert len(known) >= 2 or question == "longest_single_pause_ms", question
        assert len(set(known.values())) == 1, (question, known)


@pytest.mark.parametrize("words", [CHANGES[change][0] for change in CHANGES])
def test_a_report_and_a_saved_plan_answer_as_the_terminal_does(words: str) -> None:
    """The facts of the panel stand in the report, and in what ``show`` makes of the saved plan."""
    run_in(GROUP, f"{words} --report html=five.html --out five.plan.json")
    folder = folder_of(GROUP)
    html = HtmlPage((folder / "five.html").read_text(encoding="utf-8")).text
    [saved] = read_saved((folder / "five.plan.json").read_bytes(), "five.plan.json")
    page = page_of(saved.simulation or saved.plan)
    shown = " ".join(run_in(GROUP, "show five.plan.json").replace("│", " ").split())
    printed = " ".join(run_in(GROUP, words).replace("│", " ").split())
    assert {fact.key for fact in page.facts} >= {"duration", "rebalances", "cold", "pause"}
    for fact in page.facts:
        for text in (html, shown, printed):
            assert fact.value in text, fact.key
