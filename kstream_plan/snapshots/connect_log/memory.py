"""What a leader remembers after a round, from what its workers were told (rules of Connect: ``designs.connect``).

What is decided from is told only in part, but what is remembered of it follows from what came out: without a delay
everything lost has been given to somebody, and with one it has not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kstream_plan.model.connect_group import ConnectItems
from kstream_plan.model.java_hash import spread_hash, string_hash

#: A task, or its connector itself, whose number is :data:`CONNECTOR`.
ItemKey: TypeAlias = tuple[str, int]
CONNECTOR = -1

_LEAST_BINS = 16


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a leader remembers of the rounds that it led.

    ``scheduled_ms`` is when its delay ends by its own clock. ``is_known``: it follows from the logs.
    """

    previous: frozenset[ItemKey] = frozenset()
    revocation: frozenset[ItemKey] = frozenset()
    revoked_in_previous: bool = False
    candidates: tuple[str, ...] = ()
    scheduled_ms: int | None = None
    delay_ms: int = 0
    generation: int = -1
    members: frozenset[str] = frozenset()
    successive: int = 0
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """A round that is over: the items of members before and after it, what it revoked, and its delay.

    ``members`` are in the order in which they joined. ``configured`` is all that is. ``at_ms`` is when it was decided.
    """

    generation: int
    members: Sequence[str]
    items_before: Mapping[str, frozenset[ItemKey]]
    held_items: Mapping[str, frozenset[ItemKey]]
    revoked_items: Mapping[str, frozenset[ItemKey]]
    configured: frozenset[ItemKey]
    delay_ms: int
    at_ms: int

    @property
    def unassigned_items(self) -> frozenset[ItemKey]:
        """Items that no member runs, and none has lost in this round."""
        return self.configured - all_of(self.held_items) - all_of(self.revoked_items)


def remembered(outcome: Outcome, prior: Remembered) -> Remembered:
    """Return what the leader of a round remembers after it; ``prior``: before it."""
    revocation = all_of(outcome.revoked_items)
    memory = replace(
        prior,
        previous=((all_of(outcome.held_items) | outcome.configured) - revocation) | _dealt_out_and_revoked(outcome),
        revocation=revocation,
        generation=outcome.generation,
        members=frozenset(outcome.members),
        delay_ms=outcome.delay_ms,
    )
    if outcome.delay_ms == 0:
        return _without_delay(outcome, memory, prior)
    memory = replace(memory, scheduled_ms=outcome.at_ms + outcome.delay_ms)
    # what it would have revoked again is put off: nothing is lost then, and nobody has left
    if (
        not outcome.unassigned_items
        and prior.scheduled_ms is None
        and (prior.members <= memory.members or not prior.is_known)
    ):
        return replace(memory, revoked_in_previous=True, successive=prior.successive + 1)
    empty = [member for member in in_table_order(outcome.members) if not _kept_items(outcome, member, prior)]
    candidates = tuple(dict.fromkeys([*prior.candidates, *in_table_order(empty)]))
    return replace(memory, revoked_in_previous=False, candidates=candidates)


def _without_delay(outcome: Outcome, memory: Remembered, prior: Remembered) -> Remembered:
    """Everything lost is dealt out, and no delay runs; what is left is whether it moved work, and how often so."""
    revoked_items, items_revoked_twice = set[ItemKey](), set[ItemKey]()
    for items in outcome.revoked_items.values():
        items_revoked_twice |= revoked_items & items
        revoked_items |= items
    moved_items = (revoked_items - items_revoked_twice) & outcome.configured
    revoked_before = prior.revoked_in_previous and prior.scheduled_ms is None
    successive = prior.successive if not revoked_before else prior.successive + 1 if moved_items else 0
    return replace(
        memory,
        candidates=(),
        scheduled_ms=None,
        revoked_in_previous=bool(moved_items),
        successive=successive,
        is_known=prior.is_known or not revoked_items,
    )


def _dealt_out_and_revoked(outcome: Outcome) -> frozenset[ItemKey]:
    """Return what was lost, dealt out in this round, and at once revoked from who got it: it counts as lost still."""
    anywhere = all_of(outcome.items_before)
    return frozenset(
        item
        for member, items in outcome.revoked_items.items()
        for item in items - outcome.items_before.get(member, anywhere)
    )


def _kept_items(outcome: Outcome, member: str, prior: Remembered) -> frozenset[ItemKey]:
    """Return what a member still has that it came with: of who was away, what was assigned before, for that waits."""
    return outcome.held_items[member] & outcome.items_before.get(member, prior.previous)


def in_table_order(keys: Iterable[str], bins: int = _LEAST_BINS) -> list[str]:
    """Return keys, in the order in which they were put in, as a ``HashMap`` has them (rules, "Orders")."""
    unique_keys = list(dict.fromkeys(keys))
    while len(unique_keys) > 0.75 * bins:
        bins *= 2
    return sorted(unique_keys, key=lambda key: spread_hash(string_hash(key)) & bins - 1)


def keys_of(items: ConnectItems) -> frozenset[ItemKey]:
    """Return items without their order."""
    return frozenset([*((connector, CONNECTOR) for connector in items.connectors), *items.tasks])


def all_of(items_by_member: Mapping[str, frozenset[ItemKey]]) -> frozenset[ItemKey]:
    """Return the items of all members."""
    return frozenset().union(*items_by_member.values())
