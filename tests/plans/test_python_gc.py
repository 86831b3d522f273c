"""What was made while the cycle collector rested is not walked once it goes on, but now and then."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from kstream_plan.plans import python_gc
from kstream_plan.plans.python_gc import without_cycle_collector


class Cycle:
    """Something that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


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


def test_a_process_that_makes_many_plans_is_rid_of_their_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_gc._Kept, "blocks", sys.getallocatedblocks() // 2)
    with without_cycle_collector():
        cycles = [Cycle() for _ in range(1_000)]
        first = weakref.ref(cycles[0])
        del cycles
        assert first() is not None, "it rests meanwhile"
    assert first() is None
