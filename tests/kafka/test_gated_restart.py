"""Six instances that lose their stores restart one by one, one of them slow: gated by ``wait``, and a minute apart.

What restored before it ran, and how much, Kafka Streams logs itself.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.followed import PROCESS_IDS, SETTINGS, Running, running_group
from tests.helpers.real_answers import Restore, Traffic, restores
from tests.helpers.real_cluster import Broker

pytestmark = [pytest.mark.kafka_long, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

PARTITIONS, RECORDS, LIMIT = 12, 6_000, 200
WITH_LIMIT = {
    **SETTINGS,
    "acceptable.recovery.lag": LIMIT,
    "max.warmup.replicas": 2,
    "session.timeout.ms": 45_000,
    "heartbeat.interval.ms": 3_000,
}
#: An instance whose new node is slow restores a copy in 100s, and the others in less than a second.
SLOW, SLOWLY = "i1", {"restored.per.second": 60, "restore.consumer.max.poll.records": 20}
#: Records per second and partition.
TRAFFIC = 3
AWAY_SECONDS, SLEEP_SECONDS = 20, 60


class Restarts(NamedTuple):
    """What restarts led to.

    Attributes:
        seconds: how long they took.
        cold: what began to run with more than the limit to restore.
        still_restoring: what an earlier stop still let restore as the next instance stopped.
    """

    seconds: float
    cold: list[Restore]
    still_restoring: list[Restore]


@pytest.fixture
def running(broker: Broker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    application_id = f"restarted-{request.node.callspec.id}"
    instances, of_instance = list(PROCESS_IDS), {SLOW: dict[str, object]()}
    with (
        running_group(
            broker, tmp_path, application_id, instances, PARTITIONS, WITH_LIMIT, of_instance, RECORDS
        ) as group,
        Traffic(broker, f"{application_id}-orders", PARTITIONS, TRAFFIC),
    ):
        of_instance[SLOW].update(SLOWLY)
        yield group


def restart_all(running: Running, ready: Callable[[str], None], back: Callable[[], None]) -> Restarts:
    """Restart all instances, each once it is ready, and go on once it is back."""
    stops = []
    start = time.monotonic()
    for instance, process_id in PROCESS_IDS.items():
        ready(process_id)
        stops.append(datetime.now(UTC))
        running.application.stop(instance)
        running.application.lose_stores(instance)
        time.sleep(AWAY_SECONDS)
        running.application.start(instance, process_id)
        back()
    seconds = time.monotonic() - start
    after = [each for each in restores(running.application.logs) if each.at > stops[0]]
    return Restarts(
        seconds,
        [each for each in after if each.records > LIMIT],
        [each for each in after for stop in stops if each.at < stop < (each.until or stop + timedelta.resolution)],
    )


def gated(running: Running) -> Restarts:
    def wait(*words: str) -> None:
        done = running.wait(*words, give_up_after="20m")
        sys.stdout.write(done.stdout)
        assert done.returncode == 0, (done.stdout, done.stderr)

    def ready(process_id: str) -> None:
        wait(
            "safe-to-restart",
            process_id,
            *running.metrics,
            "--restart",
            f"{AWAY_SECONDS}s",
            "--set",
            "stores=in-memory",
        )

    return restart_all(running, ready, lambda: wait("settled", "--for", "5s"))


def slept(running: Running) -> Restarts:
    return restart_all(running, lambda process_id: None, lambda: time.sleep(SLEEP_SECONDS))


@pytest.mark.parametrize("way", [gated, slept], ids=lambda way: way.__name__)
def test_tasks_start_cold_where_restarts_do_not_wait(way: Callable[[Running], Restarts], running: Running) -> None:
    restarts = way(running)
    sys.stdout.write(json.dumps(restarts._asdict(), indent=1, default=str))
    assert bool(restarts.cold) == (way is slept)
    assert way is slept or not restarts.still_restoring
