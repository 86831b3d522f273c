"""Kafka Connect's eager protocol as a design: everything is dealt out in turn, whatever members had.

Source: page ``connect-rules``, "Eager".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.design import Connect
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, LeaderMemory, not_decided
from kstream_plan.designs.connect.frozen import without_memory
from kstream_plan.designs.connect.items import ConnectorTask, Items, configured, in_order
from kstream_plan.model import Group, Note
from kstream_plan.model.connect_group import ConnectGroup
from kstream_plan.model.times import duration
from kstream_plan.plans.design import FinishedRun


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


@dataclass(frozen=True, slots=True)
class ConnectEager(Connect):
    """Workers that stop everything before they join, and get what is dealt out then: ``connect.protocol=eager``."""

    name: ClassVar[str] = "connect-eager"
    differs_by_release: ClassVar[bool] = False
    behaviour: ClassVar[str] = "connect.protocol=eager"
    assignor: ClassVar[str] = "eager"
    protocol: ClassVar[str] = "eager"

    @property
    def rules(self) -> Rules:
        """How rounds go."""
        return EAGER

    def remembering(self, group: ConnectGroup) -> ConnectGroup:
        """Return the group without memory: no worker remembers anything."""
        return without_memory(group)

    def stopping(self, group: Group) -> frozenset[int]:
        """Return all consumers: a worker gives up everything before it joins."""
        return frozenset(range(len(group.consumer_ids)))

    def assumptions(self, run: FinishedRun) -> tuple[Note, ...]:
        """Return the note that everything stops at every rebalance, and for how long."""
        notes = Connect.assumptions(self, run)
        if not run.rounds:
            return notes
        heartbeat_ms = run.snapshot.config.heartbeat_interval_ms
        message = (
            f"All workers stop all connectors and tasks at every rebalance, for {duration(heartbeat_ms)}: the eager "
            "protocol. That is the time of the heartbeat; stopping and starting take as long as the connectors do"
        )
        return (*notes, Note("eager-stops", message))
