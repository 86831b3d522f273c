"""What a real group did after an event comes out of what its leader's log told before it."""

from __future__ import annotations

import pytest

from tests.helpers.recorded_events import BY_NAME, before, followed, outcome, planned

#: So many generations have to come out, by instance.
AT_LEAST = {
    "fresh": 4,
    "duo3": 6,
    "bounce": 3,
    "drain": 4,
    "big4": 15,
    "bigcrash": 3,
    "bigremove": 13,
    "two": 5,
    "twocrash": 12,
}
#: Of these everything came out, so their times can be compared.
WHOLE = ("fresh", "bounce", "duo3", "drain", "big4", "bigremove", "twocrash")


@pytest.mark.parametrize("name", sorted(AT_LEAST))
def test_what_followed_was_planned_before(name: str) -> None:
    event = BY_NAME[name]
    found = outcome(event, planned(event))
    assert sum(found.alike) >= AT_LEAST[name], str(found)


def test_where_threads_race_to_rejoin_both_ends_are_told() -> None:
    """A follow-up came after 1.3 s instead of 0.1 s, and all 10 generations followed within 25.5 s, without a probe."""
    event = BY_NAME["two"]
    plan = planned(event)
    assert "late-follow-up" in {note.code for note in plan.warnings}
    low, high = next((low, high) for figure, low, high in plan.summary.ranges if figure == "duration_ms")
    seen_ms = (followed(event)[-1].at_ms or 0) - (followed(event)[0].at_ms or 0)
    assert low <= seen_ms <= high
    assert high == plan.summary.duration_ms


@pytest.mark.parametrize("name", WHOLE)
def test_it_came_when_it_was_said(name: str) -> None:
    """Give or take a heartbeat interval per rebalance, and the seconds that an instance takes to start or to stop."""
    event = BY_NAME[name]
    found = outcome(event, planned(event))
    assert all(abs(late_ms) <= 3_000 * (place + 2) for place, late_ms in enumerate(found.late_ms)), str(found)


@pytest.mark.parametrize("name", ["big4", "bigcrash", "bigremove"])
def test_rates_are_measured_as_they_were(name: str) -> None:
    """400 records a second were restored; of the first subtopology 5 were written to each task, of the other 10."""
    snapshot = before(BY_NAME[name], true_rates=False)
    instances = range(len(snapshot.state.group.instances))
    assert [snapshot.rates.restore_rate(i) for i in instances] == pytest.approx([400.0] * len(instances), rel=0.05)
    written = {str(snapshot.state.group.tasks[task].task_id): rate for task, rate in snapshot.rates.produce.items()}
    assert written == pytest.approx({item: 5.0 if item.startswith("0_") else 10.0 for item in written}, rel=0.05)
    assert len(written) == 12
    assert min(snapshot.rates.produce_intervals.values()) >= 6
