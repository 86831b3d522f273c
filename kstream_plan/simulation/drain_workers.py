"""May these Connect workers stop? What stands still then, for how long, and in what other way it would be less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from kstream_plan.designs.connect.departures import leaving_stages
from kstream_plan.model import Note, Snapshot, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.connect_group import DELAY_UNKNOWN, SAME_ADDRESS, WORKER_SILENT, ConnectGroup
from kstream_plan.model.scenario import Event, Leave, Return, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.plans import HandOver, Plan
from kstream_plan.plans.task_pauses import Pause
from kstream_plan.simulation.asked_moment import asked_moment
from kstream_plan.simulation.draws import usual_number
from kstream_plan.simulation.effects_on_others import Aftermath, aftermath
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import is_random, with_random_ids

#: The most draws of new member ids, and how many ways are simulated beside them.
_MOST_DRAWS = 10
_WAYS = 5
#: What is read with one of these may not be there, or not run what a plan says.
_DOUBTFUL = (DELAY_UNKNOWN, WORKER_SILENT, SAME_ADDRESS)
#: How long a restart takes that they are said to be back after, and a delay that would be shorter than Connect's own.
MINUTE_MS = 60_000


class StandStill(NamedTuple):
    """One way in which workers stop, and what is unassigned meanwhile.

    ``way`` is ``stopped``, ``killed`` (noticed at the session time-out), ``restarted`` (back after a minute, under the
    new member ids that are worst of several draws), or
    stopped at another ``scheduled.rebalance.max.delay.ms``: ``delay-60s``, ``delay-0s``. ``items`` stand still at least
    once, the worst of them ``longest_ms`` in all, all together ``item_ms``. The last one runs again ``runs_after_ms``
    after the stop (``None``: the group does not settle).
    """

    way: str
    rebalances: int
    items: int
    longest_ms: int
    item_ms: int
    at_once: int
    runs_after_ms: int | None


class DrainedItem(NamedTuple):
    """A connector or task that a stopped worker ran: its first new worker (``None``: none), and its pauses."""

    task_id: WorkId
    destination: str | None
    pause_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersDrained:
    """The answer for workers that stop now, cleanly: ``plan`` is what follows, ``items`` what they ran, in order.

    ``ways`` are that and others, in the order of :class:`StandStill`. ``wait_ms`` is when all that is under way has
    settled, ``later`` the same as the first way from then on; both are ``None`` if nothing is (or it does not settle).
    ``leader_stops``: the leader is among them. ``in_turn``: it goes first, then who leads next, and the others in a
    rebalance of their own, as that is worse than all in one, and which it will be is unknown. ``time`` is the moment
    in question, RFC 3339 (``None``: not known), ``doubts`` why more may stand unassigned than ``plan`` says.
    """

    plan: Plan
    process_ids: tuple[str, ...]
    items: tuple[DrainedItem, ...]
    ways: tuple[StandStill, ...]
    waiting_plan: Plan
    wait_ms: int | None
    later: StandStill | None
    leader_stops: bool
    in_turn: bool
    time: str | None = None
    doubts: tuple[Note, ...] = ()

    @property
    def answer(self) -> Answer:
        """Whether they may stop: nothing stands unassigned for longer than it takes all to hear of a rebalance."""
        first_way = self.ways[0]
        if first_way.runs_after_ms is None or first_way.longest_ms > self.plan.config.heartbeat_interval_ms:
            return Answer.NO
        return Answer.UNKNOWN if self.doubts else Answer.YES

    @property
    def follows(self) -> Aftermath:
        """What follows for the group."""
        return aftermath(self.plan, self.process_ids)

    @property
    def waits(self) -> bool:
        """Whether work is kept for who is gone, as it is unless the protocol is eager."""
        return _waits(self.plan)


def drain_workers(
    snapshot: Snapshot, names: Sequence[str], options: PlanOptions = PlanOptions(), *, on_round: OnRound | None = None
) -> WorkersDrained:
    """Simulate that the workers of these names stop.

    Raises:
        ScenarioError: there is no such worker, or none would be left.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    group = snapshot.state.group
    process_ids = tuple(dict.fromkeys(process_id_of(group, name) for name in names))

    moment = asked_moment(snapshot, options, process_ids)

    def simulate(*events: Event, max_delay_ms: int | None = None) -> Plan:
        config = snapshot.config
        if max_delay_ms is not None:
            config = replace(config, scheduled_rebalance_max_delay_ms=max_delay_ms)
        return plan_checked(
            replace(snapshot, config=config), options, scenario=Scenario(events=events), on_round=on_round
        )

    leave = Leave(at_ms=0, process_ids=process_ids)
    waiting_plan = simulate()
    cluster = snapshot.state.memory
    assert isinstance(cluster, ConnectGroup)
    delayed = any(worker.joins_at_ms is not None for worker in cluster.workers)
    under_way = delayed and bool(waiting_plan.rounds) and waiting_plan.verdict.kind == "settled"
    wait_ms = waiting_plan.rounds[-1].at_ms + snapshot.config.heartbeat_interval_ms if under_way else None
    result, stops = simulate(leave), [leave]
    leader = None if snapshot.state.leader is None else group.instances[snapshot.state.leader].process_id
    stages = leaving_stages(cluster, process_ids)
    if len(stages) > 1 and _waits(result):
        heartbeat_ms = snapshot.config.heartbeat_interval_ms
        leaves = [Leave(at_ms=place * heartbeat_ms, process_ids=stage) for place, stage in enumerate(stages)]
        in_stages = simulate(*leaves)
        if _worse(_stand_still("stopped", in_stages)) > _worse(_stand_still("stopped", result)):
            result, stops = in_stages, leaves
    ways = [
        _stand_still("stopped", result),
        _stand_still(
            "killed", simulate(*(Stop(at_ms=stop.at_ms, process_ids=stop.process_ids, crash=True) for stop in stops))
        ),
        max((_stand_still("restarted", simulate(*events)) for events in _restarted(snapshot, stops)), key=_worse),
    ]
    for way, delay_ms in (("delay-60s", MINUTE_MS), ("delay-0s", 0)):
        if _waits(result) and delay_ms < (snapshot.config.scheduled_rebalance_max_delay_ms or 0):
            ways.append(_stand_still(way, simulate(*stops, max_delay_ms=delay_ms)))
    return WorkersDrained(
        plan=result,
        process_ids=process_ids,
        items=tuple(_drained_items(result, process_ids)),
        ways=tuple(ways),
        waiting_plan=waiting_plan,
        wait_ms=wait_ms,
        later=None
        if wait_ms is None
        else _stand_still("stopped", simulate(*(replace(stop, at_ms=stop.at_ms + wait_ms) for stop in stops)), wait_ms),
        leader_stops=leader in process_ids,
        in_turn=len(stops) > 1,
        time=moment.time,
        doubts=(*moment.doubts, *_doubts(cluster, snapshot.warnings)),
    )


def _doubts(cluster: ConnectGroup, as_read: Sequence[Note]) -> Iterator[Note]:
    """Yield why more may stand unassigned than a plan says: a delay may run, or a worker be gone, that it counts."""
    if cluster.leader is None:
        message = "Who leads, and whether a delay runs already, is unknown: the workers' logs tell (snapshot FILE)"
        yield Note("leader-unknown", message)
        return
    yield from (note for note in as_read if note.code in _DOUBTFUL)


def _restarted(snapshot: Snapshot, stops: Sequence[Leave]) -> Iterator[tuple[Event, ...]]:
    """Yield the same with workers that are back after a minute, whose new ids the broker draws: so many draws."""
    group, stopped_ids = snapshot.state.group, tuple(process_id for stop in stops for process_id in stop.process_ids)
    scenario = Scenario(events=(*stops, Return(at_ms=MINUTE_MS, process_ids=stopped_ids)))
    usual = usual_number(group, snapshot.config) // _WAYS if is_random(scenario, group) else 1
    for draw in range(max(1, min(_MOST_DRAWS, usual))):
        yield with_random_ids(scenario, group, draw).events


def _worse(way: StandStill) -> tuple[bool, int, int]:
    return way.runs_after_ms is None, way.item_ms, way.longest_ms


def _waits(plan: Plan) -> bool:
    return plan.protocol != "eager"


def _stand_still(way: str, plan: Plan, from_ms: int = 0) -> StandStill:
    """Return what is unassigned after this time, at which the workers stopped."""
    pauses = [pause for pause in plan.pauses if pause.to_ms >= from_ms]
    of_item = Counter[WorkId]()
    changes = Counter[int]()
    for pause in pauses:
        of_item[pause.task_id] += pause.length_ms
        changes[pause.from_ms] += 1
        changes[pause.to_ms] -= 1
    if plan.verdict.is_never_over:
        of_item.update(dict.fromkeys(plan.verdict.tasks, 0))
    settles = plan.verdict.kind == "settled"
    return StandStill(
        way=way,
        rebalances=sum(rnd.at_ms >= from_ms for rnd in plan.rounds),
        items=len(of_item),
        longest_ms=max(of_item.values(), default=0),
        item_ms=sum(of_item.values()),
        at_once=max(accumulate(changes[at_ms] for at_ms in sorted(changes)), default=0),
        runs_after_ms=_runs_after_ms(plan, pauses, from_ms) if settles else None,
    )


def _runs_after_ms(plan: Plan, pauses: Sequence[Pause], from_ms: int) -> int:
    """Return when the last one runs again: plans do not count the time until all workers hear of a rebalance."""
    if not pauses:
        return 0
    return max(pause.to_ms for pause in pauses) - from_ms + plan.config.heartbeat_interval_ms


def _drained_items(plan: Plan, stopped_ids: Sequence[str]) -> Iterator[DrainedItem]:
    """Yield what becomes of the items that the workers in ``stopped_ids`` ran."""
    group = plan.group
    starts = {
        step.task_id: step.to.process_id
        for rnd in reversed(plan.rounds)
        for step in rnd.single_steps
        if isinstance(step, HandOver) and step.to.process_id not in stopped_ids
    }
    for process_id in stopped_ids:
        for consumer in group.consumers_of[group.instance_index[process_id]]:
            for task in plan.initial[consumer].active:
                task_id = group.tasks[task].task_id
                yield DrainedItem(task_id, starts.get(task_id), plan.pauses.ms.get(task_id, 0))
