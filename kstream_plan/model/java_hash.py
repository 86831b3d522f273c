"""How Java sorts and hashes what Kafka's assignor keeps in sorted and hashed collections.

Source: page ``rules``, "Orders".
"""

from __future__ import annotations

import uuid
from functools import lru_cache

#: Bins of a new ``java.util.HashMap``, and the longest chain of a bin that is no tree.
INITIAL_BINS = 16
LONGEST_CHAIN = 8


def java_string_key(text: str) -> bytes:
    """Return a key that sorts as ``String.compareTo``: by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def signed_int(value: int) -> int:
    """Wrap a number as Java's 32-bit ``int`` does."""
    return ((value + 2**31) & (2**32 - 1)) - 2**31


@lru_cache(maxsize=1024)
def string_hash(text: str) -> int:
    """Return ``String.hashCode``: over the UTF-16 code units, 32 bits signed."""
    units, value = java_string_key(text), 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = 31 * value + (high << 8 | low)
    return signed_int(value)


def task_id_hash(subtopology: int, partition: int, topology_name: str | None) -> int:
    """Return ``TaskId.hashCode()``: of subtopology, partition and the topology's name (0 if it has none)."""
    name = string_hash(topology_name) if topology_name else 0
    return signed_int(31 * (31 * (31 + subtopology) + partition) + name)


def hash_in_table(subtopology: int, partition: int, topology_name: str | None) -> int:
    """Return the hash of a task id as a ``HashMap`` uses it: with the high half mixed into the low one."""
    return signed_int(spread_hash(task_id_hash(subtopology, partition, topology_name)))


def plain_hash_in_table(subtopology: int, partition: int) -> int:
    """Return the same of releases before 3.0, whose hash is that of one 64-bit number modulo 2^32 - 1."""
    return signed_int(spread_hash(signed_int((subtopology << 32 | partition) % (2**32 - 1))))


def spread_hash(code: int) -> int:
    """Return a hash as a ``HashMap`` uses it, without its sign: with the high half mixed into the low one."""
    code &= 2**32 - 1
    return code ^ code >> 16


def uuid_hash(process_id: str) -> int:
    """Return ``UUID.hashCode()`` as a ``HashMap`` uses it; 0 for other ids, which Kafka does not have."""
    try:
        value = uuid.UUID(process_id).int
    except ValueError:
        return 0
    mixed = (value >> 64) ^ (value & (2**64 - 1))
    return spread_hash((mixed >> 32) ^ (mixed & (2**32 - 1)))
