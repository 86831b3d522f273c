"""How far behind a copy was when anybody said so last."""

from __future__ import annotations

from kstream_plan.model.snapshot import Snapshot
from kstream_plan.model.streams_group import BrokerGroup


def reported_lag(snapshot: Snapshot, task: int, instance: int) -> int | None:
    """Return how far behind a copy was when that was reported last; ``None``: it was not.

    Members of streams groups may report offsets to their brokers instead (4.4).
    """
    lag = next((copy.lag for copy in snapshot.state.copies[task] if copy.instance == instance), None)
    broker_group, group = snapshot.state.memory, snapshot.state.group
    if lag is not None or not isinstance(broker_group, BrokerGroup) or not group.tasks[task].end_offset_known:
        return lag
    copy_key = str(group.tasks[task].task_id), group.instances[instance].process_id
    offsets = [
        offset
        for member in broker_group.members
        for name, offset in member.offsets
        if (name, member.process_id) == copy_key
    ]
    return max(0, group.tasks[task].end_offset_sum - max(offsets)) if offsets else None
