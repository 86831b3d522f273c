"""What is exactly at its limit is allowed, what is one beyond it is to blame, and nothing else is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model.times import format_time
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.rules import RULES, MeasuredPlan, Measurement, Offence
from kstream_plan.policy.rules.measuring import UNKNOWN
from kstream_plan.policy.rules.origins import snapshot_age
from kstream_plan.policy.rules.over_draws import LATER_RULES, over_draws
from tests.helpers import plan_cases
from tests.helpers.random_scenarios import play

TAGS = RULES["distinct_tag_values"]
PLANS = st.sampled_from(["scale-out", "crash", "crash-standbys"]).map(plan_cases.case) | st.integers(0, 30).map(play)


def near(values: list[int]) -> list[int]:
    """Limits at, just below and just above what is measured."""
    return sorted({max(0, value + more) for value in values for more in (-1, 0, 1)} | {0})


def measure(made: Plan, rule: str, limit: int) -> Measurement:
    return RULES[rule].measure(MeasuredPlan(made), limit)


@given(PLANS)
def test_tasks_that_pause_longer_in_all_are_to_blame(made: Plan) -> None:
    totals = {task_id: sum(p.length_ms for p in made.pauses if p.task_id == task_id) for task_id in made.pauses.ms}
    times = Counter(pause.task_id for pause in made.pauses)
    for limit in near([*totals.values()]):
        found = measure(made, "max_pause_per_task", limit)
        assert found.value == max(totals.values(), default=0)
        blamed = {offence.task_id: offence.measured for offence in found.offences}
        assert blamed == {task_id: total for task_id, total in totals.items() if total > limit}
        for offence in found.offences:
            number = times[offence.task_id]  # type: ignore[index]
            assert offence.note == f"{number:,} pause{'s' if number > 1 else ''}"
        assert [*found.offences] == sorted(found.offences, key=lambda one: -(one.measured or 0))


@given(PLANS)
def test_single_pauses_that_are_longer_are_to_blame(made: Plan) -> None:
    lengths = [pause.length_ms for pause in made.pauses]
    for limit in near(lengths):
        found = measure(made, "max_pause_per_handover", limit)
        assert found.value == max(lengths, default=0)
        longer = sorted((length for length in lengths if length > limit), reverse=True)
        assert [offence.measured for offence in found.offences] == longer


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
    moments = sorted({at_ms for pause in made.pauses for at_ms in (pause.from_ms, pause.to_ms)})
    still = [sum(pause.from_ms <= at_ms < pause.to_ms for pause in made.pauses) for at_ms in moments]
    for limit in near(still):
        found = measure(made, "max_paused_tasks_at_once", limit)
        assert found.value == max(still, default=0)
        beyond = sorted((number for number in still if number > limit), reverse=True)
        assert [offence.measured for offence in found.offences] == beyond


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
    assert {offence.task_id: offence.measured for offence in found.offences} == short
    assert [offence.measured for offence in found.offences] == sorted(short.values())


@pytest.mark.parametrize(("late_ms", "kept"), [(-60_000, True), (60_000, True), (60_001, False), (-60_001, False)])
def test_a_snapshot_is_as_old_as_is_allowed(late_ms: int, kept: bool) -> None:
    made = replace(plan_cases.case("settled"), captured_at=format_time(1_000_000_000_000))
    now = datetime.fromtimestamp((1_000_000_000_000 + late_ms) / 1000, UTC)
    found = snapshot_age(MeasuredPlan(made, now), 60_000)
    assert (found.value, not found.offences) == (abs(late_ms), kept)
    assert [offence.note for offence in found.offences] == (
        [] if kept else ["old" if late_ms > 0 else "ahead of the clock"]
    )


def tags_over(shown: int | None, worst: dict[str, int | None], limit: tuple[tuple[str, int], ...]) -> Measurement:
    broken = shown is not None and any(shown < wanted for _, wanted in limit)
    measured = Measurement(shown, (Offence(shown, note="zone: 2"),) if broken else ())
    worst = {f"distinct_tag_values {tag}": value for tag, value in worst.items()}
    return over_draws("distinct_tag_values", TAGS, measured, OverDraws(9, 0, worst), limit)


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


@pytest.mark.parametrize(("worst", "offences"), [(9, ()), (10, (Offence(10),))])
def test_the_worst_draw_is_as_bad_as_is_allowed(worst: int, offences: tuple[Offence, ...]) -> None:
    found = over_draws("max_moves", RULES["max_moves"], Measurement(5), OverDraws(4, 0, {"max_moves": worst}), 9)
    assert found == Measurement(worst, offences, worst_of=4, unknown=bool(offences))
