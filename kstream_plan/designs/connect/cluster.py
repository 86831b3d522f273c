"""A Connect cluster between its rounds: the leader, what each worker holds, and when it joins again.

Source: page ``connect-rules``, "Between rounds".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kstream_plan.assignors.java.text_maps import HashMapOrder
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, LeaderMemory
from kstream_plan.designs.connect.incremental import decide
from kstream_plan.designs.connect.items import Items, assigned_wire, read_wire, revoked_wire
from kstream_plan.designs.connect.laws import NEWEST, ConnectLaws
from kstream_plan.model.connect_group import NO_SHARED_MEMORY


class Rules(NamedTuple):
    """How rounds go: the decision from what the leader sees and remembers, and what workers do with it.

    ``replaces``: workers stop everything before they join, and what they are told is all that they hold.
    ``laws``: what the release that runs does otherwise than the newest.
    """

    decide: Callable[[ConnectRound, LeaderMemory], ConnectAnswer]
    replaces: bool = False
    laws: ConnectLaws = NEWEST


#: The protocols ``sessioned`` and ``compatible``, as they were shipped.
SHIPPED = Rules(decide)


@dataclass(slots=True)
class Worker:
    """One worker process.

    ``items`` is what it holds, in the order in which it will report it; ``joins_at_ms`` when it joins again by itself
    (``None``: not by itself), ``last_completed`` the generation of its last answer.
    """

    items: Items = field(default_factory=Items)
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    last_completed: int = -1
    joins_at_ms: int | None = None


class WorkerRound(NamedTuple):
    """A simulated round: its time, its leader and its answer."""

    at_ms: int
    generation: int
    leader: str
    answer: ConnectAnswer


class ConnectCluster:
    """The members of one group, private to its simulation.

    Args:
        task_counts: the connectors and the number of their tasks.
        max_delay_ms: ``scheduled.rebalance.max.delay.ms``.
        rules: how rounds go.
        java: the version of the workers' Java.
        bins: how many bins the broker's table of the members has; ``None``: as many as a new one.
    """

    def __init__(
        self,
        task_counts: Mapping[str, int],
        max_delay_ms: int,
        rules: Rules = SHIPPED,
        java: int = 17,
        bins: int | None = None,
    ) -> None:
        self.task_counts = dict(task_counts)
        self.max_delay_ms = max_delay_ms
        self.java = java
        self.to_configure: tuple[tuple[str, int], ...] = ()
        self.workers: dict[str, Worker] = {}
        self.leader: str | None = None
        self.generation = 0
        self.group_memory = NO_SHARED_MEMORY
        self._rules = rules
        self._table = HashMapOrder() if bins is None else HashMapOrder(bins)

    @property
    def members(self) -> list[str]:
        """The member ids in the order of the broker's table."""
        return list(self._table)

    @property
    def bins(self) -> int:
        """How many bins the broker's table has."""
        return self._table.bins

    def join(self, member_id: str, now_ms: int, worker: Worker | None = None) -> None:
        """Let a worker join; ``worker``: a process that was a member before, under another id."""
        if member_id not in self.workers:
            self._table.put(member_id)
        self.workers[member_id] = worker or Worker()
        self.workers[member_id].joins_at_ms = now_ms
        if self.leader is None:
            self.leader = member_id

    def leave(self, member_id: str) -> Worker | None:
        """Take a member out; if it led, the first of the broker's table leads."""
        worker = self.workers.pop(member_id, None)
        if worker is None:
            return None
        self._table.remove(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self._table), None)
        return worker

    def due_ms(self) -> int | None:
        """Return when the next worker joins by itself."""
        return min(
            (worker.joins_at_ms for worker in self.workers.values() if worker.joins_at_ms is not None), default=None
        )

    def run_round(
        self,
        now_ms: int,
        *,
        leader_is_behind: bool = False,
        synced: bool = True,
        unanswered_members: Collection[str] = (),
    ) -> WorkerRound:
        """Simulate a round: all join, the leader decides, all get its answer.

        Args:
            now_ms: the time of it.
            leader_is_behind: the leader's configuration is older than the others'.
            synced: the answers arrive.
            unanswered_members: those to whom none arrives, and who join again.
        """
        assert self.leader is not None
        self.generation += 1
        lead = self.workers[self.leader]
        members = {member: read_wire(assigned_wire(self.workers[member].items, self.java)) for member in self._table}
        connect_round = ConnectRound(
            now_ms=now_ms,
            generation=self.generation,
            last_completed=lead.last_completed,
            task_counts=self.task_counts,
            members=members,
            max_delay_ms=self.max_delay_ms,
            group_memory=self.group_memory,
            leader_is_behind=leader_is_behind,
            java=self.java,
            laws=self._rules.laws,
        )
        answer = self._rules.decide(connect_round, lead.memory)
        lead.memory, self.group_memory = answer.memory, answer.group_memory
        for member, worker in self.workers.items():
            worker.joins_at_ms = now_ms
            if self._rules.replaces:
                worker.items = Items()
            if synced and member not in unanswered_members:
                self._receive(worker, answer, member, now_ms)
        return WorkerRound(now_ms, self.generation, self.leader, answer)

    def _receive(self, worker: Worker, answer: ConnectAnswer, member: str, now_ms: int) -> None:
        """Apply the answer to a worker; after a revocation or an error it joins again at once."""
        got = read_wire(assigned_wire(answer.assigned_items[member], self.java))
        revoked_items = read_wire(revoked_wire(answer.revoked_items[member]))
        connectors, tasks = map(frozenset, revoked_items)
        worker.items = Items(
            (*got.connectors, *(connector for connector in worker.items.connectors if connector not in connectors)),
            (*got.tasks, *(task for task in worker.items.tasks if task not in tasks)),
        )
        worker.last_completed = self.generation
        if answer.error or any(revoked_items):
            worker.joins_at_ms = now_ms
        else:
            worker.joins_at_ms = now_ms + answer.delay_ms if answer.delay_ms > 0 else None
