"""Six instances restart one by one under traffic, one of them slow: gated by ``wait``, and with a minute in between.

What restored before it ran after a stop, and how much, Kafka Streams logs itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.real_answers import Restore, Traffic, restores
from tests.helpers.real_cluster import Application, Broker

pytestmark = pytest.mark.kafka_long

PARTITIONS, KEYS, LIMIT = 12, 200, 200
PROCESS_IDS = {f"i{number}": f"{number}8f1a7c2-5d31-4c8e-9a57-0d4be2c1f00{number}" for number in range(1, 7)}
SETTINGS = {
    "acceptable.recovery.lag": LIMIT,
    "max.warmup.replicas": 2,
    "num.standby.replicas": 1,
    "probing.rebalance.interval.ms": 60_000,
    "num.stream.threads": 1,
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "statestore.cache.max.bytes": 0,
    "session.timeout.ms": 12_000,
    "heartbeat.interval.ms": 1_000,
}
SLOW, SLOWLY = "i6", {"restored.per.second": 150, "restore.consumer.max.poll.records": 10}
LITTLE, MUCH, TIDE_SECONDS = 5, 80, 45
#: Longer than the session time-out, so that tasks start elsewhere.
AWAY_SECONDS, SLEEP_SECONDS = 20, 60


class Restarted(NamedTuple):
    """What restarts led to: how long they took, and what started cold."""

    seconds: float
    cold: list[Restore]


@contextmanager
def tides(writing: Traffic) -> Iterator[None]:
    """Let much be written, and then little, in turn."""
    done = threading.Event()

    def turn() -> None:
        while not done.wait(TIDE_SECONDS):
            writing.rate = MUCH if writing.rate == LITTLE else LITTLE

    turning = threading.Thread(target=turn, daemon=True)
    turning.start()
    try:
        yield
    finally:
        done.set()
        turning.join()


@pytest.fixture
def application(broker: Broker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Application]:
    home = tmp_path / "application"
    home.mkdir()
    application_id = f"restarted-{request.node.callspec.id}"
    with Application(broker, home, application_id, SETTINGS, {SLOW: SLOWLY}, with_metrics=True) as running:
        running.create_topics(orders=PARTITIONS, audit=3)
        broker.produce(f"{application_id}-orders", PARTITIONS, KEYS)
        for instance, process_id in PROCESS_IDS.items():
            running.start(instance, process_id)
        running.settled(instances=len(PROCESS_IDS), seconds=600)
        with Traffic(broker, f"{application_id}-orders", PARTITIONS, LITTLE) as writing, tides(writing):
            yield running


def restart_all(application: Application, ready: Callable[[str], None], back: Callable[[], None]) -> Restarted:
    """Restart all instances, each once it is ready, and go on once it is back."""
    began, start = datetime.now(UTC), time.monotonic()
    for instance, process_id in PROCESS_IDS.items():
        ready(instance)
        application.stop(instance)
        time.sleep(AWAY_SECONDS)
        application.start(instance, process_id)
        back()
    seconds = time.monotonic() - start
    cold = [each for each in restores(application.logs) if each.at > began and each.records > LIMIT]
    return Restarted(seconds, cold)


@pytest.mark.parametrize("way", ["gated", "slept"])
def test_gated_restarts_start_nothing_cold(
    way: str, application: Application, broker: Broker, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    properties = tmp_path / "app.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))

    def wait(*words: str) -> None:
        group = ["--bootstrap-server", broker.address, "--group", application.application_id]
        files = ["--topology", str(application.topology), "--streams-config", str(properties)]
        metrics = [word for url in application.metrics_urls.values() for word in ("--metrics", url)]
        command = [sys.executable, "-m", "kstream_plan", "wait", *words, *group, *files, *metrics]
        done = subprocess.run([*command, "--give-up-after", "10m"], capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout)
        assert done.returncode == 0, (done.stdout, done.stderr)

    def ready(instance: str) -> None:
        if way == "gated":
            known = ("--restart", f"{AWAY_SECONDS}s", "--stores", "persistent")
            wait("safe-to-restart", PROCESS_IDS[instance], *known)

    def back() -> None:
        if way == "gated":
            wait("settled", "--for", "5s")
        else:
            time.sleep(SLEEP_SECONDS)

    restarted = restart_all(application, ready, back)
    figures = {"way": way, "seconds": round(restarted.seconds), "cold": [str(each) for each in restarted.cold]}
    sys.stdout.write(json.dumps(figures, indent=1))
    record_property("figures", figures)
    assert bool(restarted.cold) is (way == "slept")
