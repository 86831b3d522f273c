"""A round as its leader sees it, what it answers, and what every incremental design does on the way between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.assignors.java.text_maps import hash_map_order
from kstream_plan.designs.connect.items import (
    ConnectorTask,
    Items,
    configured,
    copied_order,
    copied_task_order,
)
from kstream_plan.designs.connect.laws import NEWEST, ConnectLaws
from kstream_plan.model.connect_group import NO_SHARED_MEMORY, GroupMemory
from kstream_plan.model.java_hash import java_string_key

#: By kind, connectors and then tasks: how many of its first items each member loses.
Surplus = Sequence[Mapping[str, int]]


class ItemSets(NamedTuple):
    """Connectors and tasks without an order."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[ConnectorTask] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderMemory:
    """What a worker remembers of the rounds that it led; the fields are Kafka's own.

    ``previous`` was assigned in the last of them, ``revocation`` revoked. ``candidates`` may get what is lost, in
    order. ``scheduled_at`` is when the delay ends (0 or less: none runs), ``delay_ms`` what members were told of it.
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

    ``members`` are in JoinGroup order, each with what it reports. ``leader_is_behind``: the leader's configuration is
    older than a member's, and so is what it then read: no decision. ``java`` is the version of the leader's.
    ``group_memory`` is what the group remembers, where not the leader does. ``laws``: those of the release that runs.
    """

    now_ms: int
    generation: int
    last_completed: int
    task_counts: Mapping[str, int]
    members: Mapping[str, Items]
    max_delay_ms: int
    group_memory: GroupMemory = NO_SHARED_MEMORY
    leader_is_behind: bool = False
    java: int = 17
    laws: ConnectLaws = NEWEST


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAnswer:
    """A round's answer: what each member gets besides what it keeps, what it loses, in order; and the delay."""

    assigned_items: Mapping[str, Items]
    revoked_items: Mapping[str, Items]
    delay_ms: int
    error: int
    memory: LeaderMemory
    group_memory: GroupMemory = NO_SHARED_MEMORY


#: The error that members are told if the leader's configuration is behind.
CONFIG_MISMATCH = 1


def not_decided(connect_round: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Return the answer of a leader whose configuration is behind: no member gets or loses anything."""
    no_items = MappingProxyType(dict.fromkeys(connect_round.members, Items()))
    return ConnectAnswer(
        assigned_items=no_items,
        revoked_items=no_items,
        delay_ms=0,
        error=CONFIG_MISMATCH,
        memory=memory,
        group_memory=connect_round.group_memory,
    )


class Draft:
    """A round under way; what is listed by kind is of connectors, then of tasks."""

    def __init__(self, connect_round: ConnectRound) -> None:
        self.of_round = connect_round
        self.configured: Sequence[tuple[Any, ...]] = configured(connect_round.task_counts)
        self.reported: list[dict[str, tuple[Any, ...]]] = [
            {member: tuple(items[kind]) for member, items in connect_round.members.items()} for kind in (0, 1)
        ]
        self.active: list[frozenset[Any]] = [frozenset().union(*kind.values()) for kind in self.reported]
        self.next: list[dict[str, Sequence[Any]]] = [dict(kind) for kind in self.reported]
        #: by member, how many of the last items there it is given in this round
        self.given_counts: list[dict[str, int]] = [{}, {}]
        self.revoke: list[dict[str, list[Any]]] = [{member: [] for member in kind} for kind in self.reported]
        self.names = hash_map_order(connect_round.members)

    def take_away(self, of_deleted: Sequence[Iterable[Any]]) -> None:
        """Revoke what was deleted, and what two have from both (steps 4 and 5)."""
        for kind in (0, 1):
            repeats, deleted = self.reported_twice(kind), frozenset(of_deleted[kind])
            if not deleted and not repeats:
                continue
            for member, items in self.reported[kind].items():
                revoked_items = [item for item in self.in_table_order(kind, items) if item in deleted]
                revoked_items += [
                    item for item in self.in_table_order(kind, items) if item in repeats and item not in deleted
                ]
                if revoked_items:
                    self.revoke[kind][member] += revoked_items
                    revoked_set = set(revoked_items)
                    self.next[kind][member] = [item for item in items if item not in revoked_set]

    def reported_twice(self, kind: int) -> set[Any]:
        """Return the items that more than one member reports."""
        if len(self.active[kind]) == sum(map(len, self.reported[kind].values())):
            return set()
        reported_items: set[Any] = set()
        repeats: set[Any] = set()
        for items in self.reported[kind].values():
            repeats |= reported_items.intersection(items)
            reported_items.update(items)
        return repeats

    def in_table_order(self, kind: int, items: Sequence[Any]) -> list[Any]:
        """Return items in the order of a ``HashSet`` that is made of them."""
        order: Callable[..., list[Any]] = copied_task_order if kind else copied_order
        return list(order(items, len(items), self.of_round.java))

    def surplus(self) -> Surplus:
        """Return what members have beyond their share, in the order in which these were walked (step 8)."""
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
        surplus, handed = {}, 0
        for member in self.names:
            size = sizes[member]
            if size <= low:
                continue
            target = low + (handed < extra)
            handed += handed < extra
            if size > target:
                surplus[member] = size - target
        return surplus

    def take_first(self, surplus: Surplus) -> None:
        """Revoke the first items of members that have too many (step 8)."""
        for kind in (0, 1):
            for member, number in surplus[kind].items():
                items = self.next[kind][member]
                self.revoke[kind][member] += items[:number]
                self.next[kind][member] = items[number:]

    def give(self, items: Sequence[Iterable[Any]]) -> None:
        """Give these items, which no member reports, to the members with the fewest (step 9)."""
        for kind in (0, 1):
            for member, mine in spread_out(items[kind], self.next[kind]):
                self.give_to(member, kind, mine)

    def give_to(self, member: str, kind: int, items: Sequence[Any]) -> None:
        """Give a member these items besides what it has."""
        self.next[kind][member] = [*self.next[kind][member], *items]
        self.given_counts[kind][member] = self.given_counts[kind].get(member, 0) + len(items)

    def answer(
        self,
        memory: LeaderMemory,
        delay_ms: int,
        group_memory: GroupMemory = NO_SHARED_MEMORY,
    ) -> ConnectAnswer:
        """Return the members' answers: what each gets and loses (step 10)."""
        return ConnectAnswer(
            assigned_items={
                member: Items(*(self._given_to(member, kind) for kind in (0, 1))) for member in self.next[0]
            },
            revoked_items={
                member: Items(tuple(self.revoke[0][member]), tuple(self.revoke[1][member]))
                for member in self.of_round.members
            },
            delay_ms=delay_ms,
            error=0,
            memory=memory,
            group_memory=group_memory,
        )

    def _given_to(self, member: str, kind: int) -> tuple[Any, ...]:
        items, number = self.next[kind][member], self.given_counts[kind].get(member, 0)
        return tuple(items[max(0, len(items) - number) :]) if number else ()


def spread_out(items: Iterable[Any], items_by_member: Mapping[str, Sequence[Any]]) -> list[tuple[str, list[Any]]]:
    """Give items to the members with the fewest, in passes by (number of items, id); return what each gets."""
    queue = list(items)
    if not queue:
        return []
    members = sorted(items_by_member, key=lambda member: (len(items_by_member[member]), java_string_key(member)))
    shares: list[list[Any]] = [[] for _ in members]
    position, sizes = 0, [len(items_by_member[member]) for member in members]
    while position < len(queue):
        least = sizes[0]
        for place, size in enumerate(sizes):
            if size > least or position == len(queue):
                break
            shares[place].append(queue[position])
            sizes[place] += 1
            position += 1
    return [(member, mine) for member, mine in zip(members, shares, strict=True) if mine]
