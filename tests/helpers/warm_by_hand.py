"""Whether anybody who is left can have a copy within the limit: by a few lines of its own, from a row as it stands."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kstream_plan.model import UNKNOWN
from tests.helpers.random_groups import TAKEN_MS, Given, ms_of

#: A copy may have restored for so long after the moment that is asked of, a session time-out and heartbeats included.
_UNTIL_STARTED_S = 60
#: What is restored at once, ahead of the rate.
_A_POLL = 1_000


def may_be_within(given: Given, task_id: str, gone: Collection[str]) -> bool:
    """Tell whether some survivor may have a copy of a task within ``acceptable.recovery.lag`` when it starts."""
    limit, whole = given.row["config"]["acceptable_recovery_lag"], _whole(given, task_id)
    if whole is None or whole <= limit:
        return True
    survivors = [each for each in given.row["instances"] if each["process_id"] not in gone]
    return any(_may_be_within(given, task_id, instance, limit) for instance in survivors)


def _may_be_within(given: Given, task_id: str, instance: dict[str, Any], limit: int) -> bool:
    is_standby = any(task_id in consumer["standby"] for consumer in instance["consumers"])
    report = next(
        (
            item
            for item in given.row["lags"]
            if (item["task_id"], item["process_id"]) == (task_id, instance["process_id"])
        ),
        None,
    )
    if report is None:
        return is_standby
    if not is_standby and given.row.get("stores") == "in-memory":
        return False
    lag = report["lag"] if "lag" in report else report["end_offset"] - report["offset"]
    if lag == UNKNOWN:
        return is_standby
    if not is_standby:
        return bool(lag <= limit)  # nobody restores it
    asked_ms = TAKEN_MS + (given.later_ms or 0)
    made_from = given.row.get("decision", {}).get("at", given.row["captured_at"])  # it was reported by then
    age_s = (asked_ms - ms_of(report.get("reported_at", made_from))) / 1000
    restored = None if given.restore is None else given.restore * (age_s + _UNTIL_STARTED_S) + _A_POLL
    return restored is None or bool(lag - restored <= limit)


def _whole(given: Given, task_id: str) -> int | None:
    whole: int | None = next(task.get("end_offset_sum") for task in given.row["tasks"] if task["task_id"] == task_id)
    return whole
