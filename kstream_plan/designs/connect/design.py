"""Kafka Connect as a design: what it models, takes for granted, and how it begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from kstream_plan.designs.connect.cluster import SHIPPED, Rules
from kstream_plan.designs.connect.connectors import ever_configured
from kstream_plan.designs.connect.departures import events_in_turn
from kstream_plan.designs.connect.frozen import due_ms, led_by, shift_times, table_bins
from kstream_plan.designs.connect.laws import NEWEST, ConnectLaws, connect_laws_of
from kstream_plan.designs.connect.simulation import ConnectCoordinator, ConnectStart, holdings_of
from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group, GroupState, Note, Snapshot
from kstream_plan.model.connect_group import CONNECT_SETTINGS, NO_MEMORY, ConnectGroup, work_of
from kstream_plan.model.releases import MODELLED_CONNECT, modelled_as
from kstream_plan.model.scenario import (
    Bounce,
    ConfigChange,
    ConnectorEvent,
    Event,
    Join,
    Leave,
    Return,
    Scenario,
    Stop,
)
from kstream_plan.model.settings import RELEASE, AssignmentConfig
from kstream_plan.model.times import duration
from kstream_plan.plans.design import Design, FinishedRun

_DELAY = "scheduled_rebalance_max_delay_ms"
#: What restarted workers bring that counts once they lead: code and text of the note on it.
_OF_RESTART = {
    _DELAY: (
        "own-delay",
        "A worker that restarted with another scheduled.rebalance.max.delay.ms uses it once it leads",
    ),
    RELEASE: ("own-release", "A worker that restarted with another release decides by its rules once it leads"),
}


@dataclass(frozen=True, slots=True)
class Connect(Design):
    """Workers that share connectors and their tasks, incrementally: the protocols ``sessioned`` and ``compatible``.

    ``laws``: what the release that runs, ``release``, does otherwise than the newest; ``None``: it is unknown.
    """

    name: ClassVar[str] = "connect"
    behaviour: ClassVar[str] = "incremental cooperative rebalancing"
    assignor: ClassVar[str] = "incremental"
    protocol: ClassVar[str] = "sessioned"
    newcomers_hold_nothing: ClassVar[bool] = False
    differs_by_release: ClassVar[bool] = True
    laws: ConnectLaws = field(default=NEWEST, kw_only=True)
    release: str | None = field(default=None, kw_only=True)

    @property
    def models(self) -> str:
        """The release whose behaviour it has."""
        return modelled_as(self.release, "Kafka Connect", MODELLED_CONNECT, self.behaviour)

    @property
    def rules(self) -> Rules:
        """How rounds go."""
        return SHIPPED._replace(laws=self.laws)

    def fitted_to(self, snapshot: Snapshot) -> Connect:
        """Return the same design by the rules of the release that runs."""
        return replace(self, laws=connect_laws_of(snapshot.streams_version), release=snapshot.streams_version)

    def start(self, state: GroupState, scenario: Scenario | None) -> GroupState:
        """Start the cluster as the snapshot has it; without a scenario a rebalance starts now."""
        group = state.memory
        assert isinstance(group, ConnectGroup)
        bins = table_bins([worker.member_id for worker in group.workers])
        if group.leader is None:
            group = led_by(group, _stays_longest(group, scenario))
        elif all(worker.memory == NO_MEMORY for worker in group.workers if worker.member_id == group.leader):
            group = led_by(group, group.leader)  # by the eager protocol no worker remembers anything
        start_group = self.remembering(replace(shift_times(group, -state.at_ms), bins=bins))
        ever = ever_configured(group.task_counts, scenario.events) if scenario else None
        if ever is not None:
            plan_group = state.group
            state = replace(state, group=Group.of(plan_group.application_id, work_of(ever), list(plan_group.instances)))
            state = replace(state, holdings=holdings_of(state, start_group), copies=((),) * len(state.group.tasks))
        events = () if scenario is None else scenario.events
        bounces = tuple(event for event in events if isinstance(event, Bounce) and event.settings)
        return replace(state, memory=ConnectStart(group=start_group, asks_now=scenario is None, bounces=bounces))

    def remembering(self, group: ConnectGroup) -> ConnectGroup:
        """Return the cluster at the start of a plan, with what this design remembers."""
        return group

    def happening(self, event: Event, snapshot: Snapshot) -> Event:
        """Return the event, with a worker that is stopped leaving at once.

        Raises:
            ScenarioError: it is about what workers have not, or is not modelled for them.
        """
        del snapshot
        location = getattr(event, "where", "")
        if isinstance(event, ConnectorEvent):
            return event
        if not isinstance(event, Bounce | ConfigChange | Join | Leave | Return | Stop):
            problem = "a Connect group has no such event"
            fix = (
                "use join, leave, stop, crash, return or bounce of workers, settings, or connectors that are created, "
                "rescaled, deleted"
            )
            raise ScenarioError(problem, where=location, fix=fix)
        if getattr(event, "static", False):
            raise ScenarioError("workers are not static members", where=location, fix="leave static out")
        _check_settings(event, (_DELAY, RELEASE) if self.differs_by_release else (_DELAY,))
        if isinstance(event, Stop) and not event.crash:
            return Leave(at_ms=event.at_ms, process_ids=event.process_ids, where=location)
        # the leader's delay counts: the coordinator knows each worker's
        return replace(event, leaves=True, settings=()) if isinstance(event, Bounce) else event

    def leaving_in_turn(self, scenario: Scenario, snapshot: Snapshot) -> Scenario | None:
        """Return the scenario with leaders that leave with others before these: then more work waits."""
        group = snapshot.state.memory
        assert isinstance(group, ConnectGroup)
        events = events_in_turn(group, scenario.events, snapshot.config.heartbeat_interval_ms)
        return None if events is None else Scenario(events=tuple(events))

    def coordinator(self, config: AssignmentConfig) -> ConnectCoordinator:
        """Begin to coordinate a group with these settings."""
        return ConnectCoordinator(config, self.rules)

    def assumptions(self, run: FinishedRun) -> tuple[Note, ...]:
        """Return what a plan assumes about workers and rounds."""
        return tuple(_notes(run))


def _check_settings(event: Event, of_restart: tuple[str, ...]) -> None:
    """Check that an event has only settings of workers, and a restart only those whose effect is modelled."""
    if isinstance(event, ConfigChange | Bounce):
        settings = CONNECT_SETTINGS if isinstance(event, ConfigChange) else of_restart
        unknown_setting = next((name for name, _ in event.settings if name not in settings), None)
        if unknown_setting is not None:
            problem = f"{unknown_setting.replace('_', '.')} is not a setting that matters in a Connect group"
            fix = f"use {' or '.join(name.replace('_', '.') for name in settings)}"
            raise ScenarioError(problem, where=event.where, fix=fix)


def _stays_longest(group: ConnectGroup, scenario: Scenario | None) -> str:
    """Return a worker that stays, or leaves last: if it leads, every departure has its delay."""
    events = () if scenario is None else scenario.events
    leaving_ids = [
        process_id for event in events if isinstance(event, Bounce | Leave | Stop) for process_id in event.process_ids
    ]
    leaves = {process_id: place for place, process_id in reversed([*enumerate(leaving_ids, start=1)])}
    return max(group.workers, key=lambda worker: leaves.get(worker.member_id, len(leaving_ids) + 1)).member_id


def _notes(run: FinishedRun) -> Iterator[Note]:
    if run.scenario is None:
        yield Note("starts-now", "A rebalance starts now, as it would when a worker joins or a configuration changes")
    heartbeat_ms = run.snapshot.config.heartbeat_interval_ms
    yield Note(
        "rejoin-by-heartbeat",
        f"Workers notice a rebalance within {duration(heartbeat_ms)}: a follow-up comes that much later, and work "
        "that moves is paused for that time as well. Each rebalance takes effect up to that much after the time "
        "that is shown. At the end of a delay all workers rejoin by themselves",
    )
    group = run.snapshot.state.memory
    assert isinstance(group, ConnectGroup)
    if run.goes_on and due_ms(group) is not None:
        yield Note("goes-on", "The delay that is running continues: unassigned work is assigned when it ends")
    if group.leader is None:
        yield Note(
            "counts-only",
            "The number of moves is exact, but which items move is not: ids and orders are unknown. The leader is "
            "unknown: a worker that stays is assumed, and if the leader leaves, nothing waits. Whether a delay runs, "
            "a worker has gone or a worker has no work is unknown: none is assumed",
        )
    elif table_bins([worker.member_id for worker in group.workers]) is None:
        message = (
            "The workers are in no order that a broker's table can have: which worker leads next, and which has "
            "an extra item, is unknown"
        )
        yield Note("table-order-unknown", message)
    events = () if run.scenario is None else run.scenario.events
    back = [event for event in events if isinstance(event, Bounce | Return)]
    if back:
        statement = (
            "A worker that returns is a new process: it holds and remembers nothing, and its member id is random"
        )
        if all(event.new_instances if isinstance(event, Bounce) else event.new_process_ids for event in back):
            decides = (
                "; ids decide which worker leads next, and so whether there is a delay, and which keeps an extra item"
            )
        else:
            decides = (
                ". The plan uses the old id, because the new one is unknown: with another id another worker may "
                "lead next, with or without a delay, and others keep an extra item"
            )
        yield Note("restarted-workers", statement + decides)
    if any(isinstance(event, ConfigChange) for event in events):
        message = (
            "Settings change for all workers at once, and a rebalance starts: in reality each worker has them "
            "from its restart"
        )
        yield Note("settings-at-once", message)
    own_settings = {name for event in events if isinstance(event, Bounce) for name, _ in event.settings}
    yield from (Note(code, message) for name, (code, message) in _OF_RESTART.items() if name in own_settings)
    if any(isinstance(event, Join) for event in events):
        yield Note(
            "random-member-ids", "Member ids of new workers are random, and decide which worker keeps an extra item"
        )
