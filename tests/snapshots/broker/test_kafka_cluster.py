"""What a cluster is asked, what comes of its answers, and what its failures mean (with a stand-in for the client)."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kstream_plan.errors import ClusterError
from kstream_plan.snapshots.broker import kafka_cluster
from kstream_plan.snapshots.broker.consumer_protocol import MemberMetadata
from kstream_plan.snapshots.broker.history import OffsetsRecord
from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster, offsets_partition
from kstream_plan.snapshots.broker.kafka_failures import ConnectionWatch
from kstream_plan.snapshots.broker.streams_group import DescribedGroup
from tests.helpers.fake_kafka import Answers, TopicPartition, errors


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    result = Answers()
    monkeypatch.setattr(kafka_cluster, "_kafka_python", result)
    return result


def group(state: str = "Stable", code: int = 0, members: Any = ()) -> SimpleNamespace:
    return SimpleNamespace(
        error_code=code, group_state=state, protocol_type="consumer", protocol_data="stream", members=members
    )


def test_a_group_comes_with_the_exact_bytes(answers: Answers) -> None:
    member = SimpleNamespace(
        member_id="m-1",
        group_instance_id=None,
        client_host="/10.0.0.1",
        member_metadata=bytearray(b"\xff\x00"),
        member_assignment=b"\xfe",
    )
    answers.group = group(members=[member])
    with KafkaCluster("a:9092,b:9092", {}) as cluster:
        described = cluster.describe_group("shop")
    assert described.members == [MemberMetadata("m-1", None, "/10.0.0.1", b"\xff\x00", b"\xfe")]
    assert (described.state, described.protocol, described.group_type) == ("Stable", "stream", "classic")
    assert answers.asked == ["connect", "FindCoordinator shop", "DescribeGroups ['shop'] of 7"]
    assert answers.closed == 1


@pytest.mark.parametrize("unknown", [group("Dead"), group("Dead", 69)])
def test_a_group_that_is_not_described_is_told_apart(answers: Answers, unknown: SimpleNamespace) -> None:
    answers.group = unknown
    cluster = KafkaCluster("a:9092", {})
    with pytest.raises(ClusterError, match="group shop: does not exist on this cluster"):
        cluster.describe_group("shop")
    answers.listed = [{"group_id": "shop", "group_type": "Streams", "group_state": "Stable"}]
    assert cluster.describe_group("shop").group_type == "streams"


def test_the_groups_of_kafka_streams_that_run(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a group rebalances nobody tells what it is of, so it is one that is asked for."""
    described = {
        "orders": DescribedGroup("Stable", "consumer", "stream"),
        "billing": DescribedGroup("PreparingRebalance", "consumer", ""),
        "reader": DescribedGroup("Stable", "consumer", "range"),
        "stopped": DescribedGroup("Empty", "consumer", ""),
    }
    kinds = {"connect": "connect"} | dict.fromkeys(described, "consumer")
    answers.listed = [{"group_id": name, "protocol_type": kind} for name, kind in kinds.items()]
    answers.listed += [
        {"group_id": "newer", "protocol_type": "consumer", "group_type": "Consumer"},
        {"group_id": "decided", "protocol_type": "streams", "group_type": "Streams", "group_state": "Assigning"},
        {"group_id": "deserted", "protocol_type": "streams", "group_type": "Streams", "group_state": "Empty"},
    ]
    monkeypatch.setattr(KafkaCluster, "describe_group", lambda _, name: described[name])
    assert KafkaCluster("a:9092", {}).streams_groups() == ["billing", "decided", "orders"]


def test_topics_with_the_racks_of_their_replicas(answers: Answers) -> None:
    answers.racks = {1: "a", 2: None}
    answers.described = [
        {
            "name": "orders",
            "error_code": 0,
            "partitions": [
                {"partition_index": 1, "replica_nodes": [2, 3]},
                {"partition_index": 0, "replica_nodes": [1, 2]},
            ],
        },
        {"name": "gone", "error_code": 3, "partitions": []},
    ]
    cluster = KafkaCluster("a:9092", {})
    assert cluster.topics(["orders", "gone"]) == {"orders": (("a", None), (None, None))}
    assert cluster.topics([]) == {}
    answers.described[1]["error_code"] = 29
    with pytest.raises(ClusterError, match=r"topic gone at a:9092: access is denied. Fix: .* Describe on the topic"):
        cluster.topics(["orders", "gone"])


def test_end_offsets_of_a_time_after_the_last_record_are_those_of_now(answers: Answers) -> None:
    first, second = TopicPartition("c", 0), TopicPartition("c", 1)
    answers.latest, answers.at_time = {first: 10, second: 20}, {first: 4, second: -1}
    cluster = KafkaCluster("a:9092", {})
    assert cluster.end_offsets([("c", 0), ("c", 1)]) == {("c", 0): 10, ("c", 1): 20}
    assert cluster.end_offsets([("c", 0), ("c", 1)], 1_700_000_000_000) == {("c", 0): 4, ("c", 1): 20}


def test_start_offsets_are_those_of_the_oldest_records(answers: Answers) -> None:
    answers.at_time = {TopicPartition("c", 0): 4}
    assert KafkaCluster("a:9092", {}).start_offsets([("c", 0)]) == {("c", 0): 4}
    assert "ListOffsets [-2]" in answers.asked


def test_committed_offsets_are_those_that_there_are(answers: Answers) -> None:
    answers.committed = {TopicPartition("players", 1): 4}
    asked = [("players", 0), ("players", 1)]
    assert KafkaCluster("a:9092", {}).committed_offsets("shop", asked) == {("players", 1): 4}
    assert "OffsetFetch ['shop']" in answers.asked


def test_only_the_group_s_own_partition_of_the_offsets_topic_is_read(answers: Answers) -> None:
    records = [SimpleNamespace(timestamp=at, offset=at, key=b"k" if at else None, value=None) for at in range(6)]
    answers.described = [
        {
            "name": "__consumer_offsets",
            "error_code": 0,
            "partitions": [{"partition_index": index, "replica_nodes": []} for index in range(4)],
        }
    ]
    answers.records = {offsets_partition("shop", 4): records}
    found = list(KafkaCluster("a:9092", {}).group_records("shop"))
    assert found == [OffsetsRecord(at, at, b"k", None) for at in range(1, 6)]
    assert answers.asked[-1] == f"Fetch __consumer_offsets {offsets_partition('shop', 4)}"
    assert answers.closed == 1


def test_a_cluster_without_the_offsets_topic_has_no_records(answers: Answers) -> None:
    assert list(KafkaCluster("a:9092", {}).group_records("shop")) == []


def test_a_partition_that_falls_silent_is_given_up(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = {"name": "__consumer_offsets", "error_code": 0, "partitions": [{"partition_index": 0, "replica_nodes": []}]}
    answers.described, answers.records = [topic], {0: []}
    monkeypatch.setattr(
        "tests.helpers.fake_kafka._Consumer.end_offsets", lambda self, partitions: dict.fromkeys(partitions, 1)
    )
    with pytest.raises(ClusterError, match="has given nothing for 15 s"):
        list(KafkaCluster("a:9092", {}).group_records("shop"))


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("S1", 2622 % 50), ("", 0), ("polygenelubricants", 0), ("live", 3322092 % 50), ("größe", 98762257 % 50)],
)
def test_the_partition_of_a_group_is_java_s_hash_of_its_id(group_id: str, partition: int) -> None:
    """``polygenelubricants`` hashes to the least integer, which has no opposite."""
    assert offsets_partition(group_id, 50) == partition


FAILURES = [
    (errors.GroupAuthorizationFailedError("x"), "access is denied", "Describe on the group"),
    (errors.ClusterAuthorizationFailedError("x"), "access is denied", "help running-group"),
    (errors.SaslAuthenticationFailedError("SaslAuthenticationFailedError: no"), "the login is refused: no", "jaas"),
    (errors.UnsupportedSaslMechanismError("PLAIN"), "the login is refused: PLAIN", "sasl.mechanism"),
    (errors.KafkaConfigurationError("bad"), "the connection is not secure: bad", "truststore"),
    (errors.KafkaTimeoutError(""), "no answer: KafkaTimeoutError", "advertised listeners"),
    (OSError("unable to connect"), "no answer: unable to connect", "check the address"),
    (errors.KafkaConnectionError("111 ECONNREFUSED"), "the connection is refused: 111", "check that a broker listens"),
    (errors.UnsupportedCodecError("no lz4"), "the records are compressed: no lz4", "pip install 'kafka-python[lz4"),
    (errors.UnknownServerError("[Error -1] UnknownServerError: odd"), "the request failed", "release 2.6 or newer"),
]


@pytest.mark.parametrize(("error", "what", "fix"), FAILURES)
def test_every_failure_is_one_error_with_its_fix(answers: Answers, error: Exception, what: str, fix: str) -> None:
    answers.failing = error
    with pytest.raises(ClusterError) as caught:
        KafkaCluster("a:9092", {})
    assert caught.value.what.startswith(what)
    assert caught.value.where == "the connection at a:9092"
    assert fix in caught.value.fix


@pytest.mark.parametrize("code", [15, 30])
def test_an_error_in_the_answer_is_one_as_well(answers: Answers, code: int) -> None:
    answers.group = group(code=code)
    with pytest.raises(ClusterError, match="group shop at a:9092: "):
        KafkaCluster("a:9092", {}, 100).describe_group("shop")


def test_reading_the_offsets_topic_needs_read_access(answers: Answers) -> None:
    topic = {"name": "__consumer_offsets", "error_code": 0, "partitions": [{"partition_index": 0, "replica_nodes": []}]}
    answers.described = [topic]
    answers.failing, answers.failing_at = errors.TopicAuthorizationFailedError("no"), "Fetch"
    with pytest.raises(ClusterError, match=r"topic __consumer_offsets at a:9092: access is denied. Fix: .* Read on"):
        list(KafkaCluster("a:9092", {}).group_records("shop"))


def watch(*, with_login: bool = True, servers: int = 1) -> tuple[ConnectionWatch, Any]:
    connection_watch = ConnectionWatch(errors, with_login=with_login, servers=servers)
    return connection_watch, lambda text: connection_watch.emit(
        logging.LogRecord("kafka", logging.WARNING, "", 0, text, (), None)
    )


def test_a_refused_login_is_not_tried_again() -> None:
    _, log = watch()
    with pytest.raises(errors.SaslAuthenticationFailedError, match=r"^Invalid username$"):
        log(
            "Bootstrap connection to b failed: [Error 58] SaslAuthenticationFailedError: Invalid username (backoff 1 s)"
        )
    log("<KafkaConnection node_id=b broker_version=(4, 3) (disconnected)>: Connection lost: socket disconnected")
    with pytest.raises(errors.SaslAuthenticationFailedError, match="closed the connection during the login"):
        log("Bootstrap connection to b failed: KafkaConnectionError: socket disconnected (backoff 0.05 secs)")


def test_a_lost_connection_is_tried_again_and_remembered() -> None:
    result, log = watch()
    log("<KafkaConnection node_id=b broker_version=unknown (disconnected)>: Connection lost: socket disconnected")
    log("Bootstrap connection to b failed: KafkaConnectionError: socket disconnected (backoff 0.05 secs)")
    log("Bootstrap b not ready; waiting 0.05 secs")
    assert result.reason == "KafkaConnectionError: socket disconnected"
    result, log = watch(with_login=False)
    log("<KafkaConnection node_id=b broker_version=(4, 3) (disconnected)>: Connection lost: socket disconnected")
    log("Bootstrap connection to b failed: KafkaConnectionError: socket disconnected (backoff 0.05 secs)")
    with pytest.raises(errors.KafkaConfigurationError):
        log("Bootstrap connection to b failed: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed (backoff 0.05 secs)")


def test_where_nobody_listens_it_is_not_tried_for_long() -> None:
    _, log = watch(servers=2)
    refused = "Bootstrap connection to bootstrap-{} failed: KafkaConnectionError: {} (backoff 0.05 secs)"
    for _ in range(5):
        log(refused.format(0, "111 ECONNREFUSED"))
        log(refused.format(1, "socket disconnected"))  # somebody is there
    log(refused.format(1, "DNS Resolution failure"))
    log(refused.format(1, "DNS Resolution failure"))
    with pytest.raises(errors.KafkaConnectionError, match="DNS Resolution failure"):
        log(refused.format(1, "DNS Resolution failure"))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(ClusterError, match=r"kafka-python is not installed. Fix: pip install 'kstream-plan\[kafka\]'"):
        kafka_cluster._kafka_python()


@pytest.mark.parametrize("version", ["2.2.15", "3.0.0", "3.0.11"])
def test_too_old_a_client_is_as_good_as_none(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = SimpleNamespace(__version__=version, errors=errors)
    monkeypatch.setitem(sys.modules, "kafka", package)
    monkeypatch.setitem(sys.modules, "kafka.protocol.admin", SimpleNamespace(DescribeGroupsRequest=None))
    with pytest.raises(ClusterError, match=f"kafka-python {version} is too old"):
        kafka_cluster._kafka_python()
