"""Prometheus text as instances publish it, and a group to lay what it says over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.helpers.snapshot_rows import P0, P1

#: Two instances; 0_0 and 0_1 run on the second, with standbys on the first; both have two stores.
GROUP: dict[str, Any] = {
    "format_version": "1.0",
    "application_id": "my.app",
    "captured_at": "2026-11-21T12:00:00.000Z",
    "config": {"acceptable_recovery_lag": 100},
    "tasks": [
        {
            "task_id": f"0_{number}",
            "stateful": True,
            "end_offset_sum": 2_000,
            "changelog_partitions": [
                {"topic": f"my.app-{store}-changelog", "partition": number, "end_offset": 1_000} for store in "AB"
            ],
        }
        for number in (0, 1)
    ],
    "instances": [
        {
            "process_id": P0,
            "host": "one",
            "consumers": [
                {"consumer_id": f"my.app-{P0}-StreamThread-1-consumer-{P1}", "active": [], "standby": ["0_0", "0_1"]}
            ],
        },
        {
            "process_id": P1,
            "host": "two",
            "consumers": [
                {"consumer_id": f"two-StreamThread-1-consumer-{P0}", "active": ["0_0", "0_1"], "standby": []}
            ],
        },
    ],
    "lags": [
        {"process_id": P0, "task_id": "0_0", "lag": 50, "reported_at": "2026-11-21T11:00:00.000Z"},
        {"process_id": P0, "task_id": "0_1", "lag": 50, "reported_at": "2026-11-21T11:00:00.000Z"},
    ],
}

#: When the scrapes of :func:`scrape` are from, by default.
SCRAPED = "2026-11-21T12:00:00.000Z"

JMX = "kafka_consumer_consumer_fetch_manager_metrics_{}"


def position(
    name: str,
    value: object,
    *,
    store: str = "A",
    partition: int | str = 0,
    client: str = f"my.app-{P0}",
    thread: str = "StateUpdater-1",
    naming: str = JMX,
    labels: Mapping[str, str] | None = None,
) -> str:
    """One series of a restore consumer; ``name`` is ``records_lead`` or ``records_lag``."""
    given = {
        "client_id": f"{client}-{thread}-restore-consumer",
        "partition": str(partition),
        "topic": f"my.app-{store}-changelog",
        **(labels or {}),
    }
    inside = ",".join(f'{key}="{text}"' for key, text in given.items())
    return f"{naming.format(name)}{{{inside}}} {value}"


def leads(values: Mapping[tuple[str, int], float], **given: Any) -> list[str]:
    """Series of positions by store and partition."""
    return [position("records_lead", value, store=s, partition=p, **given) for (s, p), value in values.items()]


def lags(values: Mapping[tuple[str, int], float], **given: Any) -> list[str]:
    """Series of lags by store and partition."""
    return [position("records_lag", value, store=s, partition=p, **given) for (s, p), value in values.items()]


def text(lines: Sequence[str], at: str = SCRAPED) -> str:
    """A scrape."""
    return "\n".join([f"# captured {at}", *lines]) + "\n"
