"""Plans of groups that follow a target file: when they probe, what they say of it, and how they are saved."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import PlanFileError, UsageError
from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.model.times import duration
from kstream_plan.plans import Trigger
from kstream_plan.plans.remarks import remarks
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.target_cases import SNAPSHOT_ROW, joining, planned, snapshot, target


def probes_after(plan):
    return {rnd.at_ms - before.at_ms for before, rnd in pairwise(plan.rounds) if rnd.trigger is Trigger.PROBING}


@pytest.mark.parametrize(("probe_ms", "after_ms"), [(5_000, 6_000), (10_000, 12_000), (15_000, 18_000), (6_000, 9_000)])
def test_a_probe_comes_with_the_first_heartbeat_after_its_time(probe_ms, after_ms):
    assert probes_after(planned(target(probe_ms=probe_ms))) == {after_ms}


def test_a_long_restore_has_as_many_more_rounds_as_it_is_probed_more_often():
    read = snapshot()
    slow = replace(read, rates=replace(read.rates, restore_per_instance=10))
    plan = plan_checked(
        slow,
        scenario=joining(),
        assignor="planned",
        target=target(expires_ms=1_795_700_000_000),
        ranges=False,
        floor=False,
        proofs="none",
    )
    assert plan.verdict.kind == "settled"
    assert len(plan.rounds) > 2 * 4 * (len(plan.group.stateful) + 10)


def test_a_saved_plan_is_read_back_with_its_short_probes():
    plan = planned()
    (saved,) = read_saved(plan_json(plan).encode(), "plan.json")
    assert saved.plan.rounds == plan.rounds
    assert saved.plan.rounds[0].follows.plan == "dd8b679e4bea"


def test_a_probe_before_its_own_time_was_edited():
    document = json.loads(plan_json(planned()))
    for rnd in document["rounds"]:
        rnd["follows"]["again_ms"] = rnd["follows"]["again_ms"] and 60_000
    with pytest.raises(PlanFileError, match="a probe comes 60000 or more after"):
        read_saved(json.dumps(document).encode(), "plan.json")


def test_what_expires_in_the_middle_is_warned_of_and_decided_without():
    plan = planned(target(expires_ms=1_795_642_870_000))  # some 20 seconds after it begins
    refusals = [rnd.follows.refusal for rnd in plan.rounds]
    first = refusals.index("expired")
    assert refusals == [None] * first + ["expired"] * (len(refusals) - first)
    (warning,) = [note for note in remarks(plan).warnings if note.code == "target-refused"]
    assert warning.message.startswith(f"The target file does not count at rebalance {first + 1}: it has expired")
    assert probes_after(plan) == {6_000, 63_000}


def test_without_a_file_the_group_is_evened_out():
    plan = planned(None)
    assert {rnd.follows.refusal for rnd in plan.rounds} == {"no-file"}
    assert plan.verdict.kind == "settled"
    assert plan.balance_after.instance_spread == 1
    assert not [note for note in remarks(plan).warnings if note.code == "target-refused"]


def test_more_warm_ups_at_a_time_than_the_settings_say_are_within_the_budget():
    plan = planned(target(warmups=5))
    assert plan.config.max_warmup_replicas == 2
    assert plan.summary.duration_ms < planned().summary.duration_ms


def test_an_empty_slot_waits_until_the_file_expires():
    plan = plan_checked(snapshot(), assignor="planned", target=target())
    assert plan.rounds[-1].follows.refusal == "expired"
    assert plan.verdict.kind == "settled"


def test_a_file_expires_so_the_time_has_to_be_known():
    with pytest.raises(UsageError, match="a target file expires"):
        plan_checked(replace(snapshot(), captured_at=None), assignor="planned", target=target())


def test_other_assignors_do_not_look_at_it():
    plan_checked(replace(snapshot(), captured_at=None), target=target())
    plan = planned(assignor="high-availability")
    assert {rnd.follows for rnd in plan.rounds} == {None}
    assert "follows" not in json.loads(plan_json(plan))["rounds"][0]


def test_a_group_without_tasks_is_settled():
    row = SNAPSHOT_ROW | {"tasks": [], "lags": [], "rates": {}, "decision": None}
    row["instances"] = [
        instance | {"consumers": [consumer | {"active": [], "standby": []} for consumer in instance["consumers"]]}
        for instance in row["instances"]
    ]
    assert plan_checked(snapshot_from_row(row, "empty"), assignor="planned").verdict.kind == "settled"


def test_who_joins_may_take_the_slot_that_is_left():
    plan = plan_checked(snapshot(), scenario=joining(tagged=False), assignor="planned", target=target())
    assert plan.summary.moves == 9
    assert plan.verdict.kind == "settled"


def test_why_a_group_rebalances_when_the_file_expires_is_said():
    leave = Leave(at_ms=0, process_ids=(snapshot().state.group.instances[0].process_id,))
    stay = target(expires_ms=snapshot().captured_at_ms // 1000 * 1000 + 3_600_000)
    plan = plan_checked(snapshot(), scenario=Scenario(events=(leave,)), assignor="planned", target=stay)
    [note] = [note for note in plan.assumptions if note.code == "target-expires"]
    assert plan.rounds[-1].follows.refusal == "expired"
    assert note.message.startswith("The target file has an empty slot, or an instance has none: nothing moves after ")
    assert f"until it expires, at {duration(plan.rounds[-1].at_ms)}, when the group" in note.message
    assert "target-expires" not in [note.code for note in planned().assumptions]
