"""What a series of levels comes to at a time."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.plans.levels import Level


def level_at(series: Sequence[Level], at_ms: int) -> int:
    """Return how many there are at a time, after what happens then."""
    return next((level.number for level in reversed(series) if level.at_ms <= at_ms), 0)
