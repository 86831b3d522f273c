"""How evenly the tasks are spread over the instances: loads, and KIP-441's two figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kstream_plan.model import Group, Holding
from kstream_plan.plans import Balance, MemberJoined, Round


@dataclass(frozen=True, slots=True)
class InstanceLoad:
    """What one instance was decided to run; ``subtopologies`` are its active tasks by subtopology."""

    active: int
    stateful: int
    standby: int
    per_thread: float
    subtopologies: Mapping[str, int]


def instance_loads(group: Group, decided: Sequence[Holding]) -> tuple[InstanceLoad, ...]:
    """Count every instance's tasks; ``decided`` is by consumer."""
    return tuple(_count(group, decided[of.start : of.stop]) for of in group.consumers_of)


def _count(group: Group, held: Sequence[Holding]) -> InstanceLoad:
    active = [task for of in held for task in of.active]
    standby = sum(len(of.standby) + len(of.warmup) for of in held)
    return InstanceLoad(
        active=len(active),
        stateful=sum(map(group.stateful_flags.__getitem__, active)),
        standby=standby,
        per_thread=(len(active) + standby) / len(held),
        subtopologies=Counter(map(group.subtopologies.__getitem__, active)),
    )


def balance(loads: Sequence[InstanceLoad]) -> Balance:
    """Put the loads side by side (KIP-441's two figures included). No instance: all zero."""
    counts: dict[str, list[int]] = defaultdict(list)
    for load in loads:
        for subtopology, tasks in load.subtopologies.items():
            counts[subtopology].append(tasks)
    active = [load.active for load in loads]
    return Balance(
        active=tuple(active),
        standby=tuple([load.standby for load in loads]),
        load_per_thread=tuple([load.per_thread for load in loads]),
        instance_spread=_spread([load.stateful for load in loads]),
        balance_factor=_spread(active),
        subtopology_spread=_spread(list(map(len, counts.values()))),
        subtopology_task_spread=max(
            (max(of) - (min(of) if len(of) == len(loads) else 0) for of in counts.values()), default=0
        ),
    )


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0


def initial_balance(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> Balance:
    """Put the loads side by side as the first rebalance finds them.

    Who joins in it counts as empty; who joins in a later one does not count yet.
    """
    loads = instance_loads(group, initial)
    found, later = balance(loads), _joining_later(rounds)
    if not later:
        return found
    there = balance([load for of, load in zip(group.instances, loads, strict=True) if of.process_id not in later])
    return replace(there, active=found.active, standby=found.standby, load_per_thread=found.load_per_thread)


def _joining_later(rounds: Sequence[Round]) -> set[str]:
    """Return who is no member yet in the first of the rounds."""
    joins_later: dict[str, bool] = {}
    for place, rnd in enumerate(rounds):
        for step in rnd.member_steps:
            joins_later.setdefault(step.process_id, place > 0 and isinstance(step, MemberJoined))
    return {process_id for process_id, later in joins_later.items() if later}
