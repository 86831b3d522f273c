"""Connect's eager protocol: everybody stops everything, and all is dealt anew (connect rules, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kstream_plan.designs.connect.items import ConnectorTask, Items, configured, in_order


def deal(task_counts: Mapping[str, int], members: Collection[str]) -> dict[str, Items]:
    """Deal all connectors, then on from there all their tasks, to the members in order of their ids."""
    order = in_order(members)
    everything = configured(task_counts)
    connectors: dict[str, list[str]] = {member: [] for member in order}
    tasks: dict[str, list[ConnectorTask]] = {member: [] for member in order}
    for at, connector in enumerate(everything.connectors):
        connectors[order[at % len(order)]].append(connector)
    for at, task in enumerate(everything.tasks, start=len(everything.connectors)):
        tasks[order[at % len(order)]].append(task)
    return {member: Items(tuple(connectors[member]), tuple(tasks[member])) for member in members}
