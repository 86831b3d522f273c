"""What a group makes of members that go, come back and change."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from math import inf

import pytest

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.errors import ConfigError, ScenarioError
from kstream_plan.model import UNKNOWN, Rates, Snapshot
from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.planner.leader_settings import NextLeader
from kstream_plan.plans import Demote, MemberJoined, MemberLeft, Place, Plan, Reason, ReasonCode, Revoke, Trigger
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.membership import Arrival, DiskCopy, left_of
from kstream_plan.plans.rebalance_events import membership
from kstream_plan.plans.result import result_of
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.alternatives import alternative
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from tests.helpers import captured, captured_scenarios, memberships

MEMBERSHIP, THREAD_STOPPED = Reason(ReasonCode.MEMBERSHIP), Reason(ReasonCode.THREAD_STOPPED)


@cache
def _settled(scenario: str = "scale-out-standbys", produce_rate: float | None = None) -> Snapshot:
    before = captured_scenarios.before(scenario, 10_000.0, produce_rate)
    settled = memberships.settled(captured.inputs(scenario)[-1])
    return replace(settled, rates=before.rates, config=before.config)


def _play(snapshot: Snapshot, events: str, next_leader: NextLeader = "longest") -> Plan:
    scenario = read_scenario(f"events: [{events}]", "s.yaml")
    return plan(snapshot, scenario=with_random_ids(scenario, snapshot.state.group, 0), next_leader=next_leader)


@pytest.mark.parametrize("host", ["i1", "i2", "i3"])
class TestBounce:
    """The captured findings, with one standby and a session time-out of 10 s."""

    def test_within_the_session_timeout_it_is_one_rebalance_that_changes_nothing(self, host: str) -> None:
        result = _play(_settled(), f"{{at: 0s, bounce: {{instances: {host}, restart: 6s}}}}")
        assert [(rnd.at_ms, rnd.trigger) for rnd in result.rounds] == [(10_000, Trigger.MEMBER_RESTART)]
        assert captured.by_instance(
            result.group, captured.copies_alike(result.group, result.final)
        ) == captured.by_instance(result.group, captured.copies_alike(result.group, result.initial))
        assert result.summary.max_paused_task is not None
        assert result.summary.max_paused_task.ms == 10_000

    def test_beyond_it_it_is_a_leave_and_a_return(self, host: str) -> None:
        made = _play(_settled(), f"{{at: 0s, bounce: {{instances: {host}, restart: 20s}}}}")
        triggers = [rnd.trigger for rnd in made.rounds]
        assert triggers == [Trigger.LEAVE, Trigger.FOLLOW_UP, Trigger.JOIN, Trigger.FOLLOW_UP]
        assert made.rounds[0].at_ms == 10_000
        assert made.rounds[2].at_ms == 20_000
        assert made.summary.moves == 0

    def test_with_an_explicit_leave_it_is_four_rebalances(self, host: str) -> None:
        outcome = _play(_settled(), f"{{at: 0s, bounce: {{instances: {host}, restart: 6s, leave: true}}}}")
        assert len(outcome.rounds) == 4
        assert outcome.rounds[0].at_ms == 0

    def test_of_a_static_member_it_is_none(self, host: str) -> None:
        made = _play(_settled(), f"{{at: 0s, bounce: {{instances: {host}, restart: 6s, static: true}}}}")
        assert made.rounds == ()
        assert made.verdict.kind == "settled"
        found = made.pauses
        ran = sum(len(made.initial[c].active) for c in made.group.consumers_of[_place(made, host)])
        assert sum(found.times.values()) == found.most_at_once == ran
        assert set(found.ms.values()) == {6_000}
        assert made.summary.paused_task_ms == 6_000 * ran
        assert made.summary.max_paused_task is not None
        assert made.summary.max_paused_task[1:] == (6_000, 1)
        [note] = [note for note in made.assumptions if note.code == "not-noticed"]
        assert note.subjects == (made.group.instances[_place(made, host)].process_id,)
        assert not any(note.code == "restores-unnoticed" for note in made.warnings)

    @pytest.mark.parametrize(("state", "warned"), [("lost", True), ("kept", False), ("flushed-at 5/s", True)])
    def test_a_crash_of_a_static_member_is_told_of_and_what_it_takes(self, host: str, state: str, warned: bool) -> None:
        back = f"{{at: 6s, return: {{instances: {host}, static: true, state: {state}}}}}"
        output = _play(replace(_settled(), stores="persistent"), f"{{at: 0s, crash: {host}}}, {back}")
        assert output.rounds == ()
        assert {len(outage) for outage in output.outages} == {3}
        assert any(note.code == "not-noticed" for note in output.assumptions)
        assert any(note.code == "restores-unnoticed" for note in output.warnings) == warned
        paused = _facts(output)["pause"]
        assert ("at least 6s in 1 pause" in paused) == warned
        assert warned or paused.endswith(": 6s in 1 pause")


def _facts(plan: Plan) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(plan).facts}


def _place(plan: Plan, host: str) -> int:
    return next(index for index, instance in enumerate(plan.group.instances) if instance.host == host)


def test_restarts_of_static_members_stop_every_task_once() -> None:
    result = _play(replace(_settled(), stores="persistent"), "{at: 0s, bounce: {restart: 5s, pause: 1m, static: true}}")
    assert result.rounds == ()
    assert [(outage.from_ms, outage.to_ms) for outage in result.outages] == [
        (0, 5_000),
        (65_000, 70_000),
        (130_000, 135_000),
    ]
    assert dict(result.pauses.ms) == {task.task_id: 5_000 for task in result.group.tasks}
    assert _facts(result)["pause"].endswith(": 5s in 1 pause")
    assert read_plans(plan_json(result).encode(), "x") == [result]


def test_what_waits_for_a_static_member_stands_still_once() -> None:
    """A join while it is away ends when it is back; what it then gives up stands still from its stop on."""
    result = _play(
        _settled(),
        "{at: 0s, stop: i2}, {at: 1s, join: {hosts: [a, b]}}, {at: 7s, return: {instances: i2, static: true}}",
    )
    assert result.rounds[0].at_ms == 7_000
    revoked = {step.task_id for step in result.rounds[0].steps if isinstance(step, Revoke | Demote)}
    held = {
        result.group.tasks[task].task_id
        for c in result.group.consumers_of[_place(result, "i2")]
        for task in result.initial[c].active
    }
    assert revoked & held
    stopped = {pause.task_id: pause for pause in result.pauses if pause.from_ms == 0}
    assert stopped.keys() == held
    assert all((stopped[task_id].to_ms > 7_000) == (task_id in revoked) for task_id in held)
    assert result.summary.paused_task_ms == sum(result.pauses.ms.values())


@pytest.mark.parametrize(("static", "ends_ms", "trigger"), [("true", 6_000, Trigger.MANUAL), ("false", 10_000, None)])
def test_no_rebalance_of_a_group_on_its_way_ends_while_a_member_is_away(
    static: str, ends_ms: int, trigger: Trigger | None
) -> None:
    on_its_way = replace(captured.inputs("scale-out-standbys")[5], config=_settled().config)
    result = _play(on_its_way, f"{{at: 0s, bounce: {{instances: i1, restart: 6s, static: {static}}}}}")
    assert result.rounds[0].at_ms == ends_ms
    assert result.rounds[0].trigger is (trigger or Trigger.MEMBER_RESTART)


def test_new_instances_can_be_named_as_they_are_shown() -> None:
    before = captured_scenarios.before("scale-out")
    events = "{at: 0s, join: 2}, {at: 1h, join: 1}, {at: 2h, leave: new-1}, {at: 3h, crash: [new-3]}"
    result = _play(before, events)
    ids = {instance.host: instance.process_id for instance in result.group.instances}
    assert sorted(host for host in ids if host and host.startswith("new")) == ["new-1", "new-2", "new-3"]
    left = [step.process_id for rnd in result.rounds for step in rnd.steps if isinstance(step, MemberLeft)]
    assert left == [ids["new-1"], ids["new-3"]]


def test_names_that_are_taken_are_passed_over() -> None:
    events = "{at: 0s, join: 1}, {at: 1h, join: {hosts: [new-1]}}"
    result = _play(captured_scenarios.before("scale-out"), events)
    joined = [step.process_id for rnd in result.rounds for step in rnd.steps if isinstance(step, MemberJoined)]
    hosts = {instance.process_id: instance.host for instance in result.group.instances}
    assert [hosts[process_id] for process_id in joined] == ["new-2", "new-1"]


def test_a_rolling_bounce_takes_one_after_the_other() -> None:
    result = _play(_settled(), "{at: 0s, bounce: {restart: 5s, pause: 1m}}")
    assert [rnd.at_ms for rnd in result.rounds] == [10_000, 75_000, 140_000]


def test_a_rebalance_waits_for_a_member_that_is_away_unnoticed() -> None:
    result = _play(_settled(), "{at: 0s, crash: i2}, {at: 4s, join: {hosts: [new]}}")
    first = result.rounds[0]
    assert first.at_ms == 10_000
    assert [type(step) for step in first.steps[:2]] == [MemberJoined, MemberLeft]


def test_a_join_while_a_follow_up_is_pending_is_taken_in_by_it() -> None:
    before = captured_scenarios.before("scale-out")
    result = _play(before, "{at: 0s, join: {hosts: [a]}}, {at: 50ms, join: {hosts: [b]}}")
    assert result.rounds[1].trigger is Trigger.FOLLOW_UP
    assert any(isinstance(step, MemberJoined) for step in result.rounds[1].steps)


def test_a_join_takes_the_place_of_the_next_probe() -> None:
    before = captured_scenarios.before("scale-out")
    result = _play(before, "{at: 0s, join: {hosts: [a]}}, {at: 30s, join: {hosts: [b]}}")
    joins = [rnd.at_ms for rnd in result.rounds if rnd.trigger is Trigger.JOIN]
    assert joins == [0, 30_000]
    probes = [rnd.at_ms for rnd in result.rounds if rnd.trigger is Trigger.PROBING]
    assert probes[0] >= 30_000 + 63_000


def test_disk_that_comes_back_is_caught_up_unless_too_much_was_written() -> None:
    idle = _play(_settled(), "{at: 0s, leave: i1}, {at: 5m, return: i1}")
    busy = _play(_settled(produce_rate=100.0), "{at: 0s, leave: i1}, {at: 5m, return: i1}")
    assert sum(rnd.trigger is Trigger.PROBING for rnd in idle.rounds) < sum(
        rnd.trigger is Trigger.PROBING for rnd in busy.rounds
    )
    assert busy.verdict.kind == "settled"


def test_without_its_disk_it_comes_back_as_somebody_else() -> None:
    result = _play(
        _settled(), "{at: 0s, crash: i1}, {at: 5m, return: {instances: i1, disk: false}}, {at: 2h, leave: i1}"
    )
    joined, left = membership(result)
    assert len(joined) == 1
    assert set(joined) < set(left)


def test_rates_and_settings_count_from_when_they_change() -> None:
    slow = _play(captured_scenarios.before("scale-out", 20.0), "{at: 0s, join: 2}")
    faster = _play(captured_scenarios.before("scale-out", 20.0), "{at: 0s, join: 2}, {at: 3m, restore_rate: 5000/s}")
    wider = _play(
        captured_scenarios.before("scale-out", 20.0), "{at: 0s, join: 2}, {at: 3m, config: {max.warmup.replicas: 20}}"
    )
    assert slow.summary.duration_ms > faster.summary.duration_ms
    assert wider.config_of(1).max_warmup_replicas == 2
    assert wider.config_of(len(wider.rounds)).max_warmup_replicas == 20
    assert max(sum(len(held.warmup) for held in rnd.decided) for rnd in wider.rounds) > 2


def test_a_burst_makes_copies_fall_behind() -> None:
    quiet = _play(captured_scenarios.before("scale-out", 100.0), "{at: 0s, join: 2}")
    burst = _play(captured_scenarios.before("scale-out", 100.0), "{at: 0s, join: 2}, {at: 50s, burst: 2000}")
    assert burst.summary.duration_ms > quiet.summary.duration_ms


def test_an_instance_that_starts_and_stops_threads_keeps_its_tasks() -> None:
    result = _play(
        _settled(), "{at: 0s, threads: {instance: i1, count: 4}}, {at: 10m, threads: {instance: i1, count: 1}}"
    )
    assert result.verdict.kind == "settled"
    [i1] = [instance for instance in result.group.instances if instance.host == "i1"]
    busy = [result.final[result.group.consumer_ids.index(consumer.consumer_id)] for consumer in i1.consumers]
    assert [bool(held.active) for held in busy].count(True) == 1


#: ``@`` stands before the place that the error names.
BAD = [
    ("{at: 5m45s, crash: i1}, {at: 6m, crash: @i1}", "'i1' is not running at 6m. Fix: let it return first"),
    ("{leave: i1}, {leave: @i1}", "'i1' is not running at 0s. Fix: let it return first"),
    ("{at: 1h, return: @i1}", "'i1' runs at 1h, so it cannot return. Fix: let it leave, stop or crash first"),
    ("{crash: i1}, {at: 1s, return: i1}, {at: 2500ms, return: @i1}", "'i1' runs at 2.5s, so it cannot return"),
    ("{crash: i1}, {threads: @{instance: i1, count: 3}}", "'i1' is not running at 0s"),
    (
        "{crash: i1}, {at: 1s, return: i1}, {at: 2s, threads: @{instance: i1, count: 3}}",
        "'i1' is not a member again at 2s. Fix: change its threads once it is a member again, 10s after it stopped",
    ),
    ("{at: 205h31m35.4s, leave: @[i1, i2, i3]}", "no instance is left at 8d14h. Fix: let one of them stay"),
    ("{at: 1s, leave: @[i1, i2, i3]}", "no instance is left at 1s. Fix: let one of them stay, or another one run"),
    ("{at: 5m, crash: @[i1, i2, i3]}", "no instance is left at 5m10s. Fix: let one of them stay, or another one run"),
    ("{leave: @i9}", "there is no instance 'i9'"),
    ("{threads: @{instance: all, count: 3}}", "threads are those of one instance. Fix: write one such event for each"),
    ("{join: {process_ids: [x]}}, {join: @{process_ids: [x]}}", "'x' is a member already. Fix: give the new instance"),
    ("{restore_rate: @{rate: 1/s, instances: nobody}}", "there is no instance"),
    ("{burst: @{records: 5, subtopology: 7}}", "there is no subtopology '7'. Fix: name one of 0, 1, 2"),
    ("{produce_rate: @{rate: 5/s, subtopology: x}}", "there is no subtopology 'x'. Fix: name one of 0, 1, 2"),
    ("{config: {@max.warmup.replica: 2}}", "'max.warmup.replica' is no setting. Fix: is it max.warmup.replicas?"),
    ("{config: {max.warmup.replicas: @0}}", "max.warmup.replicas is 0"),
]


@pytest.mark.parametrize(("events", "message"), BAD)
def test_an_event_that_does_not_fit_is_told_with_its_place(events: str, message: str) -> None:
    column = len("events: [") + events.index("@") + 1
    with pytest.raises((ScenarioError, ConfigError)) as caught:
        _play(_settled(), events.replace("@", ""))
    assert str(caught.value).startswith(f"s.yaml, line 1, column {column}: {message}")


def test_an_instance_without_a_host_of_its_own_is_called_by_its_id() -> None:
    settled = _settled()
    group = settled.state.group
    alike = replace(group, instances=tuple(replace(instance, host="same") for instance in group.instances))
    process_id = group.instances[0].process_id
    with pytest.raises(ScenarioError, match=f"'{process_id}' is not running at 0s"):
        _play(
            replace(settled, state=replace(settled.state, group=alike)),
            f"{{leave: {process_id}}}, {{leave: {process_id}}}",
        )


def test_an_instance_that_leaves_twice_in_one_event_is_named() -> None:
    settled = _settled()
    process_id = settled.state.group.instances[0].process_id
    event = Leave(at_ms=0, process_ids=(process_id, process_id), where="here")
    with pytest.raises(ScenarioError, match=r"^here: 'i3' is named twice\. Fix: name it once$"):
        plan(settled, scenario=Scenario(events=(event,)))


def test_rates_of_instances_move_with_them() -> None:
    snapshot = _settled()
    measured = Rates(restore={i: 100.0 + i for i in range(len(snapshot.state.group.instances))})
    result = _play(replace(snapshot, rates=measured), "{at: 0s, leave: i1}, {at: 5m, return: i1}")
    assert result.verdict.kind == "settled"


def test_new_instances_restore_as_fast_as_the_others() -> None:
    before = captured_scenarios.before("scale-out")
    measured = Rates(restore={0: 50.0, 1: 100.0, 2: 5_000.0})
    result = _play(replace(before, rates=measured), "{at: 0s, join: {hosts: [new]}}")
    assert result.summary.duration_is == "estimate"
    assert "new-instances-restore-rate" in {note.code for note in result.assumptions}
    assert "new-instances-restore-rate" not in {note.code for note in plan(replace(before, rates=measured)).assumptions}


def test_a_rate_that_changes_after_all_has_settled_changes_nothing() -> None:
    outcome = _play(_settled(), "{at: 0s, stop: i1}, {at: 1s, return: i1}, {at: 9h, produce_rate: 5/s}")
    again = _play(_settled(), "{at: 0s, stop: i1}, {at: 1s, return: i1}")
    assert outcome.rounds == again.rounds
    scenario = read_scenario("events: [{at: 0s, stop: i1}, {at: 1s, return: i1}, {at: 9h, burst: 5}]", "s.yaml")
    result = with_random_ids(scenario, _settled().state.group, 0)
    assert plan(_settled(), scenario=result, max_rounds=1).verdict.kind == "settled"


def test_a_join_does_not_end_a_rebalance_before_the_group_has_noticed_who_stopped_with_it() -> None:
    both = _play(_settled(), "{at: 0s, stop: i1}, {at: 0s, join: 1}")
    apart = _play(_settled(), "{at: 0s, stop: i1}, {at: 1ms, join: 1}")
    assert both.rounds[0].at_ms == 10_000
    assert [(rnd.at_ms, rnd.trigger, rnd.decided) for rnd in both.rounds] == [
        (rnd.at_ms, rnd.trigger, rnd.decided) for rnd in apart.rounds
    ]
    came_and_went = [type(step) for step in both.rounds[0].steps if isinstance(step, MemberJoined | MemberLeft)]
    assert sorted(came_and_went, key=str) == [MemberJoined, MemberLeft]


def test_a_copy_that_is_behind_has_not_caught_up_by_waiting_unless_its_rate_is_known() -> None:
    settled = _settled()
    group, held = settled.state.group, settled.state.holdings
    consumer = next(consumer for consumer, item in enumerate(held) if item.standby)
    task, instance = held[consumer].standby[0], group.instance_of[consumer]
    owner = next(group.instance_of[other] for other, item in enumerate(held) if task in item.active)
    copies = list(settled.state.copies)
    copies[task] = tuple(
        copy._replace(lag=5_000, remaining=5_000) if copy.instance == instance else copy for copy in copies[task]
    )
    lagging = replace(settled, state=replace(settled.state, copies=tuple(copies)))
    stop = f"{{at: 0s, stop: {group.instances[owner].host}}}"
    unknown = replace(lagging, rates=Rates())
    assert [_play(one, stop).summary.cold_handovers for one in (unknown, lagging)] == [1, 0]


def test_a_thread_that_stops_and_then_its_instance_in_the_same_rebalance_are_told_in_that_order() -> None:
    events = "{at: 500ms, stop: i2}, {at: 500ms, threads: {instance: i1, count: 1}}, {at: 600ms, crash: i1}"
    before = _settled()
    group = before.state.group
    i1 = next(instance for instance in group.instances if instance.host == "i1")
    two_threads = replace(
        i1, consumers=(*i1.consumers, replace(i1.consumers[0], consumer_id=f"{i1.consumers[0].consumer_id}-2"))
    )
    others = [instance for instance in group.instances if instance is not i1]
    members = memberships.with_members(before, [*others, two_threads])
    result = _play(memberships.settled(members), events)
    assert broken_invariants(result) == ()
    [first] = [rnd for rnd in result.rounds if any(isinstance(step, MemberLeft) for step in rnd.steps)]
    steps = list(first.steps)
    left = next(place for place, step in enumerate(steps) if step == MemberLeft(i1.process_id, 600, MEMBERSHIP))
    stopped = [place for place, step in enumerate(steps) if getattr(step, "reason", None) == THREAD_STOPPED]
    assert stopped
    assert max(stopped) < left
    assert {500, 600} <= {pause.from_ms for pause in result.pauses}


@pytest.mark.parametrize(
    ("rate", "later", "longest_ms"),
    [
        (5_000.0, "{at: 4m, produce_rate: 0/s}", 2_400),  # i1 and i2 restore 12,000 records each
        (5_000.0, "{at: 4m, restore_rate: 10/s}", 2_400),  # by then it is over
        (50.0, "{at: 3m, restore_rate: 10/s}", None),  # which of them that meets is not followed
        (5_000.0, "{at: 1s, bounce: {instances: [i1], restart: 1s, static: true}}", None),  # i1 does not restore then
        (None, "{at: 0s, restore_rate: 5000/s}", 2_400),
        (None, "{at: 4m, restore_rate: 5000/s}", None),
        (45.0, "{at: 30s, leave: i2}", None),  # i1 is not done yet when it starts more
    ],
)
def test_how_long_a_cold_start_restores_goes_by_the_rates_of_its_time(
    rate: float | None, later: str, longest_ms: int | None
) -> None:
    result = _play(captured_scenarios.before("scale-out", rate), f"{{leave: i3}}, {later}")
    assert result.summary.cold_handovers > 0
    assert result.summary.max_cold_restore_ms == longest_ms


def test_a_restore_rate_that_is_known_later_makes_no_estimate_of_what_was_before() -> None:
    known_at = {
        at: _play(captured_scenarios.before("scale-out"), f"{{leave: i3}}, {{at: {at}, restore_rate: 5000/s}}")
        for at in ("0s", "4m")
    }
    assert {at: result.summary.duration_is for at, result in known_at.items()} == {"0s": "estimate", "4m": "probes"}


@pytest.mark.parametrize("written", ["burst: 1000", "produce_rate: 10/s"])
def test_what_a_scenario_writes_is_not_said_to_be_nothing(written: str) -> None:
    before = captured_scenarios.before("scale-out", 5_000.0)
    notes = [
        {note.code for note in _play(before, f"{{leave: i3}}, {{at: 30s, {item}}}").assumptions}
        for item in (written, "leave: i2")
    ]
    assert ["no-produce-rate" in codes for codes in notes] == [False, True]


def test_the_first_rebalance_waits_for_a_static_member_that_restarts_right_then() -> None:
    """The group is about to rebalance, for it has no standbys yet."""
    before = captured_scenarios.before("scale-out")
    wanting = replace(before, config=replace(before.config, num_standby_replicas=1))
    result = _play(wanting, "{bounce: {instances: [i1], restart: 5s, static: true}}")
    assert (result.rounds[0].at_ms, result.rounds[0].trigger) == (5_000, Trigger.MANUAL)
    assert broken_invariants(result) == ()
    later = replace(result, rounds=(replace(result.rounds[0], at_ms=5_001), *result.rounds[1:]))
    assert any("rounds-in-order" in str(broken) for broken in broken_invariants(later))


@pytest.mark.parametrize(
    ("state", "version", "lags"),
    [
        ("", None, {2000, 4000}),
        ("", "4.3.1", {2000, 4000}),
        ("", "3.9.0", {2000, 4000}),
        ("", "2.7.2", {2000, 4000}),
        ("", "2.6.3", {0}),
        (", state: kept", None, {0}),
        (", state: lost", "3.9.0", {2000, 4000}),
        (", state: flushed-at 1/s", None, {2000, 4000}),
    ],
)
def test_what_is_left_after_a_crash_is_said_or_hangs_on_the_release(
    state: str, version: str | None, lags: set[int]
) -> None:
    snapshot = replace(captured_scenarios.before("scale-out", 5000.0), streams_version=version)
    result = _play(snapshot, f"{{at: 0s, crash: i3}}, {{at: 2m, return: {{instances: i3{state}}}}}")
    back = next(rnd for rnd in result.rounds if rnd.at_ms >= 120_000)
    i3 = next(instance.process_id for instance in result.group.instances if instance.host == "i3")
    places = [step for rnd in result.rounds[back.number - 1 :] for step in rnd.single_steps if isinstance(step, Place)]
    restored = {step.restore_records for step in places if step.to.process_id == i3}
    assert (restored or {0}) == lags
    notes = [note for note in result.assumptions if note.code == "state-after-crash"]
    assert len(notes) == (not state)
    assert all(note.subjects == (i3,) for note in notes)


def test_what_was_flushed_of_a_copy_since_it_was_made_is_left() -> None:
    group = captured_scenarios.before("scale-out").state.group
    whole = group.tasks[0].end_offset_sum
    disk = (DiskCopy(0, 0, 90_000, 10_000, 60_000), DiskCopy(1, 7, 90_000, 10_000, None), DiskCopy(2, 0, 9, None, 9))
    back = Arrival(group.instances[0], group.instances[0].process_id, 10.0)
    assert [copy.lag for copy in left_of(disk, group, back)] == [whole - 500, 7, group.tasks[2].end_offset_sum]
    assert left_of(disk, group, back._replace(flushed_per_second=inf)) is disk


@pytest.mark.parametrize(
    ("lag", "lost", "left"),
    [(0, 100, 100), (7, 100, 107), (UNKNOWN, 100, UNKNOWN), (0, inf, None), (UNKNOWN, inf, None)],
)
def test_a_crash_takes_what_came_since_the_last_checkpoint_from_what_was_assigned(
    lag: int, lost: float, left: int | None
) -> None:
    """``None``: all of it; what was closed before is whole."""
    group = captured_scenarios.before("scale-out").state.group
    whole = group.tasks[0].end_offset_sum
    disk = (DiskCopy(0, lag, 90_000, 10_000, 60_000), DiskCopy(1, 7, 90_000, 10_000, None))
    back = Arrival(group.instances[0], group.instances[0].process_id, lost_records=lost)
    assert [copy.lag for copy in left_of(disk, group, back)] == [whole if left is None else left, 7]


@pytest.mark.parametrize("pause", ["0s", "20s", "24s"])
def test_restarts_that_come_too_soon_queue(pause: str) -> None:
    """The session time-out is 10 s: each rebalance ends with it, and only then the next instance stops."""
    result = _play(_settled(), f"{{at: 0s, bounce: {{restart: 2s, pause: {pause}}}}}")
    ends = {"0s": [10_000, 20_001, 30_002], "20s": [10_000, 32_000, 54_000], "24s": [10_000, 36_000, 62_000]}[pause]
    restarts = [rnd.at_ms for rnd in result.rounds if rnd.trigger is Trigger.MEMBER_RESTART]
    assert restarts == pytest.approx(ends, abs=10)
    most = max(len(held.active) for held in _settled().state.holdings) * 2
    assert result.pauses.most_at_once <= most


def test_an_instance_that_waits_for_a_rebalance_to_end_returns_as_late_as_it_stops() -> None:
    events = "{at: 0s, stop: i1}, {at: 2s, return: i1}, {at: 3s, stop: i2}, {at: 5s, return: i2}"
    restarts = [rnd.at_ms for rnd in _play(_settled(), events).rounds if rnd.trigger is Trigger.MEMBER_RESTART]
    assert restarts == pytest.approx([10_000, 20_000], abs=10)
    crashed = _play(_settled(), events.replace("stop: i2", "crash: i2"))
    assert next(rnd.at_ms for rnd in crashed.rounds) == 13_000


@pytest.mark.parametrize(
    ("restart", "warned", "noticed"),
    [("6s", False, False), ("8s", True, False), ("12s", True, True), ("14s", False, True)],
)
def test_close_to_the_session_time_out_both_outcomes_are_told(restart: str, warned: bool, noticed: bool) -> None:
    """It is 10 s: one rebalance with the same assignment if i1 is back by then, else it leaves and returns."""
    result = _play(_settled(), f"{{at: 0s, stop: i1}}, {{at: {restart}, return: i1}}")
    answers = [
        note.message.partition("by then or not. ")[2] for note in result.warnings if note.code == "close-to-time-out"
    ]
    assert bool(answers) == warned
    rebalances = next(((one.low, one.high) for one in result.summary.ranges if one.figure == "rebalances"), None)
    if warned:
        assert rebalances is not None
        assert result.summary.rebalances == rebalances[noticed]
        assert rebalances[0] == 1
        assert re.match(rf"Within it: .*s, 1 rebalance, .*; beyond it: .*s, {rebalances[1]} rebalances, ", answers[0])


def test_what_is_restored_is_unknown_where_it_may_be() -> None:
    """Back within the time-out nothing is restored; beyond it tasks start cold, and nobody knows how large they are."""
    known = captured_scenarios.before("scale-out")
    tasks = tuple(replace(task, end_offset_known=not task.stateful) for task in known.state.group.tasks)
    unsized = replace(known, state=replace(known.state, group=replace(known.state.group, tasks=tasks)))
    result = _play(unsized, "{at: 0s, stop: i1}, {at: 9s, return: i1}")
    assert result.summary.restored_records == 0
    assert result.ends("cold_handovers")[1]
    assert result.may_be_endless("restored_records")
    assert _facts(result)["restore"] == "none, or unknown"
    assert result_of(result).restored_records_most is None
    limit = Limit(10**15)
    found = check_plan(result, Standard(Policy({"max_restored_records": limit}), datetime.now(UTC)))
    [finding] = [finding for finding in found.findings if finding.rule == "max_restored_records"]
    assert finding.value is None
    assert finding.status is Status.ERROR


def test_a_time_of_which_only_the_least_may_be_known_keeps_to_no_limit() -> None:
    """Back within the time-out nothing is restored; beyond it learners restore, and nobody knows how fast."""
    scenario = read_scenario("events: [{at: 0s, stop: i1}, {at: 9s, return: i1}]", "s.yaml")
    before = captured_scenarios.before("scale-out")
    result = plan(before, scenario=with_random_ids(scenario, before.state.group, 0), design="learner")
    assert result.summary.duration_is == "estimate"
    assert result.may_be_endless("duration_ms")
    assert RULES["max_duration"].worst(MeasuredPlan(result), 10**12).value is None
    assert _facts(result)["duration"] == "about 10s (9s to 13s), or unknown"
    assert not alternative((), result, None, None).is_known


def test_new_settings_count_from_when_a_restarted_member_leads() -> None:
    """Of three the first leads, then the longest there: i2, i3, and i1 at last."""
    bounce = "{bounce: {restart: 3s, pause: 1m, config: {max.warmup.replicas: 7}}}"
    result = _play(_settled(), bounce)
    restarts = [rnd for rnd in result.rounds if rnd.trigger is Trigger.MEMBER_RESTART]
    [(number, config)] = result.later_configs
    assert number == restarts[-1].number
    assert config.max_warmup_replicas == 7
    assert "restarted-leader" in {note.code for note in result.assumptions}
    only_one = _play(_settled(), bounce.replace("restart: 3s", "instances: i1, restart: 3s"))
    assert only_one.later_configs == ()


def test_where_any_member_may_lead_next_both_ends_are_told() -> None:
    """Of three the first counts as leading; nobody knows that here, nor who does when it has gone."""
    bounce = "{bounce: {instances: [i3], restart: 3s, config: {max.warmup.replicas: 7}}}, {at: 5m, join: 1}"
    sides: dict[NextLeader, Plan] = {who: _play(_settled(), bounce, who) for who in ("longest", "restarted", "others")}
    assert {who: bool(outcome.later_configs) for who, outcome in sides.items()} == {
        "longest": False,
        "restarted": True,
        "others": False,
    }
    result = sides["longest"]
    [ends] = [one for one in result.summary.ranges if one.figure == "rebalances"]
    assert ends.low <= sides["restarted"].summary.rebalances < result.summary.rebalances <= ends.high
    [said] = [note.message for note in result.assumptions if note.code == "restarted-leader"]
    assert "the group elects any member" in said


def test_where_the_leader_is_known_and_stays_nobody_has_to_guess() -> None:
    known = replace(_settled(), state=replace(_settled().state, leader=0))
    bounce = "{bounce: {instances: [i1], restart: 3s, config: {max.warmup.replicas: 7}}}"
    for who in ("longest", "restarted", "others"):
        result = _play(known, bounce, who)  # type: ignore[arg-type]
        assert not result.later_configs
        assert "any member" not in " ".join(note.message for note in result.assumptions)
    static = _play(known, bounce.replace("restart", "static: true, restart"))
    assert "a static leader" in " ".join(note.message for note in static.assumptions)


def test_a_restarted_member_is_away_for_its_own_time_out() -> None:
    bounce = "bounce: {instances: i2, restart: 3s"
    again = f"{{{bounce}, config: {{session.timeout.ms: 20000}}}}}}, {{at: 10m, {bounce}}}}}"
    restarts = [rnd.at_ms for rnd in _play(_settled(), again).rounds if rnd.trigger is Trigger.MEMBER_RESTART]
    assert restarts == [10_000, 620_000]


def test_in_a_surge_one_joins_before_one_leaves() -> None:
    result = _play(_settled(), "{bounce: {restart: 20s, pause: 5m, surge: 1, leave: true}}")
    came = [(rnd.at_ms, rnd.trigger) for rnd in result.rounds if rnd.trigger in (Trigger.JOIN, Trigger.LEAVE)]
    assert came[:4] == [(0, Trigger.JOIN), (20_000, Trigger.LEAVE), (320_000, Trigger.JOIN), (340_000, Trigger.LEAVE)]
    old = {instance.process_id for instance in _settled().state.group.instances}
    assert len(result.members) == len(old)
    assert not old & {process_id for process_id, _ in result.members}


def test_a_scenario_that_is_cut_off_keeps_every_invariant_wherever_that_is() -> None:
    """While the group waits for the next event nothing goes on, and still it has not settled."""
    snapshot = _settled("scale-out")
    scenario = read_scenario("events: [{at: 0s, stop: [i1]}, {at: 1h, stop: [i2]}]", "s.yaml")
    result = with_random_ids(scenario, snapshot.state.group, 0)
    whole = plan(snapshot, scenario=result)
    for rounds in range(1, len(whole.rounds)):
        outcome = plan(snapshot, scenario=result, max_rounds=rounds)
        assert (outcome.verdict.kind, broken_invariants(outcome)) == ("unfinished", ())
