"""Random scenarios of small Connect groups."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kstream_plan.model.scenario import Join, Leave, Return
from tests.helpers.connect_rows import row, worker

DELAY_MS = 300_000
NAMES = [f"w{number}" for number in range(5)]


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    """Some of five workers, who come and go; the first of them holds what was there before."""
    first = draw(st.integers(1, 3))
    names, counts = NAMES[:first], draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
    connectors = {f"c{place}": number for place, number in enumerate(counts)}
    held = {
        name: {of: (-1, *range(number)) for place, (of, number) in enumerate(connectors.items()) if place % first == at}
        for at, name in enumerate(names)
    }
    here, gone, events, at_ms = set(names), set[str](), list[Any](), 0
    for step_ms in draw(st.lists(st.integers(0, DELAY_MS), max_size=5)):
        at_ms += step_ms
        name = draw(st.sampled_from(NAMES))
        if name in gone:
            events.append(Return(at_ms=at_ms, process_ids=(name,)))
            gone.remove(name)
            here.add(name)
        elif name not in here:
            events.append(Join(at_ms=at_ms, instances=(worker(name),)))
            here.add(name)
        elif len(here) > 1:
            events.append(Leave(at_ms=at_ms, process_ids=(name,)))
            here.remove(name)
            gone.add(name)
    delay_ms = draw(st.sampled_from([0, 60_000, DELAY_MS]))
    return row(connectors, held, config={"scheduled_rebalance_max_delay_ms": delay_ms}), events
