"""May an instance of a streams group stop? Its broker does not ask whether copies have caught up: somebody has to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.model.snapshot import Stores
from kstream_plan.render.answers import to_json
from kstream_plan.render.answers import to_table as drain_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.check.wording import figures
from kstream_plan.simulation.drain import Drain, drain
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.schemas import validator
from tests.helpers.streams_rows import row, snapshot


def rowed(release: str = "4.3", offsets: dict[str, int] | None = None, **fields: Any) -> dict[str, Any]:
    """Two instances, each with standbys of what the other one runs; ``a`` has reported these offsets."""
    reported = [{"task_id": task, "offset": offset} for task, offset in (offsets or {}).items()]
    seats = {
        "a": [{"consumer_id": "m-a", "position": 0, "active": ["0_0", "0_1"], "standby": ["0_2", "0_3"],
               "task_offsets": reported}],
        "b": [{"consumer_id": "m-b", "position": 1, "active": ["0_2", "0_3"], "standby": ["0_0", "0_1"]}],
    }  # fmt: skip
    return row(release, seats, {"0": (4, True, 60_000)}, standbys=1, **fields)


def drained(result: dict[str, Any], rate: float | None = None) -> tuple[Drain, str]:
    item: Snapshot = snapshot(result)
    found = drain(item if rate is None else replace(item, rates=Rates(restore_per_instance=rate)), ["b"])
    validator("drain").validate(json.loads(to_json(found)))
    return found, " ".join(drain_table(found, width=160).replace("│", " ").split())


def test_copies_of_which_nobody_says_anything_may_be_behind() -> None:
    found, text = drained(rowed(), 1_000.0)
    assert found.how_many_cold == (0, 2)
    assert [(doubt.code, doubt.subjects) for doubt in found.doubts] == [("not-reported", ("0_2", "0_3"))]
    assert found.rests_on == ()
    assert "UNKNOWN: It is unknown whether both tasks of b start warm" in text
    assert "Cold starts 0 to 2 of 2 tasks" in text
    assert "Copy there To restore Pause" in text
    assert "0_2 a maybe behind unknown" in text
    assert "Copies were never reported: at most " in text
    assert "probing" not in text


@pytest.mark.parametrize(
    "result",
    [
        rowed("4.4", {"0_2": 20_000, "0_3": 60_000}),
        rowed(
            lags=[{"process_id": "a", "task_id": f"0_{task}", "lag": lag} for task, lag in ((2, 40_000), (3, 0))],
            stores="persistent",
        ),
    ],
)
def test_what_was_reported_counts_whoever_reported_it(result: dict[str, Any]) -> None:
    found, text = drained(result)
    assert (found.how_many_cold, found.doubts) == ((1, 1), ())
    assert [str(task.task_id) for task in found.cold_now] == ["0_2"]
    assert "If you wait" not in text, "nothing moves meanwhile: the group is Stable"
    assert "0_2 a behind 40,000 " in text
    assert "Afterwards 1 instance with 4 stateful tasks each, settled after about " in text


@pytest.mark.parametrize(
    ("release", "stores", "answer"),
    [
        ("4.3", "persistent", Answer.YES),
        ("4.3", None, Answer.UNKNOWN),
        ("4.3", "mixed", Answer.UNKNOWN),
        ("4.3", "in-memory", Answer.NO),
        ("4.4", None, Answer.YES),
        ("4.4", "in-memory", Answer.YES),
    ],
)
def test_a_standby_that_is_dropped_before_it_becomes_active_leaves_nothing_in_memory(
    release: str, stores: Stores | None, answer: Answer
) -> None:
    """Brokers before 4.4 take the standby away first, so that its task is closed, and make it active then."""
    lags = [{"process_id": "a", "task_id": f"0_{task}", "lag": 0} for task in (2, 3)]
    found = drain(replace(snapshot(rowed(release, lags=lags)), stores=stores), ["b"])
    assert (found.answer, found.how_many_cold[0] > 0) == (answer, answer is Answer.NO)
    assert found.how_many_cold[1] == (0 if answer is Answer.YES else 2)
    assert found.plan.summary.cold_handovers == (2 if answer is Answer.NO else 0)
    assert found.plan.summary.restored_records == (120_000 if answer is Answer.NO else 0)


@pytest.mark.parametrize(("lag", "answer"), [(4_000, Answer.YES), (10_001, Answer.UNKNOWN), (60_000, Answer.NO)])
@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_a_copy_that_has_caught_up_unless_the_broker_decides_at_once_is_no_yes(
    release: str, lag: int, answer: Answer
) -> None:
    """A broker decides in any member's heartbeat: at once, or an interval later."""
    lags = [{"process_id": "a", "task_id": f"0_{task}", "lag": lag} for task in (2, 3)]
    result = {**rowed(release, lags=lags), "stores": "persistent"}
    item = replace(snapshot(result), rates=Rates(restore_per_instance=10_000.0, produce_per_task=0.0))
    found = drain(item, ["b"])
    assert found.answer is answer
    if answer is Answer.UNKNOWN:
        assert found.how_many_cold == (0, 2)
        assert [(doubt.code, doubt.subjects) for doubt in found.doubts] == [("heartbeats-unknown", ("0_2", "0_3"))]
    stop = Scenario(events=(Stop(at_ms=0, process_ids=("b",)),))
    assert (plan_checked(item, scenario=stop).ends("cold_handovers")[1] > 0) is (answer is not Answer.YES)


def test_require_warm_fails_where_nothing_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "group.json"
    path.write_text(json.dumps(rowed()))
    assert run(["drain", str(path), "b", "--require-warm"]) == 3
    assert capsys.readouterr().out.splitlines()[1].startswith("│ UNKNOWN: It is unknown whether both tasks of b")
    path.write_text(json.dumps(rowed("4.4", {"0_2": 60_000, "0_3": 59_000})))
    at_the_snapshot = ["--set", "now=2026-11-22T12:00:00Z", "--set", "stores=persistent"]
    assert run(["drain", str(path), "b", "--require-warm", *at_the_snapshot]) == 0


@pytest.mark.parametrize(
    ("code", "group_state", "epoch"), [("group-not-as-told", "Stable", 11), ("group-not-ready", "NotReady", 12)]
)
def test_a_group_that_contradicts_itself_or_is_given_nothing_is_no_yes(code: str, group_state: str, epoch: int) -> None:
    lags = [{"process_id": "a", "task_id": f"0_{task}", "lag": 0} for task in (2, 3)]
    result = rowed(lags=lags, stores="persistent", group_state="Stable")
    assert drained(result)[0].answer is Answer.YES
    result["group_state"] = group_state
    for instance in result["instances"]:
        (member,) = instance["consumers"]
        member["target"] = {"active": member["active"], "standby": member["standby"], "warmup": []}
    result["instances"][0]["consumers"][0]["member_epoch"] = epoch
    found, text = drained(result)
    assert found.answer is Answer.UNKNOWN
    assert [doubt.code for doubt in found.doubts] == [code]
    assert "UNKNOWN: It is unknown" in text


@pytest.mark.parametrize(
    "left_out", [(), ("target",), ("member_epoch",), ("target_epoch",), ("target", "member_epoch")]
)
def test_a_group_that_nothing_calls_stable_is_no_yes(
    left_out: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lags = [{"process_id": "a", "task_id": f"0_{task}", "lag": 0} for task in (2, 3)]
    result = rowed(lags=lags, stores="persistent", group_state=None, target_epoch=12)
    for instance in result["instances"]:
        (member,) = instance["consumers"]
        member["target"] = {"active": member["active"], "standby": member["standby"], "warmup": []}
        member["member_epoch"] = 12
        for name in left_out:
            member.pop(name, None)
    if "target_epoch" in left_out:
        del result["target_epoch"]
    found, text = drained(result)
    assert found.answer is (Answer.UNKNOWN if left_out else Answer.YES)
    assert [doubt.code for doubt in found.doubts] == ["group-state-unknown"] * bool(left_out)
    assert ("Neither group_state nor the epochs" in text) is bool(left_out)
    path, policy = tmp_path / "group.json", tmp_path / "policy.yaml"
    path.write_text(json.dumps(result))
    policy.write_text("version: 1\ndefaults: {max_moves: 100}\n")
    asked = ["check", str(path), "--policy", str(policy), "--as-of", "2026-11-22T12:00:00Z"]
    assert run(asked) == (3 if left_out else 0)
    assert ("whether the group is Stable is unknown" in capsys.readouterr().out) is bool(left_out)


def test_a_group_whose_epochs_are_unknown_is_no_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lags = [{"process_id": "a", "task_id": f"0_{task}", "lag": 0} for task in (2, 3)]
    result = rowed(lags=lags, stores="persistent", group_state="Stable")
    result["generation"] = result["target_epoch"] = None
    for instance in result["instances"]:
        instance["consumers"][0]["member_epoch"] = None
    found, _ = drained(result)
    assert found.answer is Answer.UNKNOWN
    assert [doubt.code for doubt in found.doubts] == ["no-epochs"]
    path, policy = tmp_path / "group.json", tmp_path / "policy.yaml"
    path.write_text(json.dumps(result))
    policy.write_text("version: 1\ndefaults: {max_moves: 100}\n")
    assert run(["check", str(path), "--policy", str(policy), "--as-of", "2026-11-22T12:00:00Z"]) == 3
    page = " ".join(capsys.readouterr().out.split())
    assert page.count("whether members follow the newest target is unknown") == 2


def test_waiting_lasts_until_everything_runs() -> None:
    seats = {
        "a": [{"consumer_id": "m-a", "position": 0, "active": ["0_0", "0_1", "0_2"], "member_epoch": 12,
               "target": {"active": ["0_0", "0_1"]}}],
        "b": [{"consumer_id": "m-b", "position": 1, "active": ["0_3"], "member_epoch": 13,
               "target": {"active": ["0_2", "0_3"]}}],
    }  # fmt: skip
    result = row("4.3", seats, {"0": (4, True, 60_000)}, generation=13, target_epoch=13, group_state="Reconciling")
    found, text = drained(result, 1_000.0)
    assert found.wait_ms == found.waiting_plan.summary.runs_by_ms
    assert "(when all tasks run): NO, still 1 cold start: 0_3, without a copy where it goes" in text


def test_a_settled_group_says_how_far_behind_its_standbys_are() -> None:
    assert "Assumption: How far the standbys are behind is unknown." in table(plan_checked(snapshot(rowed())))
    result = plan_checked(snapshot(rowed("4.4", {"0_2": 20_000, "0_3": 60_000})))
    (note,) = (note for note in result.assumptions if note.code == "copies-behind")
    assert note.message == "1 of 2 standbys are more than 10,000 records behind, up to 40,000, the lag of 2 is unknown"
    assert note.subjects == ("0_2",)
    assert note.message in " ".join(table(result, width=160).split())
    validator("plan").validate(json.loads(plan_json(result)))


def test_check_says_when_everything_runs() -> None:
    result = drained(rowed("4.4", {"0_2": 20_000, "0_3": 60_000}), 1_000.0)[0].plan
    assert ", all tasks run after about 40s" in figures(result)
