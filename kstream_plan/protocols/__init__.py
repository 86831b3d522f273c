"""Rebalance protocols: how a group gets from what it holds to what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kstream_plan.protocols import cooperative, eager, mixed
from kstream_plan.transition import Protocol, Transition, Withheld

#: Every protocol by its name on the command line.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {"cooperative": cooperative.rebalance, "eager": eager.rebalance, "mixed": mixed.rebalance}
)

__all__ = ["PROTOCOLS", "Protocol", "Transition", "Withheld"]
