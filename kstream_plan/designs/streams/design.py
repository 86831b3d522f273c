"""Streams groups as a design: what it models, takes for granted, and how it begins."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kstream_plan.designs.streams import silence
from kstream_plan.designs.streams.beats import Pace
from kstream_plan.designs.streams.copies import with_initial_lags
from kstream_plan.designs.streams.simulation import StreamsCoordinator
from kstream_plan.designs.streams.start import Start
from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group, GroupState, Note, Snapshot
from kstream_plan.model.ranking import reported_lag
from kstream_plan.model.scenario import Bounce, ConfigChange, Event, Join, Leave, Return, Scenario, SettingValue, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import KnownHistory, seated
from kstream_plan.model.streams_group import BROKER_VERSIONS, GROUP_SETTINGS, BrokerGroup
from kstream_plan.model.times import duration
from kstream_plan.plans.design import Design, FinishedRun
from kstream_plan.plans.note_codes import BACK_BEFORE_FENCED
from kstream_plan.plans.summary import DurationIs


@dataclass(frozen=True, slots=True)
class Streams(Design):
    """A broker of one of two rule sets that decides, and members that come to their targets one by one."""

    pace: Pace = Pace.TYPICAL
    order: int = 0
    draw: int = 0
    in_memory: bool = False
    name: ClassVar[str] = "streams"
    models: ClassVar[str] = "Kafka brokers 4.2-4.4, streams groups (KIP-1071)"
    assignor: ClassVar[str] = "sticky"
    protocol: ClassVar[str] = "streams"
    times_vary: ClassVar[bool] = True
    newcomers_hold_nothing: ClassVar[bool] = False
    unrated_times: ClassVar[DurationIs] = "estimate"

    def start(self, state: GroupState, scenario: Scenario | None) -> GroupState:
        """Start the broker's half as the snapshot has it; without a scenario a target is computed now."""
        assert isinstance(state.memory, KnownHistory)
        broker_group, reported_ms = state.memory.broker, state.memory.reported_ms
        assert broker_group is not None
        group = _in_order(broker_group, self.order)
        if self.pace is Pace.LATEST:
            group = silence.with_one_silent(group, _running_tasks(state))
        offsets = _offsets(group, state.group)  # what copies lack by these, they lack of the end offsets of now
        reported_ms = dict.fromkeys(sorted(offsets), 0) | dict(reported_ms)
        start_state = replace(
            seated(state), memory=Start(group=group, asks_now=scenario is None, reported_ms=reported_ms)
        )
        return with_initial_lags(start_state, offsets)

    def happening(self, event: Event, snapshot: Snapshot) -> Event:
        """Return the event with closed instances leaving, unless members are static, and with the group's settings.

        Raises:
            ScenarioError: it makes static members of a group whose broker refuses them.
        """
        group, broker = snapshot.state.group, snapshot.state.memory
        assert isinstance(broker, BrokerGroup)
        if getattr(event, "static", False) and not BROKER_VERSIONS[broker.broker_version]:
            message = f"brokers of {broker.broker_version} refuse static members in streams groups"
            raise ScenarioError(message, where=event.where, fix="leave static out, or give a broker_version of 4.4")
        if (
            isinstance(event, Stop)
            and not event.crash
            and not any(_is_static(group, process_id) for process_id in event.process_ids)
        ):
            return Leave(at_ms=event.at_ms, process_ids=event.process_ids, where=event.where)
        if isinstance(event, Bounce):
            static = event.static or any(_is_static(group, process_id) for process_id in event.process_ids)
            return replace(event, leaves=not static, settings=_of_group(event.settings))
        return replace(event, settings=_of_group(event.settings)) if isinstance(event, ConfigChange) else event

    def fitted_to(self, snapshot: Snapshot) -> Streams:
        """Return the same design with the stores that the snapshot has."""
        return replace(self, in_memory=snapshot.stores == "in-memory")

    def soonest(self) -> Streams:
        """Return the same design with heartbeats at once, when there is anything to hear."""
        return replace(self, pace=Pace.SOONEST)

    def late(self) -> Streams:
        """Return the same design with heartbeats a whole interval after there is anything to hear."""
        return replace(self, pace=Pace.LATEST)

    def at_other_times(self) -> Sequence[Streams]:
        """Return the same design with heartbeats that let tasks pause longest, and with drawn ones."""
        random_spreads = (replace(self, draw=draw) for draw in range(1, _DRAWS + 1))
        return (replace(self, pace=Pace.APART), *random_spreads)

    def other_beginnings(self, snapshot: Snapshot) -> Sequence[Streams]:
        """Return the same design with other orders of the broker's table, if its order is unknown."""
        group = snapshot.state.memory
        assert isinstance(group, BrokerGroup)
        return () if group.ordered else tuple(replace(self, order=order) for order in range(1, _ORDERS))

    def coordinator(self, config: AssignmentConfig) -> StreamsCoordinator:
        """Begin to coordinate a group with these settings."""
        return StreamsCoordinator(config, self.pace, in_memory=self.in_memory, draw=self.draw)

    def assumptions(self, run: FinishedRun) -> tuple[Note, ...]:
        """Return what a plan assumes about members and their heartbeats."""
        return tuple(_notes(run))


#: The number of random spreads of heartbeats that are simulated beside the others.
_DRAWS = 5
#: The number of orders of the broker's table that are simulated where it is unknown.
_ORDERS = 5


def _in_order(group: BrokerGroup, order: int) -> BrokerGroup:
    """Return the group with its table in one of several orders: as read, the other way round, then drawn ones."""
    members = list(group.members)
    if order == 1:
        members.reverse()
    elif order:
        random.Random(order).shuffle(members)
    return replace(group, members=tuple(members))


def _is_static(group: Group, process_id: str) -> bool:
    place = group.instance_index.get(process_id)
    return place is not None and group.instances[place].is_static


def _of_group(settings: Iterable[tuple[str, SettingValue]]) -> tuple[tuple[str, SettingValue], ...]:
    """Return the group's settings, by the planner's names: the application's have no effect."""
    return tuple((GROUP_SETTINGS[name][0], value) for name, value in settings if name in GROUP_SETTINGS)


def _notes(run: FinishedRun) -> Iterator[Note]:
    group = run.snapshot.state.memory
    assert isinstance(group, BrokerGroup)
    if run.goes_on:
        yield Note("goes-on", "The group has not reached its target yet: it continues")
    elif run.scenario is None:
        yield Note("starts-now", "The broker computes a target now, as it would when a member joins or leaves")
    heartbeat_ms = run.snapshot.config.heartbeat_interval_ms
    yield Note(
        "heartbeat-phases",
        "When members send heartbeats is unknown: they are assumed to be spread evenly over "
        f"{duration(heartbeat_ms)}, and each cut-over may take up to {duration(heartbeat_ms)}",
    )
    events = () if run.scenario is None else run.scenario.events
    if any(isinstance(event, Join) and len(event.instances) > 1 for event in events):
        message = (
            "New instances are assumed to join at the same moment: if one is later, the group settles later, and more "
            "may start cold (a scenario gives each its time)"
        )
        yield Note("join-together", message)
    ineffective_settings = dict.fromkeys(
        name.replace("_", ".")
        for event in events
        for name, _ in getattr(event, "settings", ())
        if name not in GROUP_SETTINGS
    )
    if ineffective_settings:
        message = f"{', '.join(ineffective_settings)}: settings of the application have no effect in a streams group"
        yield Note("no-effect-in-streams-group", message, tuple(ineffective_settings))
    yield from _back_before_fenced(events, run.snapshot)
    if any(isinstance(event, Bounce | Return) for event in events):
        effect = (
            "finds its state directories again by the offsets that it reports"
            if BROKER_VERSIONS[group.broker_version]
            else "is a new member without any state to the broker"
        )
        yield Note(
            "restarted-members",
            f"An instance that closes leaves at once, with a leave for each thread; an instance that returns {effect}",
        )
    if run.snapshot.config.num_standby_replicas:
        yield from _about_standbys(group, run.group)
    yield from silence.notes(group, run.snapshot.config, _running_tasks(run.state))
    if not group.ordered:
        message = (
            f"The order of the broker's table is unknown, and it breaks ties: {_ORDERS} orders were simulated, and "
            "ranges show the figures that differ"
        )
        yield Note("table-order-unknown", message)
    if run.unrated:
        message = "A restore rate or an end offset is unknown, and so is when every task runs again"
        yield Note("no-restore-rate", message, run.unrated)
    if not run.rounds:
        yield from _copies_behind(run.snapshot)
    message = "Assigned copies of unknown lag are shown as caught up; ranges tell what follows if they are behind"
    yield Note("copies-caught-up", message)


def _about_standbys(broker: BrokerGroup, group: Group) -> Iterator[Note]:
    """Note what the assignor ignores, and in which patch it differs."""
    if any(instance.client_tags for instance in group.instances):
        message = "Brokers do not go by client tags (KIP-1071's assignor sticky): standbys are not spread over them"
        yield Note("tags-without-effect", message)
    if broker.broker_version == "4.2":
        message = "Brokers of 4.2.0 or 4.2.1 are assumed: 4.2.2 at times puts standbys elsewhere (KAFKA-20899)"
        yield Note("broker-patch", message)


def _back_before_fenced(events: Sequence[Event], snapshot: Snapshot) -> Iterator[Note]:
    """Note instances that return before the broker has fenced their crashed members: more happens than is shown."""
    group, session_ms, crashed = snapshot.state.group, snapshot.config.session_timeout_ms, dict[str, int]()
    back = list[str]()
    for event in sorted(events, key=lambda event: event.at_ms):
        if isinstance(event, Stop) and event.crash:
            crashed |= {
                process_id: event.at_ms for process_id in event.process_ids if not _is_static(group, process_id)
            }
        elif isinstance(event, Return) and event.keeps_disk and not event.static:
            returning = [process_id for process_id in event.process_ids if process_id in crashed]
            back += [process_id for process_id in returning if event.at_ms - crashed.pop(process_id) < session_ms]
    if back:
        message = (
            f"{', '.join(back)}: return before the broker has fenced the members that crashed "
            f"({duration(session_ms)}). The new members join at once, beside the old ones, so more tasks may move, "
            "and move back, than this plan shows"
        )
        yield Note(BACK_BEFORE_FENCED, message, tuple(back))


def _copies_behind(snapshot: Snapshot) -> Iterator[Note]:
    """Note how far behind standbys are where nothing moves, as far as reported."""
    group, limit = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    standbys = [
        (task, group.instance_of[consumer])
        for consumer, holding in enumerate(snapshot.state.holdings)
        for task in holding.standby
    ]
    lags = {seat: reported_lag(snapshot, *seat) for seat in standbys}
    known_lags = {seat: lag for seat, lag in lags.items() if lag is not None}
    lags_above_limit = {seat: lag for seat, lag in known_lags.items() if lag > limit}
    parts = ["How far the standbys are behind is unknown"]
    if known_lags:
        parts = [f"{len(lags_above_limit)} of {len(known_lags)} standbys are more than {limit:,} records behind"]
        parts += [f"up to {max(lags_above_limit.values()):,}"] if lags_above_limit else []
        parts += [f"the lag of {len(lags) - len(known_lags)} is unknown"] if len(known_lags) < len(lags) else []
    if standbys:
        names = tuple(str(group.tasks[task].task_id) for task, _ in sorted(lags_above_limit))
        yield Note("copies-behind", ", ".join(parts), names)


def _running_tasks(state: GroupState) -> set[str]:
    """Return the names of the tasks that are run."""
    return {str(state.group.tasks[task].task_id) for holding in state.holdings for task in holding.active}


def _offsets(broker_group: BrokerGroup, group: Group) -> dict[tuple[int, int], int]:
    """Return the offsets that members reported of their directories, the most advanced of an instance."""
    offsets: dict[tuple[int, int], int] = {}
    for member in broker_group.members:
        for name, offset in member.offsets:
            seat = group.task_index_by_text[name], group.instance_index[member.process_id]
            offsets[seat] = max(offset, offsets.get(seat, 0))
    return offsets
