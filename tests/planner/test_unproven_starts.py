"""A plan names the starts that it calls warm and cannot prove to be, and counts them among the cold ones at worst."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import KstreamPlanError
from kstream_plan.model import Rates, Snapshot, TaskId
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Bounce, Burst, Event, Leave, Scenario, Stop
from kstream_plan.model.snapshot import Stores
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.one_standby import IDS, row, snapshot
from tests.helpers.random_groups import copied, random_group

_LONG_AGO = "2026-11-22T11:00:00.000Z"


def _play(snapshot: Snapshot, *events: Event, trust_ms: int = 60_000) -> Plan:
    return plan_checked(snapshot, scenario=Scenario(events=events), trust_ms=trust_ms)


def _starts(plan: Plan) -> list[tuple[str, Fact]]:
    return [(str(start.task_id), start.evidence.fact) for start in plan.unproven_starts]


_LEAVES = Leave(at_ms=0, process_ids=IDS[:1])


def test_a_copy_of_which_was_heard_lately_is_proven() -> None:
    result = _play(snapshot(), _LEAVES)
    assert not result.unproven_starts
    assert result.ends("cold_handovers") == (0, 0)


def test_an_old_report_is_not() -> None:
    result = _play(snapshot(reported_at=_LONG_AGO), _LEAVES)
    assert _starts(result) == [("0_0", Fact.OLD_REPORT)]
    assert result.unproven_starts[0].process_id == IDS[1]
    assert result.ends("cold_handovers") == (0, 1)


def test_nothing_is_written_while_nobody_runs_the_task() -> None:
    """It is noticed 45s after the stop; the report is 59s old then."""
    result = _play(snapshot(), Stop(at_ms=59_000, process_ids=IDS[:1]))
    assert result.rounds[-1].at_ms > 60_000
    assert not result.unproven_starts


def test_a_burst_is_more_than_a_report_can_have_foreseen() -> None:
    result = _play(snapshot(), Burst(at_ms=1_000, records=10_001), Leave(at_ms=2_000, process_ids=IDS[:1]))
    assert result.ends("cold_handovers")[1] == 1


def test_moves_that_wait_for_their_copies_are_proven() -> None:
    """0_0 moves to a copy that was behind, once that has told the group that it caught up."""
    crowded = snapshot(reported_at=_LONG_AGO, lag=900_000)
    result = plan_checked(crowded)
    assert not result.unproven_starts


@pytest.mark.parametrize(("stores", "facts"), [(None, [Fact.STORES_UNKNOWN]), ("persistent", [])])
def test_a_restart_finds_what_its_stores_leave(stores: str | None, facts: list[Fact]) -> None:
    item = replace(snapshot(), stores=stores)  # type: ignore[arg-type]
    result = _play(item, Bounce(at_ms=0, process_ids=IDS[2:], restart_ms=3_000))
    assert [fact for _, fact in _starts(result)] == facts
    static = _play(item, Bounce(at_ms=0, process_ids=IDS[2:], restart_ms=3_000, static=True))
    assert [fact for _, fact in _starts(static)] == facts


def _on_two_threads(stores: Stores | None, standby_on: int = 0) -> Snapshot:
    """Return the group with ``i1`` of two threads: one has the standby of 0_0, the other one has less to run."""
    given = row()
    threads = [{"consumer_id": f"i1-{thread}", "active": [], "standby": []} for thread in range(2)]
    threads[0]["active"] = ["0_1"]
    threads[standby_on]["standby"] = ["0_0"]
    given["instances"][1]["consumers"] = threads
    return replace(snapshot_from_row(given, "two threads"), stores=stores)


@pytest.mark.parametrize(
    ("stores", "standby_on", "cold", "facts"),
    [
        ("persistent", 0, (0, 0), []),
        ("in-memory", 0, (1, 1), []),
        (None, 0, (0, 1), [("0_0", Fact.STORES_UNKNOWN)]),
        (None, 1, (0, 0), []),
        ("in-memory", 1, (0, 0), []),
    ],
)
def test_what_is_in_memory_stays_on_its_thread(
    stores: Stores | None, standby_on: int, cold: tuple[int, int], facts: list[tuple[str, Fact]]
) -> None:
    """0_0 starts on the thread of ``i1`` that has nothing to run, wherever its standby is."""
    result = _play(_on_two_threads(stores, standby_on), _LEAVES)
    assert result.ends("cold_handovers") == cold
    assert _starts(result) == facts


def test_drain_and_check_say_the_same_of_a_copy_that_restores_for_an_unknown_time() -> None:
    """It is within the limit, so Kafka calls it caught up, and lacks an eighth of its changelog."""
    given = row(lag=5_000, config={"acceptable_recovery_lag": 10_000, "num_standby_replicas": 1})
    for task in given["tasks"]:
        task["end_offset_sum"] = 40_000
    item = snapshot_from_row({**given, "stores": "persistent"}, "an eighth")
    assert drain(item, IDS[:1], leave=True).answer is Answer.UNKNOWN
    result = _play(item, _LEAVES)
    assert result.ends("cold_handovers") == (0, 1)
    no_cold_start = Standard(Policy({"max_cold_handovers": Limit(0)}), datetime(2026, 11, 22, 12, tzinfo=UTC))
    assert check_plan(result, no_cold_start).answer is Answer.UNKNOWN


def test_they_are_saved_with_the_plan_which_counts_them() -> None:
    result = _play(snapshot(reported_at=_LONG_AGO), _LEAVES)
    text = plan_json(result)
    assert read_plans(text.encode(), "x") == [result]
    with pytest.raises(KstreamPlanError, match=r"seal does not fit .*summary.*unproven_starts"):
        read_plans(text.replace('"cold_handovers":[0,1]', "").encode(), "x")


@pytest.mark.parametrize("stores", ["persistent", "in-memory"])
def test_a_copy_in_memory_begins_with_nothing_where_its_process_is_younger_than_its_report(stores: str) -> None:
    """All 5,000 records are within the limit, so that it counts as caught up; it has had a second to restore them."""
    given = row(reported_at="2026-11-22T11:59:58.000Z", tasks=TestUnsized.SHORT)
    given["instances"][1]["started_at"] = "2026-11-22T11:59:59.000Z"
    item = snapshot_from_row({**given, "stores": stores}, "restarted")
    for rate, answer in ((50.0, Answer.UNKNOWN), (10_000.0, Answer.YES)):
        result = drain(replace(item, rates=Rates(restore_per_instance=rate)), IDS[:1], leave=True)
        assert result.answers[TaskId(0, 0)] is (answer if stores == "in-memory" else Answer.YES)


class TestUnsized:
    """What a copy of unknown end offset takes of its instance's rate is unknown: so is how far others are by then."""

    SHORT = tuple({"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 5_000} for number in range(3))

    @pytest.mark.parametrize("unsized", ["0_0", "0_1", "0_2"])
    def test_a_task_moves_on_beside_or_to_a_copy_of_unknown_size(self, unsized: str) -> None:
        """0_2 moves again, to a copy on ``i1`` that is made beside those of 0_0 and 0_1, and is then near enough."""
        known = random_group(random.Random(5_589_347))
        sized = drain(known.snapshot, ["i0"], known.options, leave=True)
        assert (sized.restoring_later, sized.answer) == (("0_2",), Answer.NO)
        group = copied(known)
        del next(task for task in group.row["tasks"] if task["task_id"] == unsized)["end_offset_sum"]
        found = drain(group.snapshot, ["i0"], group.options, leave=True)
        assert found.answers[TaskId(0, 2)] is Answer.UNKNOWN
        [start] = [start for start in found.unproven if start.task_id == TaskId(0, 2)]
        assert "may lack up to 10,000 records" in start.evidence.words

    @pytest.mark.parametrize("unsized", ["0_0", "0_1", "0_2"])
    def test_it_is_proven_where_no_more_than_a_moment_is_restored(self, unsized: str) -> None:
        group = copied(replace(random_group(random.Random(5_589_347)), restore=50_000.0))
        del next(task for task in group.row["tasks"] if task["task_id"] == unsized)["end_offset_sum"]
        assert drain(group.snapshot, ["i0"], group.options, leave=True).answers[TaskId(0, 2)] is Answer.YES

    @pytest.mark.parametrize("source", ["metrics", "metrics, at least"])
    def test_a_copy_that_lacks_at_least_so_much_may_take_more_of_the_rate(self, source: str) -> None:
        """By the leave both would be restored, had the copy of 0_0 no more to restore than its least."""
        given = row(lag=5_000, stores="persistent")
        given["lags"][0]["source"] = source
        given["lags"].append({**given["lags"][0], "task_id": "0_2", "lag": 30_000, "source": "metrics"})
        given["instances"][1]["consumers"][0]["standby"] = ["0_0", "0_2"]
        rates = Rates(restore_per_instance=1_000.0, produce_per_task=1.0)
        item = replace(snapshot_from_row(given, "at least"), rates=rates)
        facts = dict(_starts(_play(item, Leave(at_ms=45_000, process_ids=IDS[2:]))))
        assert facts.get("0_2") == (Fact.FORECAST if source == "metrics, at least" else None)
