# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""How evenly one decision after the other spreads the load: tasks per instance, and KIP-441's two figures.

Only what changes is counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from kstream_plan.engine.columns import zeros
from kstream_plan.model import Group


class Load:
    """The tasks of each instance by the decision at hand; at first there are none, and all instances are present."""

    def __init__(self, group: Group) -> None:
        self.subtopologies = list(dict.fromkeys(group.subtopologies))
        number_of = {name: number for number, name in enumerate(self.subtopologies)}
        self.instances, self.n_subtopologies = len(group.instances), len(self.subtopologies)
        self.capacities = array("i", group.capacities)
        self.subtopology_of = array("i", [number_of[name] for name in group.subtopologies])
        self.is_stateful = array("b", [bool(flag) for flag in group.stateful_flags])
        self.is_present = array("b", [1] * self.instances)
        self.active, self.stateful = zeros("i", self.instances), zeros("i", self.instances)
        self.copies, self.is_changed = zeros("i", self.instances), zeros("b", self.instances)
        self.tasks = zeros("i", self.n_subtopologies * self.instances)
        self.executing, self.uneven = zeros("i", self.n_subtopologies), zeros("i", self.n_subtopologies)
        self.is_subtopology_changed = zeros("b", self.n_subtopologies)
        self.per_thread = [0.0] * self.instances  # a list: what stays is the same object in all decisions

    def count(self, task: int, active: bool, instance: int, change: int) -> None:
        """Let an instance run a task, or have a copy of it, so many times more: 1 or -1."""
        if not active:
            self.add_copies(instance, change)
            return
        self.add(self.subtopology_of[task], instance, change)
        if self.is_stateful[task]:
            self.stateful[instance] += change

    def add(self, subtopology: int, instance: int, change: int) -> None:
        """Let an instance run so many tasks more of a subtopology, by its place among them."""
        self.active[instance] += change
        self.tasks[subtopology * self.instances + instance] += change
        self.is_changed[instance] = self.is_subtopology_changed[subtopology] = 1

    def add_copies(self, instance: int, change: int) -> None:
        """Let an instance have so many copies more."""
        self.copies[instance] += change
        self.is_changed[instance] = 1

    def present(self, instances: Iterable[int]) -> None:
        """Say who takes part from now on: the spreads are over these."""
        self.is_present = array("b", [0] * self.instances)
        for instance in instances:
            self.is_present[instance] = 1
        for subtopology in range(self.n_subtopologies):
            self.is_subtopology_changed[subtopology] = 1

    def stateful_counts(self) -> tuple[int, ...]:
        """Return the active stateful tasks of each instance."""
        return _as_tuple(self.stateful, self.instances)

    def figures(self) -> dict[str, Any]:
        """Return how even it is, by the names of the fields of ``plans.Balance``."""
        self._look_at_changed()
        return {
            "active": _as_tuple(self.active, self.instances),
            "standby": _as_tuple(self.copies, self.instances),
            "load_per_thread": tuple(self.per_thread),
            "instance_spread": self._spread(self.stateful),
            "balance_factor": self._spread(self.active),
            "subtopology_spread": self._spread_of_executing(),
            "subtopology_task_spread": self._most_uneven(),
        }

    def _look_at_changed(self) -> None:
        """See how the loads of instances, and of subtopologies, are since some have changed."""
        for instance in range(self.instances):
            if self.is_changed[instance]:
                all_tasks = self.active[instance] + self.copies[instance]
                self.per_thread[instance] = float(all_tasks) / self.capacities[instance]
                self.is_changed[instance] = 0
        for subtopology in range(self.n_subtopologies):
            if self.is_subtopology_changed[subtopology]:
                self._look_at(subtopology)
                self.is_subtopology_changed[subtopology] = 0

    def _look_at(self, subtopology: int) -> None:
        """See who executes a subtopology, and how unevenly."""
        most = fewest = executing = present = 0
        for instance in range(self.instances):
            if self.is_present[instance]:
                tasks = self.tasks[subtopology * self.instances + instance]
                most = max(most, tasks)
                fewest = tasks if not present else min(fewest, tasks)
                executing += tasks > 0
                present = 1
        self.executing[subtopology], self.uneven[subtopology] = executing, most - fewest

    def _spread(self, counts: array[int]) -> int:
        """Return the most less the fewest of the present instances."""
        most, fewest, present = 0, 0, False
        for instance in range(self.instances):
            if self.is_present[instance]:
                most = counts[instance] if not present else max(most, counts[instance])
                fewest = counts[instance] if not present else min(fewest, counts[instance])
                present = True
        return most - fewest

    def _spread_of_executing(self) -> int:
        """Return by how many instances more the most executed subtopology is executed than the least executed one."""
        most = fewest = 0
        for subtopology in range(self.n_subtopologies):
            executing = self.executing[subtopology]
            if executing:
                most = max(most, executing)
                fewest = executing if not fewest else min(fewest, executing)
        return most - fewest

    def _most_uneven(self) -> int:
        most = 0
        for subtopology in range(self.n_subtopologies):
            if self.executing[subtopology]:
                most = max(most, self.uneven[subtopology])
        return most


def _as_tuple(column: array[int], number: int) -> tuple[int, ...]:
    return tuple(np.asarray(column).tolist()[:number])
