"""What any page is made of: rows, columns, and columns that are left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.render.page import Table, columns_of, text_cell, text_row

_HEADS = ("Task", "Lag", "To restore", "Paused")


@given(st.lists(st.tuples(*[st.text(max_size=3)] * len(_HEADS)), max_size=4), st.sets(st.sampled_from(_HEADS)))
def test_a_column_is_left_out_of_every_row(texts: list[tuple[str, ...]], left_out: set[str]) -> None:
    table = Table("", columns_of(*_HEADS), tuple(text_row(*row, tone="bad") for row in texts)).leave_out(*left_out)
    places = [place for place, head in enumerate(_HEADS) if head not in left_out]
    assert [column.head for column in table.columns] == [_HEADS[place] for place in places]
    assert [row.cells for row in table.rows] == [tuple(text_cell(row[place]) for place in places) for row in texts]
    assert {row.tone for row in table.rows} <= {"bad"}


def test_a_row_is_as_loud_as_its_loudest_cell() -> None:
    assert text_row("0_0", text_cell("cold", "bad"), text_cell("?", "unknown")).worst == "bad"
    assert text_row("0_0", text_cell("?", "unknown")).worst == "unknown"
    assert text_row("0_0", text_cell("new", "new"), tone="dim").worst == "plain"


def test_a_head_says_which_side_its_cells_are_set_to() -> None:
    [left, right] = columns_of("Task", ">Lag", wide={"Lag": 100})
    assert (left.head, left.right, left.from_width) == ("Task", False, 0)
    assert (right.head, right.right, right.from_width) == ("Lag", True, 100)
