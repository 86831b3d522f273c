"""How evenly the tasks are spread over the instances: loads, and KIP-441's two figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Group, Holding, Holdings, Owners, no_owners
from kstream_plan.model.holding_changes import changed_holdings, difference, unlike
from kstream_plan.plans import Balance, MemberJoined, Round

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Load(NamedTuple):
    """Numbers of tasks on one instance: stateful and stateless active ones, standby and warm-up copies."""

    stateful: int
    stateless: int
    copies: int

    @property
    def tasks(self) -> int:
        """How many run there."""
        return self.stateful + self.stateless


def instance_loads(group: Group, holdings: Sequence[Holding]) -> list[Load]:
    """Count the tasks of every instance, given what each consumer holds."""
    found, holdings = [], tuple(holdings)
    for consumers in group.consumers_of:
        held = holdings[consumers.start : consumers.stop]
        active = [group.stateful_flags[task] for roles in held for task in roles.active]
        copies = sum(len(roles.standby) + len(roles.warmup) for roles in held)
        found.append(Load(sum(active), len(active) - sum(active), copies))
    return found


def balance_of(group: Group, held: Sequence[Holding], absent: Collection[str] = ()) -> Balance:
    """Return how evenly is spread what each consumer has; the spreads leave out the instances that are ``absent``."""
    running = RunningBalance(group)
    if absent:
        there = [instance.process_id not in absent for instance in group.instances]
        running.present([*compress(range(len(there)), there)])
    for consumer, of in enumerate(held):
        running.change(group.instance_of[consumer], Holding(), of)
    return running.balance()


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0


def initial_balance(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> Balance:
    """Return how evenly the load is spread as the first rebalance finds it.

    Who joins in it counts as empty; who joins in a later one does not count yet.
    """
    return balance_of(group, initial, _joining_later(rounds))


def balances(group: Group, rounds: Sequence[Round], first_members: Iterable[str]) -> Iterator[Balance]:
    """Yield the balance after each round, counting only what changed; the spreads are over who takes part then.

    ``load_per_thread`` is by all threads that an instance ever has. ``first_members`` take part before the first round.
    """
    running, present = RunningBalance(group), set(first_members)
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


class RunningBalance:
    """How evenly what was decided last is spread, counting only what changes (KIP-441's two figures included).

    The spreads are over the instances that are present, at first all.
    """

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
        self._decided: Holdings | None = None

    def of(self, decided: Holdings) -> Balance:
        """Return the balance of what was decided for every instance, and count on from there."""
        before, self._decided = self._decided, decided
        if before is None:
            before = Holdings((Holding(),) * len(decided), self._group.stateless, no_owners(self._group))
        for instance in unlike(before.stateful, decided.stateful):
            self.change(instance, before.stateful[instance], decided.stateful[instance])
        if before.owners is not decided.owners:
            self._deal(before.owners, decided.owners)
        return self.balance()

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
        self._count_per_thread(instance)

    def _deal(self, old: Owners, new: Owners) -> None:
        """Count the stateless tasks where these run now: mostly an instance gets as many as it gives up."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        moved, instances = (old != new).nonzero()[0], len(self._active)
        lost, (names, subtopology_of) = moved[old[moved] >= 0], self._of_stateless
        cells = len(names) * instances
        gains = np.bincount(subtopology_of[moved] * instances + new[moved], minlength=cells)
        changes = gains - np.bincount(subtopology_of[lost] * instances + old[lost], minlength=cells)
        for cell in changes.nonzero()[0].tolist():
            number, instance = divmod(cell, instances)
            self._active[instance] += int(changes[cell])
            self._tasks[names[number]][instance] += int(changes[cell])
            self._touched.add(names[number])
            self._count_per_thread(instance)

    @cached_property
    def _of_stateless(self) -> tuple[list[str], npt.NDArray[np.int64]]:
        """The subtopologies of the stateless tasks, and by place among these tasks the place of its subtopology."""
        import numpy as np  # noqa: PLC0415 - as above

        names = [self._group.subtopologies[task] for task in self._group.stateless]
        place = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return list(place), np.array([place[name] for name in names], dtype=np.int64)

    def _count_per_thread(self, instance: int) -> None:
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
