"""A plan names the starts that it calls warm and cannot prove to be, and counts them among the cold ones at worst."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import KstreamPlanError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Bounce, Burst, Event, Leave, Scenario, Stop
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.one_standby import IDS, snapshot

_LONG_AGO = "2026-11-22T11:00:00.000Z"


def _play(of: Snapshot, *events: Event, trust_ms: int = 60_000) -> Plan:
    return plan_checked(of, scenario=Scenario(events=events), trust_ms=trust_ms)


def _starts(made: Plan) -> list[tuple[str, Fact]]:
    return [(str(start.task_id), start.evidence.fact) for start in made.unproven_starts]


_LEAVES = Leave(at_ms=0, process_ids=IDS[:1])


def test_a_copy_of_which_was_heard_lately_is_proven() -> None:
    made = _play(snapshot(), _LEAVES)
    assert not made.unproven_starts
    assert made.ends("cold_handovers") == (0, 0)


def test_an_old_report_is_not() -> None:
    made = _play(snapshot(reported_at=_LONG_AGO), _LEAVES)
    assert _starts(made) == [("0_0", Fact.OLD_REPORT)]
    assert made.unproven_starts[0].process_id == IDS[1]
    assert made.ends("cold_handovers") == (0, 1)


def test_nothing_is_written_while_nobody_runs_the_task() -> None:
    """It is noticed 45s after the stop; the report is 59s old then."""
    made = _play(snapshot(), Stop(at_ms=59_000, process_ids=IDS[:1]))
    assert made.rounds[-1].at_ms > 60_000
    assert not made.unproven_starts


def test_a_burst_is_more_than_a_report_can_have_foreseen() -> None:
    made = _play(snapshot(), Burst(at_ms=1_000, records=10_001), Leave(at_ms=2_000, process_ids=IDS[:1]))
    assert made.ends("cold_handovers")[1] == 1


def test_moves_that_wait_for_their_copies_are_proven() -> None:
    """0_0 moves to a copy that was behind, once that has told the group that it caught up."""
    crowded = snapshot(reported_at=_LONG_AGO, lag=900_000)
    made = plan_checked(crowded)
    assert not made.unproven_starts


@pytest.mark.parametrize(("stores", "facts"), [(None, [Fact.STORES_UNKNOWN]), ("persistent", [])])
def test_a_restart_finds_what_its_stores_leave(stores: str | None, facts: list[Fact]) -> None:
    of = replace(snapshot(), stores=stores)  # type: ignore[arg-type]
    made = _play(of, Bounce(at_ms=0, process_ids=IDS[2:], restart_ms=3_000))
    assert [fact for _, fact in _starts(made)] == facts
    static = _play(of, Bounce(at_ms=0, process_ids=IDS[2:], restart_ms=3_000, static=True))
    assert [fact for _, fact in _starts(static)] == facts


def test_they_are_saved_with_the_plan_which_counts_them() -> None:
    made = _play(snapshot(reported_at=_LONG_AGO), _LEAVES)
    text = plan_json(made)
    assert read_plans(text.encode(), "x") == [made]
    with pytest.raises(KstreamPlanError, match=r"seal does not fit .*summary.*unproven_starts"):
        read_plans(text.replace('"cold_handovers":[0,1]', "").encode(), "x")
