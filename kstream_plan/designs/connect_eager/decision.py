"""The eager decision: everything is dealt out in turn, whatever members had.

Source: page ``connect-rules``, "Eager".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, LeaderMemory, not_decided
from kstream_plan.designs.connect.items import ConnectorTask, Items, configured, in_order


def decide(connect_round: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Decide one round; nothing is revoked, and nothing waits."""
    if connect_round.leader_is_behind:
        return not_decided(connect_round, memory)
    return ConnectAnswer(
        assigned_items=deal(connect_round.task_counts, connect_round.members),
        revoked_items=dict.fromkeys(connect_round.members, Items()),
        delay_ms=0,
        error=0,
        memory=memory,
    )


def deal(task_counts: Mapping[str, int], members: Collection[str]) -> dict[str, Items]:
    """Deal all connectors, then on from there all their tasks, to the members in order of their ids."""
    order = in_order(members)
    items = configured(task_counts)
    connectors: dict[str, list[str]] = {member: [] for member in order}
    tasks: dict[str, list[ConnectorTask]] = {member: [] for member in order}
    for place, connector in enumerate(items.connectors):
        connectors[order[place % len(order)]].append(connector)
    for place, task in enumerate(items.tasks, start=len(items.connectors)):
        tasks[order[place % len(order)]].append(task)
    return {member: Items(tuple(connectors[member]), tuple(tasks[member])) for member in members}


#: How rounds go: a worker stops everything before it joins, and holds its answer.
EAGER = Rules(decide, replaces=True)
