"""Groups that are no running group of Kafka Streams are told apart, on a real broker."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.real_cluster import Broker, until

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]


def refused(broker: Broker, group: str, *options: str) -> str:
    command = ["snapshot", "--bootstrap-server", broker.address, "--group", group, *options]
    done = subprocess.run([sys.executable, "-m", "kstream_plan", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    return done.stderr


def test_a_group_that_is_not_there(broker: Broker) -> None:
    assert "group payments" in refused(broker, "payments")
    assert "does not exist on this cluster" in refused(broker, "payments")
    assert "has no record in __consumer_offsets" in refused(broker, "payments", "--set", "offsets.topic=true")


def test_a_consumer_s_group_while_it_runs_and_when_it_is_empty(broker: Broker) -> None:
    from kafka import KafkaConsumer

    broker.create_topics({"reports-in": 2})
    consumer = KafkaConsumer("reports-in", group_id="reports", bootstrap_servers=broker.address)
    until(lambda: consumer.poll(500) is not None and consumer.assignment(), "the consumer to be assigned")
    assert "is not a group of Kafka Streams: its protocol is 'consumer'" in refused(broker, "reports")
    assert "is not a group of Kafka Streams" in refused(broker, "reports", "--set", "offsets.topic=true")
    consumer.close()
    assert "is empty: no instance is running" in refused(broker, "reports")
