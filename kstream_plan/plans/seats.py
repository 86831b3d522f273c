"""Who has a task, and as what."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """What a consumer is to a task."""

    ACTIVE = "active"
    STANDBY = "standby"
    WARMUP = "warmup"
    TEMPORARY = "temporary"


class Seat(NamedTuple):
    """One consumer in one role."""

    process_id: str
    consumer_id: str
    role: Role
