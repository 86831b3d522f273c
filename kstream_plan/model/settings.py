"""Kafka Streams' settings that decide an assignment and its timing, with their defaults and ranges.

Names are Kafka's with ``_`` for ``.``; the milliseconds that Kafka names with a trailing ``.ms`` keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from kstream_plan.errors import ConfigError

MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1

RACK_STRATEGIES = ("none", "min_traffic", "balance_subtopology")

#: Lowest and highest value of every whole-numbered setting (Kafka's ``StreamsConfig``).
RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "acceptable_recovery_lag": (0, MAX_LONG),
        "max_warmup_replicas": (1, MAX_INT),
        "num_standby_replicas": (0, MAX_INT),
        "balance_factor": (1, MAX_INT),
        "probing_rebalance_interval_ms": (60_000, MAX_LONG),
        "rack_aware_assignment_traffic_cost": (0, MAX_INT),
        "rack_aware_assignment_non_overlap_cost": (0, MAX_INT),
        "heartbeat_interval_ms": (1, MAX_INT),
        "session_timeout_ms": (1, MAX_INT),
        "state_cleanup_delay_ms": (0, MAX_LONG),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentConfig:
    """One application's settings, all resolved; the defaults are Kafka's.

    Of a streams group, ``num_standby_replicas``, ``heartbeat_interval_ms`` and ``session_timeout_ms`` are the group's
    own (``streams.…``), and the first three of the last five are known; the last two are those of a Connect
    group. Of any other they are ``None``. ``release`` is that of Kafka which came with the settings, where another one
    did than the group's.

    ``balance_factor`` is KIP-441's, which shipped Kafka does not have: only the ``balanced`` assignor looks at it.

    Raises:
        ConfigError: a value is out of its range (``RANGES``) or no known rack strategy.
    """

    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    num_standby_replicas: int = 0
    balance_factor: int = 1
    probing_rebalance_interval_ms: int = 600_000
    rack_aware_assignment_tags: tuple[str, ...] = ()
    rack_aware_assignment_strategy: str = "none"
    rack_aware_assignment_traffic_cost: int = 10
    rack_aware_assignment_non_overlap_cost: int = 1
    heartbeat_interval_ms: int = 3_000
    session_timeout_ms: int = 45_000
    state_cleanup_delay_ms: int = 600_000
    streams_initial_rebalance_delay_ms: int | None = None
    streams_assignment_interval_ms: int | None = None
    max_poll_interval_ms: int | None = None
    scheduled_rebalance_max_delay_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    release: str | None = None

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(
                    f"{name} is {value}, outside {low} to {high}",
                    fix=f"set {name.replace('_', '.')} to a value Kafka accepts",
                )
        if self.rack_aware_assignment_strategy not in RACK_STRATEGIES:
            raise ConfigError(
                f"rack_aware_assignment_strategy is {self.rack_aware_assignment_strategy!r}",
                fix=f"use one of {', '.join(RACK_STRATEGIES)}",
            )


#: The settings that only streams groups have.
STREAMS_GROUP_ONLY = ("streams_initial_rebalance_delay_ms", "streams_assignment_interval_ms", "max_poll_interval_ms")

#: The settings that only Connect groups have.
CONNECT_GROUP_ONLY = ("scheduled_rebalance_max_delay_ms", "rebalance_timeout_ms")
#: What restarted members can have besides new settings: another release of Kafka.
RELEASE = "release"

#: The code of the assumption that Kafka's defaults count, for a snapshot holds no settings.
DEFAULT_SETTINGS = "default-settings"
#: The code of the warning that they count, for a log holds none, or not all that decide.
NO_CONFIG = "no-config"
#: The code of the assumption that settings count which are given, not those of the snapshot.
SETTINGS_GIVEN = "settings-given"
#: What every plan with other settings takes for granted, but of streams groups, whose settings the broker has.
SETTINGS_IN_FORCE = (
    "Settings are planned as if in force immediately; processes restart to get them, which moves and pauses tasks, too"
)
#: The code of the warning that an application's file has another number of threads than its instances have.
THREADS_NOT_PLANNED = "threads-not-planned"

#: Every setting's name of an application, in the order of the class.
CONFIG_NAMES = tuple(
    field.name
    for field in fields(AssignmentConfig)
    if field.name not in (*STREAMS_GROUP_ONLY, *CONNECT_GROUP_ONLY, RELEASE)
)


def kafka_name(name: str) -> str:
    """Return Kafka's spelling of a setting: dots, but for the two costs, which Kafka writes with ``_``."""
    dotted = name.replace("_", ".")
    return dotted.replace("traffic.cost", "traffic_cost").replace("non.overlap.cost", "non_overlap_cost")
