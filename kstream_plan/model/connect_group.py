"""A Kafka Connect group: its connectors, and its workers with what each holds, in its order, and remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model.group import ItemName, Task
from kstream_plan.model.java_hash import java_string_key

#: Connect's own settings by their names in a snapshot, with ``_`` for ``.``: the field of ``AssignmentConfig``, its
#: default, and the lowest and the highest value that workers take.
CONNECT_SETTINGS: Mapping[str, tuple[str, int, int, int]] = MappingProxyType(
    {
        "scheduled_rebalance_max_delay_ms": ("scheduled_rebalance_max_delay_ms", 300_000, 0, 2**31 - 1),
        "session_timeout_ms": ("session_timeout_ms", 10_000, 1, 2**31 - 1),
        "heartbeat_interval_ms": ("heartbeat_interval_ms", 3_000, 1, 2**31 - 1),
        "rebalance_timeout_ms": ("rebalance_timeout_ms", 60_000, 1, 2**31 - 1),
    }
)


class ConnectItems(NamedTuple):
    """Connectors, then tasks (connector, number), each in an order that counts, or sorted where none does."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[tuple[str, int], ...] = ()

    def sorted(self) -> ConnectItems:
        """Return the same in the order of the names."""
        return ConnectItems(
            tuple(sorted(self.connectors, key=java_string_key)),
            tuple(sorted(self.tasks, key=lambda task: (java_string_key(task[0]), task[1]))),
        )

    def names(self) -> list[str]:
        """Return what plans call them."""
        return [*map(connector_item, self.connectors), *(f"{connector}-{number}" for connector, number in self.tasks)]


#: The code of the warning of what several workers hold at once, before a plan's first rebalance.
HELD_BY_SEVERAL = "held-by-several"

#: The code of the warning of workers that did not answer at their own addresses, with what shows as running there.
WORKER_SILENT = "worker-silent"

#: The code of the warning of workers at one address: one of them may be an earlier process.
SAME_ADDRESS = "same-address"

#: The code of the warning of a delay that may run, in which some work waits.
DELAY_UNKNOWN = "delay-unknown"

#: What no task's name ends with.
_OF_CONNECTOR = " (connector)"


def connector_item(connector: str) -> str:
    """Return what plans call a connector itself, beside its tasks ``name-0``, ``name-1``, …: no task is called so."""
    return f"{connector}{_OF_CONNECTOR}"


def is_connector(name: str) -> bool:
    """Tell whether plans call a connector itself so, and no task."""
    return name.endswith(_OF_CONNECTOR)


def all_items(task_counts: Iterable[tuple[str, int]]) -> ConnectItems:
    """Return all connectors and tasks that are configured."""
    counts = list(task_counts)
    return ConnectItems(
        tuple(connector for connector, _ in counts),
        tuple((connector, place) for connector, number in counts for place in range(number)),
    )


def work_of(task_counts: Iterable[tuple[str, int]]) -> list[Task]:
    """Return connectors and tasks as units of work: it matters where each runs, and none has any state."""
    return [Task(task_id=ItemName(name), stateful=True) for name in all_items(task_counts).names()]


#: Nothing that is held, or remembered.
NO_ITEMS = ConnectItems()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerMemory:
    """What a worker remembers of the rounds that it led, sets sorted; ``scheduled_at_ms`` is when its delay ends.

    That is counted from when the group was captured; ``None``: no delay runs.
    """

    previous: ConnectItems = NO_ITEMS
    revocation: ConnectItems = NO_ITEMS
    revoked_in_previous: bool = False
    candidates: tuple[str, ...] = ()
    scheduled_at_ms: int | None = None
    delay_ms: int = 0
    generation: int = -1
    members: tuple[str, ...] = ()
    successive: int = 0


#: What a process remembers that has never led.
NO_MEMORY = WorkerMemory()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMemory:
    """What a group remembers whoever leads it, by designs in which not the leader does; times as in the worker's.

    ``known``: connectors and tasks that somebody ran in the last round, or that have waited since. What is lost waits
    until ``deadline_ms``; no more is taken away before ``next_step_ms``.
    """

    known: frozenset[str | tuple[str, int]] = frozenset()
    deadline_ms: int | None = None
    next_step_ms: int | None = None


#: What a group remembers that has just begun, or whose leader remembers all there is.
NO_SHARED_MEMORY = GroupMemory()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectWorker:
    """A worker under its member id: what it holds, in the order in which it reports it, and what it remembers.

    ``last_completed`` is the generation of its last answer, ``joins_at_ms`` when it joins again by itself.
    """

    member_id: str
    held: ConnectItems = NO_ITEMS
    memory: WorkerMemory = NO_MEMORY
    last_completed: int = -1
    joins_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectGroup:
    """A Connect group between two rounds.

    ``task_counts`` are the connectors, sorted, with the number of their tasks; ``workers`` are in the order of the
    broker's member table, which has ``bins`` bins (``None``: as many as it needs). ``java`` is the workers' version,
    ``shared`` what no single worker remembers. ``to_configure`` are connectors without tasks yet, with the number of
    tasks that each configures once it runs. Without a ``leader`` nobody knows who that is, what it remembers, and in
    which orders workers and what they hold are: only how much each holds.
    """

    task_counts: tuple[tuple[str, int], ...]
    workers: tuple[ConnectWorker, ...]
    leader: str | None
    generation: int
    java: int = 17
    bins: int | None = None
    shared: GroupMemory = NO_SHARED_MEMORY
    to_configure: tuple[tuple[str, int], ...] = ()


def remembering_all(workers: Sequence[ConnectWorker], generation: int) -> WorkerMemory:
    """Return the memory of a leader that remembers what all hold, each item once, and nothing else."""
    return WorkerMemory(
        previous=ConnectItems(
            tuple({name for worker in workers for name in worker.held.connectors}),
            tuple({task for worker in workers for task in worker.held.tasks}),
        ).sorted(),
        generation=generation,
        members=tuple(sorted(worker.member_id for worker in workers)),
    )
