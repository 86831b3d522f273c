"""Random scenarios of small Connect groups."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kstream_plan.model.scenario import (
    CreateConnectors,
    DeleteConnectors,
    Join,
    Leave,
    RescaleConnectors,
    Return,
    TaskCount,
)
from tests.helpers.connect_rows import row, worker

DELAY_MS = 300_000
NAMES = [f"w{number}" for number in range(5)]


@st.composite
def with_connector_changes(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    """The same, and connectors are created, rescaled and deleted meanwhile."""
    item, events = draw(scenarios())
    configured = {connector["name"]: connector["task_count"] for connector in item["connectors"]}
    for at_ms in sorted(draw(st.lists(st.integers(0, 3 * DELAY_MS), min_size=1, max_size=4))):
        name, number = draw(st.sampled_from(["c0", "c1", "c9"])), draw(st.integers(0, 6))
        if name not in configured:
            events.append(CreateConnectors(at_ms=at_ms, task_counts=(TaskCount(name, number),)))
        elif draw(st.booleans()):
            events.append(RescaleConnectors(at_ms=at_ms, task_counts=(TaskCount(name, number),)))
        else:
            events.append(DeleteConnectors(at_ms=at_ms, connectors=(name,)))
            del configured[name]
            continue
        configured[name] = number
    return {**item, "configured": configured}, events


@st.composite
def with_items_held_by_several(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    """The same, and some of what workers hold others hold as well."""
    entry, events = draw(scenarios())
    items = [
        (group["connector"], item) for one in entry["instances"] for group in one["held"] for item in group["items"]
    ]
    for connector, item in draw(st.lists(st.sampled_from(items), max_size=8)):
        held = draw(st.sampled_from(entry["instances"]))["held"]
        held.append({"connector": connector, "items": [item]})
    return entry, events


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    """Some of five workers, who come and go; the first of them holds what was there before."""
    first = draw(st.integers(1, 3))
    names, counts = NAMES[:first], draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
    connectors = {f"c{place}": number for place, number in enumerate(counts)}
    held = {
        name: {
            item: (-1, *range(number)) for place, (item, number) in enumerate(connectors.items()) if place % first == at
        }
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
