"""The owner and the learner of each task of a learner group, and what that gives each instance.

Of thousands of tasks a round changes a few, so what it gives is put together anew only where it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kstream_plan.designs.learner.decision import LearnerDecision
from kstream_plan.model import NOBODY, Group, Holding, Holdings, Target, no_owners
from kstream_plan.model.holding_changes import unlike

Indices = npt.NDArray[np.int64]


class Roles(NamedTuple):
    """By task the instance that runs it, the one that learns it, and the consumer that runs it (if it is stateful).

    :data:`~kstream_plan.model.NOBODY` where there is none; ``consumer`` counts where there is an ``owner``.
    """

    owner: Indices
    learner: Indices
    consumer: Indices

    @classmethod
    def from_holdings(cls, group: Group, holdings: Sequence[Holding]) -> Roles:
        """Read the roles from all holdings; of two learners of one task the first counts."""
        number, instance_of = len(group.tasks), np.asarray(group.instance_of, dtype=np.int64)
        owner, learner, consumer = (np.full(number, NOBODY, dtype=np.int64) for _ in range(3))
        active = [holding.active for holding in holdings]
        tasks = np.fromiter(chain.from_iterable(active), dtype=np.int64)
        consumer[tasks] = np.repeat(np.arange(len(active)), list(map(len, active)))
        owner[tasks] = instance_of[consumer[tasks]]
        for instance, holding in reversed(list(zip(group.instance_of, holdings, strict=True))):
            learner[list(holding.warmup)] = instance
        return cls(owner, learner, consumer)

    @property
    def learned(self) -> Indices:
        """The tasks that are being learned, in order."""
        return np.flatnonzero(self.learner != NOBODY)

    def after_decision(self, decision: LearnerDecision, previous: Holdings, current: Holdings) -> Roles:
        """Return the roles after a decision, when the same consumers hold ``current`` instead of ``previous``."""
        consumer = self.consumer.copy()
        for number in unlike(previous.stateful, current.stateful):
            consumer[list(current.stateful[number].active)] = number
        return Roles(decision.owner, decision.learner, consumer)


class _ByInstance(NamedTuple):
    """By task an instance, and by instance its tasks."""

    of_tasks: Indices
    tasks: tuple[tuple[int, ...], ...]

    @classmethod
    def from_tasks(cls, of_tasks: Indices, number: int, previous: _ByInstance | None) -> _ByInstance:
        """Group the tasks by ``number`` instances; unchanged ones keep their tuple of ``previous``."""
        if previous is None:
            in_order = of_tasks.argsort(kind="stable")
            ends = of_tasks[in_order].searchsorted(range(number + 1)).tolist()
            sorted_tasks = in_order.tolist()
            return cls(of_tasks, tuple(tuple(sorted_tasks[start:end]) for start, end in pairwise(ends)))
        changed_tasks, tasks = (of_tasks != previous.of_tasks).nonzero()[0], list(previous.tasks)
        touched = {*of_tasks[changed_tasks].tolist(), *previous.of_tasks[changed_tasks].tolist()} - {NOBODY}
        for instance in touched:
            tasks[instance] = tuple((of_tasks == instance).nonzero()[0].tolist())
        return cls(of_tasks, tuple(tasks)) if touched else previous


class RoundAssignment(NamedTuple):
    """What a round gives each instance, and the ``target``: the owners once all learners have taken over."""

    active: _ByInstance
    learner: _ByInstance
    goal: _ByInstance
    instances: Holdings
    target: Target

    @classmethod
    def from_decision(
        cls, group: Group, decision: LearnerDecision, previous: RoundAssignment | None
    ) -> RoundAssignment:
        """Return what a decision gives; ``previous``: what the last round gave the same group."""
        number, stateless = len(group.instances), list(group.stateless)
        owner, goal = decision.owner.copy(), np.where(decision.learner == NOBODY, decision.owner, decision.learner)
        owners = no_owners(group)
        owners[:] = decision.owner[stateless]
        owner[stateless] = goal[stateless] = NOBODY
        previous_parts: Sequence[_ByInstance | None] = (None,) * 3 if previous is None else previous[:3]
        active, learner, target = map(
            _ByInstance.from_tasks, (owner, decision.learner, goal), (number,) * 3, previous_parts
        )
        stateful = tuple(map(Holding, active.tasks, _standbys(decision, number), learner.tasks))
        if previous is not None:
            old = previous.instances
            stateful = tuple(
                old_holding if old_holding == new_holding else new_holding
                for old_holding, new_holding in zip(old.stateful, stateful, strict=True)
            )
            owners = old.owners if np.array_equal(old.owners, owners) else owners
        instances = Holdings(stateful, group.stateless, owners)
        return cls(
            active, learner, target, instances, Target(target.tasks, tuple(holding.standby for holding in stateful))
        )

    def for_instances(self, group: Group, stay: Sequence[int]) -> tuple[Holdings, Target]:
        """Return the holdings and the target of a ``group`` of some of the instances; the others hold nothing."""
        new_index = np.full(len(self.instances), NOBODY)
        new_index[list(stay)] = range(len(stay))
        stateful = tuple(self.instances.stateful[instance] for instance in stay)
        target = Target(*(tuple(role[instance] for instance in stay) for role in self.target))
        return self.instances.renumbered(stateful, group, new_index.tolist(), new_index.tolist()), target


def _standbys(decision: LearnerDecision, number: int) -> Iterator[tuple[int, ...]]:
    """Yield the standbys of each instance, tasks in order."""
    standby: list[list[int]] = [[] for _ in range(number)]
    for task, instances in enumerate(decision.standbys) if any(decision.standbys) else ():
        for instance in instances:
            standby[instance].append(task)
    return map(tuple, standby)
