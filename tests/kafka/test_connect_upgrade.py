"""A real group of Connect's workers on its way to ``sessioned``: what ``upgrade`` says of it is what happens."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.simulation.connect_upgrade import to_sessioned
from kstream_plan.snapshots.connect_log.history import ConnectEntry, checked_row, read_connect_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.real_cluster import Broker, until
from tests.helpers.real_connect import Workers

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

#: The delay is longer than a worker is away.
SETTINGS = {
    "scheduled.rebalance.max.delay.ms": 20_000,
    "session.timeout.ms": 4000,
    "heartbeat.interval.ms": 1000,
}
TASKS = 4


@pytest.mark.parametrize("protocol", ["compatible", "eager"])
def test_the_way_to_sessioned_goes_as_upgrade_says(
    protocol: str, broker: Broker, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    settings = {**SETTINGS, "connect.protocol": protocol}
    with Workers(broker, tmp_path, f"to-{protocol}", settings, pytestconfig.getoption("--kafka-version")) as workers:
        workers.start("w1")
        workers.create("alpha", TASKS, "w1")
        workers.start("w2")
        before = _with_both(workers, 2)
        config = load_connect_config(tmp_path / "w1.properties").settings
        last, away_ms = before, 0
        for name in ("w2", "w1"):
            stopped = time.monotonic()
            workers.stop(name)
            workers.start(name, {"connect.protocol": "sessioned"})
            away_ms = max(away_ms, round(1000 * (time.monotonic() - stopped)))
            last = _with_both(workers, last.generation + 2)
        entries = read_connect_logs(workers.logs, config=lambda _: config)
    snapshot = snapshot_from_row(
        checked_row(next(element for element in entries if element.generation == before.generation)), "row"
    )
    happened = [element for element in entries if before.generation < element.generation <= last.generation]
    said = to_sessioned(snapshot, restart_ms=away_ms)
    item = said.rows[0].figures
    assert (said.protocol, happened[-1].row["config"]["connect_protocol"]) == (protocol, "sessioned")
    assert item.rebalances.least <= len(happened) <= item.rebalances.most
    assert max(entry.unassigned_count for entry in happened) <= item.at_once
    assert any(entry.delay_ms for entry in happened) == (protocol == "compatible")


def _with_both(workers: Workers, number: int) -> ConnectEntry:
    """Wait for a generation in which two workers run everything."""

    def found() -> ConnectEntry | None:
        entry = workers.generation(number)
        held = sum(len(group["items"]) for one in entry.row["instances"] for group in one["held"])
        return entry if (entry.workers, held) == (2, 1 + TASKS) else None

    return until(found, "both workers to run everything", poll_seconds=0.3)
