"""What happens to a group from outside: members that come and go, rates and settings that change. Values only.

Instances are named by process id in a scenario that is played. In one that is not resolved yet
(:func:`kstream_plan.simulation.random_ids.drawn`) a host, the beginning of an id, or :data:`ALL` will do.

Every event has the time it happens at on the plan's clock, in milliseconds, and says in ``where`` what it came from
(``scenario.yaml, line 4, column 3``), for error messages; empty if from nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import Instance

SettingValue: TypeAlias = int | str | tuple[str, ...]

#: So many instances join at once, and so many threads has one, at most: more is a slip of the pen.
MOST_INSTANCES = 10_000
#: So many tasks a connector has at most; those of a snapshot in all.
MOST_TASKS = 1_000_000

#: In place of names: every instance that runs then.
ALL = "all"


def moment(at_ms: int) -> str:
    """Return a time of the plan's clock as a scenario file has it: ``0s``, ``2.5s``, ``5m45s``, ``1h``."""
    minutes, milliseconds = divmod(at_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{milliseconds / 1_000:.10g}"
    return (
        "".join(f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (seconds, "s")) if n not in (0, "0")) or "0s"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInstance:
    """An instance that does not exist yet; without ``process_id`` its id is random, and so is every plan with it.

    ``threads``: ``None`` is as many as most of the group have. ``consumer_ids`` are its threads' ids; without them they
    are named after the process id.
    """

    threads: int | None = None
    host: str | None = None
    rack: str | None = None
    client_tags: tuple[tuple[str, str], ...] = ()
    process_id: str | None = None
    consumer_ids: tuple[str, ...] = ()
    static: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Instances start together and join in one rebalance, their disks empty."""

    at_ms: int
    instances: tuple[NewInstance | Instance, ...]
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Instances leave the group cleanly: a rebalance starts at once.

    ``announced``: where the design knows that, they say so and stay members until they are emptied.
    """

    at_ms: int
    process_ids: tuple[str, ...]
    announced: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Instances stop without leaving: Kafka Streams' default ``close()``, noticed by the session time-out.

    ``crash`` tells what stopped them; the group cannot tell the difference until they are back: see :class:`Return`.
    """

    at_ms: int
    process_ids: tuple[str, ...]
    crash: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """Instances that left or stopped are back, with what is on their disks or without it.

    The process id is kept with the disk; without it the instance comes as a new one, under ``new_process_ids`` if
    given (as many as ``process_ids``), else under random ones. ``static``: they count as static members.

    ``state``: what their stores had when they stopped is ``kept``, ``lost``, or ``flushed`` at
    ``flushed_per_second`` records a second; ``None``: kept, but after a crash :attr:`Snapshot.lost_in_crash` is gone.
    """

    at_ms: int
    process_ids: tuple[str, ...]
    keeps_disk: bool = True
    static: bool = False
    new_process_ids: tuple[str, ...] = ()
    state: Literal["kept", "lost", "flushed"] | None = None
    flushed_per_second: float | None = None
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """Instances are restarted one after the other: down for ``restart_ms``, then ``pause_ms`` until the next one.

    ``leaves``: they leave the group cleanly instead of the default close. ``static``: as static members. They
    keep their disks. ``settings`` are new ones (names of ``AssignmentConfig``) that they come back with: they count
    from when one that has them leads.

    Without ``surge``, ``new_instances`` are what Connect workers are when they come back, under other process ids.

    ``surge``: instead, so many of ``new_instances`` at a time (in the order of ``process_ids``, as many) join,
    with empty disks, and ``restart_ms`` later those that they stand in for stop for good.
    """

    at_ms: int
    process_ids: tuple[str, ...]
    restart_ms: int
    pause_ms: int = 0
    leaves: bool = False
    static: bool = False
    settings: tuple[tuple[str, SettingValue], ...] = ()
    surge: int = 0
    new_instances: tuple[NewInstance | Instance, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """An instance starts or removes stream threads while it runs."""

    at_ms: int
    process_id: str
    threads: int
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRate:
    """From now on every task's changelogs grow by so many records per second; ``subtopology``: only its tasks'."""

    at_ms: int
    per_second: float
    subtopology: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRate:
    """From now on every instance (or only those of ``process_ids``) restores so many records per second."""

    at_ms: int
    per_second: float
    process_ids: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """So many records are written to every task's changelogs at once, and every copy falls behind by them."""

    at_ms: int
    records: int
    subtopology: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """Settings change (names of ``AssignmentConfig``); all members have them at once, and a rebalance starts."""

    at_ms: int
    settings: tuple[tuple[str, SettingValue], ...]
    where: str = ""


class TaskCount(NamedTuple):
    """A connector of a Connect group, and how many tasks it has."""

    connector: str
    task_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateConnectors:
    """Connectors of a Connect group are created: each is assigned, and configures so many tasks once it runs."""

    at_ms: int
    task_counts: tuple[TaskCount, ...]
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleConnectors:
    """Connectors have so many tasks from now on; the same number means that these are configured anew."""

    at_ms: int
    task_counts: tuple[TaskCount, ...]
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteConnectors:
    """Connectors and their tasks are deleted."""

    at_ms: int
    connectors: tuple[str, ...]
    where: str = ""


#: What happens to what a Connect group runs.
ConnectorEvent: TypeAlias = CreateConnectors | RescaleConnectors | DeleteConnectors
Event: TypeAlias = (
    Join
    | Leave
    | Stop
    | Return
    | Bounce
    | Threads
    | ProduceRate
    | RestoreRate
    | Burst
    | ConfigChange
    | CreateConnectors
    | RescaleConnectors
    | DeleteConnectors
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A timed list of events, in the order of their times; equal times keep the order of the list."""

    events: tuple[Event, ...]


def in_time(events: Sequence[Event]) -> list[Event]:
    """Return the events by time, equal times as given."""
    return sorted(events, key=lambda event: event.at_ms)
