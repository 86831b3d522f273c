"""Six instances restart one by one under traffic, one of them slow: gated by ``wait``, and with a minute in between.

What restored before it ran, and how much, Kafka Streams logs itself.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.followed import PROCESS_IDS, SETTINGS, Running, running_group
from tests.helpers.real_answers import Restore, Traffic, restores
from tests.helpers.real_cluster import Broker

pytestmark = [pytest.mark.kafka_long, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

PARTITIONS, LIMIT = 12, 200
WITH_LIMIT = {**SETTINGS, "acceptable.recovery.lag": LIMIT, "max.warmup.replicas": 2, "session.timeout.ms": 12_000}
#: It falls behind while much is written, and has caught up again before the next time.
SLOWLY = {"i6": {"restored.per.second": 150, "restore.consumer.max.poll.records": 10}}
#: Records per second and partition, and for so many seconds.
LITTLE, MUCH, LITTLE_SECONDS, MUCH_SECONDS = 3, 120, 37, 10
#: Longer than the session time-out, so that tasks start elsewhere.
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


@contextmanager
def tides(writing: Traffic) -> Iterator[None]:
    """Let much be written for some seconds, again and again, at other times than the probes."""
    done = threading.Event()

    def turn() -> None:
        while not done.wait(LITTLE_SECONDS):
            writing.rate = MUCH
            done.wait(MUCH_SECONDS)
            writing.rate = LITTLE

    turning = threading.Thread(target=turn, daemon=True)
    turning.start()
    try:
        yield
    finally:
        done.set()
        turning.join()


@pytest.fixture
def running(broker: Broker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    application_id = f"restarted-{request.node.callspec.id}"
    with running_group(broker, tmp_path, application_id, list(PROCESS_IDS), PARTITIONS, WITH_LIMIT, SLOWLY) as group:
        topic = f"{application_id}-orders"
        with Traffic(broker, topic, PARTITIONS, LITTLE) as writing, tides(writing):
            yield group


def restart_all(running: Running, ready: Callable[[str], None], back: Callable[[], None]) -> Restarts:
    """Restart all instances, each once it is ready, and go on once it is back."""
    stops = []
    start = time.monotonic()
    for instance, process_id in PROCESS_IDS.items():
        ready(process_id)
        stops.append(datetime.now(UTC))
        running.application.stop(instance)
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
        done = running.wait(*words, give_up_after="10m")
        sys.stdout.write(done.stdout)
        assert done.returncode == 0, (done.stdout, done.stderr)

    def ready(process_id: str) -> None:
        known = ("--restart", f"{AWAY_SECONDS}s", "--stores", "persistent")
        wait("safe-to-restart", process_id, *running.metrics, *known)

    return restart_all(running, ready, lambda: wait("settled", "--for", "5s"))


def slept(running: Running) -> Restarts:
    return restart_all(running, lambda process_id: None, lambda: time.sleep(SLEEP_SECONDS))


@pytest.mark.parametrize("way", [gated, slept], ids=lambda way: way.__name__)
def test_gated_restarts_start_nothing_cold(way: Callable[[Running], Restarts], running: Running) -> None:
    restarts = way(running)
    sys.stdout.write(json.dumps(restarts._asdict(), indent=1, default=str))
    assert way is slept or not (restarts.cold or restarts.still_restoring), "what a sleep leads to is for chance to say"
