"""What is exactly at its limit is allowed, what is one beyond it is to blame, and nothing else is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Group, Note
from kstream_plan.model.times import format_time
from kstream_plan.plans import FigureRange, HandOver, Place, Plan, Promote, Role, Step, restores_anew
from kstream_plan.plans.longest_pause import PAUSE_RULES
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.rules import RULES, MeasuredPlan, Measurement, Offence
from kstream_plan.policy.rules.measuring import UNKNOWN
from kstream_plan.policy.rules.origins import snapshot_age
from kstream_plan.policy.rules.over_draws import LATER_RULES, measure_rules, no_better, over_draws, worst
from tests.helpers import plan_cases, target_cases
from tests.helpers.random_scenarios import play

TAGS = RULES["distinct_tag_values"]
PLANS = st.sampled_from(["scale-out", "crash", "crash-standbys"]).map(plan_cases.case) | st.integers(0, 30).map(play)


def near(values: list[int]) -> list[int]:
    """Limits at, just below and just above what is measured."""
    return sorted({max(0, value + more) for value in values for more in (-1, 0, 1)} | {0})


def measure(plan: Plan, rule: str, limit: int) -> Measurement:
    return RULES[rule].measure(MeasuredPlan(plan), limit)


@given(PLANS)
def test_tasks_that_pause_longer_in_all_are_to_blame(made: Plan) -> None:
    totals = {task_id: sum(p.length_ms for p in made.pauses if p.task_id == task_id) for task_id in made.pauses.ms}
    times = Counter(pause.task_id for pause in made.pauses)
    for limit in near([*totals.values()]):
        found = measure(made, "max_pause_per_task", limit)
        assert found.value == max(totals.values(), default=0)
        blamed = {offence.task_id: offence.value for offence in found.offences}
        assert blamed == {task_id: total for task_id, total in totals.items() if total > limit}
        for offence in found.offences:
            number = times[offence.task_id]  # type: ignore[index]
            assert offence.note == ("1 pause" if number == 1 else f"in {number:,} pauses together")
        assert [*found.offences] == sorted(found.offences, key=lambda one: -(one.value or 0))


@given(PLANS)
def test_single_pauses_that_are_longer_are_to_blame(made: Plan) -> None:
    lengths = [pause.length_ms for pause in made.pauses]
    for limit in near(lengths):
        found = measure(made, "max_pause_per_handover", limit)
        assert found.value == max(lengths, default=0)
        longer = sorted((length for length in lengths if length > limit), reverse=True)
        assert [offence.value for offence in found.offences] == longer


@given(PLANS)
def test_all_pauses_together_are_to_blame_from_where_they_are_too_many(made: Plan) -> None:
    total = sum(pause.length_ms for pause in made.pauses)
    for limit in near([total, total // 2]):
        found = measure(made, "max_pause_in_all", limit)
        assert found.value == total
        assert bool(found.offences) == (total > limit)
        if not found.offences:
            continue
        so_far, by_ms = 0, 0
        for pause in made.pauses:
            so_far += pause.length_ms
            by_ms = pause.to_ms
            if so_far > limit:
                break
        assert [offence.round_number for offence in found.offences] == [MeasuredPlan(made).round_at(by_ms)]


@given(PLANS)
def test_so_many_tasks_pause_at_once(made: Plan) -> None:
    moments = sorted({0, *(at_ms for pause in made.pauses for at_ms in (pause.from_ms, pause.to_ms))})
    idle = len(made.group.tasks) - len({task for held in made.initial for task in held.active})
    paused = [sum(pause.from_ms <= at_ms < pause.to_ms for pause in made.pauses) for at_ms in moments]
    still = [max(number, idle) if at_ms == 0 else number for at_ms, number in zip(moments, paused, strict=True)]
    for limit in near(still):
        found = measure(made, "max_paused_tasks_at_once", limit)
        assert found.value == max(still)
        beyond = sorted((number for number in still if number > limit), reverse=True)
        assert [offence.value for offence in found.offences] == beyond


@given(PLANS)
def test_the_first_round_that_is_late_is_to_blame(made: Plan) -> None:
    by_ms = made.in_effect_ms
    for limit in near(by_ms):
        found = measure(made, "max_duration", limit)
        assert found.value == max(by_ms, default=0)
        late = [rnd.number for rnd, at_ms in zip(made.rounds, by_ms, strict=True) if at_ms > limit]
        assert [offence.round_number for offence in found.offences] == late[:1]
    least = replace(made, summary=replace(made.summary, duration_is="least"))
    assert measure(least, "max_duration", 2**62) == UNKNOWN


@given(PLANS, st.integers(0, 3))
def test_tasks_with_fewer_standbys_are_to_blame_the_worst_first(made: Plan, limit: int) -> None:
    counts = {task: sum(task in held.standby for held in made.final) for task in made.group.stateful}
    found = measure(made, "min_standbys", limit)
    assert found.value == min(counts.values(), default=limit)
    short = {made.group.tasks[task].task_id: number for task, number in counts.items() if number < limit}
    assert {offence.task_id: offence.value for offence in found.offences} == short
    assert [offence.value for offence in found.offences] == sorted(short.values())


COPIES = st.sampled_from(["scale-out-standbys", "crash-standbys", "crash"]).map(plan_cases.case) | st.integers(
    0, 30
).map(play)


def _steps(plan: Plan, *kinds: type[Step]) -> list[tuple[int, Any]]:
    return [(rnd.number, step) for rnd in plan.rounds for step in rnd.steps if isinstance(step, kinds)]


def _offence(number: int, step: Any) -> Offence:
    return Offence(step.restore_records, number, step.task_id, step.to.process_id)


@given(COPIES)
def test_warm_up_copies_and_cold_starts_beyond_the_limit_are_to_blame_in_their_order(made: Plan) -> None:
    warm_ups = [_offence(*step) for step in _steps(made, Place) if step[1].to.role is Role.WARMUP]
    cold = [_offence(*step) for step in _steps(made, HandOver, Promote) if not step[1].caught_up]
    for rule, events in (("max_warmups", warm_ups), ("max_cold_handovers", cold)):
        for limit in near([len(events)]):
            found = measure(made, rule, limit)
            assert found == Measurement(len(events), tuple(events[limit:]))


@given(COPIES)
def test_tasks_that_have_moved_are_to_blame_in_the_order_in_which_they_last_start(made: Plan) -> None:
    last = {step.task_id: number for number, step in _steps(made, HandOver, Promote)}
    found = measure(made, "max_moves", 0)
    assert found.value == made.summary.moves == len(found.offences)
    assert [one.round_number for one in found.offences] == [last.get(one.task_id) for one in found.offences]
    order = [one.round_number or 0 for one in found.offences]
    assert order == sorted(order)
    runs = {
        made.group.tasks[task].task_id: made.group.instances[made.group.instance_of[consumer]].process_id
        for consumer, held in enumerate(made.final)
        for task in held.active
    }
    assert [one.process_id for one in found.offences] == [runs.get(one.task_id) for one in found.offences]
    for limit in near([found.value]):
        assert measure(made, "max_moves", limit) == Measurement(found.value, found.offences[limit:])


@given(COPIES)
def test_restores_beyond_the_limit_are_to_blame_and_what_is_unknown_always(made: Plan) -> None:
    anew = [_offence(*step) for step in _steps(made, Place, HandOver, Promote) if restores_anew(step[1], made.group)]
    in_all = made.summary.restored_records
    known = sum(one.value or 0 for one in anew)
    for limit in near([known, known // 2]):
        found = measure(made, "max_restored_records", limit)
        assert found.value == in_all
        blamed, total = [], 0
        for one in anew:
            total += one.value or 0
            if one.value is None or (one.value and total > limit):
                blamed.append(one)
        if in_all is not None:
            assert bool(found.offences) == (in_all > limit)
        if in_all is None or in_all > limit:
            assert list(found.offences) == blamed
        assert found.unknown == (in_all is None and known <= limit)


@given(COPIES)
def test_rounds_with_more_copies_at_once_are_to_blame_the_worst_first(made: Plan) -> None:
    copies = {rnd.number: sum(len(held.warmup) + len(held.temporary) for held in rnd.assigned) for rnd in made.rounds}
    for limit in near(list(copies.values())):
        found = measure(made, "max_peak_extra_copies", limit)
        assert found.value == max(copies.values(), default=0)
        beyond = sorted(((-number, item) for item, number in copies.items() if number > limit))
        assert found.offences == tuple(Offence(-number, item) for number, item in beyond)


@given(COPIES)
def test_the_first_rebalance_too_many_is_to_blame(made: Plan) -> None:
    number = len(made.rounds)
    for limit in near([number]):
        beyond = (Offence(number, made.rounds[limit].number),) if number > limit else ()
        assert measure(made, "max_rebalances", limit) == Measurement(number, beyond)


@pytest.mark.parametrize(("late_ms", "kept"), [(-60_000, True), (60_000, True), (60_001, False), (-60_001, False)])
def test_a_snapshot_is_as_old_as_is_allowed(late_ms: int, kept: bool) -> None:
    result = replace(plan_cases.case("settled"), captured_at=format_time(1_000_000_000_000))
    now = datetime.fromtimestamp((1_000_000_000_000 + late_ms) / 1000, UTC)
    found = snapshot_age(MeasuredPlan(result, now), 60_000)
    assert (found.value, not found.offences) == (abs(late_ms), kept)
    assert [offence.note for offence in found.offences] == (
        [] if kept else ["old" if late_ms > 0 else "ahead of the clock"]
    )


def tags_over(shown: int | None, others: dict[str, int | None], limit: tuple[tuple[str, int], ...]) -> Measurement:
    broken = shown is not None and any(shown < wanted for _, wanted in limit)
    of_shown = Measurement(shown, (Offence(shown, note="zone: 2"),) if broken else ())
    by_tag = {f"distinct_tag_values {tag}": value for tag, value in others.items()}
    return over_draws("distinct_tag_values", TAGS, of_shown, OverDraws(9, 0, by_tag), limit)


def test_how_copies_lie_in_other_draws_counts_where_the_shown_one_is_better() -> None:
    worse = tags_over(2, {"zone": 1}, (("zone", 2),))
    assert worse == Measurement(1, (Offence(1, note="zone: 2"),), worst_of=9, unknown=True)
    assert tags_over(3, {"zone": 2}, (("zone", 2),)) == Measurement(2, worst_of=9)
    assert tags_over(2, {"zone": 2}, (("zone", 2),)) == Measurement(2)
    assert tags_over(2, {"rack": 1}, (("zone", 2),)) == Measurement(2)
    assert tags_over(None, {"zone": 1}, (("zone", 1),)) == Measurement(1, worst_of=9)
    assert tags_over(None, {"zone": None}, (("zone", 1),)) == Measurement(None)


def test_what_the_shown_draw_breaks_is_broken_in_all_of_them() -> None:
    broken = tags_over(1, {"zone": 0}, (("zone", 2),))
    assert (broken.value, broken.offences, broken.unknown) == (0, (Offence(1, note="zone: 2"),), False)
    one_of_two = tags_over(2, {"zone": 2, "rack": 2}, (("rack", 3), ("zone", 2)))
    assert not one_of_two.unknown


def test_each_tag_has_a_limit_of_its_own() -> None:
    found = tags_over(3, {"rack": 3, "zone": 2}, (("rack", 3), ("zone", 3)))
    assert [offence.note for offence in found.offences] == ["zone: 3"]
    assert (found.value, found.unknown) == (2, True)


@pytest.mark.parametrize("rule", LATER_RULES[:1])
def test_what_earlier_versions_did_not_save_of_draws_is_unknown(rule: str) -> None:
    kept = Measurement(5)
    assert over_draws(rule, RULES[rule], kept, OverDraws(1, 0, {}), 9) == kept
    assert over_draws(rule, RULES[rule], kept, OverDraws(2, 0, {}), 9) == UNKNOWN
    assert over_draws("max_moves", RULES["max_moves"], kept, OverDraws(2, 0, {}), 9) == kept
    assert over_draws("max_moves", RULES["max_moves"], UNKNOWN, OverDraws(2, 0, {"max_moves": 1}), 9) == UNKNOWN


@pytest.mark.parametrize(("most", "offences"), [(9, ()), (10, (Offence(10),))])
def test_the_worst_draw_is_as_bad_as_is_allowed(most: int, offences: tuple[Offence, ...]) -> None:
    found = over_draws("max_moves", RULES["max_moves"], Measurement(5), OverDraws(4, 0, {"max_moves": most}), 9)
    assert found == Measurement(most, offences, worst_of=4, unknown=bool(offences))


def test_of_every_draw_each_rule_and_each_tag_is_measured() -> None:
    result = plan_cases.case("crash-standbys")
    zones = [replace(one, client_tags=(("zone", str(n % 2)),)) for n, one in enumerate(result.group.instances)]
    group = Group.of(result.group.application_id, [*result.group.tasks], zones)
    tagged = measure_rules(replace(result, group=group))
    values = TAGS.measure(MeasuredPlan(replace(result, group=group)), (("zone", 0),)).value
    assert values is not None
    assert tagged["distinct_tag_values zone"] == values
    assert [key for key in tagged if key.startswith("distinct")] == ["distinct_tag_values zone"]
    of_input = {name for name, rule in RULES.items() if rule.of_input}
    ruled = {key for key in tagged if not key.endswith((" zone", " restored"))}
    of_others = {name for name, rule in RULES.items() if rule.of_workers or rule.of_target}
    assert ruled == RULES.keys() - of_input - of_others - {"distinct_tag_values"}
    assert measure_rules(target_cases.planned())["must_follow_target"] == 1
    for name in ruled - {"must_settle"}:
        assert tagged[name] == RULES[name].worst(MeasuredPlan(result), 2**63 - 1).value, name
    assert tagged["must_settle"] == 1
    assert not [key for key in measure_rules(result) if key.startswith("distinct")]


def test_a_start_that_is_cold_at_worst_restores_in_every_rule_about_pauses() -> None:
    result = plan_cases.case("settled")
    assert not [key for key in measure_rules(result) if key.endswith(" restored")]
    cold = (FigureRange("cold_handovers", 0, 1), FigureRange("max_cold_restore_ms", 0, 60_000))
    found = measure_rules(replace(result, summary=replace(result.summary, ranges=cold)))
    assert {key: found[key] for key in found if key.endswith(" restored")} == {
        f"{rule} restored": 60_000 for rule in PAUSE_RULES
    }


@given(st.lists(st.integers(0, 9) | st.none(), min_size=1, max_size=5))
def test_the_worst_of_some_draws_is_by_rule_the_most_or_the_least(values: list[int | None]) -> None:
    draws = [{"max_moves": value, "min_standbys": value, "distinct_tag_values zone": value} for value in values]
    known = [value for value in values if value is not None]
    most, least = (None, None) if None in values else (max(known), min(known))
    assert worst([*draws, {"max_warmups": 3}]) == {
        "max_moves": most,
        "min_standbys": least,
        "distinct_tag_values zone": least,
        "max_warmups": 3,
    }
    for key in ("max_moves", "min_standbys", "distinct_tag_values zone"):
        assert all(no_better(key, worst(draws)[key], value) for value in values)


def test_what_is_unknown_is_no_better_than_anything_and_nothing_better_than_it() -> None:
    assert no_better("max_moves", None, 5)
    assert not no_better("max_moves", 5, None)
    assert not no_better("max_moves", 4, 5)
    assert no_better("min_standbys", 4, 5)


def test_what_a_plan_doubts_is_unknown_in_every_draw() -> None:
    result = plan_cases.case("settled")
    doubted = measure_rules(replace(result, warnings=(Note("back-before-fenced", "more happens than is played"),)))
    assert (doubted["max_moves"], doubted["max_pause_in_all"], doubted["balance_factor"]) == (None, None, 1)
    contradicted = measure_rules(replace(result, warnings=(Note("group-not-as-told", "contradicts itself"),)))
    assert (contradicted["max_moves"], contradicted["must_settle"]) == (None, 1)
