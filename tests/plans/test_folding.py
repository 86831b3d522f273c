"""Rows of events: nothing is lost, what a reader must not miss stands alone, and large plans stay readable."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import TaskId
from kstream_plan.plans.folding import fold
from kstream_plan.plans.rebalance_events import Move, RebalanceEvent

_COLD = Move(TaskId(0, 0), "a", "b", True, None)


def _event(kind: str) -> RebalanceEvent:
    if kind == "join":
        return RebalanceEvent([], joined_ids=["c"])
    return RebalanceEvent(
        [], probe=1, ready_warmups=kind != "waits", probed_warmups=1, moves=[_COLD] * (kind == "cold")
    )


def _events(least: int, most: int) -> st.SearchStrategy[list[RebalanceEvent]]:
    kinds = st.sampled_from(["plain"] * 6 + ["waits"] * 3 + ["join", "cold"])
    return st.lists(kinds.map(_event), min_size=least, max_size=most)


def _must_be_seen(event: RebalanceEvent) -> bool:
    return event.probe is None or bool(event.cold)


def _shared(rows: Sequence[Sequence[RebalanceEvent]]) -> list[RebalanceEvent]:
    return [event for row in rows if len(row) > 1 for event in row]


@given(events=_events(0, 150))
def test_each_event_is_in_one_row_in_order_and_what_must_be_seen_in_its_own(events: list[RebalanceEvent]) -> None:
    rows = fold(events)
    assert [id(event) for row in rows for event in row] == [id(event) for event in events]
    assert not any(map(_must_be_seen, _shared(rows)))
    if len(rows) < len(events) <= 100:
        assert all(event.ready_warmups == event.probed_warmups for event in _shared(rows))


def test_probes_that_wait_are_folded_where_they_would_be_hundreds_of_rows() -> None:
    waits, plain = _event("waits"), _event("plain")
    assert len(fold([plain, waits] * 50)) == 100
    for pairs in (51, 3_000):
        events = [_event("join"), *[plain, waits] * pairs, _event("cold"), *[waits, plain] * pairs]
        rows = fold(events)
        assert len(rows) <= 14
        assert [row for row in rows if _must_be_seen(row[0])] == [[events[0]], [events[1 + 2 * pairs]]]
