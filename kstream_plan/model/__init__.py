"""What is: tasks, instances, the copies they hold, and the group's state between two rebalances.

Everything is frozen. Inside a :class:`Group` tasks, instances and consumers are numbered in Kafka's own order
(``Group.of`` makes it); every other value refers to them by those numbers, so that a decision is arithmetic on
integers and a tie is broken by comparing two of them.
"""

from kstream_plan.model.decision import Assignment, FollowedTarget, KnownDecision, Movement, Movements, Target
from kstream_plan.model.group import (
    Consumer,
    Group,
    Instance,
    ItemName,
    Partition,
    Task,
    TaskId,
    WorkId,
    is_uuid,
    process_order,
    work_id,
)
from kstream_plan.model.holding import (
    NOBODY,
    Holding,
    Holdings,
    LazyHoldings,
    LazySequence,
    Owners,
    RenumberedHoldings,
    no_owners,
    renumbered,
    revoked_by,
    same_owners,
)
from kstream_plan.model.note import Note
from kstream_plan.model.snapshot import Rates, Snapshot
from kstream_plan.model.state import LATEST, UNKNOWN, Copy, GroupState, whole_sum

__all__ = [
    "LATEST",
    "NOBODY",
    "UNKNOWN",
    "Assignment",
    "Consumer",
    "Copy",
    "FollowedTarget",
    "Group",
    "GroupState",
    "Holding",
    "Holdings",
    "Instance",
    "ItemName",
    "KnownDecision",
    "LazyHoldings",
    "LazySequence",
    "Movement",
    "Movements",
    "Note",
    "Owners",
    "Partition",
    "Rates",
    "RenumberedHoldings",
    "Snapshot",
    "Target",
    "Task",
    "TaskId",
    "WorkId",
    "is_uuid",
    "no_owners",
    "process_order",
    "renumbered",
    "revoked_by",
    "same_owners",
    "whole_sum",
    "work_id",
]
