"""The split of one instance's tasks over its consumers (Kafka's ``assignTasksToThreads``, reference section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Group, Holding


def split_over_consumers(
    consumers: range, placement: Holding, previous: Sequence[Sequence[tuple[int, int]]], group: Group
) -> tuple[Holding, ...]:
    """Split what one instance was given over its consumers.

    Args:
        consumers: the instance's consumers, by index in the group.
        placement: the instance's tasks by role.
        previous: for the instance's k-th consumer the (lag, task) pairs of the stateful tasks it reported; the lag
            as Kafka sees it (``LATEST``, ``UNKNOWN`` or records behind).
        group: who the indices mean.

    Returns:
        One holding per consumer, in order.
    """
    raise NotImplementedError
