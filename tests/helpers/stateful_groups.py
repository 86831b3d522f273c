"""Random groups of stateful tasks amid a migration, with one standby at most, and what happens to them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kstream_plan.model import (
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Rates,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from tests.helpers import memberships
from tests.helpers.random_scenarios import random_case

#: Records per second that an instance restores, or that are written of a task.
_RESTORED = (0.0, 0.5, 3.0, 17.3, 50.0, 200.0, 999.0, 5_000.0, 1e6, 1e12)
_WRITTEN = (0.0, 0.01, 0.3, 2.0, 15.0, 100.0, 5_000.0)


def stateful_case(seed: int, *, awkward: bool = False) -> tuple[Snapshot, Scenario | None]:
    """A group that is settled but for members that have come or gone and copies that say something else.

    Nobody knows how fast its copies restore, or fall behind. Half of the cases have events. ``awkward``: it has
    stateless tasks as well, and several threads have reported some copies.
    """
    rng = random.Random(f"stateful {seed}")
    config = AssignmentConfig(
        acceptable_recovery_lag=rng.choice([0, 100, 10_000]),
        max_warmup_replicas=rng.choice([1, 2, 2, 5]),
        num_standby_replicas=rng.choice([0, 1, 1, 1]),
        probing_rebalance_interval_ms=rng.choice([60_000, 600_000]),
        state_cleanup_delay_ms=rng.choice([0, 60_000, 600_000, 600_000]),
        rack_aware_assignment_tags=rng.choice([(), (), ("zone",)]),
    )
    members = [_member(rng, number) for number in range(rng.choice([4, 5, 8, 9, 16]))]
    tasks = [
        Task(
            task_id=TaskId(subtopology, partition),
            stateful=True,
            end_offset_sum=rng.choice([0, 50, 5_000, 500_000]),
            end_offset_known=rng.random() < 0.97,
        )
        for subtopology in range(rng.randint(1, 3))
        for partition in range(rng.choice([1, 4, 13, 40]))
    ]
    if awkward:
        tasks += [Task(task_id=TaskId(7, partition), stateful=False) for partition in range(1 + 7 * seed % 60)]
    first = members[: rng.randint(4, len(members))]
    settled = memberships.settled(Snapshot(state=_nothing(Group.of("orders", tasks, first)), config=config))
    present = [one for one in members if one not in first[4:] or rng.random() < 0.8]
    snapshot = memberships.with_members(settled, present)
    snapshot = replace(
        snapshot,
        state=replace(snapshot.state, copies=_all_as_said(rng, snapshot.state, several=awkward)),
        rates=Rates(),
        started_ms={one.process_id: -rng.randrange(10**6) for one in present if rng.random() < 0.2},
        streams_version=rng.choice([None, "4.3.1", "3.9.0"]),
    )
    return snapshot, None if rng.random() < 0.5 else random_case(seed)[1]


def with_rates(snapshot: Snapshot, seed: int) -> Snapshot:
    """The same with rates: known of all instances and tasks or of some, slow and fast, measured or given by hand."""
    rng = random.Random(f"rates {seed}")
    instances, tasks = range(len(snapshot.state.group.instances)), range(len(snapshot.state.group.tasks))
    known: dict[str, Any] = {}

    def of_some(indices: range, rates: Sequence[float], share: float) -> dict[int, float]:
        return {index: rng.choice(rates) for index in indices if rng.random() < share}

    if rng.random() < 0.2:
        pass
    elif rng.random() < 0.4:
        known["restore_per_instance"] = rng.choice(_RESTORED)
    else:
        known["restore"] = of_some(instances, _RESTORED, 0.6)
    if known and rng.random() < 0.3:
        known["restore_of"] = of_some(instances, _RESTORED, 0.3)
    if not known or rng.random() < 0.2:
        known["produce_per_task"] = rng.choice(_WRITTEN)
    elif rng.random() < 0.3:
        known["produce"] = of_some(tasks, _WRITTEN, 0.6)
    return replace(snapshot, rates=Rates(**known))


def _member(rng: random.Random, number: int) -> Instance:
    consumers = tuple(Consumer(consumer_id=f"m{number}-{t}") for t in range(rng.choice([1, 2, 3, 4, 6])))
    return Instance(
        process_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        consumers=consumers,
        host=f"m{number}",
        client_tags=(("zone", rng.choice("abc")),),
    )


def _nothing(group: Group) -> GroupState:
    return GroupState(
        group=group,
        generation=0,
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=((),) * len(group.tasks),
        leader=0,
    )


def _all_as_said(rng: random.Random, state: GroupState, *, several: bool) -> tuple[tuple[Copy, ...], ...]:
    copies: list[tuple[Copy, ...]] = [()] * len(state.group.tasks)
    for task in state.group.stateful:
        copies[task] = _as_said(rng, state, task)
        if several and rng.random() < 0.2:
            copies[task] = tuple(
                copy if copy.lag is None else copy._replace(reporters=tuple(state.group.consumers_of[copy.instance]))
                for copy in copies[task]
            )
    return tuple(copies)


def _as_said(rng: random.Random, state: GroupState, task: int) -> tuple[Copy, ...]:
    """Return a task's copies, some of which say something else, and what others have left over."""
    whole, group = state.group.tasks[task].end_offset_sum, state.group
    copies = list(state.copies[task])
    for place, copy in enumerate(copies):
        if rng.random() < 0.1 and copy.lag is not None and copy.lag >= 0:
            lag = rng.choice([0, whole, whole // 2, None, UNKNOWN])
            copies[place] = copy._replace(lag=lag, remaining=lag if lag is not None and lag >= 0 else whole)
    for instance in range(len(group.instances)):
        if rng.random() < 0.15 and all(copy.instance != instance for copy in copies):
            lag = rng.choice([0, whole, whole // 3, UNKNOWN])
            reporters = tuple(sorted(rng.sample(list(group.consumers_of[instance]), 1)))
            lost_ms = rng.choice([None, -rng.randrange(700_000)])
            made_ms = rng.choice([None, -rng.randrange(700_000, 10**6)])
            copies.append(Copy(instance, lag, reporters, lag if lag >= 0 else whole, None, False, -1, lost_ms, made_ms))
    return tuple(sorted(copies))
