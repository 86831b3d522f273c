"""Python's collector of reference cycles, kept from looking for them again and again while a plan is made."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: What is allocated before cycles are looked for the first time; then twice what was left the last time.
_LEAST_BLOCKS = 1_000_000


class _Kept:
    """How many blocks of memory the last collection left."""

    blocks = _LEAST_BLOCKS // 2


@contextmanager
def without_cycle_collector() -> Iterator[None]:
    """Rest the collector while a plan is made or looked through, which makes few cycles.

    It would walk the millions of steps and holdings again and again as they grow (a third of the time of a plan with
    many stateless tasks, two thirds of finding what changes in it). A process that makes many plans is rid of their
    cycles whenever it has twice the memory.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.unfreeze()  # there and back: all of them are old now, and nothing is due
            if sys.getallocatedblocks() > 2 * _Kept.blocks:  # counting the objects themselves takes milliseconds
                gc.collect()
                _Kept.blocks = max(sys.getallocatedblocks(), _LEAST_BLOCKS // 2)
            gc.enable()
