"""What people and programs see of the ways to restart a group."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.model import Group, KnownDecision, Note, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Bounce
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart
from kstream_plan.render.answers import to_json
from kstream_plan.render.answers import to_markdown as bounce_markdown
from kstream_plan.render.answers import to_table as bounce_table
from kstream_plan.render.pages.bounce import bounce_page
from kstream_plan.render.text.numbers import duration, duration_range
from kstream_plan.simulation.bounces import Bounces, bounce
from kstream_plan.simulation.safe_pause import FoundPause
from tests.helpers import captured_scenarios, plan_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.safe_groups import safe_group
from tests.helpers.schemas import validator

#: When the group was as it is told.
NOW = ("--set", "now=2026-11-21T13:00:38.479Z")


def _settled() -> Snapshot:
    return replace(captured_scenarios.before("scale-out"), stores="persistent")


def _zoned() -> Snapshot:
    """Three instances in two zones with names that nobody should give."""
    snapshot = _settled()
    group = snapshot.state.group
    tagged = tuple(
        replace(item, client_tags=((plan_cases.EVIL, f"{plan_cases.EVIL}{place % 2}"),))
        for place, item in enumerate(group.instances)
    )
    return replace(snapshot, state=replace(snapshot.state, group=Group(plan_cases.EVIL, group.tasks, tagged)))


CASES: dict[str, Callable[[], Bounces]] = {
    "within-the-time-out": lambda: bounce(_settled(), 5_000),
    "beyond-the-time-out": lambda: bounce(_settled(), 70_000),
    "one": lambda: bounce(_settled(), 5_000, instances=["i3"]),
    "one-too-late": lambda: bounce(_settled(), 70_000, instances=["i3"]),
    "two": lambda: bounce(_settled(), 5_000, instances=["i1", "i2"]),
    "evil-names": lambda: bounce(_zoned(), 40_000),
}


pytestmark = pytest.mark.xdist_group("bounce pages")


@lru_cache
def _case(name: str) -> Bounces:
    return CASES[name]()


@pytest.mark.parametrize("name", CASES)
def test_what_people_see(name: str) -> None:
    found = _case(name)
    assert_golden(f"bounce/{name}.txt", bounce_table(found))
    for width in (80, 97, 200):
        above, _, _ = bounce_table(found, width=width).partition("\nNext: ")  # what is copied is not wrapped
        assert max(map(cell_len, above.splitlines())) <= width
    validator("bounce").validate(json.loads(to_json(found)))


@pytest.mark.parametrize("name", CASES)
def test_a_pause_has_no_upper_limit_where_a_task_may_start_cold(name: str) -> None:
    (table,) = bounce_page(_case(name)).tables
    place = [column.head for column in table.columns].index("Longest pause")
    for way, row in zip(_case(name).ways, table.rows, strict=True):
        is_cold = bool(way.most_cold or way.figures.cold_handovers.most)
        assert row.cells[place].items[0].startswith("at least ") == is_cold


def test_the_panel_says_of_how_many_restarts_too_few_were_simulated() -> None:
    found = _case("within-the-time-out")
    undecided = FoundPause(outcome="undecided", pause_ms=0, restarts=2)
    cut = replace(found, ways=tuple(replace(way, safe_pause=undecided) for way in found.ways))
    [sentence, *_] = bounce_page(cut).sentences
    assert "The first 2 restarts are safe; all 3 have too many rebalances to simulate." in sentence


def test_how_little_a_restart_leaves_of_the_time_out_is_said() -> None:
    """The time-out runs from the last heartbeat, which comes up to an interval before the stop."""
    bounces, group = bounce(_settled(), 6_500, instances=["i3"]), _settled()
    assert (group.config.session_timeout_ms, group.config.heartbeat_interval_ms) == (10_000, 3_000)
    assert bounces.answer is Answer.YES
    assert bounce_page(bounces).sentences[1] == (
        "It has to be back within 7s; 6.5s are assumed (--restart). An instance that is away for longer than "
        "session.timeout.ms (10s from its last heartbeat) counts as gone, and its tasks move. However soon it is back, "
        "its tasks pause until session.timeout.ms is over."
    )
    assert (bounces.margin_ms, bounces.back_within_ms) == ((500, 3_500), 7_000)
    assert "be back within" not in " ".join(bounce_page(_case("one-too-late")).sentences)


@pytest.mark.parametrize(("options", "end"), [(("--metrics",), "To find out, add --metrics."), ((), "unknown.")])
def test_where_no_way_is_proven_the_reason_and_what_tells_are_whole_sentences(
    options: tuple[str, ...], end: str
) -> None:
    bounces = _case("within-the-time-out")
    evidence = Evidence(known=Known.UNKNOWN, fact=Fact.NOT_REPORTED, words="it may be behind", settled_by=options)
    task, instance = bounces.first.group.tasks[0].task_id, bounces.first.group.instances[0].process_id
    start = UnprovenStart(task_id=task, process_id=instance, at_ms=0, evidence=evidence)
    reason = Note("may-not-settle", "Whether the group settles is unknown")
    ways = [
        replace(way, safe_pause=replace(way.safe_pause, outcome="unsafe", reason=reason), unproven=(start,))
        for way in bounces.ways
    ]
    sentence = bounce_page(replace(bounces, ways=tuple(ways))).sentences[0]
    assert sentence.startswith("No way is proven to be safe: default close and static members may be; ")
    assert "Whether the group settles is unknown." in sentence
    assert sentence.endswith(end)
    assert "  " not in sentence


@pytest.mark.parametrize("name", ["one", "one-too-late", "two"])
def test_the_panel_and_the_table_have_the_same_figures(name: str) -> None:
    found, page = _case(name), bounce_page(_case(name))
    (table,), facts = page.tables, {fact.key: fact.value for fact in page.facts}
    row = table.rows[found.ways.index(found.best_safe or found.as_it_is)]
    cells = {column.head: cell.text for column, cell in zip(table.columns, row.cells, strict=True)}
    same = {"rebalances": "Rebalances", "cold": "Cold starts"}
    way = json.loads(to_json(found))["ways"][found.ways.index(found.best_safe or found.as_it_is)]
    assert facts["pause"].startswith(f"task {way['longest_pause']['task_id']} ")
    assert f": {cells['Longest pause']} " in facts["pause"]
    assert way["paused_tasks"][0] in facts["at_once"]
    assert len(way["paused_tasks"]) == way["paused_at_once"]
    assert {key: facts[key] for key in same} == {key: cells[head] for key, head in same.items()}
    assert facts["duration"].startswith(f"{cells['Duration']}, ")
    assert facts["at_once"].startswith(f"{cells['Paused at once']} task")


def test_markdown() -> None:
    text = bounce_markdown(_case("evil-names"))
    assert_golden("bounce/evil-names.md", text)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    marked_up = [token for token in every if token.type in ("html_inline", "html_block", "link_open", "image")]
    assert {token.content for token in marked_up} == {"<sub>", "</sub>"}


@lru_cache
def _moving(*instances: str) -> Bounces:
    """A group of which a rebalance is under way."""
    decision = KnownDecision(generation=6, at_ms=0, probing_rebalance=False, rejoining=(1,))
    snapshot = safe_group("10-nobody-runs/nobody.json")
    return bounce(replace(snapshot, stores="persistent", decision=decision), 40_000, instances=instances)


@pytest.mark.parametrize("instances", [(), ("i0",)])
def test_a_group_that_moves_tasks_is_told_how_long_to_wait(instances: tuple[str, ...]) -> None:
    bounces = _moving(*instances)
    assert bounces.settles_in_ms is not None
    wait_ms, interval_ms = bounces.settles_in_ms, bounces.first.config.probing_rebalance_interval_ms
    settled = f"{duration(wait_ms - interval_ms)} until it has settled, and {duration(interval_ms)} in which no probe "
    wait = f"wait about {duration(wait_ms)} ({settled}moves any more), then ask again with a new snapshot."
    page = bounce_page(bounces)
    assert wait in page.sentences[0]
    assert [line.text for line in page.lines if line.kind == "next"] == ["kstream-plan why SNAPSHOT"]


def test_a_duration_has_its_likely_value_and_its_ends() -> None:
    bounces = _case("within-the-time-out")
    way = bounces.ways[0]
    (table,) = bounce_page(bounces).tables
    place = [column.head for column in table.columns].index("Duration")
    assert table.rows[0].cells[place].text == duration_range(*way.lasts_ms)
    assert way.lasts_ms.least <= way.lasts_ms.median <= way.lasts_ms.most == way.ends_ms
    assert json.loads(to_json(bounces))["ways"][0]["duration_ms"] == way.lasts_ms._asdict()


def test_cold_starts_are_unknown_where_a_simulation_of_what_is_unknown_has_some() -> None:
    bounces = _case("within-the-time-out")
    way = bounces.ways[0]
    reason = Note("may-start-cold", "Tasks start cold in the worst case of what is unknown")
    seen = replace(way, safe_pause=replace(way.safe_pause, outcome="unsafe", reason=reason))
    (table,) = bounce_page(replace(bounces, ways=(seen,))).tables
    place = [column.head for column in table.columns].index("Cold starts")
    assert (table.rows[0].cells[place].text, table.rows[0].cells[place].tone) == ("unknown", "unknown")


def test_none_is_safe() -> None:
    found = _case("beyond-the-time-out")
    unsafe = replace(found, ways=tuple(item for item in found.ways if not item.safe))
    assert unsafe.best_safe is None
    page = bounce_page(unsafe)
    assert page.tone != "good"
    assert page.sentences[0].startswith("No way is safe")


def test_the_command_writes_a_scenario_that_can_be_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (_settled(),))
    out = tmp_path / "restarts.yaml"
    assert run(["bounce", "x.json", "--restart", "5s", "--out", str(out), "-q"]) == 0
    best = json.loads(to_json(_case("within-the-time-out")))["ways"][0]
    assert best["best"], "static members would be faster, but these are none"
    (event,) = load_scenario(out).events
    assert isinstance(event, Bounce)
    assert (event.restart_ms, event.pause_ms, event.static) == (5_000, best["pause_ms"], False)
    shown = capsys.readouterr().out
    assert "Default close is safe" in shown
    assert run(["bounce", "x.json", "--restart", "40"]) == 2
    assert "--restart: 40 is below 1s. Fix: give 1s or more" in capsys.readouterr().err


@pytest.mark.parametrize(("restart", "code"), [("5s", 0), ("60s", 3)])
def test_the_command_says_whether_one_may_restart_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], restart: str, code: int
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (_settled(),))
    assert run(["bounce", "x.json", "--instance", "i3", "--restart", restart, *NOW, "-q"]) == code
    shown = capsys.readouterr().out
    assert "S1: restart i3 now" in shown
    assert ("│ NO: " in shown, "│ YES: " in shown) == (bool(code), not code)


def test_drain_names_the_command_that_tells_whether_standbys_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (_settled(),))
    assert run(["drain", "my snapshot.json", "i3", *NOW, "-q"]) == 0
    shown = capsys.readouterr().out
    assert "│ NO: " in shown
    assert "kstream-plan bounce answers for a restart" in " ".join(shown.split())
    assert shown.endswith(
        f"\nNext: kstream-plan drain 'my snapshot.json' i3 --num-standby-replicas 1 {' '.join(NOW)}\n"
    )


def test_an_instance_without_its_option_is_told_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bounce", "x.json", "i3"]) == 2
    assert capsys.readouterr().err.endswith("there is no file 'i3'. Fix: if it is an instance, give --instance i3\n")


def test_exit_code_3_if_none_is_safe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = _case("beyond-the-time-out")
    unsafe = replace(found, ways=tuple(item for item in found.ways if not item.safe))
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (_settled(),))
    monkeypatch.setattr("kstream_plan.cli.commands.bounce.bounces_of", lambda *_of, **_options: unsafe)
    out = tmp_path / "restarts.yaml"
    assert run(["bounce", "x.json", "--out", str(out), "-q"]) == 3
    assert not out.exists()


def test_where_stores_are_unknown_no_cold_start_is_said_with_its_condition() -> None:
    unknown = bounce(replace(_settled(), stores=None), 5_000)
    [cold] = [fact for fact in bounce_page(unknown).facts if fact.key == "cold"]
    assert (cold.value, cold.tone) == ("none if stores are persistent", "unknown")
    assert "cold starts: if stores are persistent" in bounce_page(unknown).tables[0].note
    [known] = [fact for fact in bounce_page(_case("within-the-time-out")).facts if fact.key == "cold"]
    assert (known.value, known.tone) == ("none", "plain")
