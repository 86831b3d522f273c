"""What the broker told of real groups gives what the leader knew and decided (``tests/real``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kstream_plan.model import LATEST, Copy, Holding, KnownDecision, Snapshot
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.times import format_time
from kstream_plan.plans import Trigger
from kstream_plan.simulation.one_plan import plan, plan_checked
from kstream_plan.snapshots.broker.source import group_history, running_group
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.captured import SCENARIOS, rows
from tests.helpers.captured_cluster import CapturedCluster, task_ids, topology
from tests.helpers.small_groups import group, state

NOW_MS = parse_time("2026-11-21T18:00:00.000Z")

DESCRIBED = [
    pytest.param(scenario, described, id=f"{scenario}-{described['generation']}")
    for scenario in SCENARIOS
    for described in rows(scenario, "describe-groups")
    if described["describeGroups"] is not None
]


def history(scenario: str) -> list[dict[str, Any]]:
    cluster = CapturedCluster(scenario)
    taken = group_history(
        cluster,
        cluster.group_id,
        topology(scenario),
        NOW_MS,
        lambda at_ms: at_ms < NOW_MS,
        newest_only=False,
        config={},
    )
    assert taken.notes == []
    return taken.rows


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_offsets_topic_gives_what_the_leader_knew_in_every_generation(scenario: str) -> None:
    for row, known in zip(history(scenario), rows(scenario, "inputs"), strict=True):
        assert row["generation"] == known["generation"]
        assert 0 <= parse_time(row["captured_at"]) - parse_time(known["captured_at"]) < 500
        assert _tasks(row) == _tasks(known)
        assert _owners(row) == _owners(known)
        assert _lags(row) == _lags(known)
        snapshot_from_row(row, scenario)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_last_record_is_the_group_as_it_is(scenario: str) -> None:
    """The captures end with an empty group, so the history ends one record earlier here."""
    cluster = CapturedCluster(scenario)
    records = list(cluster.group_records(cluster.group_id))[:-1]
    cluster.group_records = lambda group_id: iter(records)  # type: ignore[method-assign]
    taken = group_history(
        cluster, cluster.group_id, topology(scenario), NOW_MS, lambda at_ms: True, newest_only=True, config={}
    )
    (row,) = taken.rows
    last = rows(scenario, "observed")[-1]
    assert (row["generation"], row["captured_at"]) == (last["generation"], format_time(NOW_MS))
    assert _owners(row) == _assigned(last)
    for lag in row["lags"]:
        assert parse_time(lag["reported_at"]) <= parse_time(last["at"]) + 500
        assert lag["end_offset"] >= lag["offset"]
    snapshot_from_row(row, scenario)


@pytest.mark.parametrize(("scenario", "described"), DESCRIBED)
def test_a_described_group_holds_what_was_decided_and_reports_what_was_known(
    scenario: str, described: dict[str, Any]
) -> None:
    cluster = CapturedCluster(scenario, described)
    taken = running_group(cluster, cluster.group_id, topology(scenario), NOW_MS, {})
    (row,) = taken.rows
    generation = described["generation"]
    (observed,) = [item for item in rows(scenario, "observed") if item["generation"] == generation]
    (known,) = [item for item in rows(scenario, "inputs") if item["generation"] == generation - 1]
    assert row.get("generation", generation) == generation
    assert ("generation" in row) == (generation > 1)
    assert _owners(row) == _assigned(observed)
    assert {task["task_id"] for task in row["tasks"]} == {task["task_id"] for task in known["tasks"]}
    assert _offsets(row) == _offsets_expected(known, row)
    for task in row["tasks"]:
        changelogs = task.get("changelog_partitions", [])
        assert task.get("end_offset_sum", 0) == sum(
            described["changelogEndOffsets"][changelog["topic"]][str(changelog["partition"])]
            for changelog in changelogs
        )
        assert len(changelogs) == {"0": 1, "1": 2, "2": 0}[task["task_id"][0]]
    assert [note.code for note in taken.notes] == ["lag-age-unknown"]
    snapshot_from_row(row, scenario)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_plan_made_of_it_is_the_one_made_of_what_the_leader_knew(scenario: str) -> None:
    """Apart from the rates, which the history measures: what was captured has none."""
    config = rows(scenario, "inputs")[0]["config"]
    for row, known in list(zip(history(scenario), rows(scenario, "inputs"), strict=True))[1:4]:
        planned = plan_checked(snapshot_from_row({**row, "config": config, "rates": None}, scenario).before_decision())
        expected = plan_checked(snapshot_from_row(known, scenario))
        assert [round_.steps for round_ in planned.rounds] == [round_.steps for round_ in expected.rounds]


@pytest.mark.parametrize(("scenario", "described"), DESCRIBED)
def test_a_described_group_tells_of_its_decision_what_members_are_told(
    scenario: str, described: dict[str, Any]
) -> None:
    cluster = CapturedCluster(scenario, described)
    (row,) = running_group(cluster, cluster.group_id, topology(scenario), NOW_MS, {}).rows
    decision, found = row["decision"], snapshot_from_row(row, scenario)
    [result] = [item for item in rows(scenario, "observed") if item["generation"] == described["generation"]]
    assert decision.get("generation", 1) == described["generation"]
    assert decision.get("probing_rebalance", result["probing_rebalance"]) == result["probing_rebalance"]
    assert "at" not in decision
    if "next_rebalance_at" in decision:
        after_ms = parse_time(decision["next_rebalance_at"]) - parse_time(result["at"])
        assert 59_000 <= after_ms <= 61_000  # the captured groups probe every minute
    assert found.decision is not None
    assert found.decision.consumers is None
    following = plan(replace(found, decision=replace(found.decision, next_ms=5_000, probing_rebalance=True)))
    assert [(rnd.trigger, rnd.at_ms) for rnd in following.rounds[:1]] in ([], [(Trigger.PROBING, 8_000)])


def test_lags_of_a_last_join_of_unknown_time_do_not_count_as_of_now() -> None:
    held = {0: Holding((0,), standby=(2,)), 2: Holding((1,)), 4: Holding((2,))}
    runs = {task: Copy(task, LATEST, (2 * task,), 0, 2 * task, True) for task in range(3)}
    copies = {0: (runs[0],), 1: (runs[1],), 2: (Copy(0, 500, (0,), 500, 0), runs[2])}
    item = state(group(stateful=3, stateless=0), held, copies)
    config = AssignmentConfig(acceptable_recovery_lag=0, num_standby_replicas=1)
    live = Snapshot(
        state=item, config=config, captured_at="2026-11-21T18:00:00.000Z", decision=KnownDecision(generation=7)
    )
    stops = Scenario(events=(Stop(at_ms=0, process_ids=(item.group.instances[2].process_id,)),))
    result = plan(live, scenario=stops)
    [note] = [note for note in result.assumptions if note.code == "copies-maybe-ready"]
    assert "0_2" in note.subjects
    assert "and since when they restore is unknown too" in note.message
    assert ("cold_handovers", 0) in {(one.figure, one.low) for one in result.summary.ranges}


def _tasks(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            task["task_id"],
            task["stateful"],
            task.get("end_offset_sum"),
            # one scenario's topics have a prefix, which its inputs leave out
            [
                (source_partition["topic"].removeprefix("s7-"), source_partition["partition"])
                for source_partition in task["source_partitions"]
            ],
        )
        for task in row["tasks"]
    ]


def _owners(row: dict[str, Any]) -> dict[str, Any]:
    return {
        consumer["consumer_id"]: (instance["process_id"], task_ids(consumer["active"]), task_ids(consumer["standby"]))
        for instance in row["instances"]
        for consumer in instance["consumers"]
    }


def _assigned(observed: dict[str, Any]) -> dict[str, Any]:
    return {
        consumer_id: (
            process_id,
            task_ids(set(item["active"]) - set(item["withheld"])),
            task_ids(item["standby"] + item["temporary"]),
        )
        for process_id, instance in observed["decided"].items()
        for consumer_id, item in instance["consumers"].items()
    }


def _lags(row: dict[str, Any]) -> dict[tuple[str, str], Any]:
    ends = {task["task_id"]: task.get("end_offset_sum") for task in row["tasks"]}
    return {
        (lag["process_id"], lag["task_id"]): (
            lag["lag"] if lag.get("lag") is not None else ends[lag["task_id"]] - lag["offset"],
            sorted(lag["consumer_ids"]),
        )
        for lag in row["lags"]
    }


def _offsets(row: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(lag["process_id"], lag["task_id"]): lag["offset"] for lag in row["lags"] if "offset" in lag}


def _offsets_expected(known: dict[str, Any], row: dict[str, Any]) -> dict[tuple[str, str], int]:
    """What was known as offsets, without what its instance runs by now."""
    ends = {task["task_id"]: task.get("end_offset_sum", 0) for task in known["tasks"]}
    runs = {(process_id, str(task)) for process_id, active, _ in _owners(row).values() for task in active}
    return {
        (lag["process_id"], lag["task_id"]): ends[lag["task_id"]] - lag["lag"]
        for lag in known["lags"]
        if lag["lag"] != LATEST and (lag["process_id"], lag["task_id"]) not in runs
    }
