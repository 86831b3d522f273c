"""Units of work: tasks, their ids and the partitions they read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kstream_plan.model.java_hash import java_string_key

_TASK_ID = re.compile(r"(?:(?P<topology>.+)__)?(?P<subtopology>\d{1,10})_(?P<partition>\d{1,10})", re.ASCII | re.DOTALL)
_MAX_INT = 2**31 - 1


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
