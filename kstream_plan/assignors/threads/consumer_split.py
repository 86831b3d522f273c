"""The split of one instance's stateful tasks over its consumers: by ``engine.thread_assignment``.

Source: page ``rules``, "Split over threads".
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from kstream_plan.assignors.java.collections import hash_order
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.thread_assignment import ThreadAssignment
from kstream_plan.model import Group, Holding
from kstream_plan.model.java_hash import plain_hash_in_table


def split_over_consumers(
    consumers: range,
    placement: Holding,
    reported: Sequence[AbstractSet[int]],
    lag_of: Callable[[int], int],
    group: Group,
    laws: Laws = NEWEST,
) -> tuple[Holding, ...]:
    """Split what one instance was given of stateful tasks over its consumers.

    Three passes share the load of the threads: active stateful tasks, standbys (warm-ups among them, which Kafka does
    not tell apart), stateless tasks (:mod:`stateless_split`). The first two, made here, respect what each consumer
    reported, up to an even share. Before 3.2 each pass has a load of its own.

    Args:
        consumers: the instance's consumers, by index in the group.
        placement: the instance's stateful tasks by role.
        reported: the stateful tasks that the instance's k-th consumer reported.
        lag_of: the instance's lag on a task it reported, in records as Kafka sees it (``LATEST``, ``UNKNOWN`` or
            0 and more).
        group: who the indices mean.
        laws: what the release that runs does otherwise than the newest.

    Returns:
        One holding per consumer, in order.
    """
    if len(consumers) == 1:
        return (Holding(placement.active, placement.standby, placement.warmup),)
    assignment, load = thread_assignment(group, laws), zeros("i", len(consumers))

    def dealt(tasks: Sequence[int], *, as_hash_set: bool) -> list[list[int]]:
        return _dealt(assignment, tasks, reported, lag_of, load, as_hash_set=as_hash_set)

    active = dealt(placement.active, as_hash_set=True)
    load = zeros("i", len(consumers)) if laws.roles_apart else load
    copies = dealt(sorted(placement.standby + placement.warmup), as_hash_set=False)
    warmups = frozenset(placement.warmup)
    return tuple(
        Holding(
            tuple(mine),
            tuple([task for task in copied if task not in warmups]),
            tuple([task for task in copied if task in warmups]),
        )
        for mine, copied in zip(active, copies, strict=True)
    )


def thread_assignment(group: Group, laws: Laws) -> ThreadAssignment:
    """Return the one that deals a group's tasks; it is made once."""
    name = "_thread_assignment_of_plain_hashes" if laws.plain_hashes else "_thread_assignment"
    assignment: ThreadAssignment | None = vars(group).get(name)
    if assignment is None:
        hashes = _plain_hashes(group) if laws.plain_hashes else group.table_hashes
        assignment = ThreadAssignment(hashes, max(group.capacities), hash_order)
        vars(group)[name] = assignment
    return assignment


def _plain_hashes(group: Group) -> list[int]:
    return [plain_hash_in_table(*task.task_id[:2]) if task.stateful else 0 for task in group.tasks]


def _dealt(
    assignment: ThreadAssignment,
    tasks: Sequence[int],
    reported: Sequence[AbstractSet[int]],
    lag_of: Callable[[int], int],
    load: array[int],
    *,
    as_hash_set: bool,
) -> list[list[int]]:
    """Give ``tasks`` (sorted) to the consumers, evenly together with their ``load``, to which they are added."""
    reporters = [[thread for thread, mine in enumerate(reported) if task in mine] for task in tasks]
    assignment.clear()
    for task, threads in zip(tasks, reporters, strict=True):
        assignment.add(task, threads[0] if threads else -1)
        for thread in threads[1:]:
            assignment.add_reporter(thread)
    if not assignment.give_back(load, 0, len(load)):
        for place, task in enumerate(tasks):
            if reporters[place]:
                assignment.set_lag(place, lag_of(task))
        assignment.deal(load, 0, len(load), as_hash_set)
    return assignment.by_thread(len(load))
