"""Questions about now: what was due between a snapshot and now, and was not seen, is never passed over."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.cli.options import groups
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.loads import after_each_round
from kstream_plan.render.answers import page_of, to_json
from kstream_plan.simulation.asked_moment import OLD_SNAPSHOT, OVERDUE, asked_moment
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured_scenarios, one_standby
from tests.helpers.safe_groups import safe_group

STALE = "02-stale-midrebalance/snap.json"


def _stale() -> Snapshot:
    """The snapshot of a group in the middle of a rebalance, with a follow-up due at once, and then probes."""
    snapshot = safe_group(STALE)
    config = replace(snapshot.config, probing_rebalance_interval_ms=60_000, acceptable_recovery_lag=100)
    return replace(snapshot, config=config)


def _options(snapshot: Snapshot, after_ms: int) -> PlanOptions:
    """Ask so long after the newest thing that is known."""
    assert snapshot.captured_at_ms is not None
    return PlanOptions(now_ms=snapshot.captured_at_ms + snapshot.known_until_ms + after_ms)


def test_what_was_due_is_simulated_up_to_the_moment_and_told() -> None:
    snapshot = _stale()
    found = drain(snapshot, ["i4"], _options(snapshot, 600_000))
    stop = Scenario(events=(Stop(at_ms=600_000, process_ids=found.process_ids),))
    simulated = plan(snapshot, scenario=stop, closes_wait=False, ready="none", floor=False, ranges=False)
    before = [rnd for rnd in simulated.rounds if rnd.at_ms < 600_000][-1]
    group = simulated.group
    runs = {
        group.tasks[task].task_id
        for consumer in group.consumers_of[group.instance_index[found.process_ids[0]]]
        for task in before.assigned[consumer].active
    }
    assert {task.task_id for task in found.now} == runs
    assert len(runs) > 3
    (overdue,) = (doubt.message for doubt in found.doubts if doubt.code == OVERDUE)
    assert overdue.startswith("A follow-up rebalance was due 10m ago and is not in the snapshot")
    assert found.time == "2026-11-21T13:10:38.600Z"
    assert found.follows.noticed_ms == 45_000
    assert found.wait_ms is not None
    assert found.wait_ms < 300_000


def test_what_follows_counts_from_the_stop_not_from_the_decision() -> None:
    """A plan that leads to the moment has rebalances before it; ``bounce`` counts from now, and so does ``drain``."""
    snapshot = _stale()
    found = drain(snapshot, ["i4"], _options(snapshot, 600_000))
    later = [rnd for rnd in found.plan.rounds if rnd.at_ms >= 600_000]
    assert 0 < len(later) == found.follows.rebalances < found.plan.summary.rebalances
    assert found.follows.duration_ms == found.plan.summary.duration_ms - 600_000
    before = found.plan.summary.rebalances - len(later)
    assert found.follows.busiest.before == max([*after_each_round(found.plan)][before - 1])
    assert found.follows.busiest.from_ms <= found.follows.duration_ms
    follows = json.loads(to_json(found))["follows"]
    assert (follows["rebalances"], follows["duration_ms"]) == (found.follows.rebalances, found.follows.duration_ms)
    assert page_of(found).source.endswith("; now 2026-11-21 13:10:38 UTC")


@pytest.mark.parametrize(("after_ms", "due"), [(0, False), (1_000, True), (90_000, True)])
def test_it_is_due_once_its_time_has_come(after_ms: int, due: bool) -> None:
    """The follow-up comes 0.1 s after the decision, which is before the newest thing that is known."""
    snapshot = _stale()
    when = asked_moment(snapshot, _options(snapshot, after_ms), snapshot.state.group.instances[0].process_id.split())
    assert [doubt.code for doubt in when.doubts] == [OVERDUE] * due
    assert (when.at_ms, when.options.now_ms is None) == ((after_ms, True) if due else (0, False))


def test_what_was_due_before_a_scrape_is_due_as_well() -> None:
    """The scrape moves the moment that plans begin at, not the one until when the group was seen."""
    snapshot = _stale()
    options = _options(snapshot, 90_000)
    scraped = replace(snapshot, known_until_ms=snapshot.known_until_ms + 90_000)
    when = asked_moment(scraped, options, [snapshot.state.group.instances[0].process_id])
    assert [doubt.code for doubt in when.doubts] == [OVERDUE]
    assert (when.at_ms, when.options.now_ms) == (0, options.now_ms)


def test_of_what_is_far_over_nothing_is_simulated() -> None:
    snapshot = _stale()
    when = asked_moment(snapshot, _options(snapshot, 7 * 86_400_000), [snapshot.state.group.instances[0].process_id])
    assert (when.at_ms, when.time) == (0, "2026-11-28T13:00:38.600Z")
    assert "due 7d ago" in when.doubts[0].message


@pytest.mark.parametrize("after_ms", [5_000, 600_000, 86_400_000])
def test_no_restart_is_safe_while_that_is_unknown(after_ms: int) -> None:
    snapshot = _stale()
    found = bounce(snapshot, 5_000, _options(snapshot, after_ms), instances=["i4"])
    assert (found.answer, found.best_safe) == (Answer.UNKNOWN, None)


def test_nothing_is_due_in_a_group_that_is_settled() -> None:
    snapshot = replace(captured_scenarios.before("scale-out"), stores="persistent")
    options = replace(_options(snapshot, 86_400_000), trust_ms=2 * 86_400_000)
    assert asked_moment(snapshot, options, ["i1"]).doubts == ()
    assert bounce(snapshot, 5_000, options, instances=["i1"]).answer is Answer.YES


def test_who_is_a_member_is_unknown_once_the_group_was_seen_longer_ago_than_reports_count() -> None:
    """An instance that left meanwhile has its tasks restored elsewhere, and another restart comes on top of that."""
    snapshot = replace(captured_scenarios.before("scale-out"), stores="persistent")
    for after_ms, trust_ms, is_old in [(60_000, None, False), (60_001, None, True), (3_600_000, 3_600_000, False)]:
        options = replace(_options(snapshot, after_ms), trust_ms=trust_ms)
        codes = [doubt.code for doubt in asked_moment(snapshot, options, ["i1"]).doubts]
        restart = bounce(snapshot, 5_000, options, instances=["i1"])
        assert codes == [OLD_SNAPSHOT] * is_old
        assert restart.answer is (Answer.UNKNOWN if is_old else Answer.YES)
        assert (restart.best_safe is None) is is_old
        shown = [row.cells[1].text for row in page_of(restart).tables[0].rows]
        assert "yes" not in shown or not is_old


@pytest.mark.parametrize(("trust_ms", "answer"), [(None, Answer.UNKNOWN), (7_200_000, Answer.YES)])
def test_no_stop_is_safe_of_a_group_that_was_seen_long_ago(trust_ms: int | None, answer: Answer) -> None:
    """The standby is proven to have caught up, for nothing is written; who is there an hour later is not."""
    rates = Rates(restore_per_instance=1_000.0, produce_per_task=0.0)
    snapshot = replace(one_standby.snapshot(stores="persistent"), rates=rates)
    late = drain(snapshot, ["i0"], replace(_options(snapshot, 3_600_000), trust_ms=trust_ms))
    assert late.answer is answer
    assert [doubt.code for doubt in late.moment_doubts] == [OLD_SNAPSHOT] * (answer is Answer.UNKNOWN)


def test_a_snapshot_without_its_time_says_so_if_a_time_is_given() -> None:
    snapshot = replace(captured_scenarios.before("scale-out"), captured_at=None, stores="persistent")
    asked = PlanOptions(now_ms=1_800_000_000_000)
    for options, codes in ((PlanOptions(), []), (asked, ["no-capture-time"])):
        assert [doubt.code for doubt in drain(snapshot, ["i1"], options).doubts] == codes
        restart = bounce(snapshot, 5_000, options, instances=["i1"])
        assert [doubt.code for doubt in restart.doubts] == codes
        assert restart.answer is (Answer.UNKNOWN if codes else Answer.YES)
    (note,) = (note for note in plan(snapshot, asked).assumptions if note.code == "no-capture-time")
    assert "--set now has no effect" in note.message


@pytest.mark.parametrize(("now", "says"), [("13:00:38Z", "13:00:38.479Z"), ("13:00:38.6Z", "13:00:38.600Z")])
def test_the_time_that_is_shown_of_a_snapshot_is_a_time_that_may_be_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], now: str, says: str
) -> None:
    """It is shown to the second."""
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before("scale-out"),))
    assert run(["drain", "x.json", "i1", "--set", f"now=2026-11-21T{now}", "--output", "json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["input"]["now"] == f"2026-11-21T{says}"


def test_now_is_what_the_clock_says_where_a_question_is_about_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before("scale-out"),))
    monkeypatch.setattr(groups.time, "time_ns", lambda: 1_795_000_000_000_000_000)
    json_form = ["--output", "json", "-q"]
    for command, now in (
        (["drain", "x.json", "i1"], "2026-11-18T12:26:40.000Z"),
        (["bounce", "x.json", "--instance", "i1", "--restart", "5s"], "2026-11-18T12:26:40.000Z"),
        (["drain", "x.json", "i1", "--set", "now=2026-11-21T14:00:00Z"], "2026-11-21T14:00:00.000Z"),
        (["drain", "x.json", "i1", "--as-of", "2026-11-21T14:00:00Z"], "2026-11-21T14:00:00.000Z"),
    ):
        early = now.startswith("2026-11-18")
        assert run([*command, *json_form]) == (2 if early else 0)
        shown = capsys.readouterr()
        if early:
            assert "now is before the snapshot" in shown.err
        else:
            assert json.loads(shown.out)["input"]["now"] == now


def test_all_other_commands_begin_when_the_newest_thing_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before("scale-out"),))
    monkeypatch.setattr(groups.time, "time_ns", lambda: 1_900_000_000_000_000_000)
    assert run(["assign", "x.json", "--output", "json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["end"]["begins_at"] == "2026-11-21T13:00:38.479Z"
    assert run(["drain", "x.json", "i1", "--output", "json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["input"]["now"] == "2030-03-17T17:46:40.000Z"
