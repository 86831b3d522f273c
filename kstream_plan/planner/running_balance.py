"""How evenly one decision after the other spreads the load, counting only what changes between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kstream_plan.model import Group, Holding, Holdings, Owners, no_owners
from kstream_plan.model.holding_changes import difference, unlike
from kstream_plan.plans import Balance


class RunningBalance:
    """The loads of the decision that was looked at last; a draft of one plan.

    It gives what :func:`~kstream_plan.planner.summarize.balance` gives for each decision alone.
    """

    def __init__(self, group: Group) -> None:
        nothing = [0] * len(group.instances)
        self._group = group
        self._decided = Holdings((Holding(),) * len(group.instances), group.stateless, no_owners(group))
        self._active, self._stateful, self._standby = nothing[:], nothing[:], nothing[:]
        self._per_thread = [0.0] * len(group.instances)
        names = [group.subtopologies[task] for task in group.stateless]
        self._subtopologies = list(dict.fromkeys(names))
        number_of = {name: number for number, name in enumerate(self._subtopologies)}
        #: by place among the stateless tasks: the number of its subtopology among theirs
        self._subtopology_of = np.array([number_of[name] for name in names], dtype=np.int64)
        #: subtopology → active tasks by instance
        self._tasks: dict[str, list[int]] = {}
        #: subtopology that anybody executes → (instances that execute it, most minus least tasks of it on an instance)
        self._spreads: dict[str, tuple[int, int]] = {}

    def of(self, decided: Holdings) -> Balance:
        """Return the balance of what was decided for every instance."""
        touched: set[str] = set()
        before, self._decided = self._decided, decided
        changed = set(unlike(before.stateful, decided.stateful))
        for instance in changed:
            touched |= self._change(instance, before.stateful[instance], decided.stateful[instance])
        if before.owners is not decided.owners:
            dealt, subtopologies = self._deal(before.owners, decided.owners)
            changed |= dealt
            touched |= subtopologies
        for instance in changed:
            tasks = self._active[instance] + self._standby[instance]
            self._per_thread[instance] = tasks / self._group.capacities[instance]
        for subtopology in touched:
            self._spread_again(subtopology)
        spreads = self._spreads.values()
        executing = [instances for instances, _ in spreads]
        return Balance(
            active=tuple(self._active),
            standby=tuple(self._standby),
            load_per_thread=tuple(self._per_thread),
            instance_spread=_spread(self._stateful),
            balance_factor=_spread(self._active),
            subtopology_spread=_spread(executing),
            subtopology_task_spread=max((spread for _, spread in spreads), default=0),
        )

    def _change(self, instance: int, old: Holding, new: Holding) -> set[str]:
        """Count what an instance holds now; return the subtopologies of which it runs more or fewer tasks."""
        lost, gained = difference(old.active, new.active)
        self._active[instance] += len(gained) - len(lost)
        self._stateful[instance] += len(gained) - len(lost)
        self._standby[instance] = len(new.standby) + len(new.warmup)
        subtopology_of = self._group.subtopologies.__getitem__
        changes = Counter(map(subtopology_of, gained))
        changes.subtract(map(subtopology_of, lost))
        for subtopology, change in changes.items():
            self._add(subtopology, instance, change)
        return {subtopology for subtopology, change in changes.items() if change}

    def _deal(self, old: Owners, new: Owners) -> tuple[set[int], set[str]]:
        """Count the stateless tasks where these run now; return the instances that run more or fewer, and of what.

        Mostly there are few: an instance gets as many as it gives up.
        """
        moved, instances = (old != new).nonzero()[0], len(self._active)
        dealt: set[int] = set()
        subtopologies: set[str] = set()
        lost = moved[old[moved] >= 0]
        cells = len(self._subtopologies) * instances
        gains = np.bincount(self._subtopology_of[moved] * instances + new[moved], minlength=cells)
        changes = gains - np.bincount(self._subtopology_of[lost] * instances + old[lost], minlength=cells)
        for cell in changes.nonzero()[0].tolist():
            number, instance = divmod(cell, instances)
            dealt.add(instance)
            subtopologies.add(self._subtopologies[number])
            self._add(self._subtopologies[number], instance, int(changes[cell]))
            self._active[instance] += int(changes[cell])
        return dealt, subtopologies

    def _add(self, subtopology: str, instance: int, change: int) -> None:
        self._tasks.setdefault(subtopology, [0] * len(self._active))[instance] += change

    def _spread_again(self, subtopology: str) -> None:
        by_instance = self._tasks[subtopology]
        executing = len(by_instance) - by_instance.count(0)
        if executing:
            self._spreads[subtopology] = executing, max(by_instance) - min(by_instance)
        else:
            self._spreads.pop(subtopology, None)


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0
