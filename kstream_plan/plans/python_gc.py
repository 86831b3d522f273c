"""Python's collector of reference cycles, kept from looking for them again and again while a plan is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: After so many tracked objects, or twice as many as were left the last time, cycles are collected.
_LEAST_OBJECTS = 200_000


class _Kept:
    """How many objects the last collection left."""

    objects = _LEAST_OBJECTS // 2


@contextmanager
def without_cycle_collector() -> Iterator[None]:
    """Rest the collector while a plan is made or looked through, which makes few cycles.

    It would walk the millions of steps and holdings again and again as they grow (a third of the time of a plan with
    many stateless tasks, two thirds of finding what changes in it). A process that makes many plans is rid of their
    cycles whenever it has twice the objects.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if _objects() > 2 * _Kept.objects:
                gc.collect()
                _Kept.objects = max(_objects(), _LEAST_OBJECTS // 2)
            gc.enable()


def _objects() -> int:
    """Return how many objects are tracked; all of them are old after that, and no collection is due."""
    gc.freeze()
    objects = gc.get_freeze_count()
    gc.unfreeze()
    return objects
