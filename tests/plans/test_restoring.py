"""How long an instance restores what starts cold on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Copy, Rates, TaskId
from kstream_plan.plans.restoring import Restoring, Span, restored_at_ms
from tests.helpers.small_groups import group

STARTS = st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 90_000)), min_size=1, max_size=12)


@given(STARTS, st.integers(1, 5_000))
def test_no_rate_is_lost_and_none_is_used_twice(given_: list[tuple[int, int]], rate: int) -> None:
    starts = [(at_ms, amount, TaskId(0, place)) for place, (at_ms, amount) in enumerate(given_)]
    done = restored_at_ms(starts, rate)
    assert done.keys() == {(task_id, at_ms) for at_ms, _, task_id in starts}
    ends_ms = 0.0
    for at_ms, amount, _ in sorted(starts):
        ends_ms = max(ends_ms, at_ms) + 1000 * amount / rate
    assert abs(max(done.values()) - ends_ms) <= 1
    for at_ms, amount, task_id in starts:
        assert done[task_id, at_ms] + 1 >= at_ms + 1000 * amount / rate, "none is faster than alone"


def test_what_begins_later_takes_half_of_the_rate_from_what_is_under_way() -> None:
    first, second = TaskId(0, 0), TaskId(0, 1)
    done = restored_at_ms([(0, 2_000, first), (1_000, 1_000, second)], 1_000)
    assert done == {(first, 0): 3_000, (second, 1_000): 3_000}


@given(reported_ms=st.integers(0, 10_000), lag=st.integers(0, 1_000))
def test_a_copy_restores_from_its_report_on_and_not_before(reported_ms: int, lag: int) -> None:
    """One that was heard of at the very end is as far behind as it said."""
    copy = Copy(0, lag, (0,), lag, consumer=0)
    phases = [Span(Rates(restore_per_instance=10.0), 10_000)]
    left = Restoring.over(group(stateful=1), {0: (copy,)}, phases, {(0, 0): reported_ms}).remaining(0, copy)
    assert left == max(0, lag - int((10_000 - reported_ms) / 100))


@pytest.mark.parametrize(("behind", "written"), [(1_000, 950 * 600), (700_000, 0)])
def test_what_is_written_while_the_active_copy_restores_is_counted_once_it_has(behind: int, written: int) -> None:
    """It restores for a second of ten minutes, or for longer; its input waits meanwhile, and is processed then."""
    active, standby = (
        Copy(0, behind, (0,), behind, consumer=0, active=True),
        Copy(1, 650_000, (2,), 650_000, consumer=2),
    )
    rates = Rates(restore_per_instance=1_000.0, produce_per_task=950.0)
    found = Restoring.over(group(stateful=1, end_offset_sum=900_000), {0: (active, standby)}, [Span(rates, 600_000)])
    assert found.remaining(0, active) == max(0, behind - 600_000)
    assert found.remaining(0, standby) == 650_000 + written - 600_000
