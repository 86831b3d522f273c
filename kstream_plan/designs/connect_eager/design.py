"""Kafka Connect's eager protocol as a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.design import Connect
from kstream_plan.designs.connect.frozen import without_memory
from kstream_plan.designs.connect_eager.decision import EAGER
from kstream_plan.model import Group, Note
from kstream_plan.model.connect_group import ConnectGroup
from kstream_plan.model.times import duration
from kstream_plan.plans.design import FinishedRun


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
