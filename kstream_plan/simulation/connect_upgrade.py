"""Connect workers that are to rebalance incrementally, with sessions: what the change takes, and what happens then."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from kstream_plan.designs.connect.design import Connect
from kstream_plan.errors import UsageError
from kstream_plan.model import Group, GroupState, Holding, Snapshot, WorkId
from kstream_plan.model.connect_group import ConnectGroup, ConnectItems, ConnectWorker, all_items, work_of
from kstream_plan.model.scenario import Bounce, Event, Join, Leave, NewInstance, Return, Scenario, Stop
from kstream_plan.planner.digest import input_digest
from kstream_plan.planner.instance_ids import renamed
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Range
from kstream_plan.simulation.connect_upgrade_answer import Protocol, SessionedUpgrade, UpgradeFigures, UpgradeRow, What
from kstream_plan.simulation.draws import usual_number
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import is_random, with_random_ids

#: Called with how many lines there are, and of how many.
OnRow: TypeAlias = Callable[[int, int], None]

_MOST_DRAWS = 10
_QUICK = PlanOptions(bounds=False, floor=False, ranges=False)
_DESIGNS: dict[Protocol, str] = {"eager": "connect-eager", "compatible": "connect", "sessioned": "connect"}


class _Played(NamedTuple):
    """One draw of one thing."""

    settles: bool
    rebalances: int
    still_ms: Counter[WorkId]
    at_once: int
    takes_ms: int
    times_open: bool = False


def to_sessioned(
    snapshot: Snapshot,
    *,
    add: int = 2,
    restart_ms: int = 40_000,
    number_of_draws: int | None = None,
    on_row: OnRow = lambda _number, _total: None,
) -> SessionedUpgrade:
    """Simulate how a Connect group gets to ``sessioned``, and of an eager one what happens then by either protocol.

    Raises:
        UsageError: it is no Connect group, has one worker only, or is there already.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    protocol, group = _protocol_of(snapshot), snapshot.state.group
    delay_ms = snapshot.config.scheduled_rebalance_max_delay_ms or 0
    heard_ms = snapshot.config.heartbeat_interval_ms
    pause_ms = 2 * heard_ms + (0 if protocol == "eager" else max(0, delay_ms - restart_ms))
    leader = None if snapshot.state.leader is None else group.instances[snapshot.state.leader].process_id
    worker = _busiest(snapshot, leader)
    events = _events(add, restart_ms, worker, leader) if protocol == "eager" else {}
    rows_in_all = 1 + 2 * len(events)
    random = is_random(
        Scenario(events=(Bounce(at_ms=0, process_ids=(group.instances[0].process_id,), restart_ms=1),)), group
    )
    usual = max(1, min(_MOST_DRAWS, usual_number(group, snapshot.config) // rows_in_all)) if random else 1
    simulator = _Simulator(snapshot, protocol, restart_ms, pause_ms, number_of_draws or usual)
    rows = []
    for row_count, row in enumerate(simulator.rows(events), start=1):
        rows.append(row)
        on_row(row_count, rows_in_all)
    return SessionedUpgrade(
        snapshot=snapshot,
        protocol=protocol,
        restart_ms=restart_ms,
        pause_ms=pause_ms,
        add=add,
        worker=worker,
        leader=leader,
        rows=tuple(rows),
        draws=simulator.draws,
        models=Connect().fitted_to(snapshot).models,
        snapshot_digest=input_digest(snapshot.state, snapshot.config, snapshot.rates),
    )


def _protocol_of(snapshot: Snapshot) -> Protocol:
    group = snapshot.state.group
    if snapshot.group_protocol != "connect":
        message = f"it is a {snapshot.group_protocol} group, and sessioned is a protocol of Kafka Connect"
        raise UsageError(message, where=group.application_id, fix="give a snapshot of a Connect group")
    protocols = {name for instance in group.instances for consumer in instance.consumers for name in consumer.protocols}
    if protocols not in ({"eager"}, {"compatible"}):
        message = "it is sessioned already, by its connect_protocol in the snapshot or, without one, by default"
        fix = (
            "if the workers set connect.protocol, pass it to snapshot by --streams-config; else there is nothing to do"
        )
        raise UsageError(message, where=group.application_id, fix=fix)
    if len(group.instances) < 2:
        message = "it has one worker: while that restarts nothing runs, whatever the protocol"
        fix = "take connect.protocol out of its configuration, or set it to sessioned, and restart it"
        raise UsageError(message, where=group.application_id, fix=fix)
    return "eager" if protocols == {"eager"} else "compatible"


def _busiest(snapshot: Snapshot, leader: str | None) -> str:
    """Return the member id of the worker that runs most, other than the leader; the first of several."""
    group, holdings = snapshot.state.group, tuple(snapshot.state.holdings)
    counts = {instance.process_id: len(holdings[place].active) for place, instance in enumerate(group.instances)}
    counts.pop(leader or "", None)
    return max(counts, key=lambda process_id: counts[process_id])


def _events(add: int, restart_ms: int, worker: str, leader: str | None) -> dict[What, tuple[Event, ...]]:
    def restarted(process_id: str) -> tuple[Event, ...]:
        return Leave(at_ms=0, process_ids=(process_id,)), Return(at_ms=restart_ms, process_ids=(process_id,))

    events: dict[What, tuple[Event, ...]] = {
        "join": (Join(at_ms=0, instances=tuple(NewInstance() for _ in range(add))),),
        "restart": restarted(worker),
    }
    if leader is not None:
        events["restart-leader"] = restarted(leader)
    events["crash"] = (Stop(at_ms=0, process_ids=(worker,), crash=True),)
    return events


class _Simulator(NamedTuple):
    """The simulations of one upgrade; private to it."""

    snapshot: Snapshot
    protocol: Protocol
    restart_ms: int
    pause_ms: int
    draws: int

    def rows(self, events: dict[What, tuple[Event, ...]]) -> Iterator[UpgradeRow]:
        """Simulate everything."""
        change = self._from_eager if self.protocol == "eager" else self._from_compatible
        yield UpgradeRow("upgrade", self.protocol, _figures([change(draw) for draw in range(self.draws)]))
        for event_name, row_events in events.items():
            for protocol in (self.protocol, "sessioned"):
                draws = [self._draw_of(self._plan(protocol, row_events, draw)) for draw in range(self.draws)]
                yield UpgradeRow(event_name, protocol, _figures(draws))

    def _plan(
        self, protocol: Protocol, events: Iterable[Event], draw: int, other_snapshot: Snapshot | None = None
    ) -> Plan:
        snapshot = other_snapshot or self.snapshot
        scenario = with_random_ids(Scenario(events=tuple(events)), snapshot.state.group, draw)
        return plan_checked(snapshot, _QUICK, scenario=scenario, design=_DESIGNS[protocol])

    def _names(self) -> tuple[str, ...]:
        return tuple(instance.process_id for instance in self.snapshot.state.group.instances)

    def _from_compatible(self, draw: int) -> _Played:
        """Restart all, one after the other: both protocols decide alike."""
        bounce = Bounce(at_ms=0, process_ids=self._names(), restart_ms=self.restart_ms, pause_ms=self.pause_ms)
        return self._draw_of(self._plan("compatible", [bounce], draw))

    def _from_eager(self, draw: int) -> _Played:
        """Restart all: the group is eager until the last one is back, and everything stops once more when it is."""
        *earlier, last = self._names()
        gone_ms = len(earlier) * (self.restart_ms + self.pause_ms)
        bounce = Bounce(at_ms=0, process_ids=tuple(earlier), restart_ms=self.restart_ms, pause_ms=self.pause_ms)
        return_event = Return(at_ms=gone_ms + self.restart_ms, process_ids=(last,))
        whole = Scenario(events=(bounce, Leave(at_ms=gone_ms, process_ids=(last,)), return_event))
        events = with_random_ids(whole, self.snapshot.state.group, draw).events
        eager = plan_checked(self.snapshot, _QUICK, scenario=Scenario(events=events[:-1]), design="connect-eager")
        drawn_return = events[-1]
        assert isinstance(drawn_return, Return)
        group, name = self.snapshot.state.group, (drawn_return.new_process_ids or drawn_return.process_ids)[0]
        worker = renamed(group.instances[group.instance_index[last]], name)
        scenario = Scenario(events=(Join(at_ms=0, instances=(worker,)),))
        switched = plan_checked(_as_left(eager, self.snapshot), _QUICK, scenario=scenario, design="connect")
        first, second = self._draw_of(eager), self._draw_of(switched)
        heard_ms = self.snapshot.config.heartbeat_interval_ms
        pauses_ms = Counter({task.task_id: heard_ms for task in group.tasks})
        return _Played(
            settles=first.settles and second.settles,
            rebalances=first.rebalances + second.rebalances,
            still_ms=first.still_ms + second.still_ms + pauses_ms,
            at_once=max(first.at_once, len(group.tasks)),
            takes_ms=return_event.at_ms + second.takes_ms,
        )

    def _draw_of(self, plan: Plan) -> _Played:
        return _Played(
            settles=plan.verdict.kind == "settled",
            rebalances=plan.summary.rebalances,
            still_ms=Counter(plan.pauses.ms),
            at_once=plan.pauses.most_at_once,
            takes_ms=plan.summary.duration_ms,
            times_open=plan.may_be_endless("duration_ms"),
        )


def _as_left(eager: Plan, snapshot: Snapshot) -> Snapshot:
    """Return the workers that a plan by the eager protocol leaves, who remember nothing, with what each holds."""
    old_cluster = snapshot.state.memory
    assert isinstance(old_cluster, ConnectGroup)
    items, eager_holdings = _by_name(old_cluster.task_counts), tuple(eager.final)
    place = {process_id: number for number, (process_id, _) in enumerate(eager.group.consumer_index)}
    member_ids = [process_id for process_id, _ in eager.members]
    instances = [eager.group.instances[eager.group.instance_index[member_id]] for member_id in member_ids]
    names = [
        [str(eager.group.tasks[task].task_id) for task in eager_holdings[place[member_id]].active]
        for member_id in member_ids
    ]
    generation = eager.rounds[-1].generation
    cluster = ConnectGroup(
        task_counts=old_cluster.task_counts,
        workers=tuple(
            ConnectWorker(member_id=member_id, held=_items(items, runs), last_completed=generation)
            for member_id, runs in zip(member_ids, names, strict=True)
        ),
        leader=member_ids[0],
        generation=generation,
        java=old_cluster.java,
    )
    group = Group.of(eager.group.application_id, work_of(old_cluster.task_counts), instances)
    number = group.task_index_by_text
    holdings = tuple(Holding(tuple(sorted(number[name] for name in runs))) for runs in names)
    state = GroupState(
        group=group,
        generation=generation,
        at_ms=0,
        holdings=holdings,
        copies=((),) * len(group.tasks),
        leader=0,
        memory=cluster,
    )
    return replace(snapshot, state=state)


def _by_name(task_counts: Sequence[tuple[str, int]]) -> dict[str, str | tuple[str, int]]:
    items = all_items(task_counts)
    return dict(zip(items.names(), [*items.connectors, *items.tasks], strict=True))


def _items(by_name: dict[str, str | tuple[str, int]], names: Iterable[str]) -> ConnectItems:
    items = [by_name[name] for name in names]
    return ConnectItems(
        tuple(item for item in items if isinstance(item, str)),
        tuple(item for item in items if not isinstance(item, str)),
    ).sorted()


def _figures(draws: Sequence[_Played]) -> UpgradeFigures:
    def range_of(values: Iterable[int]) -> Range:
        numbers = list(values)
        return Range(statistics.median_low(numbers), min(numbers), max(numbers))

    return UpgradeFigures(
        draws=len(draws),
        settled_draws=sum(draw.settles for draw in draws),
        rebalances=range_of(draw.rebalances for draw in draws),
        at_once=max(draw.at_once for draw in draws),
        longest_ms=max(max(draw.still_ms.values(), default=0) for draw in draws),
        item_ms=range_of(sum(draw.still_ms.values()) for draw in draws),
        takes_ms=range_of(draw.takes_ms for draw in draws),
        times_open=any(draw.times_open for draw in draws),
    )
