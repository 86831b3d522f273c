"""The messages of the assignor that matter, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.grammar import Clients


class LogPlace(NamedTuple):
    """Where a message begins: file and line, from 1; or record, in a log store's document."""

    file: str
    line: int
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}"


@dataclass(frozen=True, slots=True)
class Members:
    """Who takes part: the consumers of every process."""

    consumers: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Decided:
    """The assignor's decision, its input, and whether it wants a probing rebalance."""

    clients: Clients
    has_probe: bool


@dataclass(frozen=True, slots=True)
class Followed:
    """What the class that follows target files makes the next decision by: a plan's id, or why it has no plan."""

    plan: str | None
    without_plan: str | None


@dataclass(frozen=True, slots=True)
class Split:
    """What the consumers of one process owned, reported (as standby) and get; ``standby`` has temporary ones in it."""

    process_id: str
    owned: Mapping[str, tuple[TaskId, ...]]
    reported: Mapping[str, tuple[TaskId, ...]]
    active: Mapping[str, tuple[TaskId, ...]]
    revoking: Mapping[str, tuple[TaskId, ...]]
    standby: Mapping[str, tuple[TaskId, ...]]


@dataclass(frozen=True, slots=True)
class Finished:
    """The number of the generation that has ``member`` (a consumer id) in it, and the group's id.

    ``partitions`` are those that each consumer reads, as Kafka prints them; the last consumers may be missing where the
    line ``is_cut``.
    """

    group: str
    generation: int
    member: str
    partitions: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Joining:
    """A member of a group joins it again, or has to; ``member`` is its static id, else its client id."""

    group: str
    member: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A member of a group has joined a generation of it; ``member`` is its static id, else its client id."""

    group: str
    member: str
    generation: int


@dataclass(frozen=True, slots=True)
class EndOffsets:
    """The sum of a task's end offsets, said because ``process_id`` reported more than that."""

    process_id: str
    task_id: TaskId
    end_offset_sum: int


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts by process, as ``application.server`` has them."""

    hosts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Started:
    """A release of Kafka was started, as this client where it says so."""

    version: str
    client: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The log ends: of the lines looked at none was logged later that names ``thread``, or that names no thread."""

    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """A stream thread said something, wherever its log is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an application or one of its consumers is set to, by Kafka's names; ``kind``: ``streams``, ``consumer``."""

    kind: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Gap:
    """A message that cannot be read, and the reason."""

    reason: str


Message: TypeAlias = (
    Members
    | Decided
    | Followed
    | Split
    | Finished
    | Joining
    | Joined
    | EndOffsets
    | Hosts
    | Heard
    | Started
    | Ended
    | Settings
    | Gap
)
