"""What members hold is told by the indices of everyone, and made when it is read if it was to be."""

from __future__ import annotations

import pytest

from kstream_plan.model import Consumer, Group, Holding, Holdings, Instance, LazyHoldings, no_owners
from kstream_plan.planner.roster import Roster
from tests.helpers.small_groups import group

HELD = (Holding((0,)), Holding((1,), warmup=(2,)), *[Holding()] * 4)


def _everyone(present: Group) -> Roster:
    """Somebody comes later whose consumer is the first one of all."""
    return Roster(present, [Instance(process_id="i0", consumers=(Consumer(consumer_id="i0-1"),)), *present.instances])


@pytest.mark.parametrize("stateless", [0, 2])
def test_what_is_held_is_made_when_it_is_read(stateless: int) -> None:
    present, result = group(stateful=3, stateless=stateless), list[str]()

    def make() -> tuple[Holding, ...]:
        result.append("made")
        return HELD

    owners = no_owners(present)
    owners[:] = 1
    lazy = Holdings(LazyHoldings(6, make, 7), present.stateless, owners)
    everyone = _everyone(present)
    found = everyone.holdings(present, lazy)
    stateful = found.stateful if isinstance(found, Holdings) else found
    assert isinstance(stateful, LazyHoldings)
    assert (stateful.extra_copies, len(found), result) == (7, 7, [])
    expected = everyone.holdings(present, Holdings(HELD, present.stateless, owners))
    assert (found, found, expected) == (expected, expected, found)
    assert result == ["made"]
    assert found[1] is HELD[0]
    assert isinstance(expected, Holdings) == isinstance(found, Holdings) == bool(stateless)


def test_who_takes_part_are_everyone_need_no_other_indices() -> None:
    present = group(stateful=3, stateless=0)
    lazy = LazyHoldings(6, lambda: HELD, 1)
    assert Roster(present).holdings(present, Holdings(lazy, (), no_owners(present))) is lazy
