"""What a plan takes for granted, and says of copies of which it is unknown whether they have caught up."""

from __future__ import annotations

import copy

import pytest

from kstream_plan.model import Snapshot, TaskId
from kstream_plan.model.scenario import Bounce, Event, Leave, Scenario
from kstream_plan.planner.assumptions import _deciding_rate
from kstream_plan.plans.design import CopyDoubt
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.snapshot_rows import P1, ROW


def doubt(partition: int, instance: str, records: int) -> CopyDoubt:
    return CopyDoubt(
        TaskId(0, partition), instance, active=False, records=records, since_ms=0, to_ms=10_000, is_likely_ready=False
    )


def test_a_copy_has_to_restore_its_lag_less_the_limit() -> None:
    assert _deciding_rate([doubt(0, "a", 2_000)], limit=100) == 190


def test_copies_of_one_instance_share_its_rate_until_the_largest_is_within_the_limit() -> None:
    assert _deciding_rate([doubt(0, "a", 2_000), doubt(1, "a", 2_000)], limit=100) == 380
    assert _deciding_rate([doubt(0, "a", 2_000), doubt(1, "a", 100), doubt(2, "b", 500)], limit=100) == 200


def _codes(snapshot: Snapshot, *events: Event) -> set[str]:
    return {note.code for note in plan_checked(snapshot, scenario=Scenario(events=events)).assumptions}


@pytest.mark.parametrize(("release", "is_assumed"), [(None, True), ("3.9.1", False)])
def test_an_unknown_release_is_an_assumption_where_something_follows(release: str | None, is_assumed: bool) -> None:
    row = copy.deepcopy(ROW) | {"streams_version": release}
    snapshot = snapshot_from_row(row, "row")
    assert ("release-assumed" in _codes(snapshot, Leave(at_ms=0, process_ids=(P1,)))) is is_assumed


@pytest.mark.parametrize(
    ("release", "static_id", "is_assumed"),
    [
        ("3.2.3", None, True),
        ("3.2.3", "a", True),
        ("3.3.0", "a", False),
        ("4.1.1", None, True),
        ("4.1.1", "a", False),
        ("4.2.0", None, False),
        (None, None, False),
    ],
)
def test_before_4_2_only_static_members_have_a_way_to_leave_and_before_3_3_none(
    release: str | None, static_id: str | None, is_assumed: bool
) -> None:
    row = copy.deepcopy(ROW) | {"streams_version": release}
    for number, instance in enumerate(row["instances"]):
        for consumer in instance["consumers"]:
            consumer["group_instance_id"] = None if static_id is None else f"{static_id}{number}"
    snapshot = snapshot_from_row(row, "row")
    leaves = Leave(at_ms=0, process_ids=(P1,)), Bounce(at_ms=600_000, process_ids=(P1,), restart_ms=5_000)
    assert ("leaves-dynamically" in _codes(snapshot, leaves[0])) is is_assumed
    assert "leaves-dynamically" not in _codes(snapshot, leaves[1]), "a default close does not leave"
