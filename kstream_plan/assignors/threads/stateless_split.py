"""The stateless tasks of every instance over its consumers: the last pass of the split, on numbers.

Source: page ``rules``, "Split over threads".
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.threads.consumer_split import thread_assignment
from kstream_plan.model import Group, Owners, no_owners

Numbers: TypeAlias = "npt.NDArray[np.int32]"


class Shares(NamedTuple):
    """A decision on the stateless tasks: the instance, then the consumer of each, and what else each consumer has.

    ``loads`` are what counts of the stateful tasks of each consumer (:func:`split_stateless`).
    """

    instances: Owners
    consumers: Owners
    loads: Numbers


def split_stateless(
    group: Group, instances: Owners, loads: Numbers, previous: Shares | None, laws: Laws = NEWEST
) -> Shares:
    """Split the stateless tasks of every instance over its consumers, which only fill up with them.

    Nobody has reported any of them, so an instance's split depends on its tasks and its consumers' loads alone.

    Args:
        group: who takes part.
        instances: by place among the stateless tasks, which instance it was given to.
        loads: how many stateful tasks each consumer has in any role; before 3.2, active ones alone.
        previous: an earlier decision. It only saves work.
        laws: what the release that runs does otherwise than the newest.

    Returns:
        What was given, and which consumer gets each.
    """
    if laws.roles_apart:
        return Shares(instances, _in_turn(group, instances, loads), loads)
    if previous is None:
        touched, owners = set(range(len(group.instances))), no_owners(group)
    else:
        touched, owners = _touched(group, instances, loads, previous), previous.consumers
    if touched and len(instances):
        owners = owners.copy()
        _split(group, instances, loads, touched, owners)
    return Shares(instances, owners, loads)


def _in_turn(group: Group, instances: Owners, loads: Numbers) -> Owners:
    """Return the owners as before 3.2: first those with one active stateful task less, then all, in turn."""
    owners = no_owners(group)
    for instance, consumers in enumerate(group.consumers_of):
        (mine,) = (instances == instance).nonzero()
        counts = loads[consumers.start : consumers.stop].tolist()
        lighter = [consumers.start + k for k, count in enumerate(counts) if count < max(counts)][: len(mine)]
        owners[mine[: len(lighter)]] = lighter
        owners[mine[len(lighter) :]] = consumers.start + np.arange(len(mine) - len(lighter)) % len(consumers)
    return owners


def _touched(group: Group, instances: Owners, loads: Numbers, previous: Shares) -> set[int]:
    """Return the instances with other stateless tasks, or other loads of consumers, than in an earlier decision."""
    changed_consumers = np.flatnonzero(loads != previous.loads).tolist()
    touched = set(map(group.instance_of.__getitem__, changed_consumers))
    is_moved = instances != previous.instances
    return touched.union(instances[is_moved].tolist(), previous.instances[is_moved].tolist())


def _split(group: Group, instances: Owners, loads: Numbers, touched: set[int], owners: Owners) -> None:
    """Write the owners of the stateless tasks that were given to the touched instances."""
    by_instance = instances.argsort(kind="stable")
    ends = np.bincount(instances, minlength=len(group.instances)).cumsum().tolist()
    for instance in touched:
        mine = by_instance[ends[instance - 1] if instance else 0 : ends[instance]]
        if not len(mine):
            continue
        consumers = group.consumers_of[instance]
        owners[mine] = consumers.start + np.array(
            dealt_to_threads(group, mine, loads[consumers.start : consumers.stop].tolist())
        )


def dealt_to_threads(group: Group, places: Owners, load: Sequence[int]) -> list[int]:
    """Return which of an instance's consumers gets each of its stateless tasks.

    Args:
        group: who takes part.
        places: the tasks, by their places among the group's stateless ones, sorted.
        load: what each of the consumers has of other tasks.
    """
    split = thread_assignment(group, NEWEST)
    split.clear()
    split.add_unreported([group.stateless[place] for place in places.tolist()])
    split.deal(array("i", load), 0, len(load), True)
    return split.takers()
