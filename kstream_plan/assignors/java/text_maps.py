"""The orders in which Java's and the broker's maps of texts give their keys back, which decide who gets what.

Source: page ``streams-rules``, "Orders of maps"; page ``connect-rules``, "Orders of items".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kstream_plan.assignors.java.collections import LEAST_BINS_WITH_TREES
from kstream_plan.model.java_hash import INITIAL_BINS, LONGEST_CHAIN, spread_hash, string_hash

_GOLDEN = 0x9E3779B97F4A7C15
_64_BITS = 2**64 - 1


class HashMapOrder:
    """The keys of a ``java.util.HashMap`` of texts, in its order.

    Args:
        capacity: for how many keys it was made; the bins are the next power of two.
    """

    def __init__(self, capacity: int = INITIAL_BINS) -> None:
        bins = 1
        while bins < capacity:
            bins *= 2
        self._bins: list[list[str]] = [[] for _ in range(bins)]
        self._keys: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        for keys in self._bins:
            yield from keys

    @property
    def bins(self) -> int:
        """How many bins there are: they are never taken away."""
        return len(self._bins)

    def put(self, key: str) -> None:
        """Put a key as ``put`` does: behind the others of its bin, and doubling afterwards."""
        if key in self._keys:
            return
        of_bin = self._bins[spread_hash(string_hash(key)) & (len(self._bins) - 1)]
        of_bin.append(key)
        self._keys.add(key)
        if len(of_bin) > LONGEST_CHAIN and len(self._bins) < LEAST_BINS_WITH_TREES:
            self._double()
        if len(self._keys) > 0.75 * len(self._bins):
            self._double()

    def remove(self, key: str) -> None:
        """Remove a key that is there; the table keeps its bins."""
        self._keys.remove(key)
        self._bins[spread_hash(string_hash(key)) & (len(self._bins) - 1)].remove(key)

    def compute_if_absent(self, key: str) -> None:
        """Put a key as ``computeIfAbsent`` does: before the others of its bin, and doubling first, known keys too."""
        if len(self._keys) > 0.75 * len(self._bins):
            self._double()
        if key in self._keys:
            return
        of_bin = self._bins[spread_hash(string_hash(key)) & (len(self._bins) - 1)]
        of_bin.insert(0, key)
        self._keys.add(key)
        if len(of_bin) >= LONGEST_CHAIN and len(self._bins) < LEAST_BINS_WITH_TREES:
            self._double()

    def _double(self) -> None:
        """Split every bin by one more bit of the hash; both halves keep the order that they had."""
        bit = len(self._bins)
        low = [[key for key in keys if not spread_hash(string_hash(key)) & bit] for keys in self._bins]
        high = [[key for key in keys if spread_hash(string_hash(key)) & bit] for keys in self._bins]
        self._bins = low + high


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return the order of a ``HashMap`` that was made without a capacity and filled with these, one by one."""
    table = HashMapOrder()
    for key in keys:
        table.put(key)
    return list(table)


class MemberTable:
    """The members of a group as the broker's ``TimelineHashMap`` holds them; a frozen order is :meth:`order`.

    Args:
        order: the members as the broker listed them, for a table that is known from a description.
    """

    def __init__(self, order: Iterable[str] = ()) -> None:
        self._slots: list[list[str]] = [[], []]
        self._members: set[str] = set()
        for member in reversed(list(order)):  # inside a slot the last one is listed first
            self.put(member)

    def order(self) -> list[str]:
        """Return the members as the table iterates: slot by slot, inside a slot from the last to the first."""
        return [member for slot in self._slots for member in reversed(slot)]

    def copied(self) -> MemberTable:
        """Return another one that is the same by now, and goes its own way."""
        table = MemberTable()
        table._slots, table._members = [list(slot) for slot in self._slots], set(self._members)
        return table

    def put(self, member: str) -> None:
        """Put a member, or put it again: that too may double the table."""
        if (len(self._members) + 1) * 0.75 > len(self._slots):
            self._double()
        if member not in self._members:
            self._members.add(member)
            self._slots[self._slot(member)].append(member)

    def remove(self, member: str) -> None:
        """Remove a member that is there; the table never shrinks."""
        self._members.remove(member)
        self._slots[self._slot(member)].remove(member)

    def _slot(self, member: str) -> int:
        return (string_hash(member) * _GOLDEN & _64_BITS) >> (64 - (len(self._slots).bit_length() - 1))

    def _double(self) -> None:
        members = [member for slot in self._slots for member in slot]
        self._slots = [[] for _ in range(2 * len(self._slots))]
        for member in members:
            self._slots[self._slot(member)].append(member)
