"""How many tasks start cold at most: what Kafka does not wait for counts, and so does what is slower than known."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from kstream_plan.model import UNKNOWN, Rates, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, Plan
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby
from tests.helpers.random_groups import TAKEN_MS, Given, copied, random_group

#: 0_0 is within the limit, so that every copy of it counts as caught up; the others stay where they are.
SHORT = tuple(
    {"task_id": f"0_{number}", "stateful": True, "end_offset_sum": end_offset}
    for number, end_offset in enumerate([5_000, 1_000_000, 1_000_000])
)


def _most(plan: Plan) -> int:
    return plan.ends("cold_handovers")[1]


def _all_on_one(*, lag: int) -> Snapshot:
    """``i0`` runs 0_0 and 0_1, ``i2`` 0_2; ``i1`` has a standby of 0_1 that reports this lag."""
    row = one_standby.row(lag=lag)
    row["instances"][0]["consumers"][0]["active"] = ["0_0", "0_1"]
    row["instances"][1]["consumers"][0].update(active=[], standby=["0_1"])
    row["lags"][0]["task_id"] = "0_1"
    return snapshot_from_row({**row, "stores": "persistent"}, "all-on-one")


class TestKafkaDoesNotWait:
    def test_a_copy_with_an_unknown_offset_is_given_a_task_that_runs(self) -> None:
        """Kafka's marker of an unknown offset is below every lag, that of the task's owner included."""
        result = plan_checked(_all_on_one(lag=UNKNOWN))
        starts = [step for rnd in result.rounds for step in rnd.single_steps if isinstance(step, HandOver)]
        assert [str(step.task_id) for step in starts] == ["0_1"]
        assert _most(result) == 1

    def test_it_waits_for_a_copy_that_is_behind(self) -> None:
        outcome = plan_checked(_all_on_one(lag=20_000))
        assert _most(outcome) == 0


def _starts_cold(restore: float | None) -> Plan:
    """0_0 starts on ``i3``, whose offset is unknown, and moves on to ``i2`` once that has restored more of it."""
    row: dict[str, Any] = {
        "format_version": "1.0",
        "application_id": "a",
        "generation": 5,
        "captured_at": one_standby.AT,
        "config": {"acceptable_recovery_lag": 0, "num_standby_replicas": 0},
        "tasks": [
            {"task_id": "0_0", "stateful": True, "end_offset_sum": 5_000},
            {"task_id": "1_0", "stateful": False},
            {"task_id": "1_1", "stateful": False},
        ],
        "instances": [
            {
                "process_id": f"{first}0000000-0000-4000-8000-00000000000{first}",
                "host": f"i{number}",
                "consumers": [
                    {
                        "consumer_id": f"i{number}-StreamThread-{thread}",
                        "active": active if thread == min(2, threads) else [],
                        "standby": [],
                    }
                    for thread in range(1, threads + 1)
                ],
            }
            for number, (first, threads, active) in enumerate(
                [(5, 2, []), (1, 2, ["1_0", "0_0"]), (3, 3, ["1_1"]), (4, 1, [])]
            )
        ],
        "lags": [
            {
                "process_id": "40000000-0000-4000-8000-000000000004",
                "task_id": "0_0",
                "lag": UNKNOWN,
                "reported_at": one_standby.AT,
            }
        ],
        "stores": "persistent",
    }
    snapshot = replace(snapshot_from_row(row, "twice"), rates=Rates(restore_per_instance=restore))
    leave = Leave(at_ms=0, process_ids=("10000000-0000-4000-8000-000000000001",))
    return plan_checked(snapshot, scenario=Scenario(events=(leave,)))


class TestStartedColdAndMovedAgain:
    def test_a_slow_copy_is_moved_before_it_has_caught_up(self) -> None:
        result = _starts_cold(50.0)
        assert (result.summary.cold_handovers, _most(result)) == (2, 2)

    def test_without_a_rate_it_may_be(self) -> None:
        outcome = _starts_cold(None)
        assert outcome.summary.cold_handovers == 1
        assert _most(outcome) == 2

    def test_a_fast_one_has_caught_up(self) -> None:
        assert _most(_starts_cold(100_000.0)) == 1


def test_a_thread_that_restores_alone_may_be_slower_than_what_is_written() -> None:
    """Three threads restore 50 records a second, one 17, and 20 are written: within five minutes its copy is behind."""
    row = one_standby.row(stores="persistent")
    row["config"] |= {"acceptable_recovery_lag": 0, "num_standby_replicas": 0}
    del row["instances"][2], row["tasks"][2]
    row["instances"][1]["consumers"] += [
        {"consumer_id": f"i1-StreamThread-{number}", "active": [], "standby": []} for number in (2, 3)
    ]
    snapshot = snapshot_from_row(row, "threads")
    snapshot = replace(snapshot, rates=Rates(restore_per_instance=50.0, produce_per_task=20.0))
    leave = Scenario(events=(Leave(at_ms=0, process_ids=(one_standby.IDS[0],)),))
    result = plan_checked(snapshot, PlanOptions(now_ms=TAKEN_MS + 300_000), scenario=leave)
    assert result.summary.cold_handovers == 0
    assert result.summary.restored_records == 0
    assert _most(result) == 1


class TestWithinTheLimit:
    """A copy within the limit is warm by Kafka's rule, and restores what it lacks before its task runs."""

    @staticmethod
    def _answer(lag: int, restore: float | None, tasks: tuple[dict[str, Any], ...] = SHORT) -> Answer:
        found = snapshot_from_row(one_standby.row(tasks=tasks, lag=lag), "within")
        return drain(replace(found, rates=Rates(restore_per_instance=restore)), ["i0"], leave=True).answer

    @pytest.mark.parametrize(
        ("lag", "restore", "answer"),
        [
            (1_001, None, Answer.UNKNOWN),
            (2_400, None, Answer.UNKNOWN),
            (2_500, None, Answer.NO),
            (2_400, 50.0, Answer.NO),
            (2_400, 5_000.0, Answer.YES),
            (1_000, None, Answer.YES),
            (0, None, Answer.YES),
        ],
    )
    def test_how_long_it_restores_is_unknown_without_a_rate(
        self, lag: int, restore: float | None, answer: Answer
    ) -> None:
        assert self._answer(lag, restore) is answer

    def test_less_than_a_tenth_is_what_a_copy_lacks_that_follows(self) -> None:
        tasks = ({**SHORT[0], "end_offset_sum": 100_000}, *SHORT[1:])
        assert self._answer(9_999, None, tasks) is Answer.YES
        assert self._answer(10_000, None, tasks) is Answer.UNKNOWN
        assert self._answer(9_999, 50.0, tasks) is Answer.NO

    def test_what_was_measured_is_restored_though_plans_forget_it(self) -> None:
        """Without a rate a plan that begins later takes a copy within the limit to have nothing left."""
        row = one_standby.row(lag=9_000, tasks=({**SHORT[0], "end_offset_sum": 20_000}, *SHORT[1:]))
        row["lags"].append(
            {**row["lags"][0], "process_id": one_standby.IDS[2], "lag": UNKNOWN, "reported_at": "2026-11-22T11:55:00Z"}
        )
        row["lags"][0]["source"] = "metrics"
        assert drain(snapshot_from_row(row, "later"), ["i0"], leave=True).answer is Answer.UNKNOWN

    def test_the_length_of_the_changelog_is_needed_only_where_the_limit_takes_a_second(self) -> None:
        """Of the copies that are made to balance the group up to the limit of 10,000 records may be left."""
        tasks = tuple({"task_id": f"0_{number}", "stateful": True} for number in range(3))
        assert self._answer(400, 50.0, tasks) is Answer.UNKNOWN
        assert self._answer(400, 5_000.0, tasks) is Answer.UNKNOWN
        assert self._answer(400, 50_000.0, tasks) is Answer.YES


def _leaving(given: Given) -> Plan:
    """Return what follows where the instance leaves that runs the most."""
    snapshot = given.snapshot
    process_id = process_id_of(snapshot.state.group, given.busiest)
    scenario = Scenario(events=(Leave(at_ms=0, process_ids=(process_id,)),))
    return plan_checked(snapshot, given.options, scenario=scenario)


def test_what_is_not_proven_starts_cold_beside_what_is_slower_than_known() -> None:
    """Of 0_2 nothing was ever reported; 0_1 starts cold where its copy begins to restore only at a probe."""
    result = _leaving(random_group(random.Random(12_318)))
    assert [str(start.task_id) for start in result.unproven_starts] == ["0_2"]
    assert result.ends("cold_handovers") == (0, 2)


@pytest.mark.parametrize(("reported_at", "most"), [(one_standby.AT, 3), ("2026-11-22T11:59:40.000Z", 4)])
def test_left_over_state_is_there_when_it_is_reported_and_may_be_gone_later_however_old(
    reported_at: str, most: int
) -> None:
    """``i3`` takes up what is left of 0_1, if its cleaner has not deleted it."""
    group = copied(random_group(random.Random(305_623_475)))
    for report in group.row["lags"]:
        report["reported_at"] = reported_at
    assert {_most(_leaving(given)) for given in (group, group.with_row(copies_since=None))} == {most}


def test_left_over_state_of_a_snapshot_without_a_capture_time_may_have_been_deleted_since_it_was_reported() -> None:
    """0_1 is given to what is left of it, which was reported some time before, nobody knows how long.

    Where it is said what time it is, no start is proven of a snapshot that may be of any time before.
    """
    group = random_group(random.Random(1067))
    for given, most in ((group, 1), (group.with_row(captured_at=None), 2)):
        assert plan_checked(given.snapshot, given.options).ends("cold_handovers") == (0, most)


def test_left_over_state_may_be_deleted_in_the_millisecond_in_which_it_is_seen_however_old_it_is() -> None:
    """``i1`` cleans up ten minutes after it started: when the snapshot is taken, a second before ``i0`` leaves."""
    group = random_group(random.Random(1_905_314))
    for given in (group, group.with_row(copies_since=None)):
        assert drain(given.snapshot, [given.busiest], given.options, leave=True).answer is Answer.UNKNOWN


class TestStateThatIsDeletedMeanwhile:
    @pytest.mark.parametrize("rate", [50.0, None])
    def test_a_task_may_start_cold_on_another_thread_of_its_instance(self, rate: float | None) -> None:
        """Since 4.3 the cleaner may delete 0_1 after one thread has closed it and before the other opens it."""
        group = replace(random_group(random.Random(2135)), restore=rate, trust_ms=0)
        assert plan_checked(group.snapshot, group.options).ends("cold_handovers") == (0, 1)
        early = plan_checked(group.snapshot, replace(group.options, cleaning="early", ranges=False))
        step = next(step for step in early.rounds[1].single_steps if isinstance(step, HandOver))
        assert (str(step.task_id), step.caught_up) == ("0_1", False)
        assert step.restore_records == (20_000 if rate is None else 19_925)


class TestNobodyWritesForWhoHasStopped:
    def test_a_copy_that_had_caught_up_is_so_when_the_stop_is_noticed(self) -> None:
        """More is written than is restored, as long as the owner runs: it ran until the report."""
        group = copied(random_group(random.Random(319_025)))
        assert drain(group.snapshot, [group.busiest], group.options).answer is Answer.YES
        del group.row["tasks"][0]["end_offset_sum"]
        assert drain(group.snapshot, [group.busiest], group.options).answer is Answer.YES


def test_what_a_copy_within_the_limit_restores_is_unknown_without_the_end_offset() -> None:
    """0_0 moves to ``i1`` for its copy is within the limit: 10,000 records of 20,000, or of an unknown number."""
    group = copied(random_group(random.Random(1059)))
    assert drain(group.snapshot, [group.busiest], group.options).answer is Answer.NO
    del group.row["tasks"][0]["end_offset_sum"]
    assert drain(group.snapshot, [group.busiest], group.options).answer is Answer.UNKNOWN


def test_a_copy_falls_behind_whatever_the_end_offset_is() -> None:
    """Of 0_1, 1,000 records a second are written and 50 restored: ``i3`` had caught up five minutes before."""
    group = copied(random_group(random.Random(73)))
    whole = plan_checked(group.snapshot, group.options)
    del group.row["tasks"][1]["end_offset_sum"]
    for result in (whole, plan_checked(group.snapshot, group.options)):
        step = next(step for step in result.rounds[1].single_steps if isinstance(step, HandOver))
        assert (str(step.task_id), step.caught_up) == ("0_1", False)


@pytest.mark.parametrize(("stores", "most"), [("in-memory", 2), ("persistent", 0)])
def test_a_task_between_two_threads_starts_from_another_copy_whatever_that_has(stores: str, most: int) -> None:
    """``i0`` has closed 0_3 for another thread; where nothing is left of it, ``i1`` starts it by a report of a day.

    When ``i0`` starts it again, it has restored it beside 0_1, which lacks an unknown number of records.
    """
    group = random_group(random.Random(86)).with_row(stores=stores)
    assert plan_checked(group.snapshot, group.options).ends("cold_handovers") == (0, most)


def test_left_over_state_of_unknown_end_offset_restores_what_was_written_since_it_was_reported() -> None:
    """Of 0_0 nothing was missing five minutes before, and 20 records a second are written: a report of a day counts."""
    known = random_group(random.Random(1944))
    unknown = copied(known)
    del unknown.row["tasks"][0]["end_offset_sum"]
    for group in (known, unknown):
        assert "0_0" in {str(start.task_id) for start in _leaving(group).unproven_starts} | {
            *map(str, _leaving(group).restores_first)
        }


def test_a_copy_whose_measuring_failed_is_not_proven_by_the_moment_at_which_the_snapshot_decides() -> None:
    """Without a capture time the decision is as of now, and so is what was reported at it: 0_1 was to be measured."""
    group = random_group(random.Random(348_988))
    for given in (group, group.with_row(captured_at=None)):
        assert given.row["measuring_failed"]
        assert "0_1" in {str(start.task_id) for start in _leaving(given).unproven_starts}
