"""Whether state outlives a restart, by the process ids that hosts come back under."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.given_settings import _of_stores
from kstream_plan.snapshots.rows.history import lost_state_notes, with_stores_by_restarts
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

Start = tuple[str, str, int]  # host, process id, number of the start


def row(*starts: Start, **more: Any) -> dict[str, Any]:
    return {
        "format_version": "1.0",
        "application_id": "orders",
        "config": {},
        "tasks": [],
        "instances": [
            {
                "process_id": process_id,
                "host": host,
                "consumers": [{"consumer_id": f"{process_id}-{number}", "active": [], "standby": [], "warmup": []}],
            }
            for host, process_id, number in starts
        ],
        "lags": [],
    } | more


def stores(*rows: dict[str, Any]) -> list[Any]:
    return [of_row.get("stores") for of_row in with_stores_by_restarts(rows)]


@given(kept=st.lists(st.booleans(), max_size=8))
def test_stores_are_in_memory_where_two_restarts_and_all_have_new_process_ids(kept: list[bool]) -> None:
    process_id, rows = "p0", [row(("a", "p0", 0))]
    for number, is_kept in enumerate(kept, 1):
        process_id = process_id if is_kept else f"p{number}"
        rows += [row(("a", process_id, number)), row(("a", process_id, number))]
    expected = "in-memory" if len(kept) > 1 and not any(kept) else None
    assert stores(*rows)[-1] == expected
    assert bool(lost_state_notes(with_stores_by_restarts(rows))) is (expected is not None)


def test_a_row_knows_only_what_came_before() -> None:
    rows = [row(("a", f"p{number}", number)) for number in range(3)]
    assert stores(*rows) == [None, None, "in-memory"]


def test_hosts_with_several_instances_and_instances_without_a_host_tell_nothing() -> None:
    assert stores(*(row(("a", f"p{number}", 0), ("a", f"q{number}", 0)) for number in range(4)))[-1] is None
    assert stores(*(row(("", f"p{number}", 0)) for number in range(4)))[-1] is None


def test_what_a_row_says_itself_stays() -> None:
    assert stores(*(row(("a", f"p{number}", 0), stores="persistent") for number in range(4)))[-1] == "persistent"


def test_settings_do_not_make_lost_state_persistent_but_the_option_does() -> None:
    lost = snapshot_from_row(row(("a", "p", 0), stores="in-memory"), "here")
    assert _of_stores(lost, None, "persistent").stores == "in-memory"
    assert _of_stores(lost, "persistent", None).stores == "persistent"
