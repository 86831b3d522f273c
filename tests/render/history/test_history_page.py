"""A lag history as a page: its verdict, its figures and its lines are those of the JSON, however long the history."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kstream_plan.answers.history import lag_history_json
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.page import as_sentence
from kstream_plan.render.pages.history import history_page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.snapshots.rows.lag_course import (
    FIGURES,
    NOTABLE,
    STEPS,
    InstanceCourse,
    LagCourse,
    Progress,
    TaskCourse,
    sum_of,
    total_progress,
)
from tests.helpers.schemas import validator

DAY_MS = 86_400_000
COUNTS = st.none() | st.integers(0, 10**7)
RATES = st.none() | st.floats(0, 10**6, allow_nan=False)
PROGRESS = st.builds(
    Progress,
    lag=COUNTS,
    lag_before=COUNTS,
    written_per_second=RATES,
    restored_per_second=RATES,
    at_least=st.sets(st.sampled_from(FIGURES)).map(lambda names: tuple(sorted(names))),
)


@st.composite
def courses(draw: st.DrawFn) -> LagCourse:
    instances = tuple(
        InstanceCourse(
            f"{number}d296588-571c-4eee",
            copies=2,
            heard_ms=draw(st.integers(0, DAY_MS)),
            progress=draw(PROGRESS),
            lags=draw(st.tuples(*[st.none() | st.integers(0, 10**6)] * STEPS)),
            copies_behind=(behind := draw(st.integers(0, 2))),
            most_behind=("0_1", 20_000) if behind else None,
            is_silent=draw(st.booleans()),
        )
        for number in range(draw(st.integers(1, 6)))
    )
    progress, lags = total_progress([instance.progress for instance in instances]), sum_of(instances)
    tasks = (TaskCourse("0_1", 2, draw(COUNTS), draw(RATES)),)
    return LagCourse("orders", 0, DAY_MS, 10, 2 * len(instances), progress, lags, instances, tasks)


@given(courses(), st.integers(1, 8))
def test_the_page_says_what_the_json_says(course: LagCourse, top: int) -> None:
    page, document = history_page(course, top), json.loads(lag_history_json(course))
    validator("history").validate(document)
    commands = [(line.code, line.text) for line in page.lines if line.kind == "next"]
    assert [(note["code"], note["message"]) for note in document["next"]] == commands
    lines = [line for line in page.lines if line.kind != "next"]
    said = [(f"{line.kind}s", line.code, line.text) for line in lines]
    written = [
        (kind, note["code"], as_sentence(note["message"])) for kind in ("warnings", "notes") for note in document[kind]
    ]
    assert said == written
    assert page.tone == {True: "bad", None: "unknown", False: "good"}[document["falls_behind"]]
    rows = page.tables[0].rows
    assert len(rows) == min(top, len(course.instances))
    for row, instance in zip(rows, document["instances"], strict=False):
        is_behind = (instance["lag"] or 0) > NOTABLE
        assert (row.cells[1].text == "keeps up") == (instance["falls_behind"] is False and not is_behind)
        assert (row.cells[1].tone == "good") == (row.cells[1].text == "keeps up")
        lag = "unknown" if instance["lag"] is None else f"{instance['lag']:,}"
        assert row.cells[3].items[0].endswith(lag)
        assert ("at least" in row.cells[4].items[0]) == (
            "written_per_second" in instance["at_least"] and instance["written_per_second"] is not None
        )


@given(courses())
def test_a_page_is_as_wide_as_the_terminal(course: LagCourse) -> None:
    for width in (40, 80, 120):
        above, _, _ = to_terminal(history_page(course, 5), width=width).partition("\nNext: ")  # what is copied is whole
        assert max(map(cell_len, above.splitlines())) <= width
    assert to_markdown(history_page(course, 5)).startswith("### orders: ")


def test_a_lower_bound_is_never_more_than_what_is_known() -> None:
    progress = Progress(1, 1, 9.99, 12.7, at_least=("written_per_second", "restored_per_second"))
    instance = InstanceCourse("i1", 1, DAY_MS, progress, (1,) * STEPS)
    course = LagCourse("orders", 0, DAY_MS, 1, 1, progress, (1,) * STEPS, (instance,), ())
    facts = {fact.key: fact.value for fact in history_page(course, 1).facts}
    assert (facts["written"], facts["restored"]) == ("at least 9.9 records/s", "at least 12 records/s")


@pytest.mark.parametrize("number", [4, 5, 40])
def test_many_instances_that_fall_behind_are_one_warning(number: int) -> None:
    progress = Progress(30_000, 0, 5.0, 1.0)
    instances = tuple(
        InstanceCourse(f"i{place}", 2, DAY_MS, progress, (1,) * STEPS, 1, ("0_1", 30_000)) for place in range(number)
    )
    course = LagCourse("orders", 0, DAY_MS, 1, 2, progress, (1,) * STEPS, instances, ())
    line, _note = history_page(course, 10).lines
    assert (line.kind, line.code) == ("warning", "copies-fall-behind")
    assert ("more" in line.text) == (number > 4)


def test_who_is_far_behind_and_comes_closer_is_catching_up_and_says_for_how_long() -> None:
    lags = (1_000, None) * (STEPS // 2)

    def text(lag: int, before: int, restored: float) -> str:
        progress = Progress(lag, before, 400.0, restored)
        instance = InstanceCourse("0d296588", 2, DAY_MS, progress, lags)
        course = LagCourse("orders", 0, DAY_MS, 10, 2, progress, lags, (instance,), (TaskCourse("0_1", 2, lag, 400.0),))
        page = history_page(course, 1)
        return " ".join((page.tables[0].rows[0].cells[1].text, *page.sentences, *(fact.value for fact in page.facts)))

    catching_up = text(2_080_000, 3_904_000, 3_600.0)
    assert catching_up.startswith("catching up ")
    assert "1 instance is catching up: that takes about 10m50s more at these rates." in catching_up
    assert "? is a step without a report" in catching_up
    assert "· is no lag" not in catching_up
    assert text(2_080_000, 2_080_000, 400.0).startswith("stays behind ")
    assert "that takes an unknown time" in text(2_080_000, 2_080_001, 400.0)
    assert text(NOTABLE, NOTABLE, 400.0).startswith("keeps up ")


@given(courses())
def test_no_step_is_known_in_which_an_instance_is_silent(course: LagCourse) -> None:
    """Its lag may be anything: that of the others is not that of all."""
    for instance in course.instances:
        heard = max((step for step, lag in enumerate(instance.lags) if lag is not None), default=STEPS)
        if instance.is_silent:
            assert not any(lag is not None for lag in course.lags[heard + 1 :])
