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

    ``scheduled_ms`` is when its delay ends by its own clock. ``known`` says that it follows from the logs.
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
    known: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """A round that is over: who held what before and after it, who lost what, and for how long all wait.

    ``members`` are in the order in which they joined. ``configured`` is all that is. ``at_ms`` is when it was decided.
    """

    generation: int
    members: Sequence[str]
    before: Mapping[str, frozenset[ItemKey]]
    held: Mapping[str, frozenset[ItemKey]]
    revoked: Mapping[str, frozenset[ItemKey]]
    configured: frozenset[ItemKey]
    delay_ms: int
    at_ms: int

    @property
    def unrun(self) -> frozenset[ItemKey]:
        """What nobody runs, and nobody has lost in this round."""
        return self.configured - all_of(self.held) - all_of(self.revoked)


def remembered(of: Outcome, prior: Remembered) -> Remembered:
    """Return what the leader of a round remembers after it; ``prior``: before it."""
    gone = all_of(of.revoked)
    found = replace(
        prior,
        previous=((all_of(of.held) | of.configured) - gone) | _dealt_out_and_revoked(of),
        revocation=gone,
        generation=of.generation,
        members=frozenset(of.members),
        delay_ms=of.delay_ms,
    )
    if of.delay_ms == 0:
        return _without_delay(of, found, prior)
    found = replace(found, scheduled_ms=of.at_ms + of.delay_ms)
    # what it would have revoked again is put off: nothing is lost then, and nobody has left
    if not of.unrun and prior.scheduled_ms is None and (prior.members <= found.members or not prior.known):
        return replace(found, revoked_in_previous=True, successive=prior.successive + 1)
    empty = [member for member in in_table_order(of.members) if not _kept(of, member, prior)]
    candidates = tuple(dict.fromkeys([*prior.candidates, *in_table_order(empty)]))
    return replace(found, revoked_in_previous=False, candidates=candidates)


def _without_delay(of: Outcome, found: Remembered, prior: Remembered) -> Remembered:
    """Everything lost is dealt out, and no delay runs; what is left is whether it moved work, and how often so."""
    once, twice = set[ItemKey](), set[ItemKey]()
    for items in of.revoked.values():
        twice |= once & items
        once |= items
    moved = (once - twice) & of.configured
    before = prior.revoked_in_previous and prior.scheduled_ms is None
    successive = prior.successive if not before else prior.successive + 1 if moved else 0
    quiet = not once
    return replace(
        found,
        candidates=(),
        scheduled_ms=None,
        revoked_in_previous=bool(moved),
        successive=successive,
        known=prior.known or quiet,
    )


def _dealt_out_and_revoked(of: Outcome) -> frozenset[ItemKey]:
    """Return what was lost, dealt out in this round, and at once revoked from who got it: it counts as lost still."""
    anywhere = all_of(of.before)
    return frozenset(item for member, items in of.revoked.items() for item in items - of.before.get(member, anywhere))


def _kept(of: Outcome, member: str, prior: Remembered) -> frozenset[ItemKey]:
    """Return what a member still has that it came with: of who was away, what was assigned before, for that waits."""
    return of.held[member] & of.before.get(member, prior.previous)


def in_table_order(keys: Iterable[str], bins: int = _LEAST_BINS) -> list[str]:
    """Return keys, in the order in which they were put in, as a ``HashMap`` has them (rules, "Orders")."""
    found = list(dict.fromkeys(keys))
    while len(found) > 0.75 * bins:
        bins *= 2
    return sorted(found, key=lambda key: spread_hash(string_hash(key)) & bins - 1)


def keys_of(items: ConnectItems) -> frozenset[ItemKey]:
    """Return items without their order."""
    return frozenset([*((connector, CONNECTOR) for connector in items.connectors), *items.tasks])


def all_of(of: Mapping[str, frozenset[ItemKey]]) -> frozenset[ItemKey]:
    """Return what all of them have."""
    return frozenset().union(*of.values())
