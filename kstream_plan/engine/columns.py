"""Columns of numbers: a buffer where code is compiled, quick to index where it is not."""

from __future__ import annotations

from array import array


def zeros(typecode: str, number: int) -> array[int]:
    """Return a column of so many zeros, at least one; ``typecode``: "b", "i", "q" or "Q" for 8, 32 or 64 bits."""
    return array(typecode, [0]) * max(1, number)


def grown(typecode: str, column: array[int], room: int) -> array[int]:
    """Return a longer column that begins with another one."""
    longer = zeros(typecode, max(room, len(column)))
    memoryview(longer)[: len(column)] = memoryview(column)
    return longer
