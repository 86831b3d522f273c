"""The group as the class in the application sees it: members, tasks, and how far behind each copy is.

Source: page ``target-file``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kstream_plan.model import LATEST, NOBODY
from kstream_plan.model.settings import MAX_LONG

if TYPE_CHECKING:
    import numpy.typing as npt

    #: By task, then by member.
    Lags: TypeAlias = npt.NDArray[np.int64]

#: A lag that was not given.
NO_LAG = -4
#: The rank of a member that must not be preferred to any other.
NEVER = MAX_LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One process of the group; tasks are indices.

    ``owned``: the tasks of the partitions that it owns as it joins; ``state``: other stateful tasks that it reported an
    offset of; ``host``: ``HOST:PORT``, if it has one; ``consumer_ids``: the member ids of its threads.
    """

    process_id: str
    threads: int
    owned: frozenset[int]
    state: frozenset[int]
    tags: Mapping[str, str]
    host: str | None
    consumer_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MembersAndTasks:
    """What a decision is made from, but for the target and the clock.

    ``application`` and ``leader`` (the ``client.id`` of the thread that decides) are ``None`` where they are unknown.
    ``task_ids`` are in order of subtopology and partition, and a task is referred to by its index there;
    ``stateful`` are the indices of the stateful ones, sorted, ``lags`` by task and member.
    ``members`` are in the order of their process ids as Java's UUIDs, and are referred to by their index, their place.
    The settings are Kafka's of the same names.
    """

    application: str | None
    leader: str | None
    task_ids: tuple[str, ...]
    subtopologies: tuple[int, ...]
    stateful: tuple[int, ...]
    members: tuple[Member, ...]
    lags: Lags
    acceptable_recovery_lag: int
    max_warmup_replicas: int
    num_standby_replicas: int
    probing_rebalance_interval_ms: int
    rack_aware_assignment_tags: tuple[str, ...]

    @cached_property
    def stateless(self) -> tuple[int, ...]:
        """Indices of the stateless tasks, sorted."""
        stateful = set(self.stateful)
        return tuple(task for task in range(len(self.task_ids)) if task not in stateful)

    @cached_property
    def owner(self) -> tuple[int, ...]:
        """By task: the place of the first member that owns it, or :data:`NOBODY`."""
        owner = [NOBODY] * len(self.task_ids)
        for place in reversed(range(len(self.members))):
            for task in self.members[place].owned:
                owner[task] = place
        return tuple(owner)

    @cached_property
    def ranks(self) -> Lags:
        """By task and member: 0 for one that is caught up, else its lag; :data:`NEVER` where it is unknown."""
        lags = self.lags
        ranks = np.where(lags <= self.acceptable_recovery_lag, 0, lags)
        ranks[(lags < 0) & (lags != LATEST)] = NEVER
        for task in self.stateful:
            owner = self.owner[task]
            if owner != NOBODY and ranks[task, owner] == NEVER and lags[task, owner] < 0:
                ranks[task, owner] = 0
        return ranks

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """By member: what one task weighs, so that loads per thread compare as whole numbers."""
        per_group = math.lcm(*(member.threads for member in self.members))
        return tuple(per_group // member.threads for member in self.members)

    def least_loaded(self, places: Iterable[int], loads: Sequence[int]) -> int:
        """Return the place with the lowest load per thread, of equals the first."""
        return min(places, key=lambda place: (loads[place] * self.weights[place], place))


def stateful_owners(group: MembersAndTasks, active: Sequence[int]) -> list[int]:
    """Return by task who runs it: the target's member if nobody else who could is further, else who is.

    Args:
        group: the group.
        active: by task the member that is to run it, or :data:`NOBODY`.
    """
    running = [NOBODY] * len(group.task_ids)
    loads = [0] * len(group.members)
    ranks = group.ranks
    lowest = ranks.min(axis=1).tolist() if group.members else []

    def settle(task: int, place: int) -> None:
        target_place = active[task]
        if target_place != NOBODY and ranks[task, target_place] <= ranks[task, place]:
            place = target_place
        running[task] = place
        loads[place] += 1

    rest = []
    for task in group.stateful:
        owner = group.owner[task]
        if owner != NOBODY and (lowest[task] > 0 or ranks[task, owner] == 0):
            settle(task, owner)
        else:
            rest.append(task)
    for task in rest:
        nearest = np.flatnonzero(ranks[task] == lowest[task]).tolist()
        settle(task, group.least_loaded(nearest, loads))
    return running
