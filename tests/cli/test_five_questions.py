"""Every command that can answer a question gives the same answer: how long, how often, what is cold, what pauses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.plans.longest_pause import longest_pause
from kstream_plan.plans.simulated import range_of
from kstream_plan.render.answers import page_of
from kstream_plan.render.text.numbers import duration, duration_range
from tests.helpers.pages import Page as HtmlPage
from tests.helpers.screens import NOW, folder_of, run_in

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark")]

#: What happens → the commands that answer for it, in one random simulation, the same for all, or as many as usual.
_CLASSIC: Mapping[str, tuple[str, ...]] = {
    "two have joined": (
        "assign joined.json",
        "check joined.json --policy policy.yaml",
        "compare joined.json --vary max.warmup.replicas=2,4",
        "fleet joined.json",
        "why joined.json",
    ),
    "two join": (
        "simulate-scaleout before.json --add 2 --set draws=1 --set what.if=false",
        "simulate before.json two.yaml --set draws=1 --set what.if=false",
        "check before.json --add 2 --set draws=1 --policy policy.yaml",
        "check before.json --scenario two.yaml --set draws=1 --policy policy.yaml",
        "compare before.json --add 2 --set draws=1 --vary max.warmup.replicas=2,4",
        "compare before.json --scenario two.yaml --set draws=1 --vary max.warmup.replicas=2,4",
    ),
    "two join, in as many simulations as each command takes": (
        "simulate-scaleout before.json --add 2 --set what.if=false",
        "check before.json --add 2 --policy policy.yaml",
        "compare before.json --add 2 --vary max.warmup.replicas=2,4",
    ),
    "one stops": (
        f"simulate-scaleout before.json --remove orders-1 --set what.if=false {NOW}",
        f"check before.json --remove orders-1 --policy policy.yaml {NOW.replace('--set now=', '--as-of ')}",
        f"compare before.json --remove orders-1 --vary max.warmup.replicas=2,4 {NOW}",
        f"drain before.json orders-1 {NOW}",
    ),
}
_STREAMS = {
    "two have joined": ("assign joined.json", "check joined.json --policy policy.yaml", "fleet joined.json"),
    "two join": (
        "simulate-scaleout before.json --add 2 --set what.if=false",
        "check before.json --add 2 --policy policy.yaml",
    ),
}
_CONNECT = {
    "two have joined": (
        "assign joined.json",
        "check joined.json --policy policy.yaml",
        "compare joined.json --vary design=connect,connect-eager",
        "fleet joined.json",
    ),
    "two join": (
        "simulate-scaleout before.json --add 2 --set what.if=false",
        "check before.json --add 2 --policy policy.yaml",
        "compare before.json --add 2 --vary design=connect,connect-eager",
    ),
}
#: What may be given beside a snapshot: without rates, and without the stores, figures are ranges.
_GIVEN = ("", "--restore-rate 300/s", "--restore-rate 300/s --set produce.rate=10/s", "--set stores=persistent")
CHANGES: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    (group, change, options): tuple(f"{command} {options}".rstrip() for command in commands)
    for group, changes, given in (
        ("classic-5", _CLASSIC, _GIVEN),
        ("streams-5", _STREAMS, _GIVEN[:2]),
        ("connect-5", _CONNECT, ("", NOW)),
    )
    for change, commands in changes.items()
    for options in given
    if not (options == NOW and NOW in commands[0])
}


class Figures(NamedTuple):
    """What an answer says of the five questions and of how much they cost; ``None``: nothing.

    A plan adds up the pauses of a task, ``drain`` has the one that ends when the task starts elsewhere, with what a
    cold start restores at a known rate. ``ends`` are the least and the most of the first four, over all random
    simulations and whatever is unknown.
    """

    duration_ms: int | None = None
    rebalances: int | None = None
    cold_starts: int | None = None
    longest_pause_ms: int | None = None
    moves: int | None = None
    restored_records: int | None = None
    extra_copies: int | None = None
    paused_at_once: int | None = None
    longest_single_pause_ms: int | None = None
    ends: tuple[tuple[int, int], ...] | None = None
    longest_pause_with_restores_ms: int | None = None


def figures_of_plan(document: Mapping[str, Any], group: str) -> Figures:
    (folder_of(group) / "saved.json").write_text(json.dumps(document), encoding="utf-8")
    [saved] = read_saved((folder_of(group) / "saved.json").read_bytes(), "saved.json")
    summary, draws = document["summary"], saved.simulation and saved.simulation.draws
    worst = summary["max_paused_task"]
    figures = ("duration_ms", "rebalances", "cold_handovers", "max_paused_task_ms")
    return Figures(
        summary["duration_ms"],
        summary["rebalances"],
        summary["cold_handovers"],
        worst["ms"] if worst else 0,
        summary["moves"],
        summary["restored_records"],
        summary["peak_extra_copies"],
        paused_at_once(saved),
        saved.plan.figure("longest_pause_ms"),
        tuple(range_of(saved.plan, figure, draws)[1:] for figure in figures),
        longest_pause(saved.plan, draws).ms,
    )


def paused_at_once(saved: SavedPlan) -> int | None:
    """Return how many tasks of a saved plan are paused at once; a row, which has follow-ups, may have more."""
    tables = page_of(saved.simulation or saved.plan).tables
    most = saved.plan.figure("paused_tasks_at_once")
    for rounds in (table for table in tables if table.title == "Rounds" and not saved.plan.is_of_workers):
        place = [column.head for column in rounds.columns].index("Paused")
        cells = ("".join(row.cells[place].items) for row in rounds.rows)
        assert most is None or max(int(cell.removeprefix("at most ") or 0) for cell in cells) >= most
    return most


def figures_of_check(document: Mapping[str, Any], _group: str) -> Figures:
    [plan] = document["plans"]
    summary = plan["summary"]
    return Figures(
        summary["duration_ms"],
        summary["rebalances"],
        summary["cold_handovers"],
        summary["max_paused_task_ms"],
        summary["moves"],
        paused_at_once=summary["paused_tasks_at_once"],
    )


def figures_of_compare(document: Mapping[str, Any], _group: str) -> Figures:
    figures = document["outcomes"][0]["figures"]
    ranges = ("balanced_ms", "rebalances", "cold_handovers", "max_paused_ms")
    more = ("moves", "restored_records", "extra_copies", "paused_tasks_at_once")
    assert (figures["peak_extra_copies"], figures["paused_at_once"]) == tuple(
        figures[name]["most"] for name in more[2:]
    )
    likely = (figures[name] and figures[name]["median"] for name in (*ranges, *more))
    return Figures(*likely, ends=tuple((figures[name]["least"], figures[name]["most"]) for name in ranges))


def figures_of_fleet(document: Mapping[str, Any], _group: str) -> Figures:
    names = ("duration_ms", "cold_handovers", "max_paused_task_ms", "moves", "restored_records")
    duration_ms, cold, pause_ms, moves, records = (document[f"{name}_likely"] for name in names)
    rebalances = document["rebalances"]
    return Figures(duration_ms, rebalances, cold, None, moves, records, longest_pause_with_restores_ms=pause_ms)


def figures_of_why(document: Mapping[str, Any], _group: str) -> Figures:
    return Figures(document["duration_ms"], sum(document["rebalances"]["by_trigger"].values()))


def figures_of_drain(document: Mapping[str, Any], _group: str) -> Figures:
    follows, tasks = document["follows"], document["now"]
    least, most = document["cold_now"]
    settles = follows["verdict"] == "settled"  # else it was cut off: drain simulates less than a scale-out
    starts_restored = any(task["restore_records"] and task["pause_is"] != "floor" for task in tasks)
    return Figures(
        follows["duration_ms"] if settles else None,
        follows["rebalances"] if settles else None,
        most + follows["others_cold"] if least == most else None,
        longest_single_pause_ms=None if starts_restored else max(task["pause_ms"] for task in tasks),
    )


READERS: Mapping[str, Callable[[Mapping[str, Any], str], Figures]] = {
    "plan": figures_of_plan,
    "simulation": figures_of_plan,
    "check": figures_of_check,
    "compare": figures_of_compare,
    "result": figures_of_fleet,
    "why": figures_of_why,
    "drain": figures_of_drain,
}


#: One crash, with what starts cold: asked of every command that can answer.
_CRASH = (
    "simulate before.json crash.yaml --set what.if=false",
    "simulate-scaleout before.json --remove orders-1 --set what.if=false",
    "compare before.json --scenario crash.yaml --vary max.warmup.replicas=2,4",
    "check before.json --scenario crash.yaml --policy strict.yaml",
    "check before.json --remove orders-1 --policy strict.yaml",
    f"drain before.json orders-1 {NOW}",
)


def test_one_crash_pauses_for_the_same_time_in_every_command() -> None:
    """A pause lasts until the task runs: what it restores first counts, and a page says which part that is."""
    folder, rates = folder_of("classic-5"), "--set stores=persistent --restore-rate 300/s"
    crash = "version: 1\nevents:\n  - {at: 0s, crash: orders-1}\n"
    (folder / "crash.yaml").write_text(crash, encoding="utf-8")
    (folder / "strict.yaml").write_text("version: 1\ndefaults: {max_pause_per_task: 1s}\n", encoding="utf-8")
    run_in("classic-5", f"{_CRASH[0]} {rates} --out crash.json")
    [saved] = read_saved((folder / "crash.json").read_bytes(), "crash.json")
    pause = longest_pause(saved.plan)
    assert pause.most_ms is not None
    assert pause.task_id is not None
    assert 0 < pause.restores_ms == saved.plan.summary.max_cold_restore_ms
    assert pause.starts_ms == saved.plan.pauses.ms[pause.task_id]
    whole = duration_range(pause.ms, pause.least_ms, pause.most_ms)
    parts = f"{duration(pause.starts_ms)} until it starts, {duration(pause.restores_ms)} restoring"
    for words in _CRASH:
        said = " ".join(run_in("classic-5", f"{words} {rates}").replace("│", " ").split())
        assert (f"about {duration(pause.ms)}: {parts}" if words.startswith("drain") else whole) in said, words
        assert words.startswith(("check", "compare")) or f"task {pause.task_id} " in said, words
        assert not words.startswith("check") or f"max_pause_per_task {duration(pause.most_ms)} " in said, words
        assert not words.startswith("simulate") or parts in said, words


def figures_of(group: str, words: str) -> Figures:
    """Ask a command and return its figures."""
    folder = folder_of(group)
    join = "version: 1\nevents:\n  - {at: 0s, join: {count: 2}}\n"
    (folder / "two.yaml").write_text(join, encoding="utf-8")
    if words.startswith("check "):
        run_in(group, f"{words} --report json=five.json")
        text = (folder / "five.json").read_text(encoding="utf-8")
    else:
        text = run_in(group, f"{words} --output json")
    document = json.loads(text)
    return READERS[document["kind"]](document, group)


@pytest.mark.parametrize(("group", "change", "options"), CHANGES)
def test_all_commands_answer_the_same(group: str, change: str, options: str) -> None:
    answers = {words: figures_of(group, words) for words in CHANGES[group, change, options]}
    for question in Figures._fields:
        values = {words: getattr(answer, question) for words, answer in answers.items()}
        known = {words: value for words, value in values.items() if value is not None}
        assert len(set(known.values())) <= 1, (question, known)
        if question in ("duration_ms", "rebalances", "cold_starts", "longest_pause_ms", "moves"):
            assert len(known) >= 2, question


@pytest.mark.parametrize("words", [commands[0] for commands in _CLASSIC.values()])
def test_a_report_and_a_saved_plan_answer_as_the_terminal_does(words: str) -> None:
    """The facts of the panel stand in the report, and in what ``show`` makes of the saved plan."""
    run_in("classic-5", f"{words} --report html=five.html --out five.plan.json")
    folder = folder_of("classic-5")
    html = HtmlPage((folder / "five.html").read_text(encoding="utf-8")).text
    [saved] = read_saved((folder / "five.plan.json").read_bytes(), "five.plan.json")
    page = page_of(saved.simulation or saved.plan)
    shown = " ".join(run_in("classic-5", "show five.plan.json").replace("│", " ").split())
    printed = " ".join(run_in("classic-5", words).replace("│", " ").split())
    assert {fact.key for fact in page.facts} >= {"duration", "rebalances", "cold", "pause"}
    for fact in page.facts:
        for text in (html, shown, printed):
            assert fact.value in text, fact.key
