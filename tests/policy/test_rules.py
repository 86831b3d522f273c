"""Every rule has a plan that keeps to it and one that breaks it, and names exactly what is to blame."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Consumer, Group, Holding, Instance, Note, Task, TaskId
from kstream_plan.model.scenario import Scenario, Threads
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.balance import balance_of
from kstream_plan.plans.targets import expiry_ms
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules import GUARDS, RULES, Kind, MeasuredPlan, Measurement, Offence
from kstream_plan.policy.rules.measuring import UNKNOWN
from kstream_plan.protocols import PROTOCOLS
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured_scenarios, one_standby, plan_cases, strategies, target_cases
from tests.helpers.random_scenarios import random_case

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)


def measure(name: str, limit: LimitValue, plan: Plan | str = "scale-out") -> Measurement:
    rule = RULES.get(name) or GUARDS[name]
    return rule.measure(MeasuredPlan(plan_cases.case(plan) if isinstance(plan, str) else plan, NOW), limit)


def blamed(found: Measurement) -> list[tuple[Any, ...]]:
    """(round, task, measured) of what is to blame."""
    return [(one.round_number, str(one.task_id) if one.task_id else None, one.value) for one in found.offences]


def test_every_rule_is_tried_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    of_tasks = [name for name, rule in RULES.items() if not rule.of_workers]
    assert [name for name in [*of_tasks, *GUARDS] if text.count(f'"{name}"') < 2] == []


def test_must_settle() -> None:
    assert measure("must_settle", True) == Measurement(1)
    assert measure("must_settle", False, "never-ready") == Measurement(0)
    stuck = plan_cases.case("never-ready")
    found = measure("must_settle", True, stuck)
    assert found.value == 0
    assert blamed(found) == [(4, str(task), 0) for task in stuck.verdict.tasks]


def test_require_restore_rate() -> None:
    assert measure("require_restore_rate", True, "settled") == Measurement(1)
    assert measure("require_restore_rate", True, "scale-out") == UNKNOWN
    assert measure("require_restore_rate", False, "scale-out") == Measurement(0)


def test_require_modelled() -> None:
    result = plan_cases.case("scale-out")
    warned = replace(result, warnings=(*result.warnings, Note("not-modelled", "upgrade.from is 2.3", ())))
    assert measure("require_modelled", True, result) == Measurement(1)
    assert measure("require_modelled", True, warned) == Measurement(0, (Offence(0, note="upgrade.from is 2.3"),))
    assert measure("require_modelled", False, warned) == Measurement(0)


def test_must_follow_target() -> None:
    assert measure("must_follow_target", True, target_cases.planned()) == Measurement(1)
    assert not RULES["must_follow_target"].applies(target_cases.planned(None))
    few = target_cases.target(slots=target_cases.fewer_slots())
    found = measure("must_follow_target", True, target_cases.planned(few))
    assert blamed(found) == [(1, None, 0)]
    assert found.offences[0].note == (
        "The target file never counts, and the application decides without a plan: the group has more instances than "
        "the file has slots (more-members). To mend it, export a plan with as many instances"
    )
    assert measure("must_follow_target", False, target_cases.planned(few)) == Measurement(0)


def test_a_target_file_that_may_expire_before_the_plan_ends_is_unknown() -> None:
    result = target_cases.planned()
    expires_ms = expiry_ms(result)
    assert expires_ms is not None
    for longest_ms, value in ((expires_ms, 1), (expires_ms + 1, 0)):
        ranges = (FigureRange("duration_ms", 0, longest_ms),)
        found = measure("must_follow_target", True, replace(result, summary=replace(result.summary, ranges=ranges)))
        assert (found.value, found.unknown, len(found.offences)) == (value, not value, 1 - value)


@pytest.mark.parametrize("code", ["not-modelled", "leaves-on-close"])
def test_no_figure_is_known_where_a_setting_decides_otherwise(code: str) -> None:
    figures = [name for name, rule in RULES.items() if rule.unknown_with]
    assert {"must_settle", "max_cold_handovers", "max_pause_per_task", "max_moves", "min_standbys"} <= {*figures}
    assert [name for name in figures if code not in RULES[name].unknown_with] == []


def test_max_duration_blames_the_first_round_that_is_late() -> None:
    assert measure("max_duration", 660_100) == Measurement(660_100)
    assert blamed(measure("max_duration", 660_099)) == [(22, None, 660_100)]
    assert blamed(measure("max_duration", 63_000)) == [(3, None, 660_100)]
    assert plan_cases.case("scale-out").rounds[2].at_ms > 63_000 >= plan_cases.case("scale-out").rounds[1].at_ms


def test_max_rebalances_blames_the_first_one_too_many() -> None:
    assert measure("max_rebalances", 22) == Measurement(22)
    assert blamed(measure("max_rebalances", 7)) == [(8, None, 22)]


def test_max_moves_blames_those_beyond_the_limit() -> None:
    assert measure("max_moves", 20) == Measurement(20)
    assert blamed(measure("max_moves", 18)) == [(22, "1_10", None), (22, "1_11", None)]


def test_max_warmups_blames_those_beyond_the_limit() -> None:
    assert measure("max_warmups", 20) == Measurement(20)
    assert blamed(measure("max_warmups", 18)) == [(19, "1_10", 4000), (19, "1_11", 4000)]


def test_max_cold_handovers_blames_each() -> None:
    assert measure("max_cold_handovers", 0) == Measurement(0)
    crash = plan_cases.case("crash")
    found = measure("max_cold_handovers", 0, crash)
    cold = [(1, str(step.task_id)) for step in crash.rounds[0].steps if getattr(step, "caught_up", True) is False]
    assert found.value == crash.summary.cold_handovers == len(cold) > 0
    assert [one[:2] for one in blamed(found)] == cold


def test_max_pause_per_task_blames_the_longest_first() -> None:
    assert measure("max_pause_per_task", 30_100) == Measurement(30_100)
    found = measure("max_pause_per_task", 30_000)
    assert blamed(found) == [(22, "2_0", 30_100), (22, "2_3", 30_100), (22, "2_4", 30_100)]
    assert {one.note for one in found.offences} == {"in 11 pauses together"}


def test_max_pause_per_handover_blames_task_and_round() -> None:
    assert measure("max_pause_per_handover", 3_000) == Measurement(3_000)
    found = measure("max_pause_per_handover", 2_999)
    of_the_plan = [pause for pause in plan_cases.case("scale-out").pauses if pause.length_ms == 3_000]
    assert len(found.offences) == len(of_the_plan)
    assert blamed(found)[0] == (4, "0_0", 3_000)


def test_max_pause_in_all_adds_up_and_blames_the_round_by_which_it_is_too_long() -> None:
    pauses = list(plan_cases.case("scale-out").pauses)
    total = sum(pause.length_ms for pause in pauses)
    assert measure("max_pause_in_all", total) == Measurement(total)
    first = MeasuredPlan(plan_cases.case("scale-out")).round_at(pauses[0].to_ms)
    last = MeasuredPlan(plan_cases.case("scale-out")).round_at(pauses[-1].to_ms)
    for limit, number in ((total - 1, last), (0, first)):
        assert blamed(measure("max_pause_in_all", limit)) == [(number, None, total)]


def test_max_paused_tasks_at_once_blames_the_rounds() -> None:
    assert measure("max_paused_tasks_at_once", 9) == Measurement(9)
    found = blamed(measure("max_paused_tasks_at_once", 8))
    assert {(task, paused) for _, task, paused in found} == {(None, 9)}
    rounds = {rnd.number: rnd for rnd in plan_cases.case("scale-out").rounds}
    for number, _, paused in found:
        stopped = [step for step in rounds[number].steps if step.kind in ("revoke", "demote")]
        assert len(stopped) == paused


def test_a_task_that_is_unassigned_when_the_plan_begins_is_paused_even_if_it_starts_at_once() -> None:
    row = one_standby.row(stores="persistent")
    row["instances"][2]["consumers"][0]["active"] = []
    unassigned = plan(snapshot_from_row(row, "unassigned"))
    assert (list(unassigned.pauses), unassigned.pauses.most_at_once, len(unassigned.pauses.most_together())) == (
        [],
        1,
        1,
    )
    assert measure("max_paused_tasks_at_once", 1, unassigned) == Measurement(1)
    assert blamed(measure("max_paused_tasks_at_once", 0, unassigned)) == [(1, None, 1)]


def test_max_restored_records_blames_what_goes_beyond() -> None:
    assert measure("max_restored_records", 58_000) == Measurement(58_000)
    assert blamed(measure("max_restored_records", 57_999)) == [(19, "1_11", 4_000)]


def test_an_unknown_amount_of_records_is_too_much() -> None:
    found = measure("max_restored_records", 10**18, "unknown-end-offsets")
    assert found.value is None
    assert all(one.value is None for one in found.offences)
    assert found.offences


def test_max_peak_extra_copies_blames_the_rounds() -> None:
    assert measure("max_peak_extra_copies", 4) == Measurement(4)
    found = measure("max_peak_extra_copies", 3)
    assert blamed(found)[0] == (3, None, 4)
    held = {
        rnd.number: sum(len(item.warmup) + len(item.temporary) for item in rnd.assigned)
        for rnd in plan_cases.case("scale-out").rounds
    }
    assert {one.round_number for one in found.offences} == {number for number, copies in held.items() if copies > 3}


def _running(*tasks_of: str, threads: tuple[int, ...] | None = None) -> Plan:
    """A settled plan of instances i0, i1, … with these active tasks, all on the first thread."""
    names = [text.split() for text in tasks_of]
    tasks = [Task(task_id=TaskId.parse(name), stateful=True) for held in names for name in held]
    instances = [
        Instance(process_id=f"i{n}", consumers=tuple(Consumer(consumer_id=f"i{n}-{t}") for t in range(number)))
        for n, number in enumerate(threads or (1,) * len(names))
    ]
    group = Group.of("orders", tasks, instances)
    final = [Holding()] * len(group.consumer_ids)
    for consumers, held in zip(group.consumers_of, names, strict=True):
        final[consumers.start] = Holding(tuple(sorted(group.task_index[TaskId.parse(name)] for name in held)))
    return _of_group(group, tuple(final))


def _of_group(group: Group, final: tuple[Holding, ...]) -> Plan:
    members = tuple((instance.process_id, instance.capacity) for instance in group.instances)
    return replace(plan_cases.case("settled"), group=group, initial=final, final=final, members=members, rounds=())


def _figures(instance: int, subtopology: int, literal: int) -> tuple[tuple[str, int], ...]:
    return (
        ("instance_balance", instance),
        ("subtopology_balance", subtopology),
        ("instances_per_subtopology", literal),
    )


def _who(found: Measurement) -> list[tuple[int | None, str | None, str]]:
    return [(one.value, one.process_id, one.note) for one in found.offences]


def test_balance_factor_is_kept_by_both() -> None:
    assert measure("balance_factor", 1, _running("0_0 1_0", "0_1 1_1")) == Measurement(0, (), _figures(0, 0, 0))
    assert measure("balance_factor", 1, _running("0_0 1_0", "0_1")) == Measurement(1, (), _figures(1, 1, 1))
    assert measure("balance_factor", 2, _running("0_0 0_1", "1_0 1_1")) == Measurement(2, (), _figures(0, 2, 0))


def test_balance_factor_blames_the_instances_with_most_and_least_tasks() -> None:
    """Each subtopology's one task is spread as well as can be, but all three are on one instance."""
    found = measure("balance_factor", 1, _running("0_0 1_0 2_0", "", ""))
    assert (found.value, found.figures) == (3, _figures(3, 1, 0))
    assert _who(found) == [(3, "i0", "runs 3 tasks, the most"), (3, "i1", "runs 0 tasks, the least")]
    stuck = measure("balance_factor", 4, "never-ready")
    assert (stuck.value, stuck.figures) == (5, _figures(5, 4, 1))
    assert [note for *_, note in _who(stuck)] == ["runs 8 tasks, the most", "runs 3 tasks, the least"]


def test_balance_factor_blames_the_subtopology_that_lies_on_few_instances() -> None:
    found = measure("balance_factor", 1, _running("0_0 0_1", "1_0 1_1"))
    assert (found.value, found.figures) == (2, _figures(0, 2, 0))
    assert _who(found) == [
        (2, "i0", "runs 2 tasks of subtopology 0, the most"),
        (2, "i1", "runs 0 tasks of subtopology 0, the least"),
        (2, "i1", "runs 2 tasks of subtopology 1, the most"),
        (2, "i0", "runs 0 tasks of subtopology 1, the least"),
    ]


def test_balance_factor_has_no_limit_for_what_few_partitions_make_impossible() -> None:
    """One partition runs on one instance and three on three, whoever deals them."""
    found = measure("balance_factor", 1, _running("0_0 1_0", "1_1 2_0", "1_2 2_1"))
    assert found == Measurement(1, (), _figures(0, 1, 2))


def test_balance_factor_goes_by_capacity() -> None:
    fair = _running("0_0 0_1", "0_2", threads=(2, 1))
    assert measure("balance_factor", 1, fair) == Measurement(0, (), _figures(0, 0, 0))
    rounded = _running("0_0 0_1 0_2", "0_3", threads=(2, 1))
    assert measure("balance_factor", 1, rounded) == Measurement(1, (), _figures(1, 1, 0))
    uneven = measure("balance_factor", 1, _running("0_0", "0_1 0_2 0_3", threads=(2, 1)))
    assert (uneven.value, uneven.figures) == (2, _figures(2, 2, 0))
    assert _who(uneven) == [
        (2, "i0", "runs 1 task, its share is 2 to 3"),
        (2, "i0", "runs 1 task of subtopology 0, its share is 2 to 3"),
    ]
    # 30 tasks over 6 + 4 x 2 threads: 12.9 are the share of the first, which runs 6
    assert measure("balance_factor", 1, _with_threads(plan_cases.case("settled"), first=4)).value == 1 + (12 - 6)


@given(strategies.groups(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_balance_factor_is_what_counting_gives(group: Group, rng: random.Random, limit: int) -> None:
    held: list[list[int]] = [[] for _ in group.consumer_ids]
    for task in range(len(group.tasks)):
        rng.choice(held).append(task)
    final = tuple(Holding(tuple(entry)) for entry in held)
    found = measure("balance_factor", limit, _of_group(group, final))
    item = balance_of(group, final)
    figures = dict(found.figures)
    assert figures["instances_per_subtopology"] == item.subtopology_spread
    if len(set(group.capacities)) == 1:
        assert (figures["instance_balance"], figures["subtopology_balance"]) == (
            item.balance_factor,
            item.subtopology_task_spread,
        )
    assert found.value == max(figures["instance_balance"], figures["subtopology_balance"])
    assert bool(found.offences) == (found.value > limit)
    assert {one.process_id for one in found.offences} <= set(group.instance_index)
    widths = [one.value or 0 for one in found.offences]
    assert widths == sorted(widths, reverse=True)


def _with_threads(plan: Plan, first: int) -> Plan:
    """The same holdings, on a first instance with more threads."""
    one, *others = plan.group.instances
    more = tuple(replace(one.consumers[0], consumer_id=f"{one.consumers[-1].consumer_id}-{n}") for n in range(first))
    group = Group(
        plan.group.application_id, plan.group.tasks, (replace(one, consumers=(*one.consumers, *more)), *others)
    )
    place = len(one.consumers)
    empty = type(plan.final[0])()
    final = (*plan.final[:place], *[empty] * first, *plan.final[place:])
    return _of_group(group, final)


def test_balance_factor_goes_by_the_threads_at_the_end() -> None:
    before = captured_scenarios.before("scale-out")
    i3 = next(instance.process_id for instance in before.state.group.instances if instance.host == "i3")
    fewer = plan(before, scenario=Scenario(events=(Threads(at_ms=0, process_id=i3, threads=1),)))
    assert sorted(threads for _, threads in fewer.members) == [1, 2, 2]
    assert sum(fewer.group.capacities) == 6
    assert dict(measure("balance_factor", 9, fewer).figures)["instance_balance"] == 0


_NUMBERS = (Kind.COUNT, Kind.DURATION)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.kind in _NUMBERS and not rule.of_input])
def test_no_rule_is_put_off_by_what_may_happen(name: str, protocol: str) -> None:
    for whatever_happen in _whatever_happens(protocol):
        low, high = (measure(name, limit, whatever_happen) for limit in (0, 2**63 - 1))
        assert low.value == high.value or not whatever_happen.group.stateful
        if not RULES[name].at_least:
            assert bool(low.offences) == bool(low.value)
            assert not high.offences
        for one in (*low.offences, *high.offences):
            assert one.round_number is None or 1 <= one.round_number <= len(whatever_happen.rounds)


@cache
def _whatever_happens(protocol: str) -> tuple[Plan, ...]:
    cases = (random_case(seed) for seed in range(25))
    return tuple(
        plan(snapshot, scenario=with_random_ids(scenario, snapshot.state.group, 0), protocol=protocol, max_rounds=60)
        for snapshot, scenario in cases
    )


def test_min_standbys_blames_the_tasks_that_are_short() -> None:
    assert measure("min_standbys", 1, "scale-out-standbys") == Measurement(1)
    assert measure("min_standbys", 0) == Measurement(0)
    plan = plan_cases.case("scale-out-standbys")
    short = tuple(held._replace(standby=()) if consumer == 0 else held for consumer, held in enumerate(plan.final))
    lost = [str(plan.group.tasks[task].task_id) for task in plan.final[0].standby]
    assert lost
    assert [one[1] for one in blamed(measure("min_standbys", 1, replace(plan, final=short)))] == lost


def test_distinct_tag_values_blames_the_tasks_in_too_few() -> None:
    plan = _tagged("aaaba")
    assert measure("distinct_tag_values", (("zone", 1),), plan) == Measurement(1)
    found = measure("distinct_tag_values", (("zone", 2),), plan)
    zones = {
        str(plan.group.tasks[task].task_id): {
            "aaaba"[plan.group.instance_of[c]]
            for c, held in enumerate(plan.final)
            if task in (*held.active, *held.standby)
        }
        for task in plan.group.stateful
    }
    assert [one[1] for one in blamed(found)] == [task for task, item in zones.items() if len(item) < 2]
    assert found.offences
    assert measure("distinct_tag_values", (("zone", 2),), _tagged("abcde")) == Measurement(2)


def _tagged(zones: str) -> Plan:
    plan = plan_cases.case("scale-out-standbys")
    instances = tuple(
        replace(instance, client_tags=(("zone", zone),))
        for instance, zone in zip(plan.group.instances, zones, strict=False)
    )
    return replace(plan, group=Group(plan.group.application_id, plan.group.tasks, instances))


def test_max_snapshot_age() -> None:
    plan = plan_cases.case("scale-out")
    at = replace(plan, captured_at="2026-11-21T13:59:00.000Z")
    assert measure("max_snapshot_age", 60_000, at) == Measurement(60_000)
    assert measure("max_snapshot_age", 59_999, at).value == 60_000
    assert [one.note for one in measure("max_snapshot_age", 59_999, at).offences] == ["old"]
    ahead = replace(plan, captured_at="2026-11-21T14:01:00Z")
    assert [one.note for one in measure("max_snapshot_age", 59_999, ahead).offences] == ["ahead of the clock"]
    for unknown in (None, "yesterday"):
        assert measure("max_snapshot_age", 10**15, replace(plan, captured_at=unknown)).value is None
        assert measure("max_snapshot_age", 10**15, replace(plan, captured_at=unknown)).offences
    assert measure("--max-snapshot-age", 60_000, at) == measure("max_snapshot_age", 60_000, at)


@pytest.mark.parametrize("name", ["require_generation", "--require-generation"])
def test_require_generation(name: str) -> None:
    assert measure(name, 1) == Measurement(1)
    assert blamed(measure(name, 2)) == [(None, None, 1)]
    assert "require_generation" in RULES
    assert "--require-generation" in GUARDS


def test_expect_digest() -> None:
    digest = plan_cases.case("scale-out").digest
    assert measure("--expect-digest", ("0" * 12, digest[:12])) == Measurement(1)
    assert [one.note for one in measure("--expect-digest", ("0" * 12,)).offences] == [digest]
    assert "--max-snapshot-age" in GUARDS
