"""How fast state is restored and written as far as a plan knows: the middle and both ends of what was measured."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Group, Rates
from kstream_plan.plans.known_rates import NOTHING_KNOWN, KnownRate, known_rates
from tests.helpers.small_groups import group

GROUP = group(stateful=4, stateless=2)
_RATES = st.dictionaries(st.integers(0, 2), st.floats(0.5, 9_999.5), max_size=3)
_INTERVALS = st.dictionaries(st.integers(0, 2), st.integers(1, 9))
_SOURCES = st.dictionaries(st.integers(0, 2), st.sampled_from(["log", "lags", "metrics"]))


@given(_RATES, _RATES, _INTERVALS, _SOURCES)
def test_what_was_measured_beats_bounds_and_both_tell_how_well_they_are_known(
    rates: dict[int, float], bounds: dict[int, float], intervals: dict[int, int], sources: dict[int, str]
) -> None:
    found = known_rates(
        Rates(restore=rates, restore_at_least=bounds, restore_intervals=intervals, restore_source=sources), GROUP
    )
    assert found.produce is None
    item = rates or bounds
    if not item:
        assert found == NOTHING_KNOWN
        return
    often = [intervals.get(instance, 0) for instance in item]
    assert found.restore == KnownRate(
        median=median(item.values()),
        least=min(item.values()),
        most=max(item.values()),
        measured=len(item),
        among=3,
        least_intervals=min(often),
        most_intervals=max(often),
        at_least=not rates,
        sources=tuple(sorted({source for instance, source in sources.items() if instance in item})),
    )


def test_what_is_written_counts_for_tasks_with_state_alone() -> None:
    produce = {0: 30.0, 1: 10.0, 2: 20.0, 4: 9_000.0}
    rates = Rates(produce=produce, produce_intervals={0: 3, 1: 5, 4: 1}, produce_source={0: "log", 1: "lags", 4: "x"})
    assert known_rates(rates, GROUP).produce == KnownRate(
        median=20.0,
        least=10.0,
        most=30.0,
        measured=3,
        among=4,
        least_intervals=0,
        most_intervals=5,
        at_least=False,
        sources=("lags", "log"),
    )
    assert known_rates(Rates(produce={4: 1.0}), GROUP).produce is None


@pytest.mark.parametrize("rate", [0.0, 7.5])
def test_what_is_given_beats_all_that_was_measured(rate: float) -> None:
    measured = Rates(restore={0: 1.0}, produce={0: 1.0}, restore_per_instance=rate, produce_per_task=rate)
    found = known_rates(measured, GROUP)
    assert found.restore == KnownRate(rate, rate, rate, 3, 3, 0, 0, at_least=False, sources=("given",))
    assert found.produce == KnownRate(rate, rate, rate, 4, 4, 0, 0, at_least=False, sources=("given",))
    bounded = Rates(restore_at_least={0: 1.0}, restore_per_instance=rate)
    assert known_rates(bounded, GROUP).restore == found.restore


def test_nothing_is_known_of_what_a_group_does_not_have() -> None:
    stateless, nobody = group(stateful=0, stateless=2), Group.of("orders", list(GROUP.tasks), [])
    given_by_hand = Rates(restore_per_instance=5.0, produce_per_task=5.0)
    assert known_rates(given_by_hand, stateless).produce is None
    assert known_rates(given_by_hand, stateless).restore is not None
    assert known_rates(given_by_hand, nobody).restore is None
