"""Whatever a member tells and is told is read back as it was."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import LATEST, UNKNOWN, TaskId
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.snapshots.broker.consumer_protocol import MemberMetadata
from kstream_plan.snapshots.broker.members import read_members
from tests.helpers.wire_encoding import TopicPartition, assignment, assignment_info, subscription, subscription_info

NUMBERS = st.integers(0, 2**31 - 1)
TOPICS = st.text(st.characters(min_codepoint=1, max_codepoint=0xD7FF), min_size=1, max_size=8)
PARTITIONS = st.tuples(TOPICS, NUMBERS)
SUMS = st.one_of(st.sampled_from([LATEST, UNKNOWN]), st.integers(0, 2**63 - 1))


@st.composite
def tasks(draw: st.DrawFn, version: int) -> TaskId:
    name = draw(st.none() | TOPICS) if version >= 10 else None
    return TaskId(draw(NUMBERS), draw(NUMBERS), name)


@given(st.data(), st.integers(7, 11))
def test_a_member_is_read_as_it_was_written(data: st.DataObject, version: int) -> None:
    process_id = str(data.draw(st.uuids()))
    sums = data.draw(st.dictionaries(tasks(version), SUMS, max_size=6))
    tags = data.draw(st.lists(st.tuples(TOPICS, TOPICS), max_size=3))
    active = data.draw(st.dictionaries(PARTITIONS, tasks(version), max_size=6))
    standby = data.draw(st.dictionaries(tasks(version), st.lists(PARTITIONS, max_size=3), max_size=4))
    hosts = data.draw(st.dictionaries(TOPICS, st.lists(PARTITIONS, max_size=3), max_size=3))
    topics, generation = data.draw(st.lists(TOPICS, max_size=4)), data.draw(st.integers(-1, 2**31 - 1))
    in_order = sorted(active, key=lambda partition: (java_string_key(partition[0]), partition[1]))
    raw = MemberMetadata(
        "member",
        None,
        "/10.0.0.1",
        subscription(topics, subscription_info(version, process_id, "host:1", sums, tags), active, generation),
        assignment(
            data.draw(st.permutations(in_order)),
            assignment_info(version, [active[partition] for partition in in_order], standby, hosts, 0),
        ),
    )
    (member,) = read_members("group", [raw])
    assert member.info.process_id == str(uuid.UUID(process_id))
    assert dict(member.info.offset_sums) == sums
    assert member.info.client_tags == (tuple(tags) if version >= 11 else ())
    assert (member.subscription.topics, member.subscription.generation) == (tuple(topics), generation)
    assert sorted(member.subscription.owned_partitions) == sorted(active)
    assert member.standby == {task: tuple(partitions) for task, partitions in standby.items()}
    assert _partitions(member.active) == active


def _partitions(active: object) -> dict[TopicPartition, TaskId]:
    assert isinstance(active, dict)
    return {partition: task for task, partitions in active.items() for partition in partitions}
