"""Random groups and random sequences of events that fit them, from a seed."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.model import (
    Consumer,
    Group,
    GroupState,
    Holding,
    Instance,
    Partition,
    Rates,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.scenario import (
    Bounce,
    Burst,
    ConfigChange,
    Event,
    Join,
    Leave,
    NewInstance,
    ProduceRate,
    RestoreRate,
    Return,
    Scenario,
    Stop,
    Threads,
)
from kstream_plan.model.settings import RACK_STRATEGIES, AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.protocols import PROTOCOLS
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from tests.helpers.memberships import settled
from tests.helpers.random_broker_groups import connect_case, streams_case

SESSION_TIMEOUT_MS = 45_000


def random_case(seed: int) -> tuple[Snapshot, Scenario]:
    """A settled group with settings and rates of its own, and up to eight events."""
    rng = random.Random(seed)
    config = AssignmentConfig(
        acceptable_recovery_lag=rng.choice([0, 100, 10_000]),
        max_warmup_replicas=rng.randint(1, 4),
        num_standby_replicas=rng.choice([0, 0, 1, 2]),
        probing_rebalance_interval_ms=rng.choice([60_000, 600_000]),
        session_timeout_ms=SESSION_TIMEOUT_MS,
    )
    rates = Rates(
        restore_per_instance=rng.choice([None, 10.0, 1_000.0]), produce_per_task=rng.choice([None, 0.0, 20.0])
    )
    return Snapshot(state=_settled_group(rng, config), config=config, rates=rates), _Sequence(rng).scenario()


def hard_case(seed: int) -> tuple[Snapshot, Scenario]:
    """Instances join, and one leaves, in a group that restores about as slowly as its changelogs grow."""
    rng = random.Random(seed)
    config = AssignmentConfig(
        num_standby_replicas=rng.choice([0, 1, 1, 2]),
        probing_rebalance_interval_ms=60_000,
        acceptable_recovery_lag=rng.choice([0, 100, 500, 1000, 2000]),
        max_warmup_replicas=rng.randint(1, 4),
        state_cleanup_delay_ms=rng.choice([0, 60_000, 120_000, 600_000]),
    )
    group = _settled_group(rng, config)
    tasks = tuple(
        replace(task, end_offset_sum=rng.choice([1000, 3000, 9000]) if task.stateful else 0)
        for task in group.group.tasks
    )
    state = replace(group, group=Group(group.group.application_id, tasks, group.group.instances))
    rates = Rates(restore_per_instance=rng.choice([15.0, 25.0, 30.0, 45.0, 60.0, 100.0]), produce_per_task=20.0)
    instances = tuple(NewInstance(threads=1) for _ in range(rng.randint(1, 2)))
    events: list[Event] = [Join(at_ms=0, instances=instances)]
    if rng.random() < 0.6:
        events.append(Leave(at_ms=30_000, process_ids=("m1",)))
    return Snapshot(state=state, config=config, rates=rates), Scenario(events=tuple(events))


def varied_case(seed: int) -> tuple[Snapshot, Scenario]:
    """A group as of :func:`random_case`, with racks of instances and replicas and with client tags, that go by them."""
    rng = random.Random(f"varied {seed}")
    snapshot, scenario = random_case(seed)
    config = replace(
        snapshot.config,
        rack_aware_assignment_tags=rng.choice([(), ("zone",), ("cluster", "zone")]),
        rack_aware_assignment_strategy=rng.choice(RACK_STRATEGIES),
    )
    group = snapshot.state.group
    placed = Group.of(
        group.application_id,
        [_with_replicas(task, rng) for task in group.tasks],
        [_with_place(instance, rng) for instance in group.instances],
    )
    state = settled(Snapshot(state=_nobody_has_anything(placed), config=config)).state
    events = tuple(_joined_somewhere(event, rng) if isinstance(event, Join) else event for event in scenario.events)
    return replace(snapshot, state=state, config=config), Scenario(events=events)


def _with_replicas(task: Task, rng: random.Random) -> Task:
    def partition(kind: str) -> Partition:
        return Partition(
            f"{kind}-{task.task_id.group}", task.task_id.partition, tuple(rng.sample("abc", rng.randint(1, 2)))
        )

    changelogs = (partition("changelog"),) if task.stateful else ()
    return replace(task, source_partitions=(partition("source"),), changelog_partitions=changelogs)


def _with_place(instance: Instance, rng: random.Random) -> Instance:
    tags = tuple((key, rng.choice("xyz")) for key in ("zone", "cluster") if rng.random() < 0.8)
    return replace(instance, rack=rng.choice("abc"), client_tags=tags)


def _joined_somewhere(event: Join, rng: random.Random) -> Join:
    return replace(
        event, instances=tuple(_with_place(one, rng) if isinstance(one, Instance) else one for one in event.instances)
    )


def _settled_group(rng: random.Random, config: AssignmentConfig) -> GroupState:
    tasks = [
        Task(task_id=TaskId(s, p), stateful=s < 2, end_offset_sum=rng.choice([50, 5_000, 500_000]) if s < 2 else 0)
        for s in range(3)
        for p in range(rng.randint(1, 4))
    ]
    group = Group.of("orders", tasks, [_instance(rng, number) for number in range(_MEMBERS)])
    return settled(Snapshot(state=_nobody_has_anything(group), config=config)).state


def _nobody_has_anything(group: Group) -> GroupState:
    return GroupState(
        group=group,
        generation=0,
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=((),) * len(group.tasks),
        leader=0,
    )


_MEMBERS = 4


def _instance(rng: random.Random, number: int) -> Instance:
    static = number == 3
    consumers = tuple(
        Consumer(consumer_id=f"m{number}-{t}", group_instance_id=f"m{number}-{t}" if static else None)
        for t in range(1 + number % 2)
    )
    return Instance(
        process_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)), consumers=consumers, host=f"m{number}"
    )


_SETTINGS = (("max_warmup_replicas", 3), ("num_standby_replicas", 1), ("session_timeout_ms", 20_000))


class _Sequence:
    """Draws one event after the other and remembers who runs; m0 always does."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._at_ms = 0
        self._running = {f"m{number}" for number in range(1, _MEMBERS)}
        self._away: dict[str, int] = {}
        self._joined = 0

    def scenario(self) -> Scenario:
        events = []
        for _ in range(self._rng.randint(1, 8)):
            self._at_ms += self._rng.choice([0, 50, 2_000, 20_000, 50_000, 63_000, 700_000, 3_600_000])
            events.append(self._event())
        return Scenario(events=tuple(events))

    def _event(self) -> Event:
        rng, at_ms = self._rng, self._at_ms
        kind = rng.choice(
            ["join", "leave", "stop", "return", "bounce", "threads", "produce", "restore", "burst", "config"]
        )
        if kind in ("leave", "stop") and self._running:
            name = rng.choice(sorted(self._running))
            self._running.discard(name)
            self._away[name] = at_ms
            leave = kind == "leave"
            return Leave(at_ms=at_ms, process_ids=(name,)) if leave else Stop(at_ms=at_ms, process_ids=(name,))
        if kind == "return" and self._away:
            name = rng.choice(sorted(self._away))
            keeps = rng.random() < 0.7 or at_ms - self._away[name] < SESSION_TIMEOUT_MS
            del self._away[name]
            self._running.add(name)
            return Return(at_ms=at_ms, process_ids=(name,), keeps_disk=keeps)
        if kind == "bounce" and self._running:
            return self._bounce()
        if kind == "threads":
            return Threads(at_ms=at_ms, process_id="m0", threads=rng.randint(1, 3))
        return self._of_the_rates(kind)

    def _bounce(self) -> Bounce:
        """Restart one or two members, or let new ones stand in for them, perhaps with new settings."""
        rng, at_ms = self._rng, self._at_ms
        names = rng.sample(sorted(self._running), k=min(rng.choice([1, 1, 2]), len(self._running)))
        surge = rng.choice([0, 0, 1, 2])
        restart_ms, pause_ms = rng.choice([5_000, 44_000, 60_000]), rng.choice([0, 30_000])
        self._at_ms += len(names) * (restart_ms + pause_ms + 2 * SESSION_TIMEOUT_MS)
        if surge:
            self._running.difference_update(names)
        return Bounce(
            at_ms=at_ms,
            process_ids=tuple(names),
            restart_ms=restart_ms,
            pause_ms=pause_ms,
            leaves=rng.random() < 0.3,
            settings=rng.choice([(), (), (rng.choice(_SETTINGS),)]),
            surge=surge,
            new_instances=tuple(self._new_instance() for _ in names) if surge else (),
        )

    def _new_instance(self) -> Instance:
        self._joined += 1
        name, process_id = f"new-{self._joined}", str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        self._running.add(name)
        return Instance(process_id=process_id, consumers=(Consumer(consumer_id=f"{process_id}-1"),), host=name)

    def _of_the_rates(self, kind: str) -> Event:
        rng, at_ms = self._rng, self._at_ms
        match kind:
            case "produce":
                subtopology = rng.choice([None, "0"])
                return ProduceRate(at_ms=at_ms, per_second=rng.choice([0.0, 5.0, 500.0]), subtopology=subtopology)
            case "restore":
                return RestoreRate(
                    at_ms=at_ms, per_second=rng.choice([1.0, 1e4]), process_ids=rng.choice([(), ("m0",)])
                )
            case "burst":
                return Burst(at_ms=at_ms, records=rng.choice([10, 100_000]), subtopology=rng.choice([None, "1"]))
            case "config":
                return ConfigChange(at_ms=at_ms, settings=(rng.choice(_SETTINGS[:2]),))
            case _:
                return Join(at_ms=at_ms, instances=(self._new_instance(),))


def play(
    seed: int, max_rounds: int = 150, *, assignor: str = "high-availability", protocol: str = "cooperative"
) -> Plan:
    """The plan of a random case, once: its bounds, that :func:`play_varied` has, take as long again."""
    snapshot, scenario = random_case(seed)
    item = with_random_ids(scenario, snapshot.state.group, 0)
    return plan(
        snapshot, scenario=item, max_rounds=max_rounds, assignor=assignor, protocol=protocol, floor=False, ranges=False
    )


#: Every way to decide and to get there: design, assignor, protocol.
WAYS = [
    *(
        PlanOptions(assignor=assignor, protocol=protocol, max_rounds=150)
        for assignor in ASSIGNORS
        for protocol in PROTOCOLS
    ),
    *(PlanOptions(design="learner", max_learners=limit, max_rounds=150) for limit in (None, 2)),
    *(
        PlanOptions(design=design, max_rounds=150)
        for group_protocol in ("streams", "connect")
        for design in OF_GROUP_PROTOCOL[group_protocol]
    ),
]
_CASES = {"streams": streams_case, **dict.fromkeys(OF_GROUP_PROTOCOL["connect"], connect_case)}


def play_varied(seed: int) -> Plan:
    """The plan of a varied case, in the way whose turn it is."""
    way = WAYS[seed % len(WAYS)]
    snapshot, scenario = _CASES.get(way.design or "classic", varied_case)(seed)
    item = with_random_ids(scenario, snapshot.state.group, 0)
    return plan(snapshot, way, scenario=item)
