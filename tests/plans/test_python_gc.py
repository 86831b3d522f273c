"""What was made while the cycle collector rested is not walked once it goes on."""

from __future__ import annotations

import gc

from kstream_plan.plans.python_gc import without_cycle_collector


def test_what_was_made_meanwhile_is_old() -> None:
    with without_cycle_collector():
        results = [[number] for number in range(10_000)]
    assert gc.isenabled()
    assert any(one is results for one in gc.get_objects(generation=2))


def test_it_goes_on_resting_where_it_rested_before() -> None:
    gc.disable()
    try:
        with without_cycle_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
