"""A group of three instances in which ``i0`` runs 0_0, ``i1`` 0_1 with a standby of 0_0, and ``i2`` 0_2."""

from __future__ import annotations

from typing import Any

from kstream_plan.model import Snapshot
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

IDS = tuple(f"1000000{number}-0000-4000-8000-000000000000" for number in range(3))
AT = "2026-11-22T12:00:00.000Z"
WHOLE = 1_000_000


def row(*, lag: int | None = 0, reported_at: str | None = AT, left_over: bool = False, **fields: Any) -> dict[str, Any]:
    """Return the row; ``lag`` is what the copy of 0_0 on ``i1`` reported (``None``: nothing), ``fields`` others."""
    reports = [] if lag is None else [{"process_id": IDS[1], "task_id": "0_0", "lag": lag, "reported_at": reported_at}]
    return {
        "format_version": "1.0",
        "application_id": "a",
        "generation": 5,
        "captured_at": AT,
        "config": {"acceptable_recovery_lag": 10_000, "num_standby_replicas": 1},
        "tasks": [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": WHOLE} for number in range(3)],
        "instances": [
            {
                "process_id": process_id,
                "host": f"i{number}",
                "consumers": [
                    {
                        "consumer_id": f"i{number}-StreamThread-1",
                        "active": [f"0_{number}"],
                        "standby": ["0_0"] if number == 1 and not left_over else [],
                    }
                ],
            }
            for number, process_id in enumerate(IDS)
        ],
        "lags": reports,
        **fields,
    }


def snapshot(**fields: Any) -> Snapshot:
    """Return what is read of the row."""
    return snapshot_from_row(row(**fields), "one-standby")
