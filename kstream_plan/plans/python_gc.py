"""Python's collector of reference cycles, kept from looking for some where there are none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_cycle_collector() -> Iterator[None]:
    """Rest the collector while a plan is made or looked through, which makes no cycles.

    It would walk the millions of steps and holdings again and again as they grow (a third of the time of a plan with
    many stateless tasks, two thirds of finding what changes in it).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.unfreeze()  # there and back: all of them are old now, and nothing is due
            gc.enable()
