"""How copies catch up, fall behind and are reported between two rebalances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import pytest

from kstream_plan.model import LATEST, UNKNOWN, Copy, GroupState, Holding, Rates
from kstream_plan.plans.restoring import Span
from kstream_plan.protocols import PROTOCOLS
from tests.helpers.in_play import Rebalanced, decision
from tests.helpers.small_groups import group, state


class Interval(NamedTuple):
    """From one decision to the next rebalance; ``tick``: a probing one, or as late as one."""

    from_ms: int
    to_ms: int
    tick: bool


GROUP = group()
FOLLOW_UP = Interval(0, 3_000, tick=False)
TICK = Interval(0, 63_000, tick=True)
#: i1 runs 0_0 on its first thread
OWNER = Copy(0, LATEST, (0,), 0, 0, True)
OWNED = {0: Holding((0,))}


def _advance(
    before: GroupState,
    after: dict[int, Holding],
    interval: Interval,
    *,
    waiting: Iterable[int] = (),
    revoking: Iterable[int] = (),
    rates: Rates | None = None,
    phases: tuple[Span, ...] = (),
    protocol: str = "cooperative",
) -> GroupState:
    held = [after.get(consumer, Holding()) for consumer in range(6)]
    rebalanced = Rebalanced(before, decision(held), PROTOCOLS[protocol])
    rebalanced.disturb(revoking, waiting)
    return rebalanced.after(*interval[:2], tick=interval.tick, rates=rates, spans=phases)


def _copy_on(after: GroupState, instance: int, task: int = 0) -> Copy | None:
    return next((copy for copy in after.copies[task] if copy.instance == instance), None)


@pytest.mark.parametrize("lag", [None, 700, UNKNOWN])
def test_without_a_rate_every_assigned_copy_is_caught_up_at_a_tick(lag: int | None) -> None:
    held = {**OWNED, 4: Holding((), (0,))}
    before = state(GROUP, held, {0: (OWNER, Copy(2, lag, (4,), 1000, 4, False))})
    copy = _copy_on(_advance(before, held, TICK), 2)
    assert copy is not None
    assert (copy.lag, copy.remaining, copy.reporters) == (0, 0, (4,))


@pytest.mark.parametrize(
    ("revoking", "waiting", "lag", "reporters"),
    [
        ({4}, (), None, ()),
        ((), {4}, 1000, (4,)),
        ((), (), 1000, (4,)),
    ],
)
def test_a_copy_placed_just_before_a_follow_up_has_nothing(
    revoking: set[int], waiting: set[int], lag: int | None, reporters: tuple[int, ...]
) -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    after = _advance(before, {**OWNED, 4: Holding((), (), (0,))}, FOLLOW_UP, waiting=waiting, revoking=revoking)
    copy = _copy_on(after, 2)
    assert copy is not None
    assert (copy.lag, copy.reporters, copy.remaining, copy.placed_in) == (lag, reporters, 1000, 8)


def test_a_copy_placed_two_generations_before_a_follow_up_is_caught_up() -> None:
    held = {**OWNED, 4: Holding((), (), (0,))}
    before = state(GROUP, held, {0: (OWNER, Copy(2, None, (), 1000, 4, False, placed_in=7))})
    copy = _copy_on(_advance(before, held, FOLLOW_UP, revoking=frozenset({4})), 2)
    assert copy is not None
    assert copy.lag == 0


def test_with_a_rate_an_undisturbed_copy_reports_what_it_restored_within_the_heartbeat() -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    after = _advance(before, {**OWNED, 4: Holding((), (), (0,))}, FOLLOW_UP, rates=Rates(restore_per_instance=100.0))
    copy = _copy_on(after, 2)
    assert copy is not None
    assert (copy.lag, copy.remaining) == (700, 700)


def test_with_a_rate_a_disturbed_copy_has_restored_but_not_reported_it() -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    after = _advance(
        before,
        {**OWNED, 4: Holding((), (), (0,))},
        FOLLOW_UP,
        revoking=frozenset({4}),
        rates=Rates(restore_per_instance=100.0),
    )
    copy = _copy_on(after, 2)
    assert copy is not None
    assert (copy.lag, copy.remaining) == (None, 700)


def test_a_new_active_runs_by_the_next_rebalance() -> None:
    before = state(GROUP, {4: Holding((), (0,))}, {0: (Copy(2, 0, (4,), 0, 4, False),)})
    copy = _copy_on(_advance(before, {4: Holding((0,))}, FOLLOW_UP), 2)
    assert copy is not None
    assert (copy.lag, copy.active) == (LATEST, True)


def test_a_new_active_on_a_consumer_that_rejoins_at_once_does_not_run_yet() -> None:
    before = state(GROUP, {4: Holding((), (0,))}, {0: (Copy(2, 0, (4,), 0, 4, False),)})
    copy = _copy_on(_advance(before, {4: Holding((0,))}, FOLLOW_UP, revoking=frozenset({4})), 2)
    assert copy is not None
    assert (copy.lag, copy.active) == (0, True)


def test_with_a_rate_a_cold_active_reports_its_lag_until_it_is_restored() -> None:
    before = state(GROUP, {}, {})
    rates = Rates(restore_per_instance=10.0)
    after = _advance(before, {4: Holding((0,))}, TICK, rates=rates)
    copy = _copy_on(after, 2)
    assert copy is not None
    assert copy.lag == 1000 - 630
    later = _advance(after, {4: Holding((0,))}, Interval(63_000, 126_000, tick=True), rates=rates)
    copy = _copy_on(later, 2)
    assert copy is not None
    assert copy.lag == LATEST


def test_standbys_wait_while_an_active_restores_on_their_instance() -> None:
    members = group(stateful=3)
    held = {4: Holding((0,), (1,)), 5: Holding((), (2,))}
    after = _advance(
        state(members, {}, {}), held, Interval(0, 10_000, tick=True), rates=Rates(restore_per_instance=140.0)
    )
    # two polls of a thousand: the second one has begun
    assert [after.copies[task][0].remaining for task in range(3)] == [0, 500, 500]


def test_at_a_rate_of_nothing_nothing_is_restored() -> None:
    held = {**OWNED, 4: Holding((), (), (0,))}
    before = state(GROUP, held, {0: (OWNER, Copy(2, 700, (4,), 700, 4, False))})
    copy = _copy_on(_advance(before, held, TICK, rates=Rates(restore_per_instance=0.0)), 2)
    assert copy is not None
    assert (copy.lag, copy.remaining) == (700, 700)


def test_left_over_state_grows_with_what_is_produced() -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    after = _advance(before, {}, TICK, rates=Rates(produce_per_task=2.0))
    copy = _copy_on(after, 0)
    assert copy is not None
    assert (copy.lag, copy.consumer, copy.lost_at_ms, copy.reporters) == (126, None, 0, (0,))


@pytest.mark.parametrize(("to_ms", "kept"), [(600_000, True), (600_001, False)])
def test_left_over_state_is_gone_after_the_cleanup_delay(to_ms: int, kept: bool) -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    after = _advance(before, {}, Interval(0, to_ms, tick=True))
    assert (_copy_on(after, 0) is not None) == kept


def test_left_over_state_is_reported_by_the_thread_that_rejoins_first() -> None:
    held = {0: Holding((1,))}
    before = state(GROUP, held, {0: (Copy(0, 0, (0,), 0, None, lost_at_ms=-5),), 1: (OWNER,)})
    after = _advance(before, held, FOLLOW_UP, revoking=frozenset({1}))
    copy = _copy_on(after, 0)
    assert copy is not None
    assert copy.reporters == (1,)


def test_an_unchanged_group_keeps_its_copies() -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    after = _advance(before, OWNED, TICK)
    assert after == replace(before, generation=8)


def _with_copy(remaining: int) -> tuple[dict[int, Holding], GroupState]:
    """The third instance holds a copy of 0_0 that has so much to restore."""
    held = {**OWNED, 4: Holding((), (0,))}
    return held, state(GROUP, held, {0: (OWNER, Copy(2, remaining, (4,), remaining, 4, False))})


def _lag(held: dict[int, Holding], before: GroupState, *phases: Span) -> int | None:
    rates = phases[-1].rates
    copy = _copy_on(_advance(before, held, TICK, rates=rates, phases=phases), 2)
    assert copy is not None
    return copy.lag


def test_a_copy_that_has_caught_up_is_behind_by_what_arrives_between_two_polls() -> None:
    held, before = _with_copy(0)
    assert _lag(held, before, Span(Rates(produce_per_task=2_000.0), 63_000)) == 200
    assert _lag(held, before, Span(Rates(produce_per_task=2_000.0, restore_per_instance=1e6), 63_000)) == 200


def test_rates_that_change_within_an_interval_count_for_their_time() -> None:
    held, before = _with_copy(1000)
    slow, fast = Rates(restore_per_instance=1.0), Rates(restore_per_instance=10.0)
    assert _lag(held, before, Span(slow, 50_000), Span(fast, 13_000)) == 1000 - 50 - 130


def test_rates_of_some_beat_those_of_all() -> None:
    held, before = _with_copy(1000)
    rates = Rates(restore_per_instance=1.0, restore_of={2: 10.0}, produce_per_task=5.0, produce_of={0: 0.0})
    assert _lag(held, before, Span(rates, 63_000)) == 1000 - 630


def test_an_instance_that_does_not_run_restores_nothing_and_falls_behind() -> None:
    held, before = _with_copy(100)
    rates = Rates(restore_per_instance=1_000.0, produce_per_task=2.0)
    assert _lag(held, before, Span(rates, 63_000, frozenset({2}))) == 100 + 126
    assert _lag(held, before, Span(rates, 30_000, frozenset({2})), Span(rates, 33_000)) == 0


def test_a_burst_is_restored_like_everything_else() -> None:
    held, before = _with_copy(0)
    rates = Rates(restore_per_instance=10.0)
    assert _lag(held, before, Span(rates, 3_000), Span(rates, 60_000, burst={0: 900})) == 900 - 600


def test_a_task_that_changes_its_thread_at_once_stays_on_its_instance() -> None:
    before = state(GROUP, OWNED, {0: (OWNER,)})
    for swapped in ({1: Holding((0,))}, {0: Holding((1,)), 1: Holding((0,))}):
        copy = _copy_on(_advance(before, swapped, TICK, protocol="eager"), 0)
        assert copy is not None
        assert (copy.consumer, copy.active, copy.lost_at_ms) == (1, True, None)
    back = state(GROUP, {1: Holding((0,))}, {0: (OWNER._replace(consumer=1, reporters=(1,)),)})
    copy = _copy_on(_advance(back, OWNED, TICK, protocol="eager"), 0)
    assert copy is not None
    assert (copy.consumer, copy.active, copy.lost_at_ms) == (0, True, None)
