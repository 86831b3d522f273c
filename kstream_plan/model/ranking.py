"""Lag to rank: who is caught up on a task, who is most caught up (KIP-441), and the lag that was reported last.

Source: page ``rules``, "Lag and rank".

Lags are in records. An instance that reported nothing about a task lags by the task's whole end-offset sum.
"""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.model import LATEST, UNKNOWN, GroupState, whole_sum
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.snapshot import Snapshot
from kstream_plan.model.streams_group import BrokerGroup


class Candidate(NamedTuple):
    """One instance as a place for a task: sorts by (rank, instance).

    ``lag`` is the reported lag in records, Kafka's markers included, or ``None`` if the instance reported nothing.
    """

    rank: int
    instance: int
    lag: int | None


def is_caught_up(lag: int, acceptable_recovery_lag: int) -> bool:
    """Tell whether an instance with this lag (Kafka's ``lagFor``: markers included) may run the task at once."""
    return lag == LATEST or 0 <= lag <= acceptable_recovery_lag or acceptable_recovery_lag == MAX_LONG


def rank(lag: int | None, end_offset_sum: int, acceptable_recovery_lag: int) -> int:
    """Return KIP-441's rank: 0 if caught up, else the lag itself; an unknown offset sum ranks as the whole sum."""
    lag_or_unknown = whole_sum(lag, end_offset_sum)
    if is_caught_up(lag_or_unknown, acceptable_recovery_lag):
        return 0
    return whole_sum(None, end_offset_sum) if lag_or_unknown == UNKNOWN else lag_or_unknown


def ranked_candidates(state: GroupState, task: int, acceptable_recovery_lag: int) -> tuple[Candidate, ...]:
    """Return every instance as a candidate for the task, by (rank, instance)."""
    end_offset_sum = state.group.tasks[task].end_offset_sum
    reported = {copy.instance: copy.lag for copy in state.copies[task]}
    return tuple(
        sorted(
            Candidate(rank(reported.get(i), end_offset_sum, acceptable_recovery_lag), i, reported.get(i))
            for i in range(len(state.group.instances))
        )
    )


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
