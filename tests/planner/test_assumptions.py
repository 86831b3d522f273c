"""What a plan says of copies of which it is unknown whether they have caught up."""

from __future__ import annotations

from kstream_plan.model import TaskId
from kstream_plan.planner.assumptions import _deciding_rate
from kstream_plan.plans.design import CopyDoubt


def doubt(partition: int, instance: str, records: int) -> CopyDoubt:
    return CopyDoubt(
        TaskId(0, partition), instance, active=False, records=records, since_ms=0, to_ms=10_000, is_likely_ready=False
    )


def test_a_copy_has_to_restore_its_lag_less_the_limit() -> None:
    assert _deciding_rate([doubt(0, "a", 2_000)], limit=100) == 190


def test_copies_of_one_instance_share_its_rate_until_the_largest_is_within_the_limit() -> None:
    assert _deciding_rate([doubt(0, "a", 2_000), doubt(1, "a", 2_000)], limit=100) == 380
    assert _deciding_rate([doubt(0, "a", 2_000), doubt(1, "a", 100), doubt(2, "b", 500)], limit=100) == 200
