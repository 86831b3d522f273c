"""The list of generations as a page: every one is a row of its application, and nothing unknown is a figure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kstream_plan.model.times import format_time
from kstream_plan.render.pages.generations import Generation, connect_generations_page, generations_page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.snapshots.connect_log.history import ConnectEntry
from kstream_plan.snapshots.leader_log.message_values import LogPlace

GENERATIONS = st.builds(
    Generation,
    application_id=st.sampled_from(["orders", "payments", "a\x1b[31m"]),
    captured_at=st.none() | st.integers(0, 2**41).map(format_time),
    generation=st.none() | st.integers(1, 5_000),
    trigger=st.none() | st.sampled_from(["join", "leave", "probing", "follow-up"]),
    instances=st.integers(1, 300),
    consumers=st.integers(1, 3_000),
    moved_tasks=st.integers(0, 30_000),
    withheld_tasks=st.integers(0, 30_000),
    has_probe=st.none() | st.booleans(),
)


@given(st.lists(GENERATIONS, max_size=12))
def test_every_generation_is_a_row_in_its_order(generations: list[Generation]) -> None:
    page = generations_page(generations)
    names = list(dict.fromkeys(generation.application_id for generation in generations))
    assert len(page.tables) == len(names)
    for name, table in zip(names, page.tables, strict=True):
        rows = [[cell.items[0] for cell in row.cells] for row in table.rows]
        own = [generation for generation in generations if generation.application_id == name]
        assert [(row[3], row[4], row[5]) for row in rows] == [
            (f"{one.instances:,}", f"{one.moved_tasks:,}", f"{one.withheld_tasks:,}") for one in own
        ]
        numbers = enumerate((one.generation for one in own), 1)  # counted where it is unknown
        assert [row[1] for row in rows] == [f"{place if told is None else told:,}" for place, told in numbers]
        assert [row[6] == "unknown" for row in rows] == [one.has_probe is None for one in own]
    gone = any(generation.trigger == "leave" for generation in generations)
    assert ("Gone: " in "".join(table.note for table in page.tables)) == gone


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_long_list_is_set_in_lines_of_text(width: int) -> None:
    generation = Generation("orders", "2026-11-21T13:00:38.000Z", 1, "probing", 5, 10, 8, 8, has_probe=True)
    page = generations_page([generation._replace(generation=number) for number in range(1, 1_001)])
    lines = to_terminal(page, width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert page.source == "2026-11-21 13:00:38 UTC"
    assert sum("1,000" in line for line in lines) == 2  # the title, and the last row


def test_what_cannot_be_planned_from_is_a_note() -> None:
    place = LogPlace("w1.log", 1)
    whole = ConnectEntry("connect", 7, None, "w1:8083", 3, 0, 2, 2, 300_000, place, None, {})
    page = connect_generations_page([whole, whole._replace(generation=8, problem="the log of its leader is cut")])
    assert [(line.kind, line.code, line.text) for line in page.lines] == [
        ("note", "cannot-be-planned", "generation 8 cannot be planned from: the log of its leader is cut.")
    ]
    assert page.tables[0].rows[0].cells[6].tone == "unknown"
    rows = [[cell.items[0] for cell in row.cells[3:7]] for row in page.tables[0].rows]
    assert rows == [["3", "2", "0", "2"], ["at least 3", "at least 2", "0 or more", "at most 2"]]
