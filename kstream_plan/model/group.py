"""Who takes part and what there is to do: instances and tasks, numbered in Kafka's own order.

Source: page ``rules``, "Orders".
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import starmap
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.model.java_hash import hash_in_table, java_string_key

_TASK_ID = re.compile(r"(?:(?P<topology>.+)__)?(?P<subtopology>\d{1,10})_(?P<partition>\d{1,10})", re.ASCII | re.DOTALL)
_MAX_INT = 2**31 - 1

#: Only this text form counts as a UUID: Java and Python read more forms, and not the same ones.
_CANONICAL_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_THREAD = re.compile(r"-StreamThread-(\d{1,9})(?:-|$)", re.ASCII)


class TaskId(NamedTuple):
    """A unit of work: ``subtopology_partition``, with a named topology ``name__subtopology_partition``.

    A tuple, for plans look up millions of them; but Kafka's order is that of ``sort_key``.
    """

    subtopology: int
    partition: int
    topology_name: str | None = None

    @classmethod
    @lru_cache(maxsize=1 << 16)
    def parse(cls, text: str) -> TaskId:
        """Read Kafka's text form.

        Raises:
            ValueError: ``text`` is not a task id.
        """
        match = _TASK_ID.fullmatch(text)
        if match is None or max(int(match["subtopology"]), int(match["partition"])) > _MAX_INT:
            raise ValueError(f"{text!r} is not a task id like 0_3 or name__0_3")
        return cls(int(match["subtopology"]), int(match["partition"]), match["topology"])

    @property
    def sort_key(self) -> tuple[bytes, int, int]:
        """Kafka's order: topology name (none first, as Java strings), subtopology, partition."""
        return (java_string_key(self.topology_name) if self.topology_name else b"", self.subtopology, self.partition)

    @property
    def group(self) -> str:
        """The subtopology, with its topology's name if it has one: ``1`` or ``name__1``."""
        return f"{self.topology_name}__{self.subtopology}" if self.topology_name else str(self.subtopology)

    def __str__(self) -> str:
        return f"{self.group}_{self.partition}"


class ItemName(NamedTuple):
    """A unit of work that has nothing but a name, in a group that is no Kafka Streams application.

    Made by :func:`work_id`, so that a name stands for the same unit wherever it is read.
    """

    name: str

    @property
    def sort_key(self) -> tuple[bytes, int, int]:
        """The order of Java strings."""
        return java_string_key(self.name), 0, 0

    @property
    def group(self) -> str:
        """What it is one of several of: all items of a group are of one kind."""
        return ""

    def __str__(self) -> str:
        return self.name


#: What a unit of work is called.
WorkId: TypeAlias = TaskId | ItemName


def work_id(text: str) -> WorkId:
    """Return what is called so: a task if it has the form of a task id, else an item with this name.

    Raises:
        ValueError: ``text`` is empty.
    """
    if not text:
        raise ValueError("a name is empty")
    try:
        return TaskId.parse(text)
    except ValueError:
        return ItemName(text)


class Partition(NamedTuple):
    """One topic partition a task reads or restores from; ``racks`` of its replicas, ``None`` if not known."""

    topic: str
    partition: int
    racks: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of the topology, or another unit of work that a group deals out.

    ``stateful``: it matters where it runs, so that each of its moves counts; an item of a group that knows no state is
    stateful with nothing to restore. ``end_offset_sum`` is the sum of its changelogs' end offsets in records, at most
    2^63-1, and 0 for a stateless task; where no end offset was to be had it is the stand-in 2^63-1 and
    ``end_offset_known`` is false.
    """

    task_id: WorkId
    stateful: bool
    end_offset_sum: int = 0
    end_offset_known: bool = True
    source_partitions: tuple[Partition, ...] = ()
    changelog_partitions: tuple[Partition, ...] = ()


def thread_number(consumer_id: str) -> str:
    """Return the number of the stream thread that a consumer id names; empty: it names none."""
    match = _THREAD.search(consumer_id)
    return "" if match is None else match[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One stream thread: a member of the consumer group."""

    consumer_id: str
    group_instance_id: str | None = None
    protocols: tuple[str, ...] = ("cooperative",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One Kafka Streams process; its capacity is the number of its consumers."""

    process_id: str
    consumers: tuple[Consumer, ...]
    host: str | None = None
    rack: str | None = None
    client_tags: tuple[tuple[str, str], ...] = ()

    @property
    def capacity(self) -> int:
        """The number of stream threads."""
        return len(self.consumers)

    @property
    def is_static(self) -> bool:
        """Whether all its threads are static members."""
        return all(consumer.group_instance_id is not None for consumer in self.consumers)


def is_uuid(process_id: str) -> bool:
    """Tell whether a process id is a UUID in its canonical text form; any other id is plain text."""
    return _CANONICAL_UUID.fullmatch(process_id) is not None


def process_order(process_ids: list[str]) -> list[str]:
    """Sort process ids as Kafka does.

    Java UUIDs compare by high, then low 64 bits, both signed (so ``8…`` sorts before ``0…``). If any id is not a
    UUID, all of them sort as plain strings.
    """

    def signed_halves(process_id: str) -> tuple[int, int]:
        value = uuid.UUID(process_id).int
        high, low = value >> 64, value & (2**64 - 1)
        return (high ^ 2**63) - 2**63, (low ^ 2**63) - 2**63

    return sorted(process_ids, key=signed_halves if all(map(is_uuid, process_ids)) else java_string_key)


@dataclass(frozen=True)
class Group:
    """Who takes part and what there is to do; constant while membership is.

    Build it with :meth:`of`, which sorts. A task, instance or consumer is referred to by its index in ``tasks``,
    ``instances`` and ``consumer_ids``; consumers are numbered instance by instance.
    """

    application_id: str
    tasks: tuple[Task, ...]
    instances: tuple[Instance, ...]

    @classmethod
    def of(cls, application_id: str, tasks: list[Task], instances: list[Instance]) -> Group:
        """Sort tasks, instances and each instance's consumers in Kafka's order (ids must be unique)."""
        by_id = {instance.process_id: instance for instance in instances}
        return cls(
            application_id,
            tuple(sorted(tasks, key=lambda task: task.task_id.sort_key)),
            tuple(_sorted_consumers(by_id[process_id]) for process_id in process_order(list(by_id))),
        )

    def __reduce__(self) -> tuple[type[Group], tuple[object, ...]]:
        """Pickle what it is made of, not what was derived from it."""
        return Group, (self.application_id, self.tasks, self.instances)

    @cached_property
    def task_index(self) -> Mapping[WorkId, int]:
        """Task id → index in ``tasks``."""
        return MappingProxyType({task.task_id: index for index, task in enumerate(self.tasks)})

    @cached_property
    def task_index_by_text(self) -> Mapping[str, int]:
        """Task id as text → index in ``tasks``."""
        return MappingProxyType({str(task.task_id): index for index, task in enumerate(self.tasks)})

    @cached_property
    def instance_index(self) -> Mapping[str, int]:
        """Process id → index in ``instances``."""
        return MappingProxyType({instance.process_id: i for i, instance in enumerate(self.instances)})

    @cached_property
    def consumer_ids(self) -> tuple[str, ...]:
        """Every consumer's id, instance by instance."""
        return tuple(c.consumer_id for instance in self.instances for c in instance.consumers)

    @cached_property
    def consumer_index(self) -> Mapping[tuple[str, str], int]:
        """Process id and consumer id → index in ``consumer_ids``."""
        pairs = zip(self.instance_of, self.consumer_ids, strict=True)
        return MappingProxyType(
            {(self.instances[i].process_id, consumer_id): index for index, (i, consumer_id) in enumerate(pairs)}
        )

    def indices_of(self, other: Group) -> list[int]:
        """Return the index here of every consumer of another group; all of them are in this one."""
        return [self.consumer_index[pair] for pair in other.consumer_index]

    @cached_property
    def instance_of(self) -> tuple[int, ...]:
        """Consumer index → index of its instance."""
        return tuple(i for i, instance in enumerate(self.instances) for _ in instance.consumers)

    @cached_property
    def consumers_of(self) -> tuple[range, ...]:
        """Instance index → the range of its consumers' indices."""
        ranges, start = [], 0
        for instance in self.instances:
            ranges.append(range(start, start + instance.capacity))
            start += instance.capacity
        return tuple(ranges)

    @cached_property
    def stateful(self) -> tuple[int, ...]:
        """Indices of the stateful tasks, sorted."""
        return tuple(index for index, task in enumerate(self.tasks) if task.stateful)

    @cached_property
    def end_offset_sums(self) -> tuple[int, ...]:
        """Task index → its end-offset sum in records."""
        return tuple(task.end_offset_sum for task in self.tasks)

    @cached_property
    def stateful_flags(self) -> tuple[bool, ...]:
        """Task index → whether it is stateful."""
        return tuple(task.stateful for task in self.tasks)

    @cached_property
    def stateless(self) -> tuple[int, ...]:
        """Indices of the stateless tasks, sorted."""
        return tuple(index for index, task in enumerate(self.tasks) if not task.stateful)

    @cached_property
    def table_hashes(self) -> tuple[int, ...]:
        """Task index → the hash that places its id in a Java hash table, which decides ties."""
        return tuple(starmap(hash_in_table, (task.task_id for task in self.tasks)))

    @cached_property
    def subtopologies(self) -> tuple[str, ...]:
        """Task index → its subtopology (with its topology's name, if it has one)."""
        return tuple(task.task_id.group for task in self.tasks)

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """The number of stream threads of each instance."""
        return tuple(instance.capacity for instance in self.instances)


def _sorted_consumers(instance: Instance) -> Instance:
    consumers = tuple(sorted(instance.consumers, key=lambda consumer: java_string_key(consumer.consumer_id)))
    return Instance(
        process_id=instance.process_id,
        consumers=consumers,
        host=instance.host,
        rack=instance.rack,
        client_tags=tuple(sorted(instance.client_tags)),
    )
