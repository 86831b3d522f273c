"""The eager decision: everything is dealt out in turn, whoever had what.

Source: page ``connect-rules``, "Eager".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, LeaderMemory, not_decided
from kstream_plan.designs.connect.items import ConnectorTask, Items, configured, in_order


def decide(of: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Decide one round; nothing is revoked, and nobody waits."""
    if of.behind:
        return not_decided(of, memory)
    return ConnectAnswer(
        assigned=deal(of.task_counts, of.members),
        revoked=dict.fromkeys(of.members, Items()),
        delay_ms=0,
        error=0,
        memory=memory,
    )


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


#: How rounds go: who joins has stopped everything, and holds what it is told.
EAGER = Rules(decide, replaces=True)
