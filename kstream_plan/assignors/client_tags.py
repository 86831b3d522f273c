"""Standbys spread over client tags (KIP-708, reference section 5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kstream_plan.model import Group


def place_standbys(
    group: Group, tags: tuple[str, ...], num_standby_replicas: int, active: Sequence[Collection[int]]
) -> tuple[list[set[int]], list[tuple[int, int]]]:
    """Give every stateful task its standbys, on other values of the configured tags than its active and each other.

    Returns:
        The standby tasks per instance, and the tasks that could not be given enough with the number missing.
    """
    raise NotImplementedError


def destination_keeps_tags(group: Group, source: int, destination: int) -> bool:
    """Tell whether a standby may be moved to even out loads: the destination has every tag value of the source."""
    raise NotImplementedError


def movement_keeps_tag_spread(group: Group, source: int, destination: int, holders: Collection[int]) -> bool:
    """Tell whether a standby may be moved to save traffic between racks (the rack-aware optimisation's own rule).

    ``holders`` are the instances with a copy of the task in any role (``source`` and ``destination`` may be among
    them and do not matter). True unless the copies would then have fewer distinct tags, configured or not.
    """
    raise NotImplementedError
