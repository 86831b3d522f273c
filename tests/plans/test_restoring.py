"""How long an instance restores what starts cold on it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import LATEST, Copy, Rates, TaskId
from kstream_plan.plans.restore_times import restored_at_ms
from kstream_plan.plans.restoring import Restoring, Span
from tests.helpers.small_groups import group

STARTS = st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 90_000)), min_size=1, max_size=12)


@given(STARTS, st.integers(1, 5_000))
def test_no_rate_is_lost_and_none_is_used_twice(given_: list[tuple[int, int]], rate: int) -> None:
    starts = [(at_ms, amount, TaskId(0, place)) for place, (at_ms, amount) in enumerate(given_)]
    done = restored_at_ms(starts, ((0, rate),))
    assert done.keys() == {(task_id, at_ms) for at_ms, _, task_id in starts}
    ends_ms = Fraction(0)
    for at_ms, amount, _ in sorted(starts):
        ends_ms = max(ends_ms, at_ms) + Fraction(1000 * amount, rate)
    assert abs(max(done.values()) - ends_ms) <= 1
    for at_ms, amount, task_id in starts:
        assert done[task_id, at_ms] + 1 >= at_ms + 1000 * amount / rate, "none is faster than alone"


def test_what_begins_later_takes_half_of_the_rate_from_what_is_under_way() -> None:
    first, second = TaskId(0, 0), TaskId(0, 1)
    done = restored_at_ms([(0, 2_000, first), (1_000, 1_000, second)], ((0, 1_000),))
    assert done == {(first, 0): 3_000, (second, 1_000): 3_000}


@given(reported_ms=st.integers(0, 10_000), lag=st.integers(0, 1_000))
def test_a_copy_restores_from_its_report_on_and_not_before(reported_ms: int, lag: int) -> None:
    """One that was heard of at the very end is as far behind as it said."""
    copy = Copy(0, lag, (0,), lag, consumer=0)
    phases = [Span(Rates(restore_per_instance=10.0), 10_000)]
    restored = Restoring(group(stateful=1), {0: (copy,)}).restore(phases, {(0, 0): reported_ms})
    assert restored.remaining_records(0, 0) == max(0, lag - int((10_000 - reported_ms) / 100))


PARTS = st.lists(st.tuples(st.integers(0, 60), st.booleans(), st.integers(0, 90)), min_size=1, max_size=6)


@given(PARTS, st.integers(0, 900), st.integers(1, 200), st.integers(0, 6))
def test_all_that_comes_is_written_once_its_owner_runs_and_has_restored(
    parts: list[tuple[int, bool, int]], behind: int, produce_rate: int, cut: int
) -> None:
    """Its owner stops or restores for a while, in one interval or in two that follow each other."""
    owner = Copy(0, behind, (0,), behind, consumer=0, active=True)
    rates = Rates(restore_per_instance=10.0, produce_per_task=float(produce_rate))
    phases = [
        Span(rates, 1000 * seconds, frozenset([0]) if stops else frozenset(), {0: burst} if burst else {})
        for seconds, stops, burst in parts
    ]
    came = sum(produce_rate * seconds + burst for seconds, _, burst in parts)
    written, waiting = 0, dict[int, int]()
    for interval in filter(None, (phases[:cut], phases[cut:])):
        found = Restoring(group(stateful=1, end_offset_sum=10**6), {0: (owner,)}, waiting).restore(interval)
        owner = owner._replace(remaining=found.remaining_records(0, 0))
        written, waiting = written + found.written_records(0, 0), dict(found.backlog)
    assert written + waiting.get(0, 0) == came
    if parts[-1][1] or owner.remaining:
        assert waiting.get(0, 0) >= produce_rate * parts[-1][0]
    else:
        assert not waiting


def test_a_copy_is_not_behind_by_what_nobody_wrote_until_the_owner_is_back() -> None:
    """Whether it lacked a record before or none."""
    rates = Rates(restore_per_instance=1_000.0, produce_per_task=950.0)
    active, *standbys = (
        Copy(0, LATEST, (0,), 0, consumer=0, active=True),
        Copy(1, 0, (2,), 0, consumer=2),
        Copy(2, 1, (4,), 1, consumer=4),
    )
    stopped, back = Span(rates, 45_000, frozenset([0])), Span(rates, 1_000)
    of_task = {0: (active, *standbys)}
    restoring = Restoring(group(stateful=1, end_offset_sum=900_000), of_task)
    found = restoring.restore([stopped])
    assert [found.remaining_records(0, copy.instance) for copy in standbys] == [0, 0]
    found = restoring.restore([stopped, back])
    assert [found.remaining_records(0, copy.instance) for copy in standbys] == [46 * 950 - 1_000] * 2
    assert (found.written_records(0, 0), found.backlog) == (46 * 950, {})


@pytest.mark.parametrize(("behind", "written"), [(1_000, 950 * 600), (700_000, 0)])
def test_what_is_written_while_the_active_copy_restores_is_counted_once_it_has(behind: int, written: int) -> None:
    """It restores for a second of ten minutes, or for longer; its input waits meanwhile, and is processed then."""
    active, standby = (
        Copy(0, behind, (0,), behind, consumer=0, active=True),
        Copy(1, 650_000, (2,), 650_000, consumer=2),
    )
    rates = Rates(restore_per_instance=1_000.0, produce_per_task=950.0)
    found = Restoring(group(stateful=1, end_offset_sum=900_000), {0: (active, standby)}).restore([Span(rates, 600_000)])
    assert found.remaining_records(0, 0) == max(0, behind - 600_000)
    assert found.remaining_records(0, 1) == 650_000 + written - 600_000


@given(
    others=st.tuples(st.integers(0, 300), st.integers(0, 300)).map(sorted),
    behind=st.integers(0, 30_000),
    produce_rate=st.integers(0, 40),
)
def test_a_copy_beside_one_that_lacks_less_restores_no_slower(
    others: list[int], behind: int, produce_rate: int
) -> None:
    """Also beside one that lacks nothing: what is written of that takes its share of the rate as well."""
    members = group(stateful=2, stateless=0, end_offset_sum=10**6)
    phases = [Span(Rates(restore_per_instance=50.0, produce_per_task=float(produce_rate)), 600_000)]

    def left(other: int) -> int:
        copies = {
            task: (Copy(0, LATEST, (0,), 0, consumer=0, active=True), Copy(1, lag, (2,), lag, consumer=2))
            for task, lag in enumerate((other, behind))
        }
        return Restoring(members, copies).restore(phases).remaining_records(1, 1)

    assert left(others[0]) <= left(others[1])
    if behind and not others[0] and produce_rate <= 25:
        assert left(0) == max(0, behind + 2 * produce_rate * 600 - 50 * 600)
