"""How evenly one decision after the other spreads the load, counting only what changes between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kstream_plan.histories import difference, unlike
from kstream_plan.model import Group, Holding
from kstream_plan.steps import Balance


class RunningBalance:
    """The loads of the decision that was looked at last; a draft of one plan.

    It gives what :func:`~kstream_plan.figures.balance` gives for each decision alone.
    """

    def __init__(self, group: Group) -> None:
        nothing = [0] * len(group.instances)
        self._group = group
        self._decided: Sequence[Holding] = (Holding(),) * len(group.instances)
        self._active, self._stateful, self._standby = nothing[:], nothing[:], nothing[:]
        self._per_thread = [0.0] * len(group.instances)
        #: subtopology → active tasks by instance
        self._tasks: dict[str, list[int]] = {}
        #: subtopology that anybody executes → (instances that execute it, most minus least tasks of it on an instance)
        self._spreads: dict[str, tuple[int, int]] = {}

    def of(self, decided: Sequence[Holding]) -> Balance:
        """Return the balance of what was decided for every instance."""
        touched: set[str] = set()
        for instance in unlike(self._decided, decided):
            touched |= self._change(instance, self._decided[instance], decided[instance])
        self._decided = decided
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
        is_stateful, subtopology_of = self._group.stateful_flags.__getitem__, self._group.subtopologies.__getitem__
        self._active[instance] = len(new.active)
        self._stateful[instance] += sum(map(is_stateful, gained)) - sum(map(is_stateful, lost))
        self._standby[instance] = len(new.standby) + len(new.warmup)
        tasks = self._active[instance] + self._standby[instance]
        self._per_thread[instance] = tasks / self._group.capacities[instance]
        changes = Counter(map(subtopology_of, gained))
        changes.subtract(map(subtopology_of, lost))
        touched = {subtopology for subtopology, change in changes.items() if change}
        for subtopology in touched:
            by_instance = self._tasks.setdefault(subtopology, [0] * len(self._active))
            by_instance[instance] += changes[subtopology]
        return touched

    def _spread_again(self, subtopology: str) -> None:
        by_instance = self._tasks[subtopology]
        executing = len(by_instance) - by_instance.count(0)
        if executing:
            self._spreads[subtopology] = executing, max(by_instance) - min(by_instance)
        else:
            self._spreads.pop(subtopology, None)


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0
