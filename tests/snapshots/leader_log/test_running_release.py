"""Which release runs, by the starts that logs hold."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import log_layouts
from tests.helpers.log_layouts import Logged

STREAMS, APP_INFO = "org.apache.kafka.streams.KafkaStreams", "org.apache.kafka.common.utils.AppInfoParser"
CLIENTS = sorted(set(re.findall(r"S1-[0-9a-f]{8}-[0-9a-f-]{27}", log_layouts.text("scale-out"))))


def start(version: str, client: str | None, at: str = "2026-11-21T12:00:00.000") -> Logged:
    if client is None:
        return Logged("i1", at, "main", "INFO", APP_INFO, f"Kafka version: {version}")
    message = f"stream-client [{client}] Kafka Streams version: {version}"
    return Logged("i1", at, "main", "INFO", STREAMS, message)


def releases(*starts: Logged, layout: Callable[[Logged], list[str]] = log_layouts.logback) -> list[str | None]:
    log = log_layouts.laid_out([*starts, *log_layouts.records("scale-out")], layout)
    rows = checked_rows(read_leader_logs(["-"], application_id="S1", stdin=io.BytesIO(log)).entries)
    found = [snapshot_from_row(row, "log").streams_version for row in rows]
    assert found == [row.get("streams_version") for row in rows]
    return found


def test_a_log_without_a_start_does_not_tell() -> None:
    assert set(releases()) == {None}


@pytest.mark.parametrize(
    "layout",
    [log_layouts.log4j, log_layouts.logback, log_layouts.spring_boot, log_layouts.kubectl, log_layouts.log4j_json],
)
def test_what_an_instance_started_is_its_release(layout: Callable[[Logged], list[str]]) -> None:
    assert set(releases(start("4.3.1", CLIENTS[0]), layout=layout)) == {"4.3.1"}


def test_the_oldest_release_counts_of_those_that_were_started_last() -> None:
    upgraded = [start("4.1.0", CLIENTS[0]), start("4.3.1", CLIENTS[0], "2026-11-21T12:30:00.000")]
    assert set(releases(*upgraded)) == {"4.3.1"}
    assert "4.2.0" in releases(*upgraded, *(start("4.2.0", client) for client in CLIENTS[1:]))


def test_what_is_started_later_does_not_count_before() -> None:
    found = releases(start("4.2.0", CLIENTS[0]), start("4.3.1", CLIENTS[0], "2026-11-22T12:00:00.000"))
    assert set(found) == {"4.2.0"}


def test_a_client_that_is_no_member_does_not_count() -> None:
    assert set(releases(start("4.2.0", "payments-1"))) == {None}


def test_the_version_of_the_clients_counts_where_no_member_s_start_is_told() -> None:
    assert set(releases(start("4.2.0", None))) == {"4.2.0"}
    assert set(releases(start("4.2.0", None), start("4.3.1", CLIENTS[0]))) >= {"4.3.1"}


def test_builds_of_confluent_are_told_by_the_kafka_in_them() -> None:
    assert set(releases(start("7.9.1-ccs", CLIENTS[0]))) == {"3.9.1-ccs"}
    assert set(releases(start("8.3.0-ce", CLIENTS[0]))) == {"4.3.0-ce"}
    assert set(releases(start("6.1.4-ccs", CLIENTS[0]))) == {"2.7.4-ccs"}
    assert set(releases(start("5.5.0-ccs", CLIENTS[0]))) == {"2.5.0-ccs"}
    assert set(releases(start("unknown", CLIENTS[0]))) == {None}
