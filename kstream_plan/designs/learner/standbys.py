"""Where the standbys of a learner group go: those that there are stay, one more at most a round and task.

Source: page ``learner-rules``, "One round", the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kstream_plan.designs.learner.reported import LearnerSettings, Reported
from kstream_plan.model import NOBODY


@dataclass(slots=True)
class Copying:
    """The standbys of a round under way, in which everything else is decided.

    ``owner``, ``learner`` and ``rule`` are by task, ``weight`` by instance; ``new`` are the tasks that got one.
    """

    reported: Reported
    settings: LearnerSettings
    staying: Sequence[int]
    weight: Sequence[int]
    owner: npt.NDArray[np.int64]
    learner: npt.NDArray[np.int64]
    rule: npt.NDArray[np.str_]
    standbys: dict[int, list[int]] = field(default_factory=dict)
    new: list[int] = field(default_factory=list)
    _owner: list[int] = field(default_factory=list)
    _learner: list[int] = field(default_factory=list)

    def copy(self) -> None:
        """Keep the standbys that there are, and give each task that lacks one at most one more."""
        replicas = self.settings.num_standby_replicas
        if not replicas:
            return
        self._owner, self._learner = self.owner.tolist(), self.learner.tolist()
        for task in self._stateful():
            lags = dict(self.reported.standbys_of(task))
            dropped = self.reported.learner.get(task)
            if dropped is not None:
                lags.setdefault(*dropped)
            free = [instance for instance in lags if instance in self.staying and not self._holds(instance, task)]
            self.standbys[task] = sorted(free, key=lambda instance: (lags[instance], instance))[:replicas]
        copies = self._copies()
        for task in self._stateful():
            if not self._lacks(task):
                continue
            free = [instance for instance in self.staying if not self._holds(instance, task)]
            if not free:
                continue
            handed = int(self.reported.owner[task]) if self.rule[task] == "a" else NOBODY
            place = (
                handed
                if handed in free
                else min(free, key=lambda instance: ((copies[instance] + 1) * self.weight[instance], instance))
            )
            self.standbys[task].append(place)
            copies[place] += 1
            self.new.append(task)

    def is_short(self) -> bool:
        """Tell whether another round would give a task one more standby."""
        return bool(self.standbys) and any(
            self._lacks(task) and any(not self._holds(instance, task) for instance in self.staying)
            for task in self._stateful()
        )

    def of_tasks(self) -> tuple[tuple[int, ...], ...]:
        """Return the instances with a standby, by task."""
        if not self.standbys:
            return ((),) * len(self.owner)
        return tuple(tuple(self.standbys.get(task, ())) for task in range(len(self.owner)))

    def _stateful(self) -> Iterator[int]:
        return (task for task, stateful in enumerate(self.reported.stateful) if stateful)

    def _lacks(self, task: int) -> bool:
        replicas = self.settings.num_standby_replicas
        return len(self.standbys[task]) + (self._learner[task] != NOBODY) < replicas

    def _holds(self, instance: int, task: int) -> bool:
        return instance in (self._owner[task], self._learner[task]) or instance in self.standbys.get(task, ())

    def _copies(self) -> list[int]:
        """Return how many tasks each instance has in any role."""
        copies = [0] * len(self.weight)
        for task, owner in enumerate(self._owner):
            for instance in (owner, self._learner[task], *self.standbys.get(task, ())):
                if instance != NOBODY:
                    copies[instance] += 1
        return copies
