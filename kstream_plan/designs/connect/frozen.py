"""A Connect cluster as a frozen value: one round is a function of it, its settings and the time."""

from __future__ import annotations

from dataclasses import replace

from kstream_plan.assignors.java.text_maps import HashMapOrder
from kstream_plan.designs.connect.cluster import SHIPPED, ConnectCluster, Rules, Worker, WorkerRound
from kstream_plan.designs.connect.draft import ItemSets, LeaderMemory
from kstream_plan.designs.connect.items import Items
from kstream_plan.model.connect_group import (
    NO_MEMORY,
    ConnectGroup,
    ConnectItems,
    ConnectWorker,
    GroupMemory,
    WorkerMemory,
    remembering_all,
)

#: The zero of the plan's clock for the leader, to whom 0 or less means that no delay runs.
_ZERO_MS = 10**15


def run_round(group: ConnectGroup, rules: Rules, max_delay_ms: int, at_ms: int) -> tuple[ConnectGroup, WorkerRound]:
    """Simulate a round by these rules at a time of the plan's clock; return the cluster after it, and the round."""
    cluster = thaw(group, max_delay_ms, rules)
    worker_round = cluster.run_round(_ZERO_MS + at_ms)
    return freeze(cluster), worker_round


def join(group: ConnectGroup, member_id: str, at_ms: int) -> ConnectGroup:
    """Return the group with a new process as a member; no round follows yet."""
    cluster = thaw(group, 0)
    cluster.join(member_id, _ZERO_MS + at_ms)
    return freeze(cluster)


def leave(group: ConnectGroup, member_id: str) -> ConnectGroup:
    """Return the group without a worker; if it led, the first of the broker's table leads."""
    cluster = thaw(group, 0)
    cluster.leave(member_id)
    return freeze(cluster)


def due_ms(group: ConnectGroup) -> int | None:
    """Return when the next worker joins by itself."""
    return min((worker.joins_at_ms for worker in group.workers if worker.joins_at_ms is not None), default=None)


def kept_until_ms(group: ConnectGroup) -> int | None:
    """Return until when lost work waits for workers that may come back; ``None``: it does not wait."""
    if group.shared.deadline_ms is not None:
        return group.shared.deadline_ms
    return next((worker.memory.scheduled_at_ms for worker in group.workers if worker.member_id == group.leader), None)


def without_memory(group: ConnectGroup) -> ConnectGroup:
    """Return the group with workers that remember nothing."""
    return replace(group, workers=tuple(replace(worker, memory=NO_MEMORY) for worker in group.workers))


def shift_times(group: ConnectGroup, by_ms: int) -> ConnectGroup:
    """Return the group with its times on a clock that began ``by_ms`` later."""

    def shifted(at_ms: int | None) -> int | None:
        return None if at_ms is None else at_ms - by_ms

    return replace(
        group,
        workers=tuple(
            replace(
                worker,
                joins_at_ms=shifted(worker.joins_at_ms),
                memory=replace(worker.memory, scheduled_at_ms=shifted(worker.memory.scheduled_at_ms)),
            )
            for worker in group.workers
        ),
        shared=_shifted_memory(group.shared, -by_ms),
    )


def led_by(group: ConnectGroup, leader: str) -> ConnectGroup:
    """Return the group led by a worker that remembers what all hold, and nothing else."""
    memory = remembering_all(group.workers, group.generation)
    workers = (replace(worker, memory=memory) if worker.member_id == leader else worker for worker in group.workers)
    return replace(group, leader=leader, workers=tuple(workers))


def table_bins(member_ids: list[str]) -> int | None:
    """Return how many bins a table has that lists members in this order; ``None``: there is no such table."""
    bins = 16
    while bins <= 1 << 16:
        table = HashMapOrder(bins)
        for member_id in member_ids:
            table.put(member_id)
        if table.bins == bins and list(table) == member_ids:
            return bins
        bins *= 2
    return None


def in_table(group: ConnectGroup) -> ConnectGroup:
    """Return the group with as many bins in the broker's table as give the order of its workers."""
    return replace(group, bins=table_bins([worker.member_id for worker in group.workers]))


def thaw(group: ConnectGroup, max_delay_ms: int, rules: Rules = SHIPPED) -> ConnectCluster:
    """Return the same cluster in a form that can be simulated on."""
    cluster = ConnectCluster(dict(group.task_counts), max_delay_ms, rules, group.java, group.bins)
    for worker in group.workers:
        joins_at_ms = None if worker.joins_at_ms is None else _ZERO_MS + worker.joins_at_ms
        joined_worker = Worker(Items(*worker.held), _remembered(worker.memory), worker.last_completed)
        cluster.join(worker.member_id, 0, joined_worker)
        joined_worker.joins_at_ms = joins_at_ms
    cluster.leader, cluster.generation = group.leader, group.generation
    cluster.group_memory = _shifted_memory(group.shared, _ZERO_MS)
    cluster.to_configure = group.to_configure
    return cluster


def freeze(cluster: ConnectCluster) -> ConnectGroup:
    """Return the cluster as a value."""
    workers = []
    for member_id in cluster.members:
        worker = cluster.workers[member_id]
        workers.append(
            ConnectWorker(
                member_id=member_id,
                held=ConnectItems(*worker.items),
                memory=_noted(worker.memory),
                last_completed=worker.last_completed,
                joins_at_ms=None if worker.joins_at_ms is None else worker.joins_at_ms - _ZERO_MS,
            )
        )
    return ConnectGroup(
        task_counts=tuple(cluster.task_counts.items()),
        workers=tuple(workers),
        leader=cluster.leader,
        generation=cluster.generation,
        java=cluster.java,
        bins=cluster.bins,
        shared=_shifted_memory(cluster.group_memory, -_ZERO_MS),
        to_configure=cluster.to_configure,
    )


def _shifted_memory(group_memory: GroupMemory, by_ms: int) -> GroupMemory:
    """Return the group's memory with its times ``by_ms`` later."""
    deadline_ms, next_step_ms = (
        None if at_ms is None else at_ms + by_ms for at_ms in (group_memory.deadline_ms, group_memory.next_step_ms)
    )
    return replace(group_memory, deadline_ms=deadline_ms, next_step_ms=next_step_ms)


def _remembered(memory: WorkerMemory) -> LeaderMemory:
    scheduled_at_ms = memory.scheduled_at_ms
    return LeaderMemory(
        previous=_sets(memory.previous),
        revocation=_sets(memory.revocation),
        revoked_in_previous=memory.revoked_in_previous,
        candidates=memory.candidates,
        scheduled_at=0 if scheduled_at_ms is None else _ZERO_MS + scheduled_at_ms,
        delay_ms=memory.delay_ms,
        generation=memory.generation,
        members=frozenset(memory.members),
        successive=memory.successive,
    )


def _noted(memory: LeaderMemory) -> WorkerMemory:
    return WorkerMemory(
        previous=_sorted(memory.previous),
        revocation=_sorted(memory.revocation),
        revoked_in_previous=memory.revoked_in_previous,
        candidates=memory.candidates,
        scheduled_at_ms=None if memory.scheduled_at <= 0 else memory.scheduled_at - _ZERO_MS,
        delay_ms=memory.delay_ms,
        generation=memory.generation,
        members=tuple(sorted(memory.members)),
        successive=memory.successive,
    )


def _sets(items: ConnectItems) -> ItemSets:
    return ItemSets(frozenset(items.connectors), frozenset(items.tasks))


def _sorted(sets: ItemSets) -> ConnectItems:
    return ConnectItems(tuple(sets.connectors), tuple(sets.tasks)).sorted()
