"""The answer on the switch to a streams group: figures on either side, steps, and the remarks beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.note import Remarks, count
from kstream_plan.model.settings import DEFAULT_SETTINGS
from kstream_plan.model.streams_group import BROKER_VERSIONS, GROUP_SETTINGS
from kstream_plan.model.times import duration
from kstream_plan.planner.assumptions import stores_note
from kstream_plan.plans.simulated import Range

What: TypeAlias = Literal["switch", "join", "bounce", "crash"]
Side: TypeAlias = Literal["classic", "streams"]

_MOST_STANDBYS = GROUP_SETTINGS["streams_num_standby_replicas"][3]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchFigures:
    """The figures of one event; of all draws the middle, the least and the most.

    ``slowest_ms`` is how long the slowest task that starts cold restores before it runs, ``paused_ms`` how long a task
    stands still at most, restores not counted. ``runs_ms`` is when every task runs where it stays, restores included.
    ``None``: not known; ``at_least_ms`` is then the least of it, or what is likely if every copy has caught up at the
    next probe, as ``at_least_is`` says. ``settled_draws`` of ``draws`` settle. ``may_not_settle``: it does not if
    stores are in memory, which is unknown, or on the other side of the session time-out.
    """

    draws: int
    settled_draws: int
    rebalances: Range
    cold_handovers: Range
    restored_records: Range | None
    slowest_ms: Range | None
    paused_ms: Range
    runs_ms: Range | None
    at_least_ms: Range
    at_least_is: Literal["least", "likely"]
    may_not_settle: bool = False


class SwitchRow(NamedTuple):
    """One event, with so many standbys of each task, on one side, and its figures."""

    what: What
    standbys: int
    side: Side
    figures: SwitchFigures


class WithoutEffect(NamedTuple):
    """A setting that has no effect in a streams group: its name in Kafka's spelling, the value, and whether it is set.

    ``is_set``: it differs from Kafka's default.
    """

    name: str
    value: str
    is_set: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Whether to switch: what the switch takes, and what happens on either side.

    ``away_ms`` is how long nothing runs before the instances start anew. ``instance`` (process id) is the one that is
    bounced and crashes: it runs most. ``static_members``: there are some. ``standbys``: so many are asked for now.
    """

    snapshot: Snapshot
    broker_version: str
    add: int
    restart_ms: int
    away_ms: int
    instance: str
    standbys: int
    static_members: bool
    without_effect: tuple[WithoutEffect, ...]
    rows: tuple[SwitchRow, ...]
    draws: int
    models: str
    snapshot_digest: str

    @property
    def rates_known(self) -> bool:
        """Whether any restore rate is."""
        return self.snapshot.rates.any_restore

    @property
    def settings_known(self) -> bool:
        """Whether the snapshot holds settings of the application: else Kafka's defaults stand in for them."""
        return all(note.code != DEFAULT_SETTINGS for note in self.snapshot.assumptions)

    @property
    def is_blind(self) -> bool:
        """Whether the brokers do not know what is on an instance's disk."""
        return not BROKER_VERSIONS[self.broker_version]

    @property
    def more_start_cold(self) -> bool:
        """Whether any event may start more tasks cold in a streams group than in the classic one."""
        cold = {(row.what, row.standbys, row.side): row.figures.cold_handovers for row in self.rows}
        return any(
            is_colder(number, cold.get((event_name, standbys, "classic"), number))
            for (event_name, standbys, side), number in cold.items()
            if side == "streams"
        )

    @property
    def steps(self) -> list[str]:
        """What to do, as Kafka's documents have it (developer guide, "Migration from Classic Protocol")."""
        return _steps(self)

    @property
    def remarks(self) -> Remarks:
        """The remarks beside the figures."""
        command = Note("afterwards", "kstream-plan help streams-groups")
        assumptions = (*self.snapshot.assumptions, stores_note(self.snapshot), _assumption(self))
        return Remarks((*self.snapshot.warnings, *_warnings(self)), tuple(_notes(self)), assumptions, (command,))


def is_colder(streams: Range, classic: Range) -> bool:
    """Tell whether more tasks start cold in a streams group: by what is likely, or at worst."""
    return streams.median > classic.median or streams.most > classic.most


def _steps(switch: Switch) -> list[str]:
    group, release = switch.snapshot.state.group, switch.broker_version
    exception = ", not 4.2.0, whose coordinator may fail to load a group that was switched (KAFKA-20254)"
    brokers = f"Brokers of 4.2.1 or later{exception}" if release == "4.2" else f"Brokers of {release}"
    standby_count = min(switch.standbys, _MOST_STANDBYS)
    static = (
        ", and take out group.instance.id: brokers before 4.4 refuse static members"
        if switch.static_members and switch.is_blind
        else ""
    )
    unknown = "" if switch.settings_known else " (Kafka's default: the number of now is unknown)"
    by_disks = "by the offsets that clients of 4.4 report of their disks"
    assignment = "whatever is on their disks" if switch.is_blind else by_disks
    return [
        f"{brokers}, clients of 4.2 or later; in a cluster that is older, kafka-features.sh upgrade --feature "
        "streams.version=1",
        f"The group's own settings: kafka-configs.sh --alter --entity-type groups --entity-name {group.application_id} "
        f"--add-config streams.num.standby.replicas={standby_count}{unknown}",
        f"Close {'all' if len(group.instances) > 1 else 'the'} {count(len(group.instances), 'instance')}: nothing "
        "runs from now on. A default close() does not leave the group: wait session.timeout.ms "
        f"({duration(switch.snapshot.config.session_timeout_ms)}), until kafka-consumer-groups.sh --describe --state "
        "says Empty",
        f"Set group.protocol=streams in the application{static}",
        "Start them. streams.initial.rebalance.delay.ms (3s) after the first one, the broker assigns all tasks, "
        f"{assignment}",
        "Committed offsets are kept, and topics are as they were. The way back is the same, with "
        "group.protocol=classic",
    ]


def _warnings(switch: Switch) -> Iterator[Note]:
    if len(switch.snapshot.state.group.instances) == 1:
        yield Note(
            "one-instance", "There is one instance: while it restarts, or after a crash, all tasks are unassigned"
        )
    if switch.more_start_cold:
        message = "A streams group has no warm-ups: a task that moves to an instance without a copy pauses and restores"
        yield Note("no-warm-ups", message)


def _notes(switch: Switch) -> Iterator[Note]:
    set_now = ", ".join(f"{setting.name}={setting.value}" for setting in switch.without_effect if setting.is_set)
    defaults = ", ".join(setting.name for setting in switch.without_effect if not setting.is_set)
    unset = "Kafka's defaults now" if switch.settings_known else "whether they are set is unknown"
    settings = "; ".join(filter(None, (f"{set_now} (set now)" if set_now else "", f"{defaults} ({unset})")))
    yield Note("without-effect", f"Without effect in a streams group: {settings}")
    if switch.standbys > _MOST_STANDBYS:
        message = f"num.standby.replicas is {switch.standbys:,}: brokers allow at most {_MOST_STANDBYS} for a group"
        yield Note("standbys-limited", message)
    if not switch.rates_known:
        yield Note("unknown-rate", "The restore rate is unknown, and so is when all tasks run (--restore-rate)")


def _assumption(switch: Switch) -> Note:
    message = (
        f"Nothing runs for {duration(switch.away_ms)} while the group is switched (--restart, or session.timeout.ms), "
        f"and a bounce takes {duration(switch.restart_ms)}. Member ids are random: figures are those of a typical "
        "simulation, ranges are over all, and over what is unknown. Times are typical, give or take a heartbeat "
        "interval for each rebalance. The group has the brokers' default settings"
    )
    return Note("switch-assumed", message)
