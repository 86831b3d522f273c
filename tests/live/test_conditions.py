"""What is waited for is what the commands answer, and holds only if it is proven."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from kstream_plan.errors import UsageError
from kstream_plan.live.conditions import (
    CONDITIONS,
    Question,
    caught_up,
    copies_to_catch_up,
    has_settled,
    safe_to_restart,
    safe_to_stop,
)
from kstream_plan.model.answer import Answer
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.drain import drain
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import recorded_events, streams_rows
from tests.helpers.random_groups import Given, random_group

EXAMPLES = Path(__file__).parents[2] / "examples"
GROUPS = [random_group(random.Random(seed)) for seed in range(60)]


def question(group: Given, *instances: str) -> Question:
    return Question(instances, 5_000, group.options)


@pytest.mark.parametrize("group", GROUPS)
def test_who_may_stop_or_restart_is_as_drain_and_bounce_say(group: Given) -> None:
    snapshot, asked = group.snapshot, question(group, group.busiest)
    assert safe_to_stop(snapshot, asked).answer is drain(snapshot, [group.busiest], group.options).answer
    if len(snapshot.state.group.instances) > 1:
        bounces = bounce(snapshot, 5_000, group.options, instances=[group.busiest])
        assert safe_to_restart(snapshot, asked).answer is bounces.answer


@pytest.mark.parametrize("group", GROUPS)
def test_what_does_not_hold_has_a_reason(group: Given) -> None:
    for name, condition in CONDITIONS.items():
        held = condition(group.snapshot, question(group, *[group.busiest] * name.startswith("safe")))
        assert bool(held.reasons) is (held.answer is not Answer.YES), (name, held)


@pytest.mark.parametrize("group", GROUPS)
def test_copies_have_caught_up_only_if_no_report_says_otherwise(group: Given) -> None:
    snapshot = group.snapshot
    held = caught_up(snapshot, question(group))
    lags = {(task, copy.instance): copy.lag for task, of in enumerate(snapshot.state.copies) for copy in of}
    limit = snapshot.config.acceptable_recovery_lag
    if held.answer is Answer.YES and group.restore is None:
        for seat in copies_to_catch_up(snapshot):
            empty = snapshot.state.group.tasks[seat[0]].end_offset_sum <= limit
            assert empty or (lags.get(seat) is not None and lags[seat] <= limit)


def test_a_group_without_a_known_decision_may_not_have_settled() -> None:
    group = random_group(random.Random(1))
    snapshot = replace(group.snapshot, decision=None)
    assert has_settled(snapshot, question(group)).answer is Answer.UNKNOWN


def test_a_group_has_settled_once_its_leader_wants_no_more() -> None:
    """The newest decision before each generation of a drain, asked a second later."""
    answers, entries = [], recorded_events.generations("bounce")[-4:]
    for row, entry in zip(checked_rows(entries), entries, strict=True):
        options = replace(random_group(random.Random(0)).options, trust_ms=None)
        options = replace(options, now_ms=parse_time(row["captured_at"]) + 1_000)
        held = has_settled(snapshot_from_row(row, ""), Question((), 0, options))
        answers.append(held.answer)
        pending = entry.withheld_tasks or entry.decision["probing_rebalance"]
        assert (held.answer is Answer.YES) is not bool(pending), held
    assert answers[-1] is Answer.YES
    assert Answer.UNKNOWN in answers, "a follow-up was due"


def test_a_snapshot_that_is_old_by_now_tells_nothing() -> None:
    row = checked_rows(recorded_events.generations("bounce"))[-1]
    snapshot = snapshot_from_row(row, "")
    options = replace(random_group(random.Random(0)).options, now_ms=parse_time(row["captured_at"]) + 3_600_000)
    options = replace(options, trust_ms=None)
    for name in ("settled", "caught-up"):
        assert CONDITIONS[name](snapshot, Question((), 0, options)).answer is Answer.UNKNOWN


def test_copies_that_a_leader_may_have_placed_are_unknown() -> None:
    group = random_group(random.Random(12))
    assert caught_up(replace(group.snapshot, decision=None), question(group)).answer is Answer.UNKNOWN


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
@pytest.mark.parametrize(
    ("state", "epoch", "target_epoch", "placed"),
    [("Reconciling", 13, 13, ["0_0"]), ("Assigning", 13, 12, []), ("Stable", 12, 12, [])],
)
def test_copies_that_a_broker_is_about_to_place_have_not_caught_up(
    release: str, state: str, epoch: int, target_epoch: int, placed: list[str]
) -> None:
    """A streams group with one standby for each task, which no member holds yet."""
    seats = {
        name: [
            {
                "consumer_id": f"{name}1",
                "position": place,
                "active": active,
                "target": {"active": active, "standby": [] if active else placed},
                "member_epoch": 12,
            }
        ]
        for place, (name, active) in enumerate({"a": ["0_0"], "b": []}.items())
    }
    row = streams_rows.row(release, seats, {"0": (1, True, 20_000)}, standbys=1)
    row |= {"generation": epoch, "target_epoch": target_epoch, "group_state": state}
    asked = Question((), 0, replace(GROUPS[0].options, now_ms=parse_time(row["captured_at"]), trust_ms=None))
    held = caught_up(streams_rows.snapshot(row), asked)
    assert held.answer is Answer.UNKNOWN
    assert held.reasons


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
@pytest.mark.parametrize(
    ("state", "epochs", "standbys", "answer"),
    [
        ("Stable", (12, 12), 0, Answer.YES),  # another target is computed only if members, topics or settings change
        ("Stable", (12, 12), 1, Answer.UNKNOWN),  # as they may have: there are no standbys yet
        ("Reconciling", (13, 13), 0, Answer.NO),
        ("Assigning", (13, 12), 0, Answer.NO),
    ],
)
def test_a_stable_streams_group_has_settled_whatever_its_broker_would_compute_anew(
    release: str, state: str, epochs: tuple[int, int], standbys: int, answer: Answer
) -> None:
    active = [f"0_{partition}" for partition in range(4)]
    seats = {
        name: [
            {
                "consumer_id": f"{name}1",
                "position": place,
                "active": held,
                "target": {"active": held},
                "member_epoch": 12,
            }
        ]
        for place, (name, held) in enumerate({"a": active, "b": []}.items())
    }
    row = streams_rows.row(release, seats, {"0": (4, True, 20_000)}, standbys=standbys)
    row |= {"generation": epochs[0], "target_epoch": epochs[1], "group_state": state}
    asked = Question((), 0, replace(GROUPS[0].options, now_ms=parse_time(row["captured_at"]), trust_ms=None))
    held = has_settled(streams_rows.snapshot(row), asked)
    assert held.answer is answer
    assert bool(held.reasons) is (answer is not Answer.YES)


def test_a_connect_group_has_no_copies() -> None:
    snapshot = replace(GROUPS[0].snapshot, group_protocol="connect")
    with pytest.raises(UsageError, match="no copies"):
        caught_up(snapshot, question(GROUPS[0]))
    with pytest.raises(UsageError, match="classic groups"):
        safe_to_restart(snapshot, question(GROUPS[0], "i0"))


def test_connect_has_not_settled_while_a_worker_is_silent_or_a_delay_may_run() -> None:
    row = json.loads((EXAMPLES / "connect" / "ten-workers.json").read_text(encoding="utf-8"))
    asked = Question((), 0, replace(GROUPS[0].options, now_ms=parse_time(row["captured_at"]), trust_ms=None))
    assert has_settled(snapshot_from_row(row, ""), asked).answer is Answer.YES
    row["instances"][3]["answered"] = False
    held = has_settled(snapshot_from_row(row, ""), asked)
    assert held.answer is Answer.UNKNOWN
    assert "w3" in " ".join(held.reasons)


def test_workers_that_may_not_stop_have_the_reason_first() -> None:
    """What is unknown beside it is no reason for NO."""
    row = json.loads((EXAMPLES / "connect" / "ten-workers.json").read_text(encoding="utf-8"))
    asked = Question(
        ("w3",), 0, replace(GROUPS[0].options, now_ms=parse_time(row["captured_at"]) + 3_600_000, trust_ms=None)
    )
    held = safe_to_stop(snapshot_from_row(row, ""), asked)
    assert held.answer is Answer.NO
    assert held.reasons[0] == "Connectors and tasks would be unassigned"
    assert len(held.reasons) > 1
