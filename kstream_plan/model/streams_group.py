"""What a broker knows of a streams group beside who holds what: epochs, targets, and how far each member has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

#: The releases of brokers whose streams groups are known, by what a snapshot calls them → whether they go by what
#: members hold (4.4), else by what they were to hold before.
BROKER_VERSIONS: Mapping[str, bool] = MappingProxyType({"4.2": False, "4.3": False, "4.4": True})

#: The code of the warning of a group that contradicts itself, of one of which nothing tells whether it is Stable, of
#: one to which its brokers assign nothing yet, and of one of which no epoch is known.
CONTRADICTORY = "group-not-as-told"
STATE_UNKNOWN = "group-state-unknown"
NOT_READY = "group-not-ready"
NO_EPOCHS = "no-epochs"

#: A group's own settings: the broker's name with ``_`` for ``.`` → the field of ``AssignmentConfig`` that has it, its
#: default, and the lowest and the highest value that brokers take by default.
GROUP_SETTINGS: Mapping[str, tuple[str, int, int, int]] = MappingProxyType(
    {
        "streams_num_standby_replicas": ("num_standby_replicas", 0, 0, 2),
        "streams_heartbeat_interval_ms": ("heartbeat_interval_ms", 5_000, 5_000, 15_000),
        "streams_session_timeout_ms": ("session_timeout_ms", 45_000, 45_000, 60_000),
        "streams_initial_rebalance_delay_ms": ("streams_initial_rebalance_delay_ms", 3_000, 0, 2**31 - 1),
        "streams_assignment_interval_ms": ("streams_assignment_interval_ms", 1_000, 0, 15_000),
        "max_poll_interval_ms": ("max_poll_interval_ms", 300_000, 1, 2**31 - 1),
    }
)


class TaskNames(NamedTuple):
    """Tasks by role, each sorted by name."""

    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerMember:
    """A member beside what it holds.

    ``state`` is the broker's name of it, ``None``: not known. ``offsets`` are what it reported of its directories.
    """

    member_id: str
    process_id: str
    epoch: int
    state: str | None
    target: TaskNames
    revoking: TaskNames
    offsets: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerGroup:
    """A streams group as its broker knows it, beside who holds what.

    ``members`` are in the order of the broker's table, if ``ordered``; else by id. Who else is of the group
    joins when a plan begins.
    ``target_age_ms`` is how long ago the target was computed; ``None``: longer than any interval. ``state`` is the
    group's, as the broker names it. ``tells_state``: this, or epochs and targets, tell whether it is Stable.
    """

    broker_version: str
    group_epoch: int
    target_epoch: int
    target_age_ms: int | None
    state: str | None
    members: tuple[BrokerMember, ...]
    ordered: bool
    tells_state: bool = True
