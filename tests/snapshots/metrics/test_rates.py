"""Rates of two scrapes and two sets of end offsets: by hand, and at every edge."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.snapshots.metrics.lags import CopyScrape, Position
from kstream_plan.snapshots.metrics.offsets import Offsets, OffsetSet
from kstream_plan.snapshots.metrics.rates import measured_rates
from kstream_plan.snapshots.metrics.seats import Seats

A, B = ("a", 0), ("b", 0)
SEATS = Seats(
    application_id="x",
    processes={"p": None, "q": None},
    clients={},
    tasks={A: "0_0", B: "1_0"},
    changelogs={"0_0": (A,), "1_0": (B,)},
    sources=frozenset(),
)
NO_ENDS = Offsets()


def ends(*sets: tuple[int | None, dict[tuple[str, int], int]]) -> Offsets:
    return Offsets(tuple(OffsetSet(at_ms, offsets) for at_ms, offsets in sets))


def scrape(
    at_ms: int | None, leads: dict[str, int], lag: int = 1, process_id: str = "p", *, told: bool = True
) -> CopyScrape:
    partitions = {"0_0": A, "1_0": B}
    positions = {task: {partitions[task]: Position(lead=lead, lag=lag)} for task, lead in leads.items()}
    return CopyScrape("file", process_id, at_ms, told, positions, {})


def produced(offsets: Offsets, now_ms: int = 10**9) -> dict[str, tuple[float, int]]:
    found = measured_rates([], SEATS, offsets, now_ms).get("produce", [])
    return {rate["task_id"]: (rate["records_per_second"], rate["intervals"]) for rate in found}


def restored(*scrapes: CopyScrape, offsets: Offsets = NO_ENDS) -> dict[str, tuple[float, int]]:
    found = measured_rates(scrapes, SEATS, offsets, 10**9).get("restore", [])
    return {rate["process_id"]: (rate["records_per_second"], rate["intervals"]) for rate in found}


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(10_000, 40_000))
def test_what_is_written_is_the_median_of_all_intervals(growth: list[int], every_ms: int) -> None:
    total, sets = 0, [(0, {A: 0})]
    for number, more in enumerate(growth, 1):
        total += more
        sets.append((number * every_ms, {A: total}))
    rate, intervals = produced(ends(*sets))["0_0"]
    assert intervals == len(growth)
    assert rate == pytest.approx(median(more * 1000 / every_ms for more in growth))


def test_an_idle_task_is_written_nothing_and_one_that_shrinks_says_nothing() -> None:
    assert produced(ends((0, {A: 5, B: 5}), (10_000, {A: 5, B: 4}))) == {"0_0": (0.0, 1)}


def test_a_task_is_measured_where_all_its_changelogs_are() -> None:
    whole = Seats("x", {}, {}, {A: "0_0", B: "0_0"}, {"0_0": (A, B)}, frozenset())
    sets = ends((0, {A: 0, B: 0}), (10_000, {A: 100}), (20_000, {A: 100, B: 100}))
    [rate] = measured_rates([], whole, sets, 10**9)["produce"]
    assert (rate["records_per_second"], rate["intervals"]) == (10.0, 1)


@pytest.mark.parametrize(("first_ms", "rate"), [(0, (20.0, 1)), (1, (15.0, 2))])
def test_the_last_five_minutes_count(first_ms: int, rate: tuple[float, int]) -> None:
    sets = ends((first_ms, {A: 0}), (250_001, {A: 2_500}), (300_001, {A: 3_500}))
    found = produced(sets)["0_0"]
    assert found[1] == rate[1]
    assert found[0] == pytest.approx(rate[0], rel=0.01)


@pytest.mark.parametrize(("now_ms", "rate"), [(20_000, 2.0), (19_999, 1.0), (10_000, 1.0), (9_999, 4.0)])
def test_what_comes_after_now_counts_only_where_there_is_too_little(now_ms: int, rate: float) -> None:
    sets = ends((0, {A: 0}), (10_000, {A: 10}), (20_000, {A: 40}), (30_000, {A: 120}))
    assert produced(sets, now_ms)["0_0"][0] == (3.0 if now_ms == 9_999 else rate)


def test_sets_without_a_time_or_at_the_same_time_tell_nothing() -> None:
    assert produced(ends((None, {A: 0}), (10_000, {A: 10}))) == {}
    assert produced(ends((10_000, {A: 0}), (10_000, {A: 10}))) == {}


def test_short_intervals_are_put_together() -> None:
    close = ends((0, {A: 0}), (9_999, {A: 1}), (10_000, {A: 100}), (19_999, {A: 1_000}))
    assert produced(close) == {"0_0": (10.0, 1)}
    only_two = ends((0, {A: 0}), (1_000, {A: 10}))
    assert produced(only_two) == {"0_0": (10.0, 1)}


def test_a_rate_is_no_whole_number() -> None:
    assert restored(scrape(0, {"0_0": 0}), scrape(16_000, {"0_0": 100})) == {"p": (6.25, 1)}


def test_an_instance_restores_what_its_copies_do_together() -> None:
    first, second = scrape(0, {"0_0": 0, "1_0": 50}), scrape(10_000, {"0_0": 100, "1_0": 250})
    assert restored(first, second) == {"p": (30.0, 1)}
    other = (scrape(0, {"0_0": 0}, process_id="q"), scrape(20_000, {"0_0": 100}, process_id="q"))
    assert restored(first, *other, second) == {"p": (30.0, 1), "q": (5.0, 1)}


@pytest.mark.parametrize("leads", [{"1_0": 100}, {"0_0": 0}])
def test_a_copy_that_is_new_or_went_back_says_nothing(leads: dict[str, int]) -> None:
    assert restored(scrape(0, {"0_0": 10}), scrape(10_000, leads)) == {}


def test_a_copy_that_stood_still_says_nothing() -> None:
    assert restored(scrape(0, {"0_0": 10}), scrape(10_000, {"0_0": 10})) == {}


@pytest.mark.parametrize(("before", "after", "counts"), [(1, 1, True), (0, 1, False), (1, 0, False)])
def test_without_end_offsets_it_counts_if_it_says_itself_that_it_is_behind(
    before: int, after: int, counts: bool
) -> None:
    assert bool(restored(scrape(0, {"0_0": 0}, before), scrape(10_000, {"0_0": 100}, after))) is counts


@pytest.mark.parametrize(("position", "counts"), [(899, True), (900, False), (901, False)])
def test_with_end_offsets_it_counts_if_it_is_further_behind_than_all_that_was_written(
    position: int, counts: bool
) -> None:
    sets = ends((0, {A: 900}), (10_000, {A: 1_000}))
    scrapes = scrape(0, {"0_0": 0}, 0), scrape(10_000, {"0_0": position}, 0)
    assert bool(restored(*scrapes, offsets=sets)) is counts


def test_one_set_of_end_offsets_does_not_tell_what_was_written() -> None:
    assert restored(scrape(0, {"0_0": 0}, 0), scrape(10_000, {"0_0": 1}, 0), offsets=ends((0, {A: 900}))) == {}
    assert restored(scrape(0, {"0_0": 0}, 1), scrape(10_000, {"0_0": 1}, 1), offsets=ends((0, {A: 0}))) != {}


@pytest.mark.parametrize("at_ms", [None, 0])
def test_scrapes_without_a_time_of_their_own_tell_no_rate(at_ms: int | None) -> None:
    assert restored(scrape(at_ms, {"0_0": 0}), scrape(10_000, {"0_0": 100}, told=False)) == {}
    assert restored(scrape(at_ms, {"0_0": 0}), scrape(at_ms, {"0_0": 100})) == {}


def test_the_last_ten_intervals_of_an_instance_count() -> None:
    slow = [scrape(number * 10_000, {"0_0": number}) for number in range(5)]
    fast = [scrape(50_000 + number * 10_000, {"0_0": 100 + number * 100}) for number in range(11)]
    assert restored(*slow, *fast) == {"p": (10.0, 10)}


@pytest.mark.parametrize("written", [0, 1_000, 10**9])
def test_whatever_is_written_meanwhile_it_counts_as_far_as_where_its_changelog_ended_before(written: int) -> None:
    sets = ends((0, {A: 900}), (10_000, {A: 900 + written}), (20_000, {A: 900 + 2 * written}))
    for position, counts in ((899, True), (900, False)):
        scrapes = scrape(0, {"0_0": 0}, 0), scrape(10_000, {"0_0": position}, 0)
        assert bool(restored(*scrapes, offsets=sets)) is counts


def test_of_a_changelog_without_end_offsets_it_says_itself_that_it_is_behind() -> None:
    """There are ends of another task's changelog alone."""
    sets = ends((0, {B: 900}), (10_000, {B: 900}))
    for lag in (0, 1):
        assert bool(restored(scrape(0, {"0_0": 0}, lag), scrape(10_000, {"0_0": 5}, lag), offsets=sets)) is bool(lag)
