"""Rows of streams groups that contradict themselves: never silently taken for one thing or the other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.model.streams_group import BrokerGroup
from kstream_plan.plans import HandOver, ReasonCode
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.policy.rules.over_draws import measure_rules
from kstream_plan.render.check.table import table_report
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.streams_rows import row, snapshot

_TIMES = (
    "max_duration",
    "max_pause_per_task",
    "max_pause_per_handover",
    "max_pause_in_all",
    "max_paused_tasks_at_once",
)
_AMOUNTS = (
    "max_rebalances",
    "max_moves",
    "max_warmups",
    "max_cold_handovers",
    "max_restored_records",
    "max_peak_extra_copies",
)
#: Rules about what comes of it.
_OF_THE_END = {"balance_factor": 10**9, "min_standbys": 1, "distinct_tag_values": (("zone", 1),)}
_NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def group(a: dict[str, Any], b: dict[str, Any], state: str | None = "Stable", **fields: Any) -> Snapshot:
    """Four tasks on two members, ``m-a`` and ``m-b``, that have these fields."""
    seats = {
        name: [{"consumer_id": f"m-{name}", "position": place, "active": [], **item}]
        for place, (name, item) in enumerate({"a": a, "b": b}.items())
    }
    return snapshot(row("4.3", seats, {"0": (4, True, 60_000)}, group_state=state, **fields))


def held(*tasks: str, **fields: Any) -> dict[str, Any]:
    return {"active": list(tasks), **fields}


_WELL = held("0_2", "0_3")


@pytest.mark.parametrize("state", ["Stable", None])
@pytest.mark.parametrize(
    ("a", "b", "who"),
    [
        (
            held("0_0", "0_1", "0_2", target={"active": ["0_0", "0_1"]}),
            held("0_3", target={"active": ["0_2", "0_3"]}),
            ("m-a", "m-b"),
        ),
        (held("0_0", target={"active": ["0_0", "0_1"]}), _WELL, ("m-a",)),
        (held("0_0", "0_1", member_state="UNREVOKED_TASKS"), _WELL, ("m-a",)),
        (held("0_0", "0_1", member_epoch=11), _WELL, ("m-a",)),
        (held("0_0", "0_1", revoking={"standby": ["0_3"]}), _WELL, ("m-a",)),
    ],
)
def test_members_of_a_stable_group_that_are_not_at_their_target_are_told(
    a: dict[str, Any], b: dict[str, Any], who: tuple[str, ...], state: str | None
) -> None:
    item = group(a, b, state)
    (answer,) = (note for note in item.warnings if note.code == "group-not-as-told")
    assert answer.subjects == who
    measured_plan = MeasuredPlan(plan_checked(item))
    assert RULES["must_settle"].worst(measured_plan, True).offences
    limits: dict[str, Any] = {**dict.fromkeys((*_TIMES, *_AMOUNTS), 10**9), **_OF_THE_END}
    for rule, limit in limits.items():
        found = RULES[rule].worst(measured_plan, limit)
        assert found.value is None
        assert found.offences


def test_a_member_that_is_told_to_be_stable_at_the_target_holds_it() -> None:
    fields = {"member_state": "STABLE", "target": {"active": ["0_0", "0_1"], "standby": ["0_2"]}}
    item = group(held("0_0", "0_1", member_epoch=12, **fields), {**_WELL, "target": _WELL}, "Reconciling")
    assert [note.subjects for note in item.warnings if note.code == "group-not-as-told"] == [("m-a",)]
    not_yet = group(held("0_0", "0_1", member_epoch=11, **fields), {**_WELL, "target": _WELL}, "Reconciling")
    assert "group-not-as-told" not in [note.code for note in not_yet.warnings]


def test_what_nobody_runs_nor_is_to_is_told_and_stands_still_from_the_beginning() -> None:
    item = group(held("0_0", "0_1"), held("0_2"))
    (answer,) = (note for note in item.warnings if note.code == "not-dealt-out")
    assert answer.subjects == ("0_3",)
    result = plan_checked(item)
    (start,) = (step for rnd in result.rounds for step in rnd.steps if isinstance(step, HandOver))
    assert (str(start.task_id), start.reason.code) == ("0_3", ReasonCode.STOOD_STILL)
    (pause,) = result.pauses
    assert pause.from_ms == 0 < pause.to_ms
    assert RULES["max_pause_per_task"].worst(MeasuredPlan(result), 10**9).value is None
    a, b = held("0_0", "0_1"), held("0_2")
    wanted = group({**a, "target": a}, {**b, "target": b}, "Assigning", generation=13, target_epoch=12)
    assert "not-dealt-out" not in [note.code for note in wanted.warnings]


@pytest.mark.parametrize(
    ("fields", "epoch"),
    [
        ({}, 11),
        ({"member_state": "STABLE"}, 12),
        ({"member_state": "UNRELEASED_TASKS"}, 12),
        ({"member_epoch": 12}, 12),
    ],
)
def test_who_tells_no_epoch_may_still_have_to_give_up_tasks(fields: dict[str, Any], epoch: int) -> None:
    item = group(held("0_0", "0_1", target=held("0_0", "0_1"), **fields), {**_WELL, "target": _WELL}, "Reconciling")
    memory = item.state.memory
    assert isinstance(memory, BrokerGroup)
    assert memory.members[0].epoch == epoch


def test_who_revokes_is_told_to_be_revoking() -> None:
    with pytest.raises(SnapshotError, match="member_state is 'STABLE', but the member is revoking tasks"):
        group(held("0_0", member_state="STABLE", revoking={"active": ["0_1"]}), _WELL)
    to_b = {**_WELL, "target": held("0_1", "0_2", "0_3")}
    item = group(held("0_0", revoking={"active": ["0_1"]}, target=held("0_0")), to_b, "Reconciling")
    memory = item.state.memory
    assert isinstance(memory, BrokerGroup)
    assert memory.members[0].state == "UNREVOKED_TASKS"


def test_a_target_that_cannot_be_is_refused() -> None:
    a, b = held("0_0", "0_1", target=held("0_0")), held("0_2", target=held("0_1", "0_2"))
    with pytest.raises(SnapshotError, match="target gives '0_3' to no member, though it is the newest target"):
        group(a, b, "Reconciling")
    with pytest.raises(SnapshotError, match="target_epoch is 13, and the group's own"):
        group(held("0_0", "0_1"), _WELL, target_epoch=13)


def test_nobody_is_told_of_where_all_is_well() -> None:
    item = group(held("0_0", "0_1", member_epoch=12, member_state="STABLE"), _WELL)
    assert item.warnings == ()
    assert plan_checked(item).rounds == ()


def test_what_is_unknown_of_a_group_that_contradicts_itself_is_told_rule_by_rule() -> None:
    result = plan_checked(group(held("0_0", target={"active": ["0_0", "0_1"]}), _WELL))
    limits = Policy({name: Limit(value) for name, value in _OF_THE_END.items()})
    text = " ".join(table_report(check_all([check_plan(result, Standard(limits, _NOW))], _NOW), width=200).split())
    assert "? balance_factor unknown 1,000,000,000 the group contradicts itself" in text
    assert "? min_standbys unknown 1 the group contradicts itself" in text
    assert "? distinct_tag_values – zone: 1 over which values of tags the copies end is unknown" in text


def test_other_draws_make_nothing_known_of_a_group_that_contradicts_itself() -> None:
    result = plan_checked(group(held("0_0", target={"active": ["0_0", "0_1"]}), _WELL))
    draws = OverDraws(worst={**measure_rules(result), "distinct_tag_values zone": 2}, number=3, unsettled_draws=0)
    limits = Policy({name: Limit(value) for name, value in _OF_THE_END.items()})
    found = check_plan(result, Standard(limits, _NOW), draws=draws)
    answers = {(one.status, one.value) for one in found.findings if one.rule in _OF_THE_END}
    assert answers == {(Status.ERROR, None)}


@pytest.mark.parametrize(
    ("a", "b", "what"),
    [
        ({"revoking": {"active": ["0_2"]}}, {}, "gives up '0_2', which 'm-b' holds"),
        ({"revoking": {"active": ["0_0"]}}, {}, "gives up '0_0', which 'm-a' holds"),
        ({"standby": ["0_2"], "revoking": {"standby": ["0_2"]}}, {}, "gives up '0_2', which 'm-a' holds"),
        ({"target": held("0_0", standby=["0_0"])}, {}, "gives '0_0' twice to process 'a'"),
        ({"target": held("0_0", "0_1", standby=["1_0"])}, {}, "standby of '1_0', which is stateless"),
        ({"member_epoch": 13}, {}, "member_epoch is 13, and the newest target's"),
        ({"member_epoch": 12, "member_state": "UNREVOKED_TASKS"}, {}, "member_epoch is 12, the newest target's"),
    ],
)
def test_what_no_broker_can_have_told_is_refused(a: dict[str, Any], b: dict[str, Any], what: str) -> None:
    topology = {"0": (4, True, 60_000), "1": (1, False, 0)}
    seats = {
        name: [
            {
                "consumer_id": f"m-{name}",
                "position": place,
                "target": {**item, **more}.get("target", item),
                **item,
                **more,
            }
        ]
        for place, (name, item, more) in enumerate([("a", held("0_0", "0_1", "1_0"), a), ("b", _WELL, b)])
    }
    with pytest.raises(SnapshotError, match=what) as answer:
        snapshot(row("4.4", seats, topology, group_state="Reconciling"))
    assert answer.value.fix


def test_two_members_of_a_process_are_to_have_a_task_once() -> None:
    both = [
        {"consumer_id": "m-1", "active": ["0_0"], "target": held("0_0")},
        {"consumer_id": "m-2", "active": ["0_1"], "target": held("0_1", standby=["0_0"])},
    ]
    with pytest.raises(SnapshotError, match=r"gives '0_0' twice to process 'a' \(to 'm-1' and 'm-2'\)"):
        snapshot(row("4.3", {"a": both}, {"0": (2, True, 60_000)}, group_state="Reconciling"))


def test_a_target_is_not_computed_after_the_group_was_captured() -> None:
    with pytest.raises(SnapshotError, match="target_at is '2026-11-22T12:00:01Z', after captured_at"):
        group(held("0_0", "0_1"), _WELL, target_at="2026-11-22T12:00:01Z")
