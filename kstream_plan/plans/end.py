"""The end of a plan, with what it takes to plan on from there and what its rounds do not state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kstream_plan.model import Partition
from kstream_plan.model.snapshot import Stores


class EndConsumer(NamedTuple):
    """What a consumer was assigned when the last decision was made: task ids."""

    consumer_id: str
    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


class EndInstance(NamedTuple):
    """A member at the last decision; ``started_ms``: since when it runs; ``None``: unknown."""

    process_id: str
    leader: bool
    started_ms: int | None
    consumers: tuple[EndConsumer, ...]


class EndCopy(NamedTuple):
    """A copy as the last decision found it, unless it ran and only its owner said so.

    ``lag`` is what was reported: records, a marker of Kafka's or ``None`` (nothing); ``to_restore`` what there really
    was to restore, where that is something else. ``since_ms`` tells since when it has been where it is, ``made_ms``
    when there was none before it; ``None``: not known.
    """

    process_id: str
    task_id: str
    lag: int | None
    to_restore: int | None
    consumer_ids: tuple[str, ...]
    since_ms: int | None
    made_ms: int | None


class EndRate(NamedTuple):
    """How many records per second an instance restores, or are written to a task; ``of`` names it."""

    of: str
    per_second: float
    intervals: int
    at_least: bool
    source: str


class EndTask(NamedTuple):
    """The partitions of a task, where their racks decide."""

    task_id: str
    source_partitions: tuple[Partition, ...]
    changelog_partitions: tuple[Partition, ...]


class EndInput(NamedTuple):
    """Input of a task that may be unprocessed: the records that its changelogs grow by once it is processed."""

    task_id: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEnd:
    """The group as the last decision of a plan found it; times are on the plan's clock.

    ``begins_at`` is the plan's beginning (RFC 3339), ``None`` if that is unknown; ``at_ms`` is when the last
    decision was made. ``goes_on``: somebody decided in the plan; else the group is as it was. ``to_come`` is how much
    of what happens to the group comes after the plan's end, and so is lost with it. ``unprocessed`` is the input of
    tasks that waits while they restore, and that which the snapshot had. ``stores``: where they are; ``None``: unknown.
    """

    begins_at: str | None
    at_ms: int
    goes_on: bool
    to_come: int
    streams_version: str | None
    instances: tuple[EndInstance, ...]
    copies: tuple[EndCopy, ...]
    restore: tuple[EndRate, ...]
    produce: tuple[EndRate, ...]
    tasks: tuple[EndTask, ...] = ()
    unprocessed: tuple[EndInput, ...] = ()
    stores: Stores | None = None
