"""What is: tasks, instances, the copies they hold, and the group's state between two rebalances.

Everything is frozen. Inside a :class:`Group` tasks, instances and consumers are numbered in Kafka's own order
(reference section 2); every other value refers to them by those numbers, so that a decision is arithmetic on
integers and a tie is broken by comparing two of them.
"""

from __future__ import annotations

import re
import uuid
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import compress
from operator import is_not
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.assignment_config import MAX_LONG, AssignmentConfig
from kstream_plan.shared_sequence import SharedSequence

#: Kafka's marker for the running active owner: caught up whatever the limit.
LATEST = -2
#: Kafka's marker for a copy whose offset sum is unknown: not caught up, but sorted before every other lag.
UNKNOWN = -3

_TASK_ID = re.compile(r"(?:(?P<topology>.+)__)?(?P<subtopology>\d{1,10})_(?P<partition>\d{1,10})", re.ASCII | re.DOTALL)
_MAX_INT = 2**31 - 1
#: Only this text form counts as a UUID: Java and Python read more forms, and not the same ones.
_CANONICAL_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def java_string_key(text: str) -> bytes:
    """Return a key that sorts as ``String.compareTo``: by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


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


class Partition(NamedTuple):
    """One topic partition a task reads or restores from; ``racks`` of its replicas, ``None`` if not known."""

    topic: str
    partition: int
    racks: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of the topology.

    ``end_offset_sum`` is the sum of its changelogs' end offsets in records, at most 2^63-1, and 0 for a stateless
    task; where no end offset was to be had it is the stand-in 2^63-1 and ``end_offset_known`` is false.
    """

    task_id: TaskId
    stateful: bool
    end_offset_sum: int = 0
    end_offset_known: bool = True
    source_partitions: tuple[Partition, ...] = ()
    changelog_partitions: tuple[Partition, ...] = ()


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


def is_uuid(process_id: str) -> bool:
    """Tell whether a process id is a UUID in its canonical text form; any other id is plain text."""
    return _CANONICAL_UUID.fullmatch(process_id) is not None


def process_order(process_ids: list[str]) -> list[str]:
    """Sort process ids as Kafka does.

    Java UUIDs compare by high, then low 64 bits, both signed (so ``8…`` sorts before ``0…``). If any id is not a
    UUID, all of them sort as plain strings (reference section 2).
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
    def task_index(self) -> Mapping[TaskId, int]:
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
    def stateless_set(self) -> frozenset[int]:
        """Indices of the stateless tasks."""
        return frozenset(self.stateless)

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


class Copy(NamedTuple):
    """State of one task on one instance's disk, assigned to one of its consumers or left over.

    ``lag`` is what the instance last reported, as Kafka sees it: :data:`LATEST`, :data:`UNKNOWN`, records behind
    (0 … the task's end-offset sum), or ``None`` if it has reported nothing yet, which counts as no state at all.
    ``reporters`` are the consumers that reported it (the split calls it their previous task).
    ``remaining`` is what there is still to restore, reported or not. ``consumer`` is the one that holds it, in
    whatever role, ``active`` tells whether that role is active. ``placed_in`` is the generation whose assignment put
    the copy there; ``lost_at_ms`` the time since which it is left over (``None`` while it is assigned).
    """

    instance: int
    lag: int | None
    reporters: tuple[int, ...] = ()
    remaining: int = 0
    consumer: int | None = None
    active: bool = False
    placed_in: int = -1
    lost_at_ms: int | None = None


class Holding(NamedTuple):
    """The tasks of one consumer (or of one instance) by role: sorted task indices, the roles disjoint.

    ``temporary``: an active task of its own that is withheld until the present owner has revoked it, held as a
    standby meanwhile because the instance has state of it.
    """

    active: tuple[int, ...] = ()
    standby: tuple[int, ...] = ()
    warmup: tuple[int, ...] = ()
    temporary: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GroupState:
    """A group between two rebalances: everything the next decision and the next round depend on.

    ``holdings`` is what each consumer holds (owns), by consumer index; ``copies`` what is on disk, by task index,
    each tuple sorted by instance and at most one copy per instance (empty for stateless tasks). ``at_ms`` is the
    time of the last assignment on the plan's clock. ``leader`` is an instance index, ``None`` if not known. ``revoked``
    maps each task that the last assignment withheld to the instance that has given it up for that.
    """

    group: Group
    generation: int
    at_ms: int
    holdings: tuple[Holding, ...]
    copies: Sequence[tuple[Copy, ...]]
    leader: int | None = None
    revoked: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def unsettled(self) -> frozenset[int]:
        """The stateful tasks, without those of which the running owner has, and reported, the only copy."""
        owned = ((task, consumer) for consumer, held in enumerate(self.holdings) for task in held.active)
        settled = {task for task, consumer in owned if _is_settled(self.copies[task], consumer)}
        return frozenset(self.group.stateful).difference(settled)

    def __getstate__(self) -> dict[str, object]:
        """Pickle the fields, not what was derived from them or where the state came from."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"revoked": dict(self.revoked)}

    def changed_since(self, before: GroupState) -> Sequence[int]:
        """Return the tasks, sorted, of which ``before`` had other copies; at once if this state followed from it."""
        origin, changed = vars(self).get("_changed_since", (None, ()))
        if origin is not None and origin() is before:
            known: Sequence[int] = changed
            return known
        return list(compress(range(len(self.copies)), map(is_not, before.copies, self.copies)))

    def followed_by(
        self,
        *,
        at_ms: int,
        holdings: tuple[Holding, ...],
        copies: Mapping[int, tuple[Copy, ...]],
        revoked: Mapping[int, int],
    ) -> GroupState:
        """Return the state one generation later; ``copies`` has every task of which a holder or a copy changed."""
        before = self.copies if isinstance(self.copies, SharedSequence) else SharedSequence(self.copies)
        changed = sorted(task for task, of_task in copies.items() if of_task is not before[task])
        after = replace(
            self,
            generation=self.generation + 1,
            at_ms=at_ms,
            holdings=holdings,
            copies=before.replaced({task: copies[task] for task in changed}) if changed else before,
            revoked=MappingProxyType(dict(revoked)),
        )
        vars(after)["_changed_since"] = (weakref.ref(self), changed)
        # Known without looking at every task again, which would take longer than the decision itself.
        settled = {task for task, of_task in copies.items() if of_task and _is_settled(of_task, of_task[0].consumer)}
        vars(after)["unsettled"] = (self.unsettled | copies.keys()) - settled
        return after


def _is_settled(copies: tuple[Copy, ...], owner: int | None) -> bool:
    if len(copies) != 1:
        return False
    _, lag, reporters, remaining, consumer, active, *_ = copies[0]
    return active and lag == LATEST and not remaining and consumer == owner and reporters == (owner,)


class Note(NamedTuple):
    """An assumption or a warning: a stable code, one sentence, and the tasks or instances it is about, if any."""

    code: str
    message: str
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How fast state is restored and produced, in records per second.

    ``restore`` is per (instance, task) and ``produce`` per task, as measured over a history of lags;
    ``restore_per_instance`` and ``produce_per_task`` are given by hand and beat them; ``restore_of`` (by instance) and
    ``produce_of`` (by task) are given by hand for some only and beat all. Nothing known: all empty.
    """

    restore: Mapping[tuple[int, int], float] = field(default_factory=lambda: MappingProxyType({}))
    produce: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    restore_per_instance: float | None = None
    produce_per_task: float | None = None
    restore_of: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    produce_of: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))

    def __getstate__(self) -> dict[str, object]:
        """Return the fields; read-only views, which cannot be pickled, as plain dictionaries."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}

    @property
    def any_restore(self) -> bool:
        """Whether any restore rate is known at all."""
        return self.restore_per_instance is not None or bool(self.restore or self.restore_of)

    def restore_rate(self, instance: int) -> float | None:
        """Records per second that an instance restores, shared by its copies; ``None`` if not known."""
        if instance in self.restore_of:
            return self.restore_of[instance]
        if self.restore_per_instance is not None:
            return self.restore_per_instance
        return self.restore_measured.get(instance)

    def produce_rate(self, task: int) -> float:
        """Records per second that a task's changelogs grow by; 0 if not known."""
        if task in self.produce_of:
            return self.produce_of[task]
        return self.produce.get(task, 0.0) if self.produce_per_task is None else self.produce_per_task

    @cached_property
    def restore_measured(self) -> Mapping[int, float]:
        """Instance → records per second it restores: the sum of what was measured of its copies."""
        by_instance: dict[int, float] = {}
        for (instance, _), rate in sorted(self.restore.items()):
            by_instance[instance] = by_instance.get(instance, 0.0) + rate
        return MappingProxyType(by_instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One application at one generation, as read: the state a plan starts from and what is known beside it.

    ``captured_at`` is RFC 3339 in UTC with milliseconds (``2026-11-21T12:00:00.000Z``) or ``None``; ``assumptions``
    are those that reading it took.
    """

    state: GroupState
    config: AssignmentConfig
    captured_at: str | None = None
    rates: Rates = Rates()
    warnings: tuple[Note, ...] = ()
    assumptions: tuple[Note, ...] = ()


class Movement(NamedTuple):
    """One task on its way to its target instance (reference section 4, steps 4 and 5).

    ``how`` is ``swap_caught_up``, ``move_caught_up``, ``swap_most_caught_up`` or ``move_most_caught_up``;
    ``source`` runs (or, for a standby, keeps) the task meanwhile, ``destination`` is its target, ``warmup`` tells
    whether the destination was given a copy to warm up.
    """

    task: int
    kind: str
    how: str
    source: int
    destination: int
    warmup: bool


class Target(NamedTuple):
    """The balanced assignment that the movements lead to: per instance sorted task indices. Free of any lag."""

    active: tuple[tuple[int, ...], ...]
    standby: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An assignor's decision.

    ``instances`` is the decision per instance, ``consumers`` its split over the threads (by consumer index), roles
    disjoint (``temporary`` always empty). ``movements`` are in the order of handling. ``short_standbys`` lists the
    tasks for which there were not enough instances, with the number that is missing. ``warnings`` is what else it could
    not keep to, ``notes`` what is worth knowing about it; ``keeps_stateless``: stateless tasks stay unless the balance
    needs them to move.
    """

    instances: tuple[Holding, ...]
    consumers: tuple[Holding, ...]
    probing_rebalance: bool
    target: Target
    movements: Sequence[Movement] = ()
    short_standbys: tuple[tuple[int, int], ...] = ()
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    keeps_stateless: bool = False


def whole_sum(lag: int | None, end_offset_sum: int) -> int:
    """The lag as Kafka's ``lagFor`` gives it: what was not reported counts as the task's whole end-offset sum."""
    return min(end_offset_sum, MAX_LONG) if lag is None else lag
