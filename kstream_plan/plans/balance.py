"""How evenly the tasks are spread over the instances: loads, and KIP-441's two figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kstream_plan.model import Group, Holding
from kstream_plan.model.holding_changes import changed_holdings, difference
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


def balances(group: Group, rounds: Sequence[Round], first_members: Iterable[str]) -> Iterator[Balance]:
    """Yield the balance after each round, counting only what changed; the spreads are over who takes part then.

    ``load_per_thread`` is by all threads that an instance ever has. ``first_members`` take part before the first round.
    """
    running, present = _RunningLoads(group), set(first_members)
    running.present([group.instance_index[process_id] for process_id in present])
    for rnd, (_, changes) in zip(rounds, changed_holdings([rnd.decided for rnd in rounds]), strict=True):
        came_and_went = rnd.member_steps
        for step in came_and_went:
            (present.add if isinstance(step, MemberJoined) else present.discard)(step.process_id)
        if came_and_went:
            running.present([group.instance_index[process_id] for process_id in present])
        for consumer, old, new in changes:
            running.change(group.instance_of[consumer], old, new)
        yield running.balance()


class _RunningLoads:
    """What every instance was decided to run last; a draft of one plan."""

    def __init__(self, group: Group) -> None:
        self._group = group
        nothing = [0] * len(group.instances)
        self._active, self._stateful, self._standby = nothing[:], nothing[:], nothing[:]
        self._per_thread = [0.0] * len(group.instances)
        self._of_present: Callable[[list[int]], list[int]] = list
        #: by subtopology: active tasks by instance
        self._tasks: dict[str, list[int]] = defaultdict(lambda: [0] * len(group.instances))
        #: by subtopology that anybody executes: instances that execute it, most minus least tasks of it
        self._spreads: dict[str, tuple[int, int]] = {}
        self._touched: set[str] = set()

    def present(self, instances: Sequence[int]) -> None:
        """Say who takes part from now on."""
        everyone = len(instances) == len(self._active)
        self._of_present = list if everyone else lambda of: [of[instance] for instance in instances]
        self._touched.update(self._tasks)

    def change(self, instance: int, old: Holding, new: Holding) -> None:
        """Count what a consumer of an instance has instead of what it had."""
        if old.active is not new.active:
            for sign, tasks in zip((-1, 1), difference(old.active, new.active), strict=True):
                self._add(instance, sign, tasks)
        self._standby[instance] += len(new.standby) + len(new.warmup) - len(old.standby) - len(old.warmup)
        tasks_of_all = self._active[instance] + self._standby[instance]
        self._per_thread[instance] = tasks_of_all / self._group.capacities[instance]

    def _add(self, instance: int, sign: int, tasks: Sequence[int]) -> None:
        subtopologies, stateful = self._group.subtopologies, self._group.stateful_flags
        self._active[instance] += sign * len(tasks)
        for task in tasks:
            self._stateful[instance] += sign * stateful[task]
            self._tasks[subtopologies[task]][instance] += sign
            self._touched.add(subtopologies[task])

    def balance(self) -> Balance:
        """Return how even it is now."""
        for subtopology in self._touched:
            tasks = self._of_present(self._tasks[subtopology])
            if executing := len(tasks) - tasks.count(0):
                self._spreads[subtopology] = executing, _spread(tasks)
            else:
                self._spreads.pop(subtopology, None)
        self._touched.clear()
        spreads = self._spreads.values()
        return Balance(
            active=tuple(self._active),
            standby=tuple(self._standby),
            load_per_thread=tuple(self._per_thread),
            instance_spread=_spread(self._of_present(self._stateful)),
            balance_factor=_spread(self._of_present(self._active)),
            subtopology_spread=_spread([instances for instances, _ in spreads]),
            subtopology_task_spread=max((spread for _, spread in spreads), default=0),
        )


def _joining_later(rounds: Sequence[Round]) -> set[str]:
    """Return who is no member yet in the first of the rounds."""
    joins_later: dict[str, bool] = {}
    for place, rnd in enumerate(rounds):
        for step in rnd.member_steps:
            joins_later.setdefault(step.process_id, place > 0 and isinstance(step, MemberJoined))
    return {process_id for process_id, later in joins_later.items() if later}
