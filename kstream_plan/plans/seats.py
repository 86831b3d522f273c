"""Consumers that have a task, with their roles."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kstream_plan.model.group import thread_number


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

    def is_at(self, seat: Seat) -> bool:
        """Return whether it is the same thread in the same role; a thread that joins again has another consumer id."""
        if self.process_id != seat.process_id or self.role is not seat.role:
            return False
        number = thread_number(self.consumer_id)
        return self.consumer_id == seat.consumer_id or (number != "" and number == thread_number(seat.consumer_id))
