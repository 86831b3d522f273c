"""Lag to rank: who is caught up on a task, and who is most caught up (KIP-441, reference section 3).

Lags are in records. An instance that reported nothing about a task lags by the task's whole end-offset sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.assignment_config import MAX_LONG
from kstream_plan.model import LATEST, UNKNOWN, Copy, GroupState, whole_sum


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
    known = whole_sum(lag, end_offset_sum)
    if is_caught_up(known, acceptable_recovery_lag):
        return 0
    return whole_sum(None, end_offset_sum) if known == UNKNOWN else known


def reported_lag(copies: Sequence[Copy], instance: int) -> int | None:
    """Return the lag that ``instance`` reported for the task with these copies, or ``None``."""
    return next((copy.lag for copy in copies if copy.instance == instance), None)


def lags(state: GroupState, task: int) -> list[int]:
    """Return Kafka's lag of one task by instance index: markers included, what was not reported is the whole sum."""
    whole = whole_sum(None, state.group.tasks[task].end_offset_sum)
    by_instance = [whole] * len(state.group.instances)
    for copy in state.copies[task]:
        if copy.lag is not None:
            by_instance[copy.instance] = copy.lag
    return by_instance


def caught_up_instances(state: GroupState, task: int, acceptable_recovery_lag: int) -> tuple[int, ...]:
    """Return the instances that may run the task at once, in instance order."""
    by_instance = lags(state, task)
    return tuple(i for i, lag in enumerate(by_instance) if is_caught_up(lag, acceptable_recovery_lag))


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


def most_caught_up_instances(state: GroupState, task: int, acceptable_recovery_lag: int) -> tuple[int, ...]:
    """Return all instances that share the task's lowest rank, in instance order."""
    candidates = ranked_candidates(state, task, acceptable_recovery_lag)
    return tuple(c.instance for c in candidates if c.rank == candidates[0].rank)


def by_lag(state: GroupState, task: int) -> tuple[int, ...]:
    """Return all instances as Kafka's own list by lag has them: by (raw lag, instance).

    The markers are plain numbers here: unknown (-3) comes before the running owner (-2), both before every lag.
    """
    by_instance = lags(state, task)
    return tuple(sorted(range(len(by_instance)), key=lambda i: (by_instance[i], i)))
