"""Every version of every payload, as Kafka's own classes write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import LATEST, UNKNOWN, TaskId
from kstream_plan.snapshots.broker.byte_reader import ByteReader, PayloadError, UnknownVersionError
from kstream_plan.snapshots.broker.consumer_protocol import (
    GroupKey,
    MemberMetadata,
    read_assignment,
    read_group_key,
    read_subscription,
)
from kstream_plan.snapshots.broker.streams_describe import DescribedMember, DescribedSubtopology, DescribedTasks
from tests.helpers.wire_payloads import Payload, name, payloads


@pytest.mark.parametrize("payload", payloads("subscription_info"), ids=name)
def test_what_a_member_tells_about_itself(payload: Payload) -> None:
    topology = "billing" if payload.named_topology else None
    info = payload.read()
    assert info.version == payload.version
    assert info.process_id == "1d296588-571c-4eee-96be-fa395e3c536c"
    assert info.user_end_point == ("app-1.example.org:8080" if payload.version >= 2 else "")
    assert dict(info.offset_sums) == {
        TaskId(0, 3, topology): LATEST,
        TaskId(0, 4, topology): 1234567890123 if payload.version >= 7 else UNKNOWN,
        TaskId(1, 12, topology): UNKNOWN,
    }
    assert info.client_tags == ((("cluster", "größe"), ("zone", "a")) if payload.version >= 11 else ())


@pytest.mark.parametrize("payload", payloads("assignment_info"), ids=name)
def test_what_the_leader_tells_a_member(payload: Payload) -> None:
    topology = "billing" if payload.named_topology else None
    info = payload.read()
    assert info.version == payload.version
    assert info.active_tasks == (TaskId(1, 3, topology), TaskId(1, 3, topology), TaskId(1, 4, topology))
    assert dict(info.standby_tasks) == {TaskId(1, 5, topology): (("clicks", 5), ("orders", 5))}
    assert info.error_code == (2 if payload.version >= 4 else 0)
    assert info.next_rebalance_ms == (1795266038335 if payload.version >= 7 else 2**63 - 1)


@pytest.mark.parametrize("payload", payloads("subscription"), ids=name)
def test_the_envelope_of_a_subscription(payload: Payload) -> None:
    subscription = payload.read()
    assert subscription.topics == ("clicks", "orders")
    assert subscription.user_data == b"data"
    owned = (("clicks", 0), ("orders", 1), ("orders", 7)) if payload.version >= 1 else ()
    assert subscription.owned_partitions == owned
    assert subscription.generation == (41 if payload.version >= 2 else -1)
    assert subscription.rack == ("rack-a" if payload.version >= 3 else None)


@pytest.mark.parametrize("payload", payloads("assignment"), ids=name)
def test_the_envelope_of_an_assignment(payload: Payload) -> None:
    assignment = payload.read()
    assert sorted(assignment.partitions) == [("clicks", 0), ("orders", 1), ("orders", 7)]
    assert assignment.user_data == b"data"


@pytest.mark.parametrize("payload", payloads("group_metadata"), ids=name)
def test_a_group_in_the_offsets_topic(payload: Payload) -> None:
    group = payload.read()
    assert (group.protocol_type, group.generation, group.protocol, group.leader) == ("consumer", 7, "stream", "m-1")
    assert group.current_state_timestamp_ms == (1795266038335 if payload.version >= 2 else -1)
    assert group.members == (
        MemberMetadata("m-1", "static-1" if payload.version >= 3 else None, "/10.0.0.1", b"sub", b"asg"),
        MemberMetadata("m-2", None, "/10.0.0.2", b"sub2", b""),
    )


@pytest.mark.parametrize("payload", payloads("empty_group_metadata"), ids=name)
def test_an_empty_group_in_the_offsets_topic(payload: Payload) -> None:
    group = payload.read()
    assert (group.generation, group.protocol, group.leader, group.members) == (8, None, None, ())


def test_keys_tell_groups_of_every_protocol_from_the_rest() -> None:
    found = {payload.version: read_group_key(payload.data) for payload in payloads("group_key")}
    assert found == {
        1: None,
        2: GroupKey("classic", "orders"),
        3: GroupKey("consumer", "orders"),
        5: None,
        11: GroupKey("share", "orders"),
        17: GroupKey("streams", "orders"),
    }


@pytest.mark.parametrize("payload", payloads("streams_groups_0", "streams_groups_1"), ids=name)
def test_a_streams_group_in_the_order_of_the_broker(payload: Payload) -> None:
    (group,) = payload.read()
    first, second = group.members
    nothing = DescribedTasks((), (), ())
    assert (group.error_code, group.group_id, group.state) == (0, "orders", "Reconciling")
    assert (group.group_epoch, group.target_epoch, group.topology_epoch) == (9, 8, 2)
    assert group.assignor == ("sticky" if payload.version >= 1 else None)
    assert group.subtopologies == (
        DescribedSubtopology(
            "1", ("orders", "clicks", "orders-x-repartition"), ("orders-A-changelog", "orders-B-changelog")
        ),
        DescribedSubtopology("0", ("orders-by-key-repartition",), ()),
    )
    assert first == DescribedMember(
        member_id="m-1",
        epoch=7,
        instance_id="static-1",
        rack="rack-a",
        client_id="orders-StreamThread-1-consumer",
        client_host="/10.0.0.1",
        topology_epoch=2,
        process_id="1d296588-571c-4eee-96be-fa395e3c536c",
        end_point_host="app-1.example.org",
        client_tags=(("zone", "a"), ("cluster", "größe")),
        task_offsets=(("0_4", 1234567890123), ("1_12", -2)),
        current=DescribedTasks(("1_7", "1_3", "0_0"), ("0_4",), ("0_5",)),
        target=DescribedTasks(("1_7",), (), ("10_1",)),
        is_classic=True,
    )
    assert (second.member_id, second.rack, second.end_point_host, second.current) == ("a-2", None, None, nothing)


@pytest.mark.parametrize("payload", payloads("other_streams_groups_0", "other_streams_groups_1"), ids=name)
def test_streams_groups_without_topology(payload: Payload) -> None:
    refused, not_ready = payload.read()
    assert (refused.error_code, refused.error_message) == (69, "Group orders is not a streams group.")
    assert (refused.topology_epoch, refused.subtopologies, refused.members) == (-1, None, ())
    assert (not_ready.state, not_ready.topology_epoch, not_ready.subtopologies) == ("NotReady", 0, None)


@pytest.mark.parametrize("payload", payloads("subscription_info", "assignment_info", "group_metadata"), ids=name)
@pytest.mark.parametrize("version", [-1, 12, 99, 32767])
def test_an_unknown_version_is_refused_by_number(payload: Payload, version: int) -> None:
    size = 2 if payload.kind == "group_metadata" else 4
    with pytest.raises(UnknownVersionError, match=f"is {version};"):
        payload.read(version.to_bytes(size, "big", signed=True) + payload.data[size:])


def test_a_newer_envelope_is_read_as_the_newest_known() -> None:
    subscription, assignment = payloads("subscription")[-1].data, payloads("assignment")[-1].data
    assert read_subscription(b"\x00\x09" + subscription[2:] + b"more").rack == "rack-a"
    assert len(read_assignment(b"\x00\x09" + assignment[2:] + b"more").partitions) == 3
    with pytest.raises(UnknownVersionError, match="is -1"):
        read_subscription(b"\xff\xff" + subscription[2:])


@pytest.mark.parametrize("payload", [payload for payload in payloads() if payload.read() is not None], ids=name)
def test_a_cut_payload_is_refused_wherever_it_is_cut(payload: Payload) -> None:
    for length in range(len(payload.data)):
        with pytest.raises(PayloadError):
            payload.read(payload.data[:length])
    with pytest.raises(PayloadError, match="goes on for 1 bytes after its end"):
        payload.read(payload.data + b"\x00")


@given(st.text(), st.binary(max_size=4))
def test_java_texts_are_read_as_java_writes_them(text: str, rest: bytes) -> None:
    utf_16 = text.encode("utf-16-be")
    units = [utf_16[at : at + 2].decode("utf-16-be", "surrogatepass") for at in range(0, len(utf_16), 2)]
    modified = b"".join(b"\xc0\x80" if unit == "\0" else unit.encode("utf-8", "surrogatepass") for unit in units)
    assert ByteReader(len(modified).to_bytes(2, "big") + modified + rest).java_utf("host") == text
    assert ByteReader(len(units).to_bytes(4, "big") + utf_16 + rest).java_chars("name") == text


@given(st.integers(0, 2**35 - 1))
def test_varints(value: int) -> None:
    digits = [value >> shift & 0x7F for shift in range(0, 35, 7) if value >> shift or not shift]
    data = bytes(digit | 0x80 for digit in digits[:-1]) + bytes(digits[-1:])
    assert ByteReader(data).unsigned_varint("length") == value
    with pytest.raises(PayloadError, match="does not end"):
        ByteReader(b"\x80" * 6).unsigned_varint("length")


@pytest.mark.parametrize("count", [2**31 - 1, -1, -(2**31)])
def test_a_count_that_cannot_be_is_refused_before_anything_is_built(count: int) -> None:
    with pytest.raises(PayloadError, match="cannot have"):
        ByteReader(count.to_bytes(4, "big", signed=True) + b"12345678").count("tasks", 1)
