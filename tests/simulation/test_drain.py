"""May it stop? Which tasks start cold, which pause, now and after waiting."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.cells import cell_len

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.errors import ScenarioError
from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    Holding,
    Instance,
    KnownDecision,
    Note,
    Rates,
    Snapshot,
)
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Join, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.snapshot import Stores
from kstream_plan.render.answers import page_of, to_json, to_markdown, to_table
from kstream_plan.render.pages.drain import drain_remarks
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation import drain as drain_study
from kstream_plan.simulation.drain import Drain, DrainNow, drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, captured_scenarios
from tests.helpers.goldens import assert_golden
from tests.helpers.random_groups import random_group
from tests.helpers.recorded_events import generations
from tests.helpers.schemas import schema, validator
from tests.helpers.small_groups import group, state


def never_settles() -> Any:
    snapshot = captured.join("scale-out", 1.0)
    return replace(snapshot, rates=replace(snapshot.rates, produce_per_task=50.0))


SNAPSHOTS = {
    "no-standbys": lambda: captured_scenarios.before("scale-out"),
    "with-standbys": lambda: captured_scenarios.before("scale-out-standbys"),
    "in-the-middle": lambda: captured.inputs("scale-out-standbys")[9],
    "never-settles": never_settles,
    "two-at-once": lambda: captured_scenarios.before("scale-out-standbys", 10.0),
}
CASES = {
    "no-standbys": lambda: drain(SNAPSHOTS["no-standbys"](), ["i3"]),
    "with-standbys": lambda: drain(SNAPSHOTS["with-standbys"](), ["i1"]),
    "in-the-middle": lambda: drain(SNAPSHOTS["in-the-middle"](), ["i1"]),
    "never-settles": lambda: drain(SNAPSHOTS["never-settles"](), ["i1"]),
    "two-at-once": lambda: drain(SNAPSHOTS["two-at-once"](), ["i1", "i2"], leave=True),
}


def _facts(drained: Drain) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(drained).facts}


@pytest.mark.parametrize("name", CASES)
def test_what_people_see(name: str) -> None:
    drained = CASES[name]()
    assert_golden(f"drain/{name}.txt", to_table(drained))
    for width in (60, 97, 200):
        lines = to_table(drained, width=width).splitlines()
        assert max(cell_len(line) for line in lines if not line.startswith("Next: ")) <= width


def test_now_is_told_before_waiting_is_played() -> None:
    answers: list[DrainNow] = []
    rounds: list[int] = []
    after: list[int] = []

    def on_now(now: DrainNow) -> None:
        answers.append(now)
        after.append(len(rounds))

    drained = drain(
        SNAPSHOTS["in-the-middle"](), ["i1"], on_round=lambda done, *_left: rounds.append(done), on_now=on_now
    )
    assert [(one.now, one.plan) for one in answers] == [(drained.now, drained.plan)]
    assert after[0] < len(rounds)


@pytest.mark.parametrize("name", ["no-standbys", "with-standbys"])
def test_as_markdown(name: str) -> None:
    assert_golden(f"drain/{name}.md", to_markdown(CASES[name]()))


def test_a_restart_is_told_of_only_where_it_may_be_safer() -> None:
    cold = CASES["no-standbys"]()
    assert cold.answer is Answer.NO
    assert [note.code for note in drain_remarks(cold).notes] == ["if-only-restarted", "standbys-catch-up-first"]
    assert [note.message for note in drain_remarks(cold).next] == [
        "kstream-plan drain SNAPSHOT i3 --num-standby-replicas 1"
    ]
    left = drain(SNAPSHOTS["no-standbys"](), ["i3"], leave=True)
    codes = [note.code for note in drain_remarks(left).notes]
    assert (left.answer, codes) == (Answer.NO, ["standbys-catch-up-first"]), "what leaves the group keeps no tasks"
    over = replace(cold, moment_doubts=(Note("over", "what is known may be over"),))
    for drained in (over, replace(cold, now=()), CASES["with-standbys"]()):
        assert drained.moment_doubts or drained.answer is Answer.YES
        assert "if-only-restarted" not in [note.code for note in drain_remarks(drained).notes]


def test_tasks_that_are_not_cold_are_counted_and_listed_where_that_is_asked() -> None:
    drained = CASES["no-standbys"]()
    tables = [page_of(drained, verbose=verbose).tables[0] for verbose in (False, True)]
    assert [len(table.rows) for table in tables] == [8, len(drained.now)] == [8, 10]
    assert [table.note for table in tables] == ["-v lists the other 2, not cold", ""]


def test_names_of_tasks_in_a_doubt_are_harmless() -> None:
    """The name of a topology is anybody's."""
    drained = CASES["no-standbys"]()
    doubted = replace(drained, doubts=(Note("unknown-lag", "Nobody knows", ("\x1b[2J<b>__0_0",)),))
    assert "\x1b" not in to_table(doubted)
    assert "\x1b" not in to_markdown(doubted)


def _ran(drained: Drain, host: str) -> int:
    group = drained.plan.group
    [index] = [i for i, instance in enumerate(group.instances) if instance.host == host]
    return sum(len(drained.plan.initial[consumer].active) for consumer in group.consumers_of[index])


def test_every_task_of_the_instance_is_told_once() -> None:
    drained = CASES["no-standbys"]()
    assert len(drained.now) == len({task.task_id for task in drained.now}) == _ran(drained, "i3")
    cold = [task for task in drained.now if task.stateful]
    assert list(drained.cold_now) == cold
    assert sum(task.restore_records or 0 for task in cold) == 24_000
    assert {task.pause_ms for task in drained.now} == {10_000}


@pytest.mark.parametrize("scenario", ["scale-out", "scale-out-standbys"])
@pytest.mark.parametrize("leave", [False, True])
def test_in_the_middle_of_a_move_every_task_that_runs_there_now_is_told(scenario: str, leave: bool) -> None:
    for snapshot in captured.inputs(scenario)[2:12:5]:
        group = snapshot.state.group
        for index, instance in enumerate(group.instances):
            runs = {task for consumer in group.consumers_of[index] for task in snapshot.state.holdings[consumer].active}
            drained = drain(snapshot, [instance.process_id], leave=leave, floor=False, ranges=False)
            assert [task.task_id for task in drained.now] == [group.tasks[task].task_id for task in sorted(runs)]
            assert all(task.destination != instance.process_id for task in drained.now)
            assert leave or all(task.pause_ms >= snapshot.config.session_timeout_ms for task in drained.now)


def test_nobody_takes_over_before_the_group_has_noticed_under_any_protocol() -> None:
    snapshot = captured.inputs("scale-out")[5]
    for protocol in ("cooperative", "eager", "mixed"):
        drained = drain(snapshot, ["i5"], protocol=protocol)
        assert drained.now
        assert all(task.pause_ms >= snapshot.config.session_timeout_ms for task in drained.now)


def test_standbys_make_it_warm() -> None:
    drained = CASES["with-standbys"]()
    assert drained.cold_now == ()
    assert drained.wait_ms is None


def test_a_cold_start_pauses_for_what_it_restores() -> None:
    drained = drain(captured_scenarios.before("scale-out", 100.0), ["i3"])
    [task] = [task for task in drained.cold_now if str(task.task_id) == "0_0"]
    assert task.pause_ms >= 10_000 + 2_000 * 1000 // 100


def test_a_pause_is_a_floor_where_nobody_knows_how_long_the_restore_takes() -> None:
    unknown = drain(captured_scenarios.before("scale-out"), ["i3"])
    known = drain(captured_scenarios.before("scale-out", 1000.0), ["i3"])
    assert {task.pause_is for task in unknown.cold_now} == {"floor"}
    assert {task.pause_is for task in known.now} == {"estimate"}
    assert {task.pause_is for task in unknown.now if task.caught_up} == {"estimate"}
    assert all(row.cells[-1].items[0].endswith(" + restore") for row in page_of(unknown).tables[0].rows)
    assert not any(row.cells[-1].items[0].endswith(" + restore") for row in page_of(known).tables[0].rows)


def test_the_slowest_cold_restore_is_a_figure_of_the_plan() -> None:
    unknown, known = (drain(captured_scenarios.before("scale-out", rate), ["i3"]) for rate in (None, 1000.0))
    restoring = [one.pause_ms - other.pause_ms for one, other in zip(known.now, unknown.now, strict=True)]
    assert known.plan.summary.max_cold_restore_ms == max(restoring) > 0
    assert unknown.plan.summary.max_cold_restore_ms is None
    assert CASES["with-standbys"]().plan.summary.max_cold_restore_ms == 0
    cold = {fact.key: fact.value for fact in page_of(known.plan).facts}["cold"]
    assert f"the slowest restores for about {duration(max(restoring))}" in cold


def test_lags_are_left_out_where_no_task_has_state() -> None:
    held = {consumer: Holding((consumer,)) for consumer in range(6)}
    stateless = state(group(stateful=0, stateless=6), held, {})
    facts = _facts(drain(Snapshot(state=stateless, config=AssignmentConfig()), ["i3"]))
    assert facts["cold"] == "none"
    assert "heard" not in facts


def test_no_restore_rate_is_missed_where_nothing_is_restored() -> None:
    """i3's only task has a copy on i1 that is caught up."""
    held = {0: Holding((0,), standby=(2,)), 2: Holding((1,)), 4: Holding((2,))}
    runs = {task: Copy(task, LATEST, (2 * task,), 0, 2 * task, True) for task in range(3)}
    copies = {0: (runs[0],), 1: (runs[1],), 2: (Copy(0, 0, (0,), 0, 0), runs[2])}
    item = state(group(stateful=3, stateless=0), held, copies)
    page = page_of(drain(Snapshot(state=item, config=AssignmentConfig(), stores="persistent"), ["i3"]))
    assert "no-restore-rate" not in [line.code for line in page.lines]
    assert {fact.key: fact.value for fact in page.facts}["cold"] == "none"


def test_the_command_after_a_cold_answer_helps() -> None:
    """With the standbys that it names, none starts cold after waiting; where waiting alone helps, it says how long."""
    snapshot = SNAPSHOTS["no-standbys"]()
    helped = drain(replace(snapshot, config=replace(snapshot.config, num_standby_replicas=1)), ["i3"])
    assert helped.wait_ms is not None
    assert helped.cold_later == ()
    assert [note.code for note in drain_remarks(helped).next] == ["ask-why"]
    assert [note.code for note in drain_remarks(CASES["with-standbys"]()).next] == ["every-rebalance"]


def test_a_copy_there_is_told_apart_from_left_over_state_and_from_none() -> None:
    cold = CASES["no-standbys"]()
    assert {task.copy_there for task in cold.now} == {"none"}
    assert {row.cells[2].text for row in page_of(cold).tables[0].rows} == {"none"}
    behind, left_over = _with_copy(5_000, 5_000), _with_copy(5_000, 5_000)
    copies = {**left_over.state.copies[2][0]._asdict(), "consumer": None, "lost_at_ms": 0}
    dropped = {0: Holding((0,)), 2: Holding((1,)), 4: Holding((2,))}
    on_disk = (*left_over.state.copies[:2], (Copy(**copies), left_over.state.copies[2][1]))
    held = state(left_over.state.group, dropped, dict(enumerate(on_disk)))
    for snapshot, word in ((behind, "behind"), (replace(left_over, state=held), "left on disk")):
        (row,) = page_of(drain(snapshot, ["i3"], max_rounds=1)).tables[0].rows
        assert (row.cells[1].text, row.cells[2].text) == ("i1", word)


def test_a_clean_leave_is_noticed_at_once() -> None:
    drained = drain(captured_scenarios.before("scale-out"), ["i3"], leave=True)
    assert max(task.pause_ms for task in drained.now if task.stateful) == 0


def test_waiting_is_simulated_as_well() -> None:
    drained = CASES["in-the-middle"]()
    assert drained.wait_ms is not None
    assert drained.wait_ms >= drained.waiting_plan.summary.duration_ms
    assert drained.later


@pytest.mark.parametrize("stores", [None, "persistent"])
def test_waiting_does_not_tell_where_stores_are(stores: Stores | None) -> None:
    moving = replace(SNAPSHOTS["in-the-middle"](), stores=stores)
    drained = drain(moving, ["i1"])
    assert drained.later
    assert all(task.caught_up for task in drained.later)
    conditions = ", and stores are persistent, and state left on disks is still there: no cold start"
    assert (conditions in _facts(drained)["wait"]) == (stores is None)


def test_an_instance_that_runs_nothing_may_stop() -> None:
    before = captured_scenarios.before("scale-out")
    group, state = before.state.group, before.state
    idle = group.consumers_of[0]
    holdings = tuple(Holding() if c in idle else held for c, held in enumerate(state.holdings))
    gone = {task for c in idle for task in state.holdings[c].active}
    holdings = tuple(
        held._replace(active=tuple(sorted({*held.active, *gone}))) if c == idle.stop else held
        for c, held in enumerate(holdings)
    )
    copies = tuple(() if task in gone else item for task, item in enumerate(state.copies))
    snapshot = replace(before, state=replace(state, holdings=holdings, copies=copies))
    assert drain(snapshot, [group.instances[0].process_id], leave=True).now == ()


def test_the_last_one_may_not_stop() -> None:
    with pytest.raises(ScenarioError, match="no instance is left"):
        drain(captured_scenarios.before("scale-out"), ["i1", "i2", "i3"])


@pytest.mark.parametrize("name", CASES)
def test_json_says_the_same_as_its_schema_has_it(name: str) -> None:
    drained = CASES[name]()
    document = json.loads(to_json(drained))
    validator("drain").validate(document)
    assert document.keys() == schema("drain")["properties"].keys()
    assert document["input"]["digest"] == plan(SNAPSHOTS[name]()).digest
    for when, tasks in (("now", drained.now), ("later", drained.later)):
        assert [task["task_id"] for task in document[when]] == [str(task.task_id) for task in tasks]
        assert all(task.keys() == schema("drain")["$defs"]["task"]["properties"].keys() for task in document[when])
    assert document["wait_ms"] == drained.wait_ms


@pytest.mark.parametrize(("scenario", "code"), [("scale-out", 3), ("scale-out-standbys", 0)])
def test_the_exit_code_tells_with_require_warm(
    scenario: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before(scenario),))
    taken = captured_scenarios.before(scenario).captured_at
    assert taken is not None
    assert run(["drain", "x.json", "i1", "--require-warm", "--set", f"now={taken}"]) == code
    later = "2026-11-26T00:00:00Z"
    assert run(["drain", "x.json", "i1", "--require-warm", "--set", f"now={later}"]) == 3, (
        "by then the reports are days old"
    )
    assert run(["drain", "x.json", "i1"]) == 0
    assert run(["drain", "x.json", "i1", "--output", "json"]) == 0
    assert run(["drain", "x.json", "i1", "--output", "markdown"]) == 0
    assert "\n### " in capsys.readouterr().out
    assert run(["drain", "x.json", "i7"]) == 1
    assert "there is no instance 'i7'" in capsys.readouterr().err


def test_of_several_applications_the_one_without_the_instance_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = captured_scenarios.before("scale-out"), captured_scenarios.before("scale-out-standbys")
    hosts = [replace(instance, host=f"x{instance.host}") for instance in other.state.group.instances]
    renamed = Group.of("S2b", list(other.state.group.tasks), hosts)
    other = replace(other, state=replace(other.state, group=renamed))
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (one, other))
    assert run(["drain", "x.json", "i1"]) == 1
    error = capsys.readouterr().err
    assert "application 'S2b': there is no instance 'i1'" in error
    assert "choose the application with --application-id" in error
    assert run(["drain", "x.json", "i1", "--set", "keep.going=true"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("╭─ S1: stop i1 ")
    assert "│ NO: " in out
    assert run(["drain", "x.json", "i7", "--set", "keep.going=true"]) == 1
    assert capsys.readouterr().err.count("there is no instance 'i7'") == 2


def test_what_is_strange_about_the_snapshot_is_told() -> None:
    snapshot = SNAPSHOTS["with-standbys"]()
    strange = replace(snapshot, warnings=(Note("unknown-config", "config has an unknown key 'x'", ()),))
    drained = drain(strange, ["i1"])
    assert ("warning", "unknown-config") in [line[:2] for line in page_of(drained).lines]
    assert json.loads(to_json(drained))["warnings"] == [
        {"code": "unknown-config", "message": "config has an unknown key 'x'", "subjects": []}
    ]


def _drained_random(seed: int) -> Drain:
    asked = random_group(Random(seed))
    return drain(asked.snapshot, [asked.busiest], asked.options)


def _with_copy(lag: int | None, remaining: int = 0) -> Snapshot:
    """i3's only task has a copy on i1, of this lag."""
    held = {0: Holding((0,), standby=(2,)), 2: Holding((1,)), 4: Holding((2,))}
    runs = {task: Copy(task, LATEST, (2 * task,), 0, 2 * task, True) for task in range(3)}
    copies = {0: (runs[0],), 1: (runs[1],), 2: (Copy(0, lag, () if lag is None else (0,), remaining, 0), runs[2])}
    item = state(group(stateful=3, stateless=0), held, copies)
    return Snapshot(state=item, config=AssignmentConfig(), stores="persistent")


@pytest.mark.parametrize(
    ("snapshot", "code", "reason"),
    [
        (_with_copy(0), None, ""),
        (
            replace(_with_copy(0), least_lags=frozenset({(2, 0)})),
            "changelog-within-limit",
            "Copies count as caught up, because they are within acceptable.recovery.lag",
        ),
        (replace(_with_copy(0), decision=KnownDecision(generation=2)), None, ""),
    ],
)
def test_what_nobody_can_tell_is_not_called_warm(snapshot: Snapshot, code: str | None, reason: str) -> None:
    drained = drain(snapshot, ["i3"])
    assert [doubt.code for doubt in drained.doubts] == ([code] if code else [])
    assert drained.answer is (Answer.UNKNOWN if code else Answer.YES)
    assert reason in " ".join(page_of(drained).sentences)


def test_where_only_the_least_is_known_every_line_says_the_range() -> None:
    drained = drain(replace(_with_copy(0), least_lags=frozenset({(2, 0)})), ["i3"])
    page = page_of(drained)
    assert page.sentences[0].startswith("It is unknown whether the only task of i3 starts warm. Copies count")
    assert _facts(drained)["cold"] == "0 to 1"
    assert page.tables[0].rows[0].cells[2].items == ("maybe behind",)
    assert json.loads(to_json(drained))["cold_now"] == [0, 1]


@pytest.mark.parametrize(("lag", "cold", "answer"), [(UNKNOWN, (1, 1), Answer.NO), (None, (0, 1), Answer.UNKNOWN)])
def test_a_copy_that_may_not_have_caught_up_is_not_called_warm(
    lag: int | None, cold: tuple[int, int], answer: Answer
) -> None:
    drained = drain(replace(_with_copy(lag, 1000), config=AssignmentConfig(acceptable_recovery_lag=0)), ["i3"])
    assert (drained.how_many_cold, drained.answer) == (cold, answer)


def test_a_leaders_log_tells_the_group_after_its_last_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "now.json"
    assert (
        run(
            [
                "snapshot",
                str(captured.REAL / "scale-out-standbys" / "leader.log.gz"),
                "--out",
                str(path),
            ]
        )
        == 0
    )
    (row,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert snapshot_from_row(row, "").decision


@pytest.mark.parametrize("name", ["with-standbys", "in-the-middle", "two-at-once"])
def test_the_first_rounds_tell_what_whole_plans_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = SNAPSHOTS[name]()
    who = snapshot.state.group.instances[0].process_id
    with monkeypatch.context() as large:
        large.setattr(drain_study, "_SMALL", 0)
        soon = drain(snapshot, [who])
    whole = drain(snapshot, [who])
    assert (soon.now, soon.at_best, soon.later, soon.wait_ms) == (whole.now, whole.at_best, whole.later, whole.wait_ms)


def test_a_small_group_is_simulated_to_the_end() -> None:
    snapshot = SNAPSHOTS["never-settles"]()
    assert drain(snapshot, ["i1"]).plan.verdict.kind != "unfinished"


def test_a_session_time_out_beyond_a_probing_interval_makes_no_copy_warm() -> None:
    config = AssignmentConfig(probing_rebalance_interval_ms=60_000, session_timeout_ms=120_000)
    item = group(stateful=3, stateless=0, end_offset_sum=40_000)
    held = _with_copy(0).state
    for lag in (30_000, None):
        copies = (*held.copies[:2], (Copy(0, lag, () if lag is None else (0,), 30_000, 0), held.copies[2][1]))
        found = Snapshot(state=replace(held, group=item, copies=copies), config=config)
        for measured in (frozenset[tuple[int, int]](), frozenset({(2, 0), (1, 1)})):
            drained = drain(replace(found, measured_lags=measured), ["i3"])
            assert drained.how_many_cold == (0, 1)
            assert drained.answer is Answer.UNKNOWN


def _behind(rates: Rates) -> Snapshot:
    """30,000 records in the 45 s of the session time-out."""
    behind = replace(
        _with_copy(30_000, 30_000), rates=rates, measured_lags=frozenset({(2, 0)}), reported_ms={(2, 0): 0}
    )
    tasks = tuple(replace(task, end_offset_sum=40_000) for task in behind.state.group.tasks)
    item = Group(behind.state.group.application_id, tasks, behind.state.group.instances)
    decision = KnownDecision(generation=2, at_ms=0)
    return replace(behind, state=replace(behind.state, group=item), decision=decision)


@pytest.mark.parametrize(
    ("rates", "most"), [(Rates(restore_per_instance=1_000.0), None), (Rates(restore={0: 1_000.0}), 1)]
)
def test_a_plan_counts_on_no_measured_rate_either(rates: Rates, most: int | None) -> None:
    result = plan(_behind(rates), scenario=Scenario(events=(Stop(at_ms=0, process_ids=("i3",)),)))
    assert result.summary.cold_handovers == 0
    found = {range_.figure: range_.high for range_ in result.summary.ranges}
    assert found.get("cold_handovers") == most


def test_it_is_played_without_measured_rates_only_where_somebody_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else no task moves before its copy has caught up, and every draw of a scale-out would take twice as long."""
    plans = []
    module = sys.modules["kstream_plan.planner.plan_request"]
    run_rounds = module.run_rounds
    monkeypatch.setattr(module, "run_rounds", lambda *args, **given: plans.append(1) or run_rounds(*args, **given))

    def plays(rates: Rates, event: Join | Stop) -> int:
        plans.clear()
        plan(_behind(rates), scenario=Scenario(events=(event,)), floor=False)
        return len(plans)

    measured, given = Rates(restore={0: 1_000.0}), Rates(restore_per_instance=1_000.0)
    joined = Join(at_ms=0, instances=(Instance(process_id="i9", consumers=(Consumer(consumer_id="i9-1"),)),))
    stopped = Stop(at_ms=0, process_ids=("i3",))
    assert plays(measured, joined) == plays(given, joined)
    assert plays(measured, stopped) == plays(given, stopped) + 1


@pytest.mark.parametrize(
    ("rates", "cold", "code"),
    [
        (Rates(restore_per_instance=3_000.0), (0, 0), "rate-given"),
        (Rates(restore_at_least={0: 900.0}), (0, 1), "forecast"),
        (Rates(restore={0: 1_000.0}), (0, 1), "forecast"),
        (Rates(restore={1: 1_000.0}), (0, 1), "forecast"),
        (Rates(), (1, 1), "measured"),
    ],
)
def test_a_copy_that_is_behind_is_warm_by_then_only_by_what_is_given(
    rates: Rates, cold: tuple[int, int], code: str
) -> None:
    drained = drain(_behind(rates), ["i3"])
    document = json.loads(to_json(drained))
    validator("drain").validate(document)
    assert drained.how_many_cold == tuple(document["cold_now"]) == cold
    assert [note.code for note in (*drained.rests_on, *drained.doubts)] == [code]


def test_a_copy_made_just_now_is_as_young_as_that_though_its_instance_had_an_older_one() -> None:
    """That one had been deleted since; with the rate that there was, 400 records/s, 28,216 take a minute and more."""
    row = checked_rows(generations("big")[28:29])[0]
    snapshot = replace(snapshot_from_row(row, "big"), rates=Rates())
    runs = next(instance.process_id for instance in snapshot.state.group.instances if instance.host == "i3")
    assert drain(snapshot, [runs]).how_many_cold == (3, 4)
    assert drain(replace(snapshot, rates=Rates(restore_per_instance=400.0)), [runs]).how_many_cold == (4, 4)


def test_a_copy_that_has_been_there_for_a_probing_interval_is_likely_caught_up_and_no_more() -> None:
    """Where no rate is known; one that was seen to come no closer is not even that."""
    row = checked_rows(generations("big")[28:29])[0]
    snapshot = replace(snapshot_from_row(row, "big"), rates=Rates(), known_until_ms=70_000)
    group = snapshot.state.group
    runs, keeps = (
        next(instance.process_id for instance in group.instances if instance.host == host) for host in ("i3", "i1")
    )
    seat = group.task_index_by_text["0_4"], group.instance_index[keeps]
    still = replace(snapshot, no_closer_ms={seat: 120_000})
    stops = Scenario(events=(Stop(at_ms=0, process_ids=(runs,)),))
    for found, likely in ((snapshot, 3), (still, 4)):
        assert drain(found, [runs]).how_many_cold == (3, 4)
        result = plan(found, scenario=stops)
        least, most = result.ends("cold_handovers")
        assert (result.summary.cold_handovers, least) == (likely, 3)
        assert most >= 4
    assert plan(still).digest != plan(snapshot).digest


def test_of_pauses_that_read_the_same_the_one_that_may_be_longer_is_named() -> None:
    drained = drain(_with_copy(0), ["i3"])
    task = drained.now[0]._replace(pause_ms=6_240, pause_is="floor")
    known = task._replace(task_id=drained.plan.group.tasks[0].task_id, pause_ms=6_243, pause_is="estimate")
    for tasks in ((task, known), (known, task)):
        both = replace(drained, now=tasks, at_best=tasks)
        assert _facts(both)["pause"] == f"task {task.task_id}: about 6.2s; restores are unknown"


@pytest.mark.parametrize(("number", "named"), [(1, "0_0"), (4, "0_0, 0_1, 0_2, 0_3"), (6, "0_0, 0_1, 0_2 and 3 more")])
def test_a_warning_about_tasks_names_them(number: int, named: str) -> None:
    drained = drain(_with_copy(0), ["i3"])
    tasks = tuple(f"0_{place}" for place in range(number))
    old = Note("old-report", "Copies may be behind by now", tasks)
    nothing = Note("other", "This is about no task")
    warned = replace(drained, warnings=(nothing,), doubts=(old, nothing))
    assert [line.text for line in page_of(warned).lines if line.kind == "warning"] == [
        "This is about no task.",
        f"{named}: copies may be behind by now.",
        "This is about no task.",
    ]


def test_a_task_that_starts_warm_and_cold_where_it_moves_again_is_no_yes() -> None:
    """At a limit of 0, 60 records are written while the thread that started it hands it to another one."""
    drained = _drained_random(5202)
    task_id = drained.now[1].task_id
    assert drained.cold_again == (task_id,)
    assert drained.answers[task_id] is Answer.YES
    assert drained.answer is Answer.NO
    assert page_of(drained).sentences[0] == "1 task starts warm, and restores state when moved again."
    document = json.loads(to_json(drained))
    validator("drain").validate(document)
    assert document["cold_again"] == [str(task_id)]


def test_what_a_task_restores_where_it_moves_again_is_not_told_of_its_first_start() -> None:
    """Hours later its next owner is within the limit, and restores the rest before it runs."""
    drained = _drained_random(38044)
    task = drained.now[0]
    assert (task.restore_records, drained.restoring_later) == (0, (str(task.task_id),))
    assert drained.answers[task.task_id] is Answer.YES
    assert drained.answer is Answer.NO
    page = page_of(drained)
    assert page.sentences[0] == "1 task starts warm, and restores state when moved again."
    assert not page.tables


def test_pauses_have_what_tasks_restore_that_count_as_caught_up() -> None:
    snapshot = captured_scenarios.before("scale-out", 100.0)
    config = replace(snapshot.config, acceptable_recovery_lag=10_000)
    drained = drain(replace(snapshot, config=config), ["i3"])
    lasts_ms = {(start.task_id, start.at_ms): start.restores_ms for start in drained.plan.restoring_starts}
    assert lasts_ms, "the whole changelog is within the limit, and restored before the task runs"
    for task in drained.now:
        if task.restore_records:
            assert task.restores_ms >= task.restore_records * 10
            assert task.pause_ms - task.restores_ms == captured_scenarios.SESSION_TIMEOUT_MS
    assert drained.follows.others_longest_ms >= max(ms or 0 for ms in lasts_ms.values())
    text = " ".join(to_table(drained).replace("│", "").split())
    assert "until it starts" in text
    assert "how long they restore" not in text
    assert "only the upper ends" not in text
    assert "--restore-rate" not in text


def test_that_the_group_may_have_changed_is_said_in_words_of_its_own() -> None:
    snapshot = SNAPSHOTS["with-standbys"]()
    assert snapshot.captured_at_ms is not None
    drained = drain(replace(snapshot, stores="persistent"), ["i1"], now_ms=snapshot.captured_at_ms + 86_400_000)
    text = " ".join(page_of(replace(drained, unproven=())).sentences)
    assert "It is unknown whether the group is still as it was seen when they stop." in text
