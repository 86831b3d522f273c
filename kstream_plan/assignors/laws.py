"""What an older release of Kafka decides otherwise than the newest, by the changes of :mod:`model.releases`."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kstream_plan.model.releases import (
    CLIENT_TAGS,
    MOST_CAUGHT_UP,
    RACKS,
    ROLES_SHARE_LOAD,
    TOPOLOGY_IN_HASH,
    WARM_UPS_IN_ORDER,
)
from kstream_plan.model.settings import AssignmentConfig


class Laws(NamedTuple):
    """What holds in a release that later ones have changed; all are false in the newest.

    Attributes:
        in_heap_order: movements are handled as they lie in the array of Kafka's queue, not as it gives them out.
        caught_up_only: only who is caught up runs a task until its target is; where no one is, it starts there at once.
        roles_apart: active tasks and standbys are each split over threads as if there were none of the other.
        plain_hashes: the hash of a task id is of its two numbers alone.
        untagged: tags of clients do not count.
        rackless: racks of partitions do not count.
    """

    in_heap_order: bool = False
    caught_up_only: bool = False
    roles_apart: bool = False
    plain_hashes: bool = False
    untagged: bool = False
    rackless: bool = False

    def settings(self, config: AssignmentConfig) -> AssignmentConfig:
        """Return the settings that count."""
        if self.untagged and config.rack_aware_assignment_tags:
            config = replace(config, rack_aware_assignment_tags=())
        if self.rackless and config.rack_aware_assignment_strategy != "none":
            config = replace(config, rack_aware_assignment_strategy="none")
        return config


#: The laws of the newest release.
NEWEST = Laws()


def laws_of(release: str | None) -> Laws:
    """Return the laws of a release; ``None``: it is unknown, and the newest counts."""
    return Laws(
        in_heap_order=not WARM_UPS_IN_ORDER.is_in(release),
        caught_up_only=not MOST_CAUGHT_UP.is_in(release),
        roles_apart=not ROLES_SHARE_LOAD.is_in(release),
        plain_hashes=not TOPOLOGY_IN_HASH.is_in(release),
        untagged=not CLIENT_TAGS.is_in(release),
        rackless=not RACKS.is_in(release),
    )
