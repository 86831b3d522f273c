"""What tests of policies share: a plan's invariants are looked at once, however many rules it is checked by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kstream_plan.plans import Plan
from kstream_plan.plans.invariants import Broken, broken_invariants
from kstream_plan.policy import check


@pytest.fixture(autouse=True, scope="module")
def _invariants_are_looked_at_once() -> Iterator[None]:
    seen: dict[int, tuple[Plan, tuple[Broken, ...]]] = {}

    def once(plan: Plan, *, rebuilt: bool) -> tuple[Broken, ...]:
        if id(plan) not in seen:
            seen[id(plan)] = plan, broken_invariants(plan, rebuilt=rebuilt)
        return seen[id(plan)][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "broken_invariants", once)
        yield
