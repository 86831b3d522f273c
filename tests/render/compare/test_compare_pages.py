"""What people and programs see of alternatives beside each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from kstream_plan.cli.actions.variants import axes_of
from kstream_plan.comparison.alternative_remarks import compare_remarks, settings_text
from kstream_plan.comparison.alternatives import Change, Outcomes, SameOutcome, beside_each_other
from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.documents.policy_file import read_policy
from kstream_plan.model import Group
from kstream_plan.model.scenario import Bounce, Join, NewInstance, Scenario
from kstream_plan.model.times import duration
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.remarks import remarks
from kstream_plan.policy.findings import Standard
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.pages.compare import compare_page, duration_text, figures_of
from kstream_plan.render.terminal import to_terminal
from kstream_plan.render.text.escape import printable
from kstream_plan.simulation.alternatives import alternative, alternatives
from kstream_plan.simulation.scale_out import scale_out
from tests.helpers import captured_scenarios, check_cases, connect_rows, plan_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator

SCHEMA = validator("compare")
POLICY = b"version: 1\ndefaults: {max_duration: 9m, max_peak_extra_copies: 13}"


def _scale_out(
    *varied: str, policy: bytes | None = None, max_rounds: int | None = None, **rates: float
) -> list[SameOutcome]:
    snapshot = captured_scenarios.before("scale-out", **rates)
    found = alternatives(
        snapshot,
        axes_of(varied),
        PlanOptions(max_rounds=max_rounds),
        scenario=scale_out(snapshot.state.group, add=2),
        standard=None if policy is None else Standard(read_policy(policy, "policy.yaml"), check_cases.NOW),
        number_of_draws=4,
    )
    return list(beside_each_other(found))


def _nothing_follows() -> list[SameOutcome]:
    found = alternatives(plan_cases.snapshot("settled"), axes_of(["max.warmup.replicas=2,4"]))
    return list(beside_each_other(found))


def _evil() -> list[SameOutcome]:
    names = (plan_cases.EVIL, f"{plan_cases.EVIL}{'x' * 300}", "plan.json")
    cases = ("scale-out", "scale-out-standbys", "scale-out")
    plans = [plan_cases.case(case) for case in cases]
    evil = [replace(plan, group=Group(plan_cases.EVIL, plan.group.tasks, plan.group.instances)) for plan in plans]
    found = [alternative((Change("plan", name),), item, None, None) for name, item in zip(names, evil, strict=True)]
    return list(beside_each_other(found))


def _designs() -> list[SameOutcome]:
    """Two workers join, whose ids are drawn, and one that is there restarts."""
    cluster = connect_rows.row({"c0": 4, "c1": 4}, {"a": {"c0": (-1, 0, 1, 2, 3)}, "b": {"c1": (-1, 0, 1, 2, 3)}})
    joins = Join(at_ms=0, instances=(NewInstance(), NewInstance()))
    restarts = Bounce(at_ms=60_000, process_ids=("b",), restart_ms=20_000)
    found = alternatives(
        connect_rows.snapshot(cluster),
        axes_of([f"design={','.join(OF_GROUP_PROTOCOL['connect'])}"]),
        scenario=Scenario(events=(joins, restarts)),
        number_of_draws=3,
    )
    return list(beside_each_other(found))


CASES: dict[str, Callable[[], list[SameOutcome]]] = {
    "connect-designs": _designs,
    "grid": lambda: _scale_out("max.warmup.replicas=2,20,40", "assignor=high-availability,balanced"),
    "policy": lambda: _scale_out("max.warmup.replicas=2,4,20", "assignor=high-availability,balanced", policy=POLICY),
    "known-rates": lambda: _scale_out("probing.rebalance.interval.ms=1m,5m", restore_rate=100.0, produce_rate=1.0),
    "does-not-settle": lambda: _scale_out("max.warmup.replicas=2,20", max_rounds=8),
    "all-the-same": lambda: _scale_out("max.warmup.replicas=40,41"),
    "nothing-follows": _nothing_follows,
    "evil-names": _evil,
}


@cache
def case(name: str) -> Outcomes:
    return Outcomes(CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_alternatives_at_80_columns(name: str) -> None:
    assert_golden(f"compare/{name}.txt", to_table(case(name)))


@pytest.mark.parametrize("name", ["grid", "policy", "evil-names", "connect-designs"])
def test_alternatives_as_markdown(name: str) -> None:
    text = to_markdown(case(name))
    assert_golden(f"compare/{name}.md", text)
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert html.count("<table>") == len(compare_page(case(name)).tables)
    assert "<red>" not in html
    assert "<b>" not in html


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [40, 60, 80, 121])
def test_no_line_is_wider_than_the_page_and_none_ends_in_blanks(name: str, width: int) -> None:
    for line in to_table(case(name), width=width).splitlines():
        assert cell_len(line) <= width or line.startswith("Next: "), line
        assert line == line.rstrip()
        assert line.isprintable()


@pytest.mark.parametrize("name", CASES)
def test_json_is_as_its_schema_says(name: str) -> None:
    text = to_json(case(name))
    document = json.loads(text)
    SCHEMA.validate(document)
    assert text.isascii()
    assert text == json.dumps(document, sort_keys=True, separators=(",", ":"))
    lines = [
        (note["code"], f"{note['message']}.")
        for kind in ("warnings", "notes", "assumptions")
        for note in document[kind]
    ]
    lines += [(note["code"], note["message"]) for note in document["next"]]
    assert lines == [(line.code, line.text) for line in compare_page(case(name), verbose=True).lines]
    assert [len(outcome["alternatives"]) for outcome in document["outcomes"]] == [
        len(item.alternatives) for item in case(name)
    ]
    assert not SCHEMA.is_valid({**document, "outcomes": []})


def _rows(name: str) -> dict[str, tuple[str, ...]]:
    """Return the cells of every row of a comparison by its name, over all tables."""
    rows: dict[str, tuple[str, ...]] = {}
    for table in compare_page(case(name), verbose=True).tables:
        for row in table.rows:
            head, *cells = ["".join(cell.items) for cell in row.cells]
            rows[head.strip()] = (*rows.get(head.strip(), ()), *cells)
    return rows


def test_a_time_without_a_rate_has_its_least_below_it() -> None:
    assert "Duration without restores" in _rows("grid")
    assert "Duration without restores" not in _rows("known-rates")


def test_what_does_not_settle_says_in_how_many_draws() -> None:
    assert "4 of 4 do not settle" in _rows("does-not-settle")["Duration"]


def test_nothing_is_told_to_be_deployed_and_what_is_faster_tells_its_costs() -> None:
    for name in CASES:
        assert "deploy" not in to_table(case(name))
    first = compare_page(case("policy")).sentences[0]
    assert first.startswith("max.warmup.replicas=20, assignor=balanced settles first of those that keep to the policy")
    assert "Its price, against " in first


def test_less_safety_is_warned_of() -> None:
    varied = Outcomes(_scale_out("num.standby.replicas=0,1"))
    assert [line.code for line in compare_page(varied).lines if line.kind == "warning"].count("safety-setting") == 1


def test_times_that_overlap_are_said_to() -> None:
    outcomes = case("grid")
    figures = [outcome.alternative.figures for outcome in outcomes]
    shortest = min(figure.balanced_ms.median for figure in figures)
    near = [
        SameOutcome(outcome.alternatives, fastest=outcome.alternative.figures.balanced_ms.median < 2 * shortest)
        for outcome in outcomes
    ]
    assert sum(item.fastest for item in near) > 1
    sentence = compare_page(near).sentences[0]
    assert "Its range of times overlaps with that of" in sentence
    assert "random simulations and slower in" in sentence
    alone = [
        SameOutcome(tuple(replace(way, draws=None, drawn_ms=()) for way in item.alternatives), item.fastest)
        for item in near
    ]
    sentence = compare_page(alone).sentences[0]
    assert " may be as fast." in sentence, "where nothing is random, no ids decide"
    assert "random ids" not in sentence


def test_every_duration_is_that_of_the_json() -> None:
    for name in CASES:
        document = json.loads(to_json(case(name)))
        balanced = [item["figures"]["balanced_ms"] for item in document["outcomes"]]
        for outcome, figure in zip(case(name), balanced, strict=True):
            if outcome.alternative.settles and outcome.alternative.figures.rebalances.most:
                assert (
                    duration_text(outcome.alternative).removeprefix("at least ").startswith(duration(figure["median"]))
                )


_VALUES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)


@given(st.lists(_VALUES, min_size=1, max_size=3))
def test_a_grid_of_values_is_told_axis_by_axis(axes: Sequence[Sequence[str]]) -> None:
    grid: list[tuple[Change, ...]] = [()]
    for place, axis in enumerate(axes):
        grid = [(*before, Change(str(place), value)) for before in grid for value in axis]
    assert settings_text(grid, with_names=False) == ", ".join(" or ".join(axis) for axis in axes)
    assert settings_text(grid) == ", ".join(f"{place}={' or '.join(axis)}" for place, axis in enumerate(axes))


def test_what_is_no_grid_is_told_one_by_one() -> None:
    diagonal = [(Change("x", "1"), Change("y", "a")), (Change("x", "2"), Change("y", "b"))]
    assert settings_text(diagonal, with_names=False) == "1, a or 2, b"
    assert settings_text(diagonal) == "x=1, y=a or x=2, y=b"


def _designs_of_long_names(names: Sequence[str]) -> list[SameOutcome]:
    """Return alternatives of one plan, as if they were not the same."""
    plan = plan_cases.case("scale-out")
    return [SameOutcome((alternative((Change("design", name),), plan, None, None),), fastest=True) for name in names]


def test_none_settles_first_of_those_that_settle_at_the_same_time() -> None:
    page = compare_page(_designs_of_long_names(["one", "other"]))
    assert page.sentences[0].startswith("All alternatives settle at the same time: ")
    assert "settles first" not in " ".join(page.sentences)


def test_a_list_of_figures_is_headed_by_the_figure_alone() -> None:
    names = [f"a-design-with-quite-a-long-name-{number}" for number in range(5)]
    text = to_terminal(compare_page(_designs_of_long_names(names), verbose=True), width=80)
    assert "design " not in text.split("Alternatives\n")[1].partition("\nNext: ")[0]
    assert "\nAlternatives\nDuration\n  a-design-with-quite-a-long-name-0: " in text


def test_every_alternative_has_a_column_in_the_table_of_its_other_settings() -> None:
    """A choice of the shorter axis is a table; what comes to the same in two of them stands in both."""
    tables = compare_page(case("grid")).tables
    assert [table.title for table in tables] == [
        "Alternatives with assignor=high-availability",
        "Alternatives with assignor=balanced",
    ]
    assert [[column.head for column in table.columns] for table in tables] == [
        ["max.warmup.replicas", "2", "20 or 40"],
        ["max.warmup.replicas", "2", "20 or 40"],
    ]


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_tables_have_every_alternative_once(name: str, data: st.DataObject) -> None:
    outcomes = data.draw(st.permutations(case(name)))
    axes = range(len(outcomes[0].alternative.changes))
    longest = max(axes, key=lambda axis: len({a.changes[axis] for o in outcomes for a in o.alternatives}))
    shown: list[str] = []
    for table in compare_page(outcomes).tables:
        assert len(table.columns) <= 6
        shown += (value for column in table.columns[1:] for value in column.head.split(" or "))
    values = (alternative.changes[longest].value for outcome in outcomes for alternative in outcome.alternatives)
    assert sorted(shown) == sorted(printable(value) for value in values)


def test_what_differs_in_a_number_only_is_one_note() -> None:
    for name in CASES:
        codes = [
            line.code for line in compare_page(case(name)).lines if line.code in ("stateless-moves", "thread-moves")
        ]
        assert len(codes) == len(set(codes))


def test_what_is_not_told_of_all_says_of_which_it_is() -> None:
    outcomes = case("grid")
    for kind, notes in zip(("warning", "note", "assumption"), compare_remarks(outcomes)[:3], strict=True):
        own = [remarks(outcome.alternative.plan)[("warning", "note", "assumption").index(kind)] for outcome in outcomes]
        for note in (note for note in notes if note.code not in ("safety-setting", "settings-at-once")):
            is_of_all = all(note in answer for answer in own)
            is_counted = note.message.count(" with ") >= len(outcomes)
            assert is_of_all + is_counted + note.message.startswith("With ") == 1, note


def test_rules_that_are_broken_stand_apart_from_those_of_which_that_is_unknown() -> None:
    alike = _nothing_follows()
    broken = replace(
        alike[0].alternative,
        keeps_policy=False,
        broken_rules=("max_moves", "max_duration"),
        maybe_broken_rules=("max_duration",),
    )
    (policy,) = (figure for figure in figures_of([SameOutcome((broken,), False)]) if figure.name == "Policy")
    assert policy.text(broken) == "breaks max_moves; unknown: max_duration"
    assert policy.text(replace(broken, broken_rules=("max_duration",))) == "unknown: max_duration"
    assert policy.text(replace(broken, broken_rules=(), maybe_broken_rules=())) == "kept"
