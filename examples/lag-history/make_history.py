"""Write ``snapshot.json`` and ``lags.parquet`` beside this script: ten minutes of one standby that restores.

    python examples/lag-history/make_history.py
    kstream-plan assign examples/lag-history/snapshot.json --metrics examples/lag-history/lags.parquet

Every 30 seconds each instance reports how far its copy of each store is and where the changelog ends. Four tasks get
100 records a second each; the first instance, back with an empty disk, restores its standbys by 900 a second.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
APPLICATION = "payments"
CAPTURED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
STEP = timedelta(seconds=30)
STEPS = 20
FIRST, SECOND = "0f8b6c1e-3a52-4d0a-9b1e-5c1d2e3f4a50", "3c9d7e2f-4b63-4e1b-8c2f-6d2e3f4a5b61"
TASKS = ("0_0", "0_1", "0_2", "0_3")
PRODUCED, RESTORED = 100, 900
END_AT_FIRST = 1_000_000


def main() -> None:
    """Write both files."""
    (HERE / "snapshot.json").write_text(json.dumps(snapshot(), indent=2) + "\n", encoding="utf-8")
    rows = [row for step in range(STEPS + 1) for row in reports(step)]
    columns = pa.schema(
        [
            ("application_id", pa.string()),
            ("captured_at", pa.timestamp("ms", tz="UTC")),
            ("process_id", pa.string()),
            ("task_id", pa.string()),
            ("store", pa.string()),
            ("offset", pa.int64()),
            ("end_offset", pa.int64()),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=columns), HERE / "lags.parquet")


def snapshot() -> dict[str, object]:
    """The second instance runs everything; the first holds standbys of it that are not caught up yet."""
    return {
        "format_version": "1.0",
        "application_id": APPLICATION,
        "generation": 4,
        "captured_at": f"{CAPTURED_AT:%Y-%m-%dT%H:%M:%SZ}",
        "config": {"num_standby_replicas": 1, "acceptable_recovery_lag": 10_000},
        "tasks": [{"task_id": task, "stateful": True, "end_offset_sum": end_offset(STEPS)} for task in TASKS],
        "instances": [
            {
                "process_id": FIRST,
                "host": "payments-0",
                "consumers": [{"consumer_id": "payments-0-StreamThread-1", "standby": list(TASKS)}],
            },
            {
                "process_id": SECOND,
                "host": "payments-1",
                "leader": True,
                "consumers": [{"consumer_id": "payments-1-StreamThread-1", "active": list(TASKS)}],
            },
        ],
    }


def reports(step: int) -> list[dict[str, object]]:
    """What both instances report at one step."""
    at = CAPTURED_AT - (STEPS - step) * STEP
    end = end_offset(step)
    offsets = {FIRST: RESTORED * step * STEP.seconds, SECOND: end}
    return [
        {
            "application_id": APPLICATION,
            "captured_at": at,
            "process_id": process_id,
            "task_id": task,
            "store": "balances",
            "offset": offset,
            "end_offset": end,
        }
        for process_id, offset in offsets.items()
        for task in TASKS
    ]


def end_offset(step: int) -> int:
    """Where a changelog ends at one step."""
    return END_AT_FIRST + PRODUCED * step * STEP.seconds


if __name__ == "__main__":
    main()
