"""Groups of older releases on a 4.3.1 broker, as the broker held them and as Kafka 4.3.1's own classes read them.

``tests/wire/older_members.jsonl.gz``: one member a line, just after a third instance had joined; the application has 12
stateful and 6 stateless tasks. In the last group one instance has ``upgrade.from`` 2.3, the others 1.1.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.snapshots.broker.consumer_protocol import MemberMetadata
from kstream_plan.snapshots.broker.group_rows import GroupMoment, held_by, snapshot_row
from kstream_plan.snapshots.broker.group_tasks import group_tasks
from kstream_plan.snapshots.broker.members import StreamsMember, read_members
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: Release → the versions of what its members tell and are told.
VERSIONS = {
    "2.6.0": {(7, 7)},
    "2.8.0": {(9, 9)},
    "3.0.0": {(10, 10)},
    "3.4.0": {(11, 11)},
    "3.4.0, upgrade.from 1.1 and 2.3": {(2, 2), (11, 2)},
}
#: Release → the newest one that its members can be of, by what they tell; ``None``: any since 3.2.
NEWEST = {"2.6.0": "2.7", "2.8.0": "2.8", "3.0.0": "3.1"}


def groups() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    path = Path(__file__).parents[2] / "wire" / "older_members.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for release, members in groupby(map(json.loads, lines), key=lambda member: member["release"]):
            yield release, list(members)


GROUPS = [pytest.param(release, members, id=release) for release, members in groups()]


def read(known: list[dict[str, Any]]) -> tuple[StreamsMember, ...]:
    return read_members(
        known[0]["group"],
        [
            MemberMetadata(
                member["member_id"],
                None,
                "/127.0.0.1",
                base64.b64decode(member["subscription"]),
                base64.b64decode(member["assignment"]),
            )
            for member in known
        ],
    )


@pytest.mark.parametrize(("release", "known"), GROUPS)
def test_members_are_read_as_kafka_reads_them(release: str, known: list[dict[str, Any]]) -> None:
    assert {(member["version"], member["assignment_version"]) for member in known} == VERSIONS[release]
    for member, expected in zip(read(known), known, strict=True):
        assert member.member_id == expected["member_id"]
        assert member.info.version == expected["version"]
        assert member.info.process_id == expected["process_id"]
        assert member.info.user_end_point == expected["user_end_point"]
        assert member.subscription.generation == expected["generation"]
        assert {str(task): item for task, item in member.info.offset_sums.items()} == expected["offset_sums"]
        assert sorted(map(str, member.active)) == expected["active"]
        assert sorted(map(str, member.standby)) == expected["standby"]
        partitions = [f"{topic}-{number}" for item in member.active.values() for topic, number in item]
        assert sorted(partitions) == expected["partitions"]


@pytest.mark.parametrize(("release", "known"), GROUPS)
def test_a_group_of_an_older_release_is_a_snapshot(release: str, known: list[dict[str, Any]]) -> None:
    members = read(known)
    topics = {"orders": ((None,),) * 12, "audit": ((None,),) * 6}
    tasks, _ = group_tasks(known[0]["group"], members, (), None, topics)
    moment = GroupMoment(known[0]["group"], None, 1_800_000_000_000, members, held_by(members), still_held=True)
    snapshot = snapshot_from_row(snapshot_row(moment, tasks, topics, {}, {}), release)
    assert len(snapshot.state.group.tasks) == 18
    assert len(snapshot.state.group.instances) == 3
    assert snapshot.streams_version == NEWEST.get(release)
