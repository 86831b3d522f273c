"""What a plan restores, and whether anybody knows how long that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from kstream_plan.model import Group, Rates
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.plans import HandOver, Place, Promote, Step
from kstream_plan.plans.restoring import cold_restoring_ms
from kstream_plan.plans.step_rows import RESTORING, StepRows, are, cold_starts, joined

#: Whether all run, at the same rates, from one time (milliseconds) to another.
_Steady: TypeAlias = Callable[[int, int], bool]

#: So many rows are looked at at once: with the few of one round it takes longest to begin.
_AT_ONCE = 4096
#: A tuple, not a union, which would be made anew for every step.
_RESTORING = (Place, HandOver, Promote)


class RestoreTotals:
    """Follows a plan; a plan's own private draft.

    ``max_cold_ms``: how long the slowest cold start restores before its task runs (0: there is none, ``None``: not
    known of all).
    """

    def __init__(self, group: Group, under_way: Iterable[tuple[int, int]], rates: Rates) -> None:
        """Begin with the copies that are ``under_way``, as (task, instance)."""
        self.max_cold_ms: int | None = 0
        self._any = False
        self._unrated: set[int] = set()
        #: Those that nobody has looked at yet, of one group at the same rates, and how many they are.
        self._rows: list[StepRows] = []
        self._number_of_rows = 0
        self._rates = rates
        self._busy_until_ms: dict[str, int] = {}
        for task, instance in under_way:
            self._add(group, rates, task, instance)

    @property
    def any(self) -> bool:
        """Whether something is restored."""
        self._look_at_rows()
        return self._any

    def add(self, at_ms: int, group: Group, rates: Rates, steps: Sequence[Step], steady: _Steady) -> None:
        """Go on with the steps of a round; ``rates`` are those from then on."""
        if isinstance(steps, StepRows):
            self._add_rows(rates, steps)
        else:
            self._add_steps(group, rates, steps)
        if self.max_cold_ms is None:
            return
        cold = [step for step in cold_starts(steps) if step.restore_records != 0]
        if not cold:
            return
        lasts = cold_restoring_ms(cold, lambda of: rates.restore_rate(group.instance_index[of]))
        shared = any(self._busy_until_ms.get(step.to.process_id, 0) > at_ms for step in cold)
        if len(lasts) < len(cold) or shared or not steady(at_ms, at_ms + max(lasts.values())):
            self.max_cold_ms = None
            return
        self.max_cold_ms = max(self.max_cold_ms, *lasts.values())
        for step in cold:
            before_ms = self._busy_until_ms.get(step.to.process_id, 0)
            self._busy_until_ms[step.to.process_id] = max(before_ms, at_ms + lasts[step.task_id])

    def begin(self, cold: Sequence[HandOver | Promote]) -> None:
        """Count no start so far: it was decided before the plan. Where these ``cold`` ones restore others may wait."""
        if self.max_cold_ms is None:
            self._busy_until_ms.update({step.to.process_id: MAX_LONG for step in cold})
        self.max_cold_ms = 0

    def unrated(self, group: Group) -> tuple[str, ...]:
        """Return the tasks that are restored somewhere at a rate nobody knows, in task order.

        Either no rate of the instance is known, or no end offset of the task.
        """
        self._look_at_rows()
        return tuple(str(group.tasks[task].task_id) for task in sorted(self._unrated))

    def _add_steps(self, group: Group, rates: Rates, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, _RESTORING) and step.restore_records != 0:
                instance = group.instance_index[step.to.process_id]
                self._add(group, rates, group.task_index[step.task_id], instance)

    def _add_rows(self, rates: Rates, steps: StepRows) -> None:
        if self._rows and (rates is not self._rates or steps.maker.group is not self._rows[0].maker.group):
            self._look_at_rows()
        self._rates = rates
        self._rows.append(steps)
        self._number_of_rows += len(steps.rows)
        if self._number_of_rows >= _AT_ONCE:
            self._look_at_rows()

    def _look_at_rows(self) -> None:
        if not self._rows:
            return
        rows, _ = joined([steps.rows for steps in self._rows])
        maker = self._rows[0].maker
        is_unrated = [self._rates.restore_rate(instance) is None for instance in maker.group.instance_of]
        rows = rows[are(rows["kind"], *RESTORING) & (rows["restore_records"] != 0)]
        endless = maker.end_offset_sums[rows["task"]] == MAX_LONG
        self._unrated.update(rows["task"][endless | np.array(is_unrated)[rows["to_consumer"]]].tolist())
        self._any = self._any or bool(len(rows))
        self._rows.clear()
        self._number_of_rows = 0

    def _add(self, group: Group, rates: Rates, task: int, instance: int) -> None:
        self._any = True
        if group.tasks[task].end_offset_sum == MAX_LONG or rates.restore_rate(instance) is None:
            self._unrated.add(task)
