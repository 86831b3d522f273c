"""Connect's shipped decision, ``IncrementalCooperativeAssignor`` of 4.3, to the bit (connect rules, section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.assignors.java.text_maps import hash_map_order
from kstream_plan.designs.connect.items import (
    ConnectorTask,
    Items,
    copied_order,
    copied_task_order,
    in_order,
    tasks_in_order,
)
from kstream_plan.model.java_hash import java_string_key


class ItemSets(NamedTuple):
    """Connectors and tasks without an order."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[ConnectorTask] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderMemory:
    """What a worker remembers of the rounds that it led; the fields are Kafka's own.

    ``previous`` was assigned in the last of them, ``revocation`` revoked. ``candidates`` may get what is lost, in
    order. ``scheduled_at`` is when the delay ends (0 or less: none runs), ``delay_ms`` what was told of it.
    """

    previous: ItemSets = field(default_factory=ItemSets)
    revocation: ItemSets = field(default_factory=ItemSets)
    revoked_in_previous: bool = False
    candidates: tuple[str, ...] = ()
    scheduled_at: int = 0
    delay_ms: int = 0
    generation: int = -1
    members: frozenset[str] = frozenset()
    successive: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRound:
    """What the leader decides from.

    ``members`` are in JoinGroup order, each with what it reports. ``behind``: the leader's configuration is older than
    a member's, and so is what it then read: no decision. ``java`` is the version of the leader's.
    """

    now_ms: int
    generation: int
    last_completed: int
    task_counts: Mapping[str, int]
    members: Mapping[str, Items]
    max_delay_ms: int
    behind: bool = False
    java: int = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAnswer:
    """What every member is told: what it gets besides what it keeps and what it loses, in order; and the delay."""

    assigned: Mapping[str, Items]
    revoked: Mapping[str, Items]
    delay_ms: int
    error: int
    memory: LeaderMemory


#: The error that members are told if the leader's configuration is behind.
CONFIG_MISMATCH = 1


def decide(of: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Decide one round."""
    if of.behind:
        nothing = MappingProxyType(dict.fromkeys(of.members, Items()))
        return ConnectAnswer(assigned=nothing, revoked=nothing, delay_ms=0, error=CONFIG_MISMATCH, memory=memory)
    draft = _Draft.of(of, memory)
    draft.find_lost()
    draft.take_away()
    draft.handle_lost()
    if draft.delay_ms:
        draft.revoked_before = False
    else:
        draft.balance()
    draft.place()
    return draft.answer()


@dataclass(slots=True)
class _Draft:
    """A round under way; lists are of connectors, then of tasks."""

    of_round: ConnectRound
    memory: LeaderMemory
    configured: list[list[Any]]
    reported: list[dict[str, tuple[Any, ...]]]
    next: list[dict[str, list[Any]]]
    revoke: list[dict[str, list[Any]]]
    previous: list[frozenset[Any]]
    names: list[str]
    candidates: list[str]
    scheduled_at: int
    delay_ms: int
    revoked_before: bool
    successive: int
    active: list[set[Any]] = field(default_factory=list)
    deleted: list[frozenset[Any]] = field(default_factory=list)
    lost: list[list[Any]] = field(default_factory=list)
    created: list[list[Any]] = field(default_factory=list)
    again: list[list[Any]] = field(default_factory=lambda: [[], []])

    @classmethod
    def of(cls, of: ConnectRound, memory: LeaderMemory) -> _Draft:
        reported: list[dict[str, tuple[Any, ...]]] = [
            {member: tuple(items.connectors) for member, items in of.members.items()},
            {member: tuple(items.tasks) for member, items in of.members.items()},
        ]
        connectors = in_order(of.task_counts)
        tasks = [(name, number) for name in connectors for number in range(of.task_counts[name])]
        fresh = memory.generation != of.last_completed
        return cls(
            of_round=of,
            memory=memory,
            configured=[list(connectors), list(tasks)],
            reported=reported,
            next=[{member: list(items) for member, items in kind.items()} for kind in reported],
            revoke=[{member: [] for member in kind} for kind in reported],
            previous=[frozenset(), frozenset()] if fresh else [*map(frozenset, memory.previous)],
            names=hash_map_order(of.members),
            candidates=list(memory.candidates),
            scheduled_at=memory.scheduled_at,
            delay_ms=memory.delay_ms,
            revoked_before=memory.revoked_in_previous,
            successive=memory.successive,
        )

    # -- steps 2 to 5 --------------------------------------------------------------------------------------------

    def find_lost(self) -> None:
        """Find what nobody has any more, and what nobody has had (steps 2 and 3)."""
        self.active = [{item for items in kind.values() for item in items} for kind in self.reported]
        if any(self.active[kind] & self.memory.revocation[kind] for kind in (0, 1)):
            self.previous = [*map(frozenset, self.active)]
        orders: tuple[Callable[..., list[Any]], ...] = (in_order, tasks_in_order)
        for kind, sort in enumerate(orders):
            configured = frozenset(self.configured[kind])
            previous, active = self.previous[kind], self.active[kind]
            deleted = previous - configured
            self.deleted.append(deleted)
            self.lost.append(list(sort(previous - active - deleted)))
            self.created.append([item for item in self.configured[kind] if item not in previous and item not in active])

    def take_away(self) -> None:
        """Revoke what was deleted, and what two have from both (steps 4 and 5)."""
        for kind in (0, 1):
            seen: set[Any] = set()
            twice: set[Any] = set()
            for items in self.reported[kind].values():
                twice |= seen.intersection(items)
                seen.update(items)
            deleted = self.deleted[kind]
            if not deleted and not twice:
                continue
            for member, items in self.reported[kind].items():
                gone = [item for item in self._in_table_order(kind, items) if item in deleted]
                gone += [item for item in self._in_table_order(kind, items) if item in twice and item not in deleted]
                if gone:
                    self.revoke[kind][member] += gone
                    taken = set(gone)
                    self.next[kind][member] = [item for item in items if item not in taken]

    def _in_table_order(self, kind: int, items: Sequence[Any]) -> list[Any]:
        order: Callable[..., list[Any]] = copied_task_order if kind else copied_order
        return list(order(items, len(items), self.of_round.java))

    # -- step 6 --------------------------------------------------------------------------------------------------

    def handle_lost(self) -> None:
        """Wait for whoever had what is lost, or deal it out (step 6)."""
        now_ms, limit_ms = self.of_round.now_ms, self.of_round.max_delay_ms
        if not any(self.lost) and not self.revoked_before:
            self._forget_delay()
        elif (self.scheduled_at <= 0 and self.memory.members <= self.of_round.members.keys()) or limit_ms == 0:
            self.again = self.lost
        elif 0 < self.scheduled_at <= now_ms:
            self._deal_out()
            self._forget_delay()
            self.revoked_before = False
        else:
            empty = [member for member in self.names if not any(kind[member] for kind in self.next)]
            self.candidates = list(dict.fromkeys([*self.candidates, *hash_map_order(empty)]))
            running = now_ms < self.scheduled_at
            self.delay_ms = min(self.scheduled_at - now_ms, limit_ms) if running else limit_ms
            self.scheduled_at = now_ms + self.delay_ms

    def _forget_delay(self) -> None:
        self.candidates, self.scheduled_at, self.delay_ms = [], 0, 0

    def _deal_out(self) -> None:
        present = [member for member in self.candidates if member in self.of_round.members]
        if not present:
            self.again = self.lost
            return
        for kind in (0, 1):
            for place, item in enumerate(self.lost[kind]):
                self.next[kind][present[place % len(present)]].append(item)

    # -- step 8 --------------------------------------------------------------------------------------------------

    def balance(self) -> None:
        """Revoke what members have beyond their share; a second time in a row is put off (step 8)."""
        surplus = self._surplus()
        found = any(surplus[kind] for kind in (0, 1))
        if self.revoked_before and found:
            self.successive += 1
            self.delay_ms = backoff_ms(self.successive, self.of_round.max_delay_ms)
            if self.delay_ms > 0:
                self.scheduled_at = self.of_round.now_ms + self.delay_ms
                return
        elif found:
            self.revoked_before = True
        elif self.revoked_before:
            self.revoked_before, self.successive = False, 0
        for kind in (0, 1):
            for member, number in surplus[kind].items():
                items = self.next[kind][member]
                self.revoke[kind][member] += items[:number]
                self.next[kind][member] = items[number:]

    def _surplus(self) -> list[dict[str, int]]:
        """Return how many of its first items each member loses."""
        idle = not any(items for kind in self.next for items in kind.values())
        if idle or not any(self.configured):
            return [{}, {}]
        return [self._surplus_of(kind) for kind in (0, 1)]

    def _surplus_of(self, kind: int) -> dict[str, int]:
        sizes = {member: len(items) for member, items in self.next[kind].items()}
        low, extra = divmod(len(self.configured[kind]), len(sizes))
        if sum(size == low + 1 for size in sizes.values()) == extra and all(
            low <= size <= low + 1 for size in sizes.values()
        ):
            return {}
        found, handed = {}, 0
        for member in self.names:
            size = sizes[member]
            if size <= low:
                continue
            target = low + (handed < extra)
            handed += handed < extra
            if size > target:
                found[member] = size - target
        return found

    # -- steps 9 to 11 -------------------------------------------------------------------------------------------

    def place(self) -> None:
        """Give what is new, and what is lost and not waited for, to who has least (step 9)."""
        for kind in (0, 1):
            spread_out([*self.created[kind], *self.again[kind]], self.next[kind])

    def answer(self) -> ConnectAnswer:
        """Return what the members are told, and what the leader remembers (steps 10 and 11)."""
        assigned: list[dict[str, tuple[Any, ...]]] = [{}, {}]
        for kind in (0, 1):
            for member, items in self.next[kind].items():
                kept = set(self.reported[kind][member]) - self.deleted[kind]
                assigned[kind][member] = tuple(item for item in items if item not in kept)
        revocation = [frozenset(item for items in kind.values() for item in items) for kind in self.revoke]
        previous = [
            frozenset(item for items in self.next[kind].values() for item in items) - revocation[kind]
            | frozenset(self.lost[kind])
            for kind in (0, 1)
        ]
        members = self.of_round.members
        return ConnectAnswer(
            assigned={member: Items(assigned[0][member], assigned[1][member]) for member in members},
            revoked={member: Items(tuple(self.revoke[0][member]), tuple(self.revoke[1][member])) for member in members},
            delay_ms=self.delay_ms,
            error=0,
            memory=replace(
                self.memory,
                previous=ItemSets(*previous),
                revocation=ItemSets(*revocation),
                revoked_in_previous=self.revoked_before,
                candidates=tuple(self.candidates),
                scheduled_at=self.scheduled_at,
                delay_ms=self.delay_ms,
                generation=self.of_round.generation,
                members=frozenset(members),
                successive=self.successive,
            ),
        )


def spread_out(items: Iterable[Any], held: dict[str, list[Any]]) -> None:
    """Give items to who has least, in passes over the members by (number of items, id); ``held`` gets them."""
    members = sorted(held, key=lambda member: (len(held[member]), java_string_key(member)))
    waiting = list(items)
    at = 0
    while at < len(waiting):
        sizes = [len(held[member]) for member in members]
        for member, size in zip(members, sizes, strict=True):
            if size > sizes[0] or at == len(waiting):
                break
            held[member].append(waiting[at])
            at += 1


def backoff_ms(attempt: int, max_delay_ms: int) -> int:
    """Return how long the leader waits before it revokes again: 40, 1600, 64000, … ms, at most the delay."""
    if max_delay_ms <= 1:
        return max_delay_ms
    exponent = min(attempt, math.log(max_delay_ms) / math.log(40))
    return min(int(math.pow(40, exponent)), max_delay_ms)
