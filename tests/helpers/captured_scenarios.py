"""What was done to the captured groups from outside, as scenarios for the group before it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from kstream_plan.model import Consumer, Instance, Rates, Snapshot
from kstream_plan.model.scenario import Event, Join, Scenario, Stop
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured

#: session.timeout.ms of the captured groups (the broker took 10.8 s to notice).
SESSION_TIMEOUT_MS = 10_000


def before(scenario: str, restore_rate: float | None = None, produce_rate: float | None = None) -> Snapshot:
    """The group just before the first change of its members."""
    row = json.loads((captured.REAL / scenario / "before.json").read_text(encoding="utf-8"))
    snapshot = snapshot_from_row(row, scenario)
    rates = Rates(restore_per_instance=restore_rate, produce_per_task=produce_rate)
    config = replace(snapshot.config, session_timeout_ms=SESSION_TIMEOUT_MS)
    return replace(snapshot, rates=rates, config=config, stores="persistent")


def scenario(name: str) -> Scenario:
    """The recorded changes of members with their own ids; times count from the first one's decision."""
    changes = json.loads((captured.REAL / name / "membership.json").read_text(encoding="utf-8"))
    start = _ms(changes[0]["at"])
    found: list[Event] = []
    for change in changes:
        at_ms = _ms(change["at"]) - start
        if change["joined"]:
            found.append(Join(at_ms=at_ms, instances=tuple(map(_instance, change["joined"]))))
        if change["left"]:
            found.append(Stop(at_ms=at_ms - SESSION_TIMEOUT_MS, process_ids=tuple(change["left"])))
    return Scenario(events=tuple(found))


def at_ms(observed: dict[str, Any], first: dict[str, Any]) -> int:
    """When a generation was decided, from another one's decision on."""
    return _ms(observed["at"]) - _ms(first["at"])


def _instance(item: dict[str, Any]) -> Instance:
    consumers = tuple(Consumer(consumer_id=consumer_id) for consumer_id in item["consumer_ids"])
    return Instance(process_id=item["process_id"], host=item["host"], consumers=consumers)


def _ms(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1000)
