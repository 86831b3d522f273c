"""Streams groups as plans: what follows heartbeat by heartbeat, when it is Stable, and when everything runs."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import ScenarioError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import (
    Bounce,
    ConfigChange,
    Join,
    Leave,
    NewInstance,
    Return,
    Scenario,
    Stop,
    Threads,
)
from kstream_plan.plans import HandOver, Plan, Promote, Revoke, Trigger
from kstream_plan.plans.replay import replay
from kstream_plan.plans.simulated import Simulation
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.render.answers import page_of
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.schemas import validator
from tests.helpers.snapshot_rows import row as classic_row
from tests.helpers.streams_rows import described_row, joining, row, snapshot

REAL = Path(__file__).parents[2] / "real" / "streams"
RELEASES = {"k43": "4.3", "k44": "4.4"}


@pytest.mark.parametrize(("release", "standbys", "said"), [("4.2", 1, True), ("4.2", 0, False), ("4.3", 1, False)])
def test_a_plan_with_standbys_says_which_patch_of_4_2_it_is_for(release: str, standbys: int, said: bool) -> None:
    assert ("broker-patch" in {note.code for note in play(small(release, standbys=standbys)).assumptions}) is said


def _facts(answer: Plan | Simulation) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(answer).facts}


def play(snapshot: Snapshot, *events: Any) -> Plan:
    result = plan_checked(snapshot, scenario=Scenario(events=events) if events else None)
    replayed = replay(result.group, result.initial, (rnd.steps for rnd in result.rounds))
    assert [(rnd.decided, rnd.assigned) for rnd in result.rounds] == list(replayed)
    document = plan_json(result)
    validator("plan").validate(json.loads(document))
    assert read_plans(document.encode(), "saved") == [result]
    return result


def described(capture: str) -> list[dict[str, Any]]:
    with gzip.open(REAL / f"{capture}-described.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def stable(capture: str, epoch: int) -> dict[str, Any]:
    """The row of the group once it was Stable at this epoch."""
    found = [
        one
        for one in described(capture)
        if one["describeStreamsGroup"]["groupState"] == "Stable" and one["describeStreamsGroup"]["groupEpoch"] == epoch
    ]
    return described_row(found[-1], RELEASES[capture], found[-1]["time"])


def small(release: str, instances: str = "ab", **fields: Any) -> Snapshot:
    """A Stable group: tasks dealt out in turn to instances of one thread each."""
    tasks = [f"0_{number}" for number in range(6)]
    count = len(instances)
    seats = {
        name: [{"consumer_id": f"m-{name}", "position": place, "active": tasks[place::count]}]
        for place, name in enumerate(instances)
    }
    return snapshot(row(release, seats, {"0": (6, True, 60_000)}, **fields))


@pytest.mark.parametrize(
    ("standbys", "tags", "said"), [(1, {"zone": "a"}, True), (0, {"zone": "a"}, False), (1, {}, False)]
)
def test_client_tags_have_no_effect_which_a_plan_with_standbys_says(
    standbys: int, tags: dict[str, str], said: bool
) -> None:
    """Brokers of 4.4 may ask for tags (``group.streams.rack.aware.assignment.tags``); ``sticky`` does not use them."""
    seats = {name: [{"consumer_id": f"m-{name}", "active": [task]}] for name, task in (("a", "0_0"), ("b", "0_1"))}
    item = row("4.4", seats, {"0": (2, True, 100)}, standbys=standbys)
    for instance in item["instances"]:
        instance["client_tags"] = tags
    assert ("tags-without-effect" in {note.code for note in play(snapshot(item)).assumptions}) is said


@pytest.mark.parametrize("capture", RELEASES)
@pytest.mark.parametrize("epoch", [8, 12, 14, 16])
def test_a_target_computed_anew_changes_nothing_in_a_captured_stable_group(capture: str, epoch: int) -> None:
    found = [d for d in described(capture) if d["describeStreamsGroup"]["groupEpoch"] == epoch]
    if not any(d["describeStreamsGroup"]["groupState"] == "Stable" for d in found):
        pytest.skip("it was not seen Stable")
    result = play(snapshot(stable(capture, epoch)))
    assert (result.rounds, result.verdict.kind) == ((), "settled")


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
def test_a_join_moves_tasks_hand_over_by_hand_over(release: str) -> None:
    item = replace(small(release), rates=Rates(restore_per_instance=1_000.0))
    result = play(item, Join(at_ms=1_000, instances=joining("c")[:1]))
    first = result.rounds[0]
    assert (first.at_ms, first.trigger, first.generation) == (1_000, Trigger.JOIN, 14 if release == "4.2" else 13)
    starts = [step for rnd in result.rounds for step in rnd.steps if isinstance(step, HandOver)]
    stops = [step for rnd in result.rounds for step in rnd.steps if isinstance(step, Revoke)]
    assert {step.task_id for step in starts} == {step.task_id for step in stops}
    assert all(not step.caught_up and step.restore_records == 60_000 for step in starts)
    summary = result.summary
    assert (result.verdict.kind, summary.cold_handovers, summary.moves) == ("settled", len(starts), len(starts))
    assert summary.runs_by_ms is not None
    assert summary.runs_by_ms > 60_000 * len(starts) > summary.duration_ms
    assert _facts(result)["runs"].startswith(f"after about {duration(summary.runs_by_ms)} (")


def test_a_standby_takes_over_at_once_and_a_crash_is_noticed_after_the_session() -> None:
    tasks = [f"0_{number}" for number in range(4)]
    seats = {
        name: [
            {"consumer_id": f"m-{name}", "position": place, "active": tasks[place::2], "standby": tasks[1 - place :: 2]}
        ]
        for place, name in enumerate("ab")
    }
    item = snapshot(row("4.3", seats, {"0": (4, True, 60_000)}, standbys=1))
    result = play(item, Stop(at_ms=2_000, process_ids=("b",), crash=True))
    assert result.rounds[0].trigger is Trigger.LEAVE
    assert 47_000 <= result.rounds[0].at_ms <= 52_000
    assert result.summary.cold_handovers == 0
    assert {pause.from_ms for pause in result.pauses} == {2_000}
    assert min(pause.length_ms for pause in result.pauses) >= 45_000


def test_without_a_restore_rate_nobody_says_when_everything_runs() -> None:
    result = play(small("4.3"), Join(at_ms=0, instances=joining("c")))
    assert result.summary.runs_by_ms is None
    assert _facts(result)["runs"].startswith("unknown")


def test_a_group_on_its_way_goes_on() -> None:
    """As captured 3 s after an instance was stopped."""
    on_its_way = [d for d in described("k43") if d["describeStreamsGroup"]["groupState"] == "Reconciling"]
    chosen = next(d for d in on_its_way if d["describeStreamsGroup"]["groupEpoch"] == 14)
    result = play(snapshot(described_row(chosen, "4.3", chosen["time"])))
    after = snapshot(stable("k43", 14))
    index = {item: consumer for consumer, item in enumerate(result.group.consumer_ids)}
    for consumer, held in zip(after.state.group.consumer_ids, after.state.holdings, strict=True):
        assert result.final[index[consumer]] == held
    assert result.assumptions[0].code == "goes-on"


_NAMES = "abcdef"


@st.composite
def _scenarios(draw: st.DrawFn) -> tuple[Snapshot, list[Any]]:
    release, first = draw(st.sampled_from(["4.2", "4.3", "4.4"])), draw(st.integers(1, 3))
    item = small(release, _NAMES[:first], standbys=draw(st.integers(0, 2)))
    here, gone, events, at_ms = set(_NAMES[:first]), set[str](), list[Any](), 0
    for step_ms in draw(st.lists(st.integers(0, 12_000), max_size=5)):
        at_ms += step_ms
        kind, name = (
            draw(st.sampled_from(["come", "leave", "crash", "standbys", "threads"])),
            draw(st.sampled_from(_NAMES)),
        )
        if kind == "standbys":
            events.append(ConfigChange(at_ms=at_ms, settings=(("num_standby_replicas", draw(st.integers(0, 2))),)))
        elif kind == "come" and name in gone:
            events.append(Return(at_ms=at_ms, process_ids=(name,)))
            here.add(name)
            gone.discard(name)
        elif kind == "come" and name not in here:
            events.append(Join(at_ms=at_ms, instances=joining(name)))
            here.add(name)
        elif kind == "threads" and name in here:
            events.append(Threads(at_ms=at_ms, process_id=name, threads=draw(st.integers(1, 3))))
        elif kind in ("leave", "crash") and name in here and len(here) > 1:
            end = Leave(at_ms=at_ms, process_ids=(name,))
            events.append(end if kind == "leave" else Stop(at_ms=at_ms, process_ids=(name,), crash=True))
            here.remove(name)
            gone.add(name)
    return item, events


@given(scenario=_scenarios())
def test_every_plan_keeps_every_invariant_and_becomes_stable(scenario: tuple[Snapshot, list[Any]]) -> None:
    item, events = scenario
    result = play(item, *events)
    assert result.verdict.kind == "settled"
    final = sorted(task for held in result.final for task in held.active)
    assert final == list(range(len(result.group.tasks)))


def test_new_instances_have_random_ids_so_counts_are_over_draws() -> None:
    item = replace(snapshot(stable("k43", 8)), rates=Rates(restore_per_instance=1_000.0))
    simulation = simulate(
        item, Scenario(events=(Join(at_ms=0, instances=(NewInstance(threads=2),)),)), number_of_draws=4
    )
    assert simulation.draws is not None
    assert simulation.draws.moves.least == simulation.draws.moves.most == 6
    assert _facts(simulation)["runs"].startswith("after about ")


def test_who_is_closed_leaves_at_once_and_its_tasks_start_where_the_broker_says() -> None:
    found = drain(snapshot(stable("k43", 8)), ["473f"])
    assert {task.task_id.partition for task in found.now if not task.caught_up} == {11}
    assert all(0 < task.pause_ms <= 5_000 for task in found.now)
    assert found.wait_ms is None


@pytest.mark.parametrize(("release", "cold"), [("4.3", 4), ("4.4", 3)])
def test_who_is_bounced_leaves_at_once_and_since_4_4_brings_its_directories(release: str, cold: int) -> None:
    """Older brokers forget who ran what: they give it other tasks, all of which start cold."""
    item = small(release, "abc")
    result = play(item, Bounce(at_ms=0, process_ids=("b",), restart_ms=20_000, pause_ms=0))
    back = [step for rnd in result.rounds[1:] for step in rnd.steps if isinstance(step, HandOver)]
    assert {step.to.process_id for step in back} == {"b"}
    assert (len(back), result.summary.cold_handovers) == (2, cold)
    assert result.rounds[0].trigger is Trigger.LEAVE
    assert result.rounds[0].at_ms <= 5_000
    assert result.rounds[1].at_ms == 20_000
    assert {note.code for note in result.assumptions} >= {"restarted-members", "heartbeat-phases"}


@pytest.mark.parametrize(
    ("back_ms", "fields", "answer"),
    [(20_000, {}, ("a",)), (44_999, {}, ("a",)), (45_000, {}, ()), (20_000, {"keeps_disk": False}, ())],
)
def test_more_may_move_where_who_crashed_is_back_before_it_is_fenced(
    back_ms: int, fields: dict[str, Any], answer: tuple[str, ...]
) -> None:
    """Its new members join beside the old ones, which no play has: that is told, and nothing passes on it."""
    new = {} if fields.get("keeps_disk", True) else {"new_process_ids": ("c",)}
    crash = Stop(at_ms=0, process_ids=("a",), crash=True)
    back = Return(at_ms=back_ms, process_ids=("a",), **fields, **new)
    simulated = simulate(small("4.3", "ab"), Scenario(events=(crash, back)))
    result = simulated.plan
    notes = [note.subjects for note in result.assumptions if note.code == "back-before-fenced"]
    assert notes == ([answer] if answer else [])
    lower_bounds = any("all figures are lower bounds" in sentence for sentence in page_of(simulated).sentences)
    assert lower_bounds == bool(answer)
    for rule in ("max_duration", "max_moves", "max_cold_handovers", "max_pause_per_task"):
        assert (RULES[rule].worst(MeasuredPlan(result), 10**9).value is None) == (
            bool(answer) or (rule == "max_duration" and result.summary.runs_by_ms is None)
        )


def test_when_everything_runs_is_told_over_all_draws() -> None:
    item = replace(small("4.3", "ab"), rates=Rates(restore_per_instance=1_000.0))
    simulated = simulate(
        item, Scenario(events=(Join(at_ms=0, instances=(NewInstance(threads=2),)),)), number_of_draws=5
    )
    assert simulated.draws is not None
    worst_ms = simulated.draws.worst["max_duration"]
    assert worst_ms is not None
    most_ms = max(worst_ms, simulated.plan.ends("runs_by_ms")[1])
    assert _facts(simulated)["runs"].endswith(f" to {duration(most_ms)})")


def test_settings_of_the_application_have_no_effect_and_that_is_told() -> None:
    settings = (("max_warmup_replicas", 9), ("streams_num_standby_replicas", 1))
    result = play(small("4.4"), ConfigChange(at_ms=0, settings=settings))
    assert result.later_configs[0][1].num_standby_replicas == 1
    assert result.later_configs[0][1].max_warmup_replicas == 2
    assert sum(len(held.standby) for held in result.final) == 6
    answers = [note for note in result.assumptions if note.code == "no-effect-in-streams-group"]
    assert answers[0].subjects == ("max.warmup.replicas",)


def test_older_brokers_refuse_static_members() -> None:
    bounce = Bounce(at_ms=0, process_ids=("a",), restart_ms=20_000, pause_ms=0, static=True)
    with pytest.raises(ScenarioError, match=r"brokers of 4\.3 refuse static members"):
        play(small("4.3"), bounce)
    assert play(small("4.4"), bounce).rounds == ()


def test_a_classic_group_has_no_settings_of_streams_groups() -> None:
    with pytest.raises(ScenarioError, match="is a setting of streams groups"):
        plan_checked(
            snapshot_from_row(classic_row(), "here"),
            scenario=Scenario(events=(ConfigChange(at_ms=0, settings=(("streams_num_standby_replicas", 1),)),)),
        )


def in_one_bin(*, ordered: bool, ids: str = "Aa BB") -> Snapshot:
    """Four members; by default their ids have the same hash, so that they share every bin of Java's tables."""
    first, second = ids.split()
    members = [first * 4, first * 3 + second, first * 2 + second * 2, second * 4]
    tasks = [f"0_{number}" for number in range(9)]
    seats: dict[str, list[dict[str, Any]]] = {"p0": [], "p1": []}
    for place, member in enumerate(members):
        seat = {"consumer_id": member, "active": tasks[place::4]} | ({"position": place} if ordered else {})
        seats[f"p{place // 2}"].append(seat)
    return snapshot(row("4.3", seats, {"0": (9, True, 60_000)}))


def test_where_tasks_go_is_not_firm_if_the_order_of_the_table_is_not_known_and_decides_it() -> None:
    leaves = Leave(at_ms=0, process_ids=("p0",))
    known, unknown = (play(in_one_bin(ordered=ordered), leaves) for ordered in (True, False))
    assert not any(note.code == "placement-not-firm" for note in known.warnings)
    (answer,) = (note for note in unknown.warnings if note.code == "placement-not-firm")
    assert {*answer.subjects} <= {str(task.task_id) for task in unknown.group.tasks}
    assert answer.subjects
    assert (
        "5 orders were simulated"
        in next(note for note in unknown.assumptions if note.code == "table-order-unknown").message
    )
    apart = play(in_one_bin(ordered=False, ids="x yzw"), leaves)  # ids that share no bin: the order decides nothing
    assert not any(note.code == "placement-not-firm" for note in apart.warnings)


def test_a_target_that_may_not_be_computed_yet_is_waited_for() -> None:
    seats = {
        name: [{"consumer_id": f"m-{name}", "position": place, "active": [task]}]
        for place, (name, task) in enumerate({"a": "0_0", "b": "0_1"}.items())
    }
    result = play(snapshot(row("4.3", seats, {"0": (2, True, 60)}, standbys=1, target_at="2026-11-22T12:00:00Z")))
    assert 1_000 <= result.rounds[0].at_ms <= 6_000


@pytest.mark.parametrize(("rate", "runs_by"), [(None, False), (0.1, True)])
def test_a_start_that_is_nearly_caught_up_is_not_cold(rate: float | None, runs_by: bool) -> None:
    nearly = {"task_id": "0_0", "offset": 59_995}
    seats = {
        "a": [{"consumer_id": "m-a", "position": 0, "active": ["0_0"]}],
        "b": [{"consumer_id": "m-b", "position": 1, "standby": ["0_0"], "task_offsets": [nearly]}],
    }
    result = play(
        replace(snapshot(row("4.4", seats, {"0": (1, True, 60_000)})), rates=Rates(restore_per_instance=rate)),
        Leave(at_ms=3_000, process_ids=("a",)),
    )
    (start,) = (step for rnd in result.rounds for step in rnd.steps if isinstance(step, Promote))
    assert start.caught_up
    assert start.restore_records in range(1, 6)
    assert (result.summary.cold_handovers, result.summary.max_cold_restore_ms) == (0, 0)
    assert (result.summary.runs_by_ms is not None) == runs_by


@pytest.mark.parametrize(("number", "answer"), [(1, False), (2, True)])
def test_several_that_join_do_so_at_the_same_moment_and_that_is_said(number: int, answer: bool) -> None:
    """Seen: 17.3s for 10.1s at most, where two processes that were started together joined 6s apart."""
    result = play(snapshot(stable("k43", 14)), Join(at_ms=0, instances=joining("new-1", "new-2")[:number]))
    assert ("join-together" in {note.code for note in result.assumptions}) == answer


@pytest.mark.parametrize(
    ("known", "told"),
    [(True, "(--restore-rate would tell)"), (False, "(--metrics with end offsets and --restore-rate would tell)")],
)
def test_a_restore_rate_alone_does_not_tell_where_end_offsets_are_unknown(known: bool, told: str) -> None:
    tasks = [f"0_{number}" for number in range(6)]
    seats = {name: [{"consumer_id": f"m-{name}", "active": tasks[place::2]}] for place, name in enumerate("ab")}
    group = row("4.3", seats, {"0": (6, True, 1_000)})
    if not known:
        group["tasks"] = [{"task_id": task["task_id"], "stateful": True} for task in group["tasks"]]
    assert told in _facts(play(snapshot(group), Join(at_ms=0, instances=joining("p9"))))["pause"]
