"""Records of the offsets topic that are not one clean row of generations."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.plans import Trigger
from kstream_plan.simulation.one_plan import plan, plan_checked
from kstream_plan.snapshots.broker.history import OffsetsRecord, generations, moments
from kstream_plan.snapshots.broker.source import group_decisions, group_history
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.captured import SCENARIOS, assigned, copies_alike, rows, trigger
from tests.helpers.captured_cluster import CapturedCluster, encode_group_key, encode_group_metadata, topology

SCENARIO, GROUP = "scale-out-traffic", "S7"
CAPTURED = [row for row in rows(SCENARIO, "group-metadata") if "generation" in row]
NOW_MS = parse_time("2026-11-21T18:00:00.000Z")
KEY = encode_group_key(GROUP)
STREAMS_KEY = b"\x00\x11" + KEY[2:]


def record(row: dict[str, Any]) -> OffsetsRecord:
    return OffsetsRecord(parse_time(row["time"]), row["offset"], KEY, encode_group_metadata(row))


def later(at_ms: int, key: bytes = KEY, value: bytes | None = None) -> OffsetsRecord:
    return OffsetsRecord(at_ms, 999, key, value)


def cluster_of(*records: OffsetsRecord) -> CapturedCluster:
    cluster = CapturedCluster(SCENARIO)
    cluster.group_records = lambda group_id: iter(records)  # type: ignore[method-assign]
    return cluster


def history(*records: OffsetsRecord, newest_only: bool = False) -> Any:
    return group_history(
        cluster_of(*records), GROUP, topology(SCENARIO), NOW_MS, lambda at: True, newest_only=newest_only, config={}
    )


def test_the_captured_group_is_this_one() -> None:
    assert {row["group"] for row in CAPTURED} == {GROUP}


def test_records_about_something_else_are_passed_over() -> None:
    others = [
        later(1, b"\x00\x01\x00\x02S7\x00\x01t\x00\x00\x00\x00", b"offset"),
        later(1, encode_group_key("other"), b"whatever"),
        later(1, b"\x00\x05\x00\x02S7\x00\x01m", b"member of a newer protocol"),
        later(1, b"\x00\x63", b"not known"),
    ]
    found = list(generations(GROUP, [*others, *map(record, CAPTURED[:3]), *others]))
    assert [item.number for item in found] == [0, 1, 2]


def test_a_decision_whose_generation_before_is_gone_is_left_out_and_counted() -> None:
    """The first has none, and of the second the members own what is not in the record before it."""
    kept = [CAPTURED[2], *CAPTURED[8:12]]
    found = list(moments(GROUP, generations(GROUP, map(record, kept))))
    assert [item and item.generation for item in found] == [None, None, 8, 9, 10]
    taken = history(*map(record, kept))
    assert [row["generation"] for row in taken.rows] == [8, 9, 10, 11]
    assert [note.code for note in taken.notes] == ["history-gap"]
    assert "2 decisions are left out" in taken.notes[0].message


def test_generation_1_is_the_first_though_no_record_says_so() -> None:
    """Brokers write a record of the empty group before it only since 4.0."""
    taken = history(*map(record, CAPTURED[1:3]))
    assert [row["generation"] for row in taken.rows] == [0, 1, 2]
    assert taken.rows[0] == history(*map(record, CAPTURED[:3])).rows[0]
    assert not taken.notes
    decided = group_decisions(cluster_of(*map(record, CAPTURED[1:3])), GROUP, lambda at: True)
    assert [decision.trigger for decision in decided] == ["join", "join"]


def test_a_rebalance_that_never_came_to_a_decision_is_no_gap() -> None:
    """It has a number but no record: the members still hold what the last record says, and say so."""
    numbered = {**CAPTURED[3], "generation": 4}
    found = list(moments(GROUP, generations(GROUP, map(record, [CAPTURED[2], numbered]))))
    assert found[-1] is not None
    assert found[-1].generation == 3
    assert found[-1].holdings.keys() == {member["memberId"] for member in CAPTURED[2]["members"]}


def test_a_static_member_that_came_back_holds_what_its_former_id_held() -> None:
    """The same generation is written again, with another member id; nobody has joined with new offsets."""
    row = CAPTURED[2]
    former = row["members"][0]
    again = {**row, "members": [{**former, "memberId": "came-back", "groupInstanceId": "i"}, *row["members"][1:]]}
    (found,) = generations(GROUP, [record(row), record(again)])
    assert "came-back" in found.holdings
    assert former["memberId"] not in found.holdings
    assert [member.member_id for member in found.members] == sorted(item["memberId"] for item in row["members"])


def test_a_deleted_group_that_is_made_again_held_nothing() -> None:
    first = {**CAPTURED[2], "generation": 1}
    found = list(moments(GROUP, generations(GROUP, [record(CAPTURED[1]), later(2), record(first)])))
    assert found[-1] is None or not found[-1].holdings


@pytest.mark.parametrize(
    ("end", "what"),
    [
        (later(NOW_MS), "is empty: no instance is running"),
        (later(NOW_MS, STREAMS_KEY, b"\x00\x00"), "is of the newer streams protocol"),
    ],
)
def test_a_group_that_is_gone_is_not_what_it_was(end: OffsetsRecord, what: str) -> None:
    with pytest.raises(SnapshotError, match=what):
        history(record(CAPTURED[2]), end, newest_only=True)


def test_a_group_that_has_become_empty_is_told() -> None:
    taken = history(*map(record, CAPTURED), newest_only=True)
    assert taken.rows[0]["generation"] == CAPTURED[-2]["generation"] - 1
    assert [note.code for note in taken.notes] == ["group-gone"]
    assert CAPTURED[-1]["time"] in taken.notes[0].message


def test_a_group_that_went_to_the_newer_protocol_is_told() -> None:
    taken = history(*map(record, CAPTURED[:3]), later(NOW_MS, STREAMS_KEY, b"\x00\x00"), newest_only=True)
    assert [note.code for note in taken.notes] == ["group-gone"]
    assert "is of the newer streams protocol since 2026-11-21T18:00:00.000Z" in taken.notes[0].message


def test_a_group_that_was_never_there() -> None:
    with pytest.raises(SnapshotError, match="has no record in __consumer_offsets"):
        history()
    with pytest.raises(SnapshotError, match="has no record in __consumer_offsets"):
        group_decisions(cluster_of(), GROUP, lambda at: True)


def test_a_group_that_went_back_from_the_newer_protocol_is_classic_again() -> None:
    taken = history(later(1, STREAMS_KEY, b"\x00\x00"), later(2, STREAMS_KEY), record(CAPTURED[1]), record(CAPTURED[2]))
    assert [row["generation"] for row in taken.rows][-1] == 2


def test_another_kind_of_group_is_refused_with_its_place() -> None:
    other = {**CAPTURED[1], "protocol": "range"}
    with pytest.raises(SnapshotError, match=r"group S7, offset \d+ of __consumer_offsets: is not a group of Kafka"):
        list(generations(GROUP, [record(other)]))


def test_nothing_in_the_given_time() -> None:
    with pytest.raises(
        SnapshotError, match=r"no snapshot in the given time; its newest record is of 2026-11-21T13:08:34\.899Z"
    ):
        group_history(
            cluster_of(*map(record, CAPTURED[:4])),
            GROUP,
            None,
            NOW_MS,
            lambda at: False,
            newest_only=True,
            config={},
        )


def test_the_newest_snapshot_has_the_rates_of_those_before_it() -> None:
    whole = history(*map(record, CAPTURED[:-1]))
    newest = history(*map(record, CAPTURED[:-1]), newest_only=True)
    assert newest.rows == whole.rows[-1:]
    assert newest.rows[0]["rates"]["produce"]
    for row in whole.rows:
        snapshot_from_row(row, "history")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_decisions_in_figures(scenario: str) -> None:
    """What is withheld moves in the generation after."""
    cluster = CapturedCluster(scenario)
    found = {
        group_decision.generation: group_decision
        for group_decision in group_decisions(cluster, cluster.group_id, lambda at: True)
    }
    observed = {row["generation"]: row for row in rows(scenario, "observed")}
    assert found.keys() == observed.keys()
    for number, decision in found.items():
        consumers = [
            consumer for instance in observed[number]["decided"].values() for consumer in instance["consumers"].values()
        ]
        assert decision.trigger == trigger(observed[number])
        assert decision.withheld_tasks == sum(len(consumer["withheld"]) for consumer in consumers)
        assert (decision.processes, decision.consumers) == (len(observed[number]["decided"]), len(consumers))
        # a member that has to revoke is told to come back at once, whatever is to follow later
        untold = decision.has_probe is None and decision.withheld_tasks
        assert untold or decision.has_probe == observed[number]["probing_rebalance"]
    assert sum(item.moved_tasks for item in found.values()) > 0


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_row_holds_the_decision_that_was_made_of_it(scenario: str) -> None:
    """But for who gets what is withheld."""
    observed = {row["generation"]: row for row in rows(scenario, "observed")}
    results = [row for row in whole_history(scenario) if "decided" in row["decision"]]
    assert len(results) == len(observed)
    for row in results:
        found, known = snapshot_from_row(row, scenario), observed[row["decision"]["generation"]]
        assert found.decision is not None
        assert found.decision.consumers is not None
        assert (found.decision.generation, found.decision.at_ms) == (row["generation"] + 1, 0)
        assert found.decision.probing_rebalance in (None, known["probing_rebalance"])
        group = found.state.group
        assert copies_alike(group, found.decision.consumers) == assigned(group, known)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_looks_ahead_starts_after_the_decision(scenario: str) -> None:
    """As after the one in the leader's log; a replay makes it again."""
    config = rows(scenario, "inputs")[0]["config"]
    history = zip(whole_history(scenario), rows(scenario, "inputs"), rows(scenario, "observed"), strict=False)
    for row, known, observed in list(history)[1:6]:
        found = snapshot_from_row({**row, "config": config, "rates": None}, scenario)
        decision = {name: observed[name] for name in ("generation", "at", "probing_rebalance", "decided")}
        ahead = plan_checked(found)
        expected = plan(snapshot_from_row({**known, "decision": decision}, scenario), floor=False, ranges=False)
        for planned, logged in zip(ahead.rounds[:4], expected.rounds[:4], strict=True):
            assert (planned.generation, planned.trigger) == (logged.generation, logged.trigger)
            assert abs(planned.at_ms - logged.at_ms) <= 100
            assert planned.decided == logged.decided
        replayed = plan_checked(found.before_decision(), floor=False, ranges=False)
        assert replayed.rounds[0].generation == observed["generation"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_second_later_the_running_group_has_the_same_to_come(scenario: str) -> None:
    """The row of now and that of the decision before it: in a second nothing happens but that copies restore."""
    config, cluster = rows(scenario, "inputs")[0]["config"], CapturedCluster(scenario)
    records, seen = list(cluster.group_records(cluster.group_id)), Counter[Trigger]()
    for end in range(len(records) // 2, len(records), 2):
        cluster.group_records = lambda _, end=end: iter(records[:end])  # type: ignore[misc, method-assign]
        now_ms = records[end - 1].at_ms + 1_000
        taken = group_history(
            cluster, cluster.group_id, topology(scenario), now_ms, lambda at: True, newest_only=False, config=config
        )
        decided, now = (snapshot_from_row({**row, "rates": None}, scenario) for row in taken.rows[-2:])
        assert decided.decision is not None
        if now.captured_at_ms != now_ms or now.state.generation != decided.decision.generation:
            continue  # what happened last was no decision
        expected, ahead = (plan(item, now_ms=now_ms).rounds for item in (decided, now))
        assert len(ahead) == len(expected)
        for one, other in zip(ahead[:2], expected[:2], strict=True):
            assert one.trigger is other.trigger
            assert abs(one.at_ms - other.at_ms) <= 200  # from the join to the decision
            seen[one.trigger] += 1
    assert min(seen[Trigger.FOLLOW_UP], seen[Trigger.PROBING]) > 2


def whole_history(scenario: str) -> list[dict[str, Any]]:
    cluster = CapturedCluster(scenario)
    taken = group_history(
        cluster, cluster.group_id, topology(scenario), NOW_MS, lambda at: True, newest_only=False, config={}
    )
    return taken.rows
