"""Tasks, stores and names that a running group has, with and without the topology's text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.model import LATEST
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.broker.members import read_members
from kstream_plan.snapshots.broker.source import group_history, running_group
from kstream_plan.snapshots.broker.streams_data import read_assignment_info
from kstream_plan.snapshots.broker.streams_group import DescribedGroup
from kstream_plan.snapshots.broker.topology_text import Subtopology, SubtopologyKey, Topology, read_topology
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.captured import rows
from tests.helpers.captured_cluster import CapturedCluster, topology

SCENARIO = "scale-out-standbys"
DESCRIBED = next(row for row in rows(SCENARIO, "describe-groups") if row["generation"] == 7)
TEXT = topology(SCENARIO)


def taken(text: Topology | None, cluster: CapturedCluster | None = None, **config: str) -> Any:
    cluster = cluster or CapturedCluster(SCENARIO, DESCRIBED)
    return running_group(cluster, cluster.group_id, text, 1_800_000_000_000, config)


def with_subtopology(number: int, subtopology: Subtopology) -> Topology:
    return dataclasses.replace(TEXT, subtopologies={**TEXT.subtopologies, SubtopologyKey(None, number): subtopology})


def test_without_the_text_everything_but_the_end_offsets_is_known() -> None:
    found, known = taken(None), taken(TEXT)
    (row,), (full,) = found.rows, known.rows
    assert [note.code for note in found.notes] == ["lag-age-unknown", "topology-unknown"]
    assert "2 stateful subtopologies" in found.notes[1].message
    assert row["instances"] == full["instances"]
    assert row["lags"] == full["lags"]
    for task, whole in zip(row["tasks"], full["tasks"], strict=True):
        assert task == {name: whole[name] for name in ("task_id", "stateful", "source_partitions")}
    snapshot_from_row(row, "x")


def test_a_store_without_a_changelog_counts_for_nothing_and_is_told() -> None:
    stores = with_subtopology(1, Subtopology(("clicks",), ("B", "C", "unlogged")))
    found = taken(stores)
    assert [note.code for note in found.notes] == ["lag-age-unknown", "changelog-missing"]
    assert "S2b-unlogged-changelog" in found.notes[1].message
    assert found.rows[0]["tasks"] == taken(TEXT).rows[0]["tasks"]


class _ReadsItsChangelog(CapturedCluster):
    """A cluster where the topic ``clicks`` ends at 900, and of whose first two partitions something was committed."""

    def end_offsets(
        self, partitions: Sequence[tuple[str, int]], at_ms: int | None = None
    ) -> dict[tuple[str, int], int]:
        own = super().end_offsets([partition for partition in partitions if partition[0] != "clicks"], at_ms)
        return own | {partition: 900 for partition in partitions if partition[0] == "clicks"}

    def committed_offsets(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        assert group_id == self.group_id
        return {("clicks", 0): 700, ("clicks", 1): 2_000}


def test_a_table_is_restored_from_its_source_up_to_what_was_committed() -> None:
    """As in Kafka (KAFKA-10085): what was never committed counts as 0."""
    table = Subtopology(("clicks",), ("B", "C", "table"), table_topics=(("table", "clicks"),))
    found, known = taken(with_subtopology(1, table), _ReadsItsChangelog(SCENARIO, DESCRIBED)), taken(TEXT)
    assert [note.code for note in found.notes] == ["lag-age-unknown", "source-topic-restored"]
    limits = [700, 900, *[0] * 10]
    for task, before in zip(found.rows[0]["tasks"], known.rows[0]["tasks"], strict=True):
        subtopology, _, partition = task["task_id"].partition("_")
        if subtopology == "1":
            assert task["end_offset_sum"] == before["end_offset_sum"] + limits[int(partition)]
            assert "clicks" in [changelog_partition["topic"] for changelog_partition in task["changelog_partitions"]]
        else:
            assert task == before
    snapshot_from_row(found.rows[0], "x")


@pytest.mark.parametrize("value", ["all", "reuse.ktable.source.topics, merge.repartition.topics"])
def test_a_changelog_that_a_source_has_replaced_counts_no_more(value: str) -> None:
    """Store B, whose changelog is still in the cluster, is that of a table of ``clicks``."""
    table = with_subtopology(1, Subtopology(("clicks",), ("B", "C"), table_topics=(("B", "clicks"),)))
    found = taken(table, _ReadsItsChangelog(SCENARIO, DESCRIBED), topology_optimization=value)
    assert [note.code for note in found.notes] == ["lag-age-unknown", "source-topic-restored"]
    tasks = {task["task_id"]: task for task in found.rows[0]["tasks"]}
    ends = {partition["topic"]: partition["end_offset"] for partition in tasks["1_0"]["changelog_partitions"]}
    assert ends.keys() == {"S2b-C-changelog", "clicks"}
    assert ends["clicks"] == 700
    assert tasks["1_0"]["end_offset_sum"] == sum(ends.values())


@pytest.mark.parametrize("config", [{}, {"topology_optimization": "merge.repartition.topics"}])
def test_of_a_table_with_a_changelog_of_its_own_it_is_said_which_counts(config: dict[str, str]) -> None:
    table = with_subtopology(1, Subtopology(("clicks",), ("B", "C"), table_topics=(("B", "clicks"),)))
    found = taken(table, _ReadsItsChangelog(SCENARIO, DESCRIBED), **config)
    assert [(note.code, note.subjects) for note in found.notes[1:]] == [("changelog-assumed", ("clicks",))]
    assert found.rows[0]["tasks"] == taken(TEXT).rows[0]["tasks"]


def test_what_was_committed_by_a_past_moment_is_unknown() -> None:
    cluster = _ReadsItsChangelog(SCENARIO)
    table = Subtopology(("clicks",), ("B", "C", "table"), table_topics=(("table", "clicks"),))
    options: Any = {"newest_only": False, "config": {}}
    text = with_subtopology(1, table)
    then = group_history(cluster, cluster.group_id, text, 1_800_000_000_000, lambda at: at < 1.8e12, **options)
    for task in then.rows[-1]["tasks"]:
        assert ("end_offset_sum" in task) == (task["task_id"][0] == "0")
    state = snapshot_from_row(then.rows[-1], "x").state
    copies_of_table = [
        copy
        for task, copies in zip(state.group.tasks, state.copies, strict=True)
        for copy in copies
        if task.task_id.subtopology == 1
    ]
    assert copies_of_table
    lags = {copy.lag for copy in copies_of_table}
    assert all(lag in (None, LATEST) or lag > MAX_LONG // 2 for lag in lags)  # of an end that is unknown
    unknown = next(note for note in then.notes if note.code == "committed-offsets-unknown")
    assert unknown.subjects == ("clicks",)
    assert "unknown" in unknown.message
    now = taken(text, _ReadsItsChangelog(SCENARIO, DESCRIBED))
    assert "committed-offsets-unknown" not in [note.code for note in now.notes]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (with_subtopology(0, Subtopology(("payments",), ("A",))), "lets sub-topology 0 read payments, which no member"),
        (with_subtopology(0, Subtopology((), ("A",))), "does not let sub-topology 0 read orders, which its tasks do"),
        (
            dataclasses.replace(TEXT, subtopologies={SubtopologyKey(None, 0): Subtopology(("orders",), ("A",))}),
            "has no sub-topology for task 1_",
        ),
    ],
)
def test_the_text_of_another_version_is_refused(text: Topology, what: str) -> None:
    with pytest.raises(SnapshotError, match=what) as caught:
        taken(text)
    assert caught.value.where == "topology.txt"


def test_a_source_by_pattern_reads_what_its_tasks_read() -> None:
    pattern = read_topology(
        "Topologies:\n Sub-topology: 0\n  Source: s (topics: ord.*)\n   --> none\n", "t"
    ).subtopologies
    by_pattern = with_subtopology(0, dataclasses.replace(pattern[SubtopologyKey(None, 0)], stores=("A",)))
    assert taken(by_pattern).rows == taken(TEXT).rows


@pytest.mark.parametrize(
    ("described", "what"),
    [
        (DescribedGroup("PreparingRebalance", "consumer", ""), r"in the middle of a rebalance \(PreparingRebalance\)"),
        (DescribedGroup("CompletingRebalance", "consumer", ""), "in the middle of a rebalance"),
        (DescribedGroup("Empty", "consumer", ""), "is empty: no instance is running"),
        (DescribedGroup("Stable", "connect", "compatible"), "its protocol is 'connect', its assignor 'compatible'"),
        (DescribedGroup("Stable", "consumer", "cooperative-sticky"), "its assignor 'cooperative-sticky'"),
        (DescribedGroup("Stable", "", "", group_type="consumer"), "is of the consumer protocol, not of Kafka Streams"),
    ],
)
def test_groups_that_cannot_be_taken_are_told_apart(described: DescribedGroup, what: str) -> None:
    cluster = CapturedCluster(SCENARIO)
    cluster.describe_group = lambda group_id: described  # type: ignore[method-assign]
    with pytest.raises(SnapshotError, match=what) as caught:
        taken(None, cluster)
    assert caught.value.fix


def test_what_the_leader_warns_of_is_told() -> None:
    """The error code of an assignment is its last field but one."""
    cluster = CapturedCluster(SCENARIO, DESCRIBED)
    group = cluster.describe_group("S2b")
    member = group.members[0]
    (code,) = read_assignment_info(member.assignment[member.assignment.rindex(b"\0\0\0\x0b\0\0\0\x0b") :])[3:4]
    assert code == 0
    changed = member._replace(assignment=member.assignment[:-12] + b"\0\0\0\x02" + member.assignment[-8:])
    cluster.describe_group = (
        lambda group_id: group._replace(  # type: ignore[method-assign]
            members=[changed, *group.members[1:]]
        )
    )
    note = taken(TEXT, cluster).notes[1]
    assert note.code == "assignment-error"
    assert f"the leader gave {member.member_id} error 2 (VERSION_PROBING)" in note.message


def test_a_member_without_an_assignment_holds_nothing() -> None:
    member = CapturedCluster(SCENARIO, DESCRIBED).describe_group("S2b").members[0]
    (read,) = read_members("S2b", [member._replace(assignment=b"")])
    assert (dict(read.active), dict(read.standby), read.error_code, read.has_probe) == ({}, {}, 0, False)


def test_a_damaged_payload_names_group_member_and_field() -> None:
    member = CapturedCluster(SCENARIO, DESCRIBED).describe_group("S2b").members[0]
    with pytest.raises(SnapshotError, match=rf"^group S2b, member {member.member_id}: subscription info\.") as caught:
        read_members("S2b", [member._replace(subscription=member.subscription.replace(b"\0\0\0\x0b", b"\0\0\0\x0c"))])
    assert "version is 12; known are 1 to 11" in str(caught.value)
    assert "update kstream-plan" in caught.value.fix
