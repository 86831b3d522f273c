"""A probe that changes nothing says which copies the group waits for."""

import pytest

from kstream_plan.plans.activity import events
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_table as table
from tests.helpers import plan_cases


def test_a_probe_without_effect_names_the_copies_it_waits_for() -> None:
    lines = table(plan_cases.case("never-ready")).splitlines()
    rows = [line for line in lines if "probe 1: 0/2" in line or "probe 2: 0/2" in line]
    assert len(rows) == 2
    for row in rows:
        assert row.split("0/2")[1].split() == ["none:", "it", "waits", "for", "0_0", "i3→i5", "0_1", "i1→i3"]
    assert "| none: it waits for |  | 0_0 i3→i5, 0_1 i1→i3 |" in markdown(plan_cases.case("never-ready"))


@pytest.mark.parametrize("name", ["scale-out", "scale-out-standbys", "settled"])
def test_a_group_that_settles_waits_for_nothing_at_the_end(name: str) -> None:
    assert all(not event.awaited for event in events(plan_cases.case(name))[-1:])
