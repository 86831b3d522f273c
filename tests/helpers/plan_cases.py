"""Plans of every kind that an output has to show, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from kstream_plan.model import (
    LATEST,
    Consumer,
    Copy,
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
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Plan
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured, memberships

#: Whatever could break a terminal, a table, Markdown or HTML.
EVIL = "[red]x[/red]\x1b[31m|`a`<b>@me\u202e\ud800__1\r\n"


def _settled(scenario: str) -> Snapshot:
    """The captured group after its last generation, settled."""
    return memberships.settled(captured.inputs(scenario)[-1])


def _without(snapshot: Snapshot, host: str) -> Snapshot:
    """The group after the instance has gone, with its disk."""
    stay = [instance for instance in snapshot.state.group.instances if instance.host != host]
    return memberships.with_members(snapshot, stay)


def _named(snapshot: Snapshot, application_id: str, names: Callable[[str], str | None]) -> Snapshot:
    """The group under other names: ``names`` maps the captured hosts."""
    old = snapshot.state.group
    instances = [
        replace(
            instance,
            host=names(instance.host or ""),
            process_id=f"{instance.process_id[:-1]}{index}",
        )
        for index, instance in enumerate(old.instances)
    ]
    group = Group(application_id, old.tasks, tuple(instances))
    return replace(snapshot, state=replace(snapshot.state, group=group))


def _unknown_end_offsets(snapshot: Snapshot) -> Snapshot:
    group = snapshot.state.group
    tasks = tuple(
        replace(task, end_offset_sum=2**63 - 1, end_offset_known=False) if task.stateful else task
        for task in group.tasks
    )
    return replace(snapshot, state=replace(snapshot.state, group=Group(group.application_id, tasks, group.instances)))


def many_instances(old: int = 192, new: int = 8, tasks_each: int = 3) -> Snapshot:
    """A fleet of one-threaded instances, of which the last ones have just joined; every task is one of ``pages``."""
    instances = [
        Instance(process_id=f"{n:08d}", host=f"shop-{n}", consumers=(Consumer(consumer_id=f"shop-{n}-1"),))
        for n in range(old + new)
    ]
    tasks = [
        Task(
            task_id=TaskId(0, partition),
            stateful=True,
            end_offset_sum=50_000,
            source_partitions=(Partition("pages", partition),),
        )
        for partition in range(old * tasks_each)
    ]
    group = Group.of("shop", tasks, instances)
    owner = [task % old for task in range(len(tasks))]
    state = GroupState(
        group=group,
        generation=41,
        at_ms=0,
        holdings=tuple(
            Holding(active=tuple(task for task, item in enumerate(owner) if item == consumer))
            for consumer in range(old + new)
        ),
        copies=tuple((Copy(item, LATEST, (item,)),) for item in owner),
    )
    return Snapshot(
        state=state, config=AssignmentConfig(max_warmup_replicas=40), captured_at="2026-11-21T12:00:00.000Z"
    )


def _no_tasks() -> Snapshot:
    instance = Instance(process_id="a", consumers=(Consumer(consumer_id="a-1"),))
    state = GroupState(group=Group.of("empty", [], [instance]), generation=0, at_ms=0, holdings=(Holding(),), copies=())
    return Snapshot(state=state, config=AssignmentConfig())


_SNAPSHOTS: Mapping[str, Callable[[], Snapshot]] = MappingProxyType(
    {
        "scale-out": lambda: captured.join("scale-out"),
        "scale-out-traffic": lambda: captured.join("scale-out-traffic"),
        "scale-out-standbys": lambda: captured.join("scale-out-standbys"),
        "scale-out-standbys-fast": lambda: captured.join("scale-out-standbys", 10_000.0),
        "scale-out-balanced": lambda: captured.join("scale-out"),
        "scale-out-standbys-balanced": lambda: captured.join("scale-out-standbys"),
        "slow-restore": lambda: captured.join("scale-out", 20.0),
        "never-ready": lambda: replace(
            captured.join("scale-out"), rates=Rates(restore_per_instance=1.0, produce_per_task=50.0)
        ),
        "unfinished": lambda: captured.join("scale-out"),
        "crash": lambda: _without(_settled("scale-out"), "i3"),
        "crash-standbys": lambda: captured.inputs("scale-out-standbys")[23],
        "settled": lambda: _settled("scale-out"),
        "settled-standbys": lambda: _settled("scale-out-standbys"),
        "no-tasks": _no_tasks,
        "unknown-end-offsets": lambda: _unknown_end_offsets(captured.join("scale-out")),
        "pods": lambda: _named(
            captured.join("scale-out"), "payments", lambda host: f"payments-enricher-7c9f8d6b5-x{host}zq"
        ),
        "no-hosts": lambda: _named(captured.join("scale-out"), "orders", lambda _: None),
        "evil-names": lambda: _named(captured.join("scale-out"), EVIL, lambda host: f"{EVIL}{host}"),
        "many-instances": many_instances,
    }
)

NAMES = tuple(_SNAPSHOTS)
_MAX_ROUNDS = {"unfinished": 5}
_BALANCED = ("scale-out-balanced", "scale-out-standbys-balanced")


@cache
def snapshot(name: str) -> Snapshot:
    """What the plan of that name is made from."""
    return _SNAPSHOTS[name]()


@cache
def case(name: str) -> Plan:
    """The plan of that name; made once."""
    assignor = "balanced" if name in _BALANCED else "high-availability"
    return plan(snapshot(name), assignor=assignor, max_rounds=_MAX_ROUNDS.get(name))
