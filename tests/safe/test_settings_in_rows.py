"""Settings that a row itself gives decide under each of their names, and what no plan goes by is UNKNOWN."""

from __future__ import annotations

from typing import Any

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.model.answer import Answer
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Policy
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby
from tests.helpers.check_cases import NOW

STICKY = "org.apache.kafka.streams.processor.internals.assignment.StickyTaskAssignor"


def _answers(**settings: Any) -> set[Answer]:
    row = one_standby.row(stores="persistent")
    row["config"] |= settings
    snapshot = snapshot_from_row(row, "x")
    return {
        drain(snapshot, ["i0"], leave=True).answer,
        bounce(snapshot, 10_000, instances=["i0"]).answer or Answer.UNKNOWN,
        check_plan(plan(snapshot), Standard(Policy(), NOW)).answer,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task.assignor.class", "com.example.Own"),
        ("internal.task.assignor.class", STICKY),
        ("upgrade.from", "2.3"),
        ("group.protocol", "streams"),
    ],
)
@pytest.mark.parametrize("separator", [".", "_"])
def test_what_decides_otherwise_than_a_plan_is_unknown(name: str, value: str, separator: str) -> None:
    assert _answers(**{name.replace(".", separator): value}) == {Answer.UNKNOWN}
    assert _answers(**{name.replace(".", separator): ""}) == {Answer.YES}


@pytest.mark.parametrize("name", ["acceptable.recovery.lag", "acceptable_recovery_lag"])
def test_a_limit_counts_by_kafka_s_own_name(name: str) -> None:
    row = one_standby.row(lag=50)
    row["config"] = {"num_standby_replicas": 1, name: 5}
    assert snapshot_from_row(row, "x").config.acceptable_recovery_lag == 5
    assert drain(snapshot_from_row(row, "x"), ["i0"], leave=True).answer is Answer.NO


def test_two_names_with_unlike_values_are_refused() -> None:
    row = one_standby.row()
    row["config"]["acceptable.recovery.lag"] = row["config"]["acceptable_recovery_lag"]
    snapshot_from_row(row, "x")
    row["config"]["acceptable.recovery.lag"] = 5
    with pytest.raises(SnapshotError, match="under two names"):
        snapshot_from_row(row, "x")
