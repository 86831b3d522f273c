"""Connectors and tasks as workers report them, and the orders that Java gives them.

Source: page ``connect-rules``, "Items"; page ``connect-rules``, "Orders of items".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kstream_plan.model.java_hash import java_string_key, signed_int, spread_hash, string_hash

#: A task: its connector and its number.
ConnectorTask: TypeAlias = tuple[str, int]
#: What workers tell each other: every connector with its items in order, -1 for the connector itself.
Wire: TypeAlias = Sequence[tuple[str, Sequence[int]]]

_CONNECTOR = -1
_LEAST_BINS = 16
#: From this Java on a table that is made of a list has room for it at once.
_JAVA_SIZES_EXACTLY = 19
#: The version of Java whose tables of lists have as many bins as those that grow with what is put in, in any.
GROWS = _JAVA_SIZES_EXACTLY


class Items(NamedTuple):
    """Connectors, then tasks, each in the order in which they were reported or given."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTask, ...] = ()


def read_wire(wire: Wire) -> Items:
    """Return what a wire form holds; what is in it twice counts once, at its first place."""
    connectors: dict[str, None] = {}
    tasks: dict[ConnectorTask, None] = {}
    for connector, numbers in wire:
        for number in numbers:
            if number == _CONNECTOR:
                connectors[connector] = None
            else:
                tasks[connector, number] = None
    return Items(tuple(connectors), tuple(tasks))


def assigned_wire(items: Items, java: int) -> list[tuple[str, list[int]]]:
    """Return the wire form of what is assigned or held: connectors in the order of a table that is made of them."""
    return revoked_wire(Items(tuple(copied_order(items.connectors, len(items.connectors), java)), items.tasks))


def revoked_wire(items: Items) -> list[tuple[str, list[int]]]:
    """Return the wire form of what is revoked: as given, the tasks with their connectors."""
    groups: dict[str, list[int]] = {connector: [_CONNECTOR] for connector in items.connectors}
    for connector, number in items.tasks:
        groups.setdefault(connector, []).append(number)
    return list(groups.items())


def copied_order(keys: Sequence[str], length: int, java: int) -> list[str]:
    """Return texts in the order of a ``HashSet`` that was made of a list of this length (repeats counted)."""
    bins = _bins_for(length, java)
    return sorted(dict.fromkeys(keys), key=lambda key: spread_hash(string_hash(key)) & bins - 1)


def copied_task_order(tasks: Sequence[ConnectorTask], length: int, java: int) -> list[ConnectorTask]:
    """Return tasks in the order of a ``HashSet`` that was made of a list of this length (repeats counted)."""
    bins = _bins_for(length, java)
    return sorted(dict.fromkeys(tasks), key=lambda task: spread_hash(_task_hash(task)) & bins - 1)


def _bins_for(length: int, java: int) -> int:
    roughly = max(4 * length // 3 + 1, _LEAST_BINS)
    min_bins = roughly if java < _JAVA_SIZES_EXACTLY else -(-4 * max(length, 12) // 3)
    bins = 1
    while bins < min_bins:
        bins *= 2
    return bins


def _task_hash(task: ConnectorTask) -> int:
    return signed_int(31 * string_hash(task[0]) + task[1])


def in_order(connectors: Iterable[str]) -> list[str]:
    """Sort connectors, or member ids, as Java sorts texts."""
    return sorted(connectors, key=java_string_key)


def tasks_in_order(tasks: Iterable[ConnectorTask]) -> list[ConnectorTask]:
    """Sort tasks by connector, then number."""
    task_list = list(tasks)
    place_of = {name: place for place, name in enumerate(in_order({name for name, _ in task_list}))}
    return sorted(task_list, key=lambda task: (place_of[task[0]], task[1]))


def configured(task_counts: Mapping[str, int]) -> Items:
    """Return all items of connectors with so many tasks each, sorted."""
    return _configured(tuple(task_counts.items()))[0]


def configured_sets(task_counts: Mapping[str, int]) -> tuple[frozenset[str], frozenset[ConnectorTask]]:
    """Return the same without an order: connectors, and tasks."""
    return _configured(tuple(task_counts.items()))[1]


@lru_cache(maxsize=1)
def _configured(
    task_counts: tuple[tuple[str, int], ...],
) -> tuple[Items, tuple[frozenset[str], frozenset[ConnectorTask]]]:
    """Cache the last answer: every round needs it, and it hardly ever changes."""
    counts = dict(task_counts)
    connectors = in_order(counts)
    items = Items(tuple(connectors), tuple([(name, number) for name in connectors for number in range(counts[name])]))
    return items, (frozenset(items.connectors), frozenset(items.tasks))
