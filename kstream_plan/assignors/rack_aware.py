"""Rack-aware optimisation of an assignment (KIP-925, reference section 4, step 3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import Group

#: (source, destination, instances that hold the task in any role) → may a standby move there to save traffic?
#: Kafka asks ``client_tags.movement_keeps_tag_spread`` if standbys follow client tags, and nothing otherwise; it is
#: not the predicate of the balancing step.
MayMove: TypeAlias = Callable[[int, int, Collection[int]], bool]


def enabled(group: Group, config: AssignmentConfig) -> bool:
    """Tell whether a strategy is configured and everything it needs to know about racks is known."""
    raise NotImplementedError


def optimize_active(
    group: Group, config: AssignmentConfig, tasks: Sequence[int], active: list[set[int]], *, stateless: bool = False
) -> list[set[int]]:
    """Return ``active`` with ``tasks`` exchanged between instances so that less is read across racks."""
    raise NotImplementedError


def optimize_standby(
    group: Group,
    config: AssignmentConfig,
    active: Sequence[Collection[int]],
    standby: list[set[int]],
    allows: MayMove | None = None,
) -> list[set[int]]:
    """Return ``standby`` with tasks swapped between instances so that less is restored across racks."""
    raise NotImplementedError
