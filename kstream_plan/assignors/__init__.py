"""Assignors: where the tasks should be next. One file each, and one line in :data:`ASSIGNORS`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.assignors import balanced, high_availability
from kstream_plan.model import Assignment, GroupState


class Assignor(Protocol):
    """Decides where every task of a group should be next."""

    def __call__(
        self,
        state: GroupState,
        config: AssignmentConfig,
        previous: tuple[GroupState, Assignment] | None = None,
    ) -> Assignment:
        """Return the decision for ``state``.

        ``previous`` is an earlier decision for the same group under the same settings and the state it was made for.
        It saves work and changes nothing: the result is the same without it.
        """
        ...


#: Every assignor by the name that ``--assignor`` takes.
ASSIGNORS: Mapping[str, Assignor] = MappingProxyType(
    {"high-availability": high_availability.assign, "balanced": balanced.assign}
)
