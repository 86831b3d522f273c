"""Rows of a history → whether state outlives a restart, by the process ids that hosts come back under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kstream_plan.model import Note
from kstream_plan.snapshots.rows.fields import Row

#: How many restarts have to agree: a single new process id may be one lost disk.
_RESTARTS = 2


def with_stores_by_restarts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return snapshot rows with ``stores``: ``in-memory`` where every restart up to a row had a new process id.

    ``StateDirectory.initializeProcessId`` keeps the id in the state directory, unless all stores are in memory: an
    instance that returns with another one has no state, for one of the two reasons. Instances are told apart by their
    hosts; a host that runs several does not count.

    Args:
        rows: rows of one application in order of time (page ``snapshots``). A row's own ``stores`` stay.
    """
    last: dict[str, tuple[str, frozenset[str]]] = {}
    kept_ids = new_ids = 0
    rows_with_stores = []
    for row in rows:
        for host, (process_id, consumers) in _by_host(row).items():
            id_before, consumers_before = last.get(host, (process_id, consumers))
            new_ids += process_id != id_before
            kept_ids += process_id == id_before and consumers.isdisjoint(consumers_before)
            last[host] = (process_id, consumers)
        is_lost = new_ids >= _RESTARTS and not kept_ids
        rows_with_stores.append({"stores": "in-memory", **row} if is_lost else dict(row))
    return rows_with_stores


def lost_state_notes(rows: Sequence[Row]) -> list[Note]:
    """Return the warning if the newest of such rows has state that no restart kept."""
    if not rows or rows[-1].get("stores") != "in-memory":
        return []
    message = (
        "every restart seen on a host had a new process id: stores are in memory, or disks are lost at a restart. "
        "Either way nothing is left after one, unless --set stores says otherwise"
    )
    return [Note("state-lost-at-restarts", message)]


def _by_host(row: Row) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the process id and the consumers of each host that runs one instance."""
    instances = [instance for instance in row["instances"] if instance.get("host")]
    number = Counter(instance["host"] for instance in instances)
    return {
        instance["host"]: (
            instance["process_id"],
            frozenset(consumer["consumer_id"] for consumer in instance["consumers"]),
        )
        for instance in instances
        if number[instance["host"]] == 1
    }
