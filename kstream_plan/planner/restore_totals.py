"""What a plan restores, and whether anybody knows how long that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from kstream_plan.model import Group, Rates
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.plans import HandOver, Place, Promote, Step
from kstream_plan.plans.restoring import cold_restoring_ms
from kstream_plan.plans.step_rows import RESTORING, StepRows

#: Whether all run, at the same rates, from one time (milliseconds) to another.
_Steady: TypeAlias = Callable[[int, int], bool]

#: A tuple, not a union, which would be made anew for every step.
_RESTORING = (Place, HandOver, Promote)


class RestoreTotals:
    """Follows a plan; a plan's own private draft.

    ``any``: something is restored. ``max_cold_ms``: how long the slowest cold start restores before its task runs (0:
    there is none, ``None``: not known of all).
    """

    def __init__(self, group: Group, under_way: Iterable[tuple[int, int]], rates: Rates) -> None:
        """Begin with the copies that are ``under_way``, as (task, instance)."""
        self.any = False
        self.max_cold_ms: int | None = 0
        self._unrated: set[int] = set()
        self._busy_until_ms: dict[str, int] = {}
        for task, instance in under_way:
            self._add(group, rates, task, instance)

    def add(self, at_ms: int, group: Group, rates: Rates, steps: Sequence[Step], steady: _Steady) -> None:
        """Go on with the steps of a round; ``rates`` are those from then on."""
        if isinstance(steps, StepRows):
            if not rates.any_restore:
                self._add_unrated(steps)
                return
            steps = [*steps.of_rows(steps.restoring(*RESTORING))]
        cold = []
        for step in steps:
            if isinstance(step, _RESTORING) and step.restore_records != 0:
                instance = group.instance_index[step.to.process_id]
                self._add(group, rates, group.task_index[step.task_id], instance)
                if not isinstance(step, Place) and not step.caught_up:
                    cold.append(step)
        if not cold or self.max_cold_ms is None:
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

    def unrated(self, group: Group) -> tuple[str, ...]:
        """Return the tasks that are restored somewhere at a rate nobody knows, in task order.

        Either no rate of the instance is known, or no end offset of the task.
        """
        return tuple(str(group.tasks[task].task_id) for task in sorted(self._unrated))

    def _add_unrated(self, steps: StepRows) -> None:
        """Go on with rows where no restore rate is known."""
        restored = steps.rows["task"][steps.restoring(*RESTORING)].tolist()
        if not restored:
            return
        self.any = True
        self._unrated.update(restored)
        if steps.tally.cold_handovers:
            self.max_cold_ms = None

    def _add(self, group: Group, rates: Rates, task: int, instance: int) -> None:
        self.any = True
        if group.tasks[task].end_offset_sum == MAX_LONG or rates.restore_rate(instance) is None:
            self._unrated.add(task)
