"""What a plan restores, and whether it is known how long that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from kstream_plan.model import Group, Rates
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.plans import HandOver, Promote
from kstream_plan.plans.restore_times import cold_restoring_ms
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import RESTORING, STARTS, Rows, are, concatenate

#: Whether all run, at the same rates, from one time (milliseconds) to another.
_Steady: TypeAlias = Callable[[int, int], bool]

#: So many rows are looked at at once: with the few of one round it takes longest to begin.
_AT_ONCE = 4096


class RestoreTotals:
    """Follows a plan; a plan's own private draft."""

    def __init__(self, group: Group, under_way: Iterable[tuple[int, int]], rates: Rates, steady: _Steady) -> None:
        """Begin with the copies that are ``under_way``, as (task, instance)."""
        self._restores_any = False
        self._max_cold_ms: int | None = 0
        self._unrated: set[int] = set()
        #: Rounds that are not counted yet, with their times, of one group at the same rates, and their number of rows.
        self._rounds: list[tuple[int, RoundSteps]] = []
        self._number_of_rows = 0
        self._group, self._rates, self._steady = group, rates, steady
        self._busy_until_ms: dict[str, int] = {}
        for task, instance in under_way:
            self._restores_any = True
            if group.tasks[task].end_offset_sum == MAX_LONG or rates.restore_rate(instance) is None:
                self._unrated.add(task)

    @property
    def restores_any(self) -> bool:
        """Whether something is restored."""
        self._look()
        return self._restores_any

    @property
    def max_cold_ms(self) -> int | None:
        """How long the slowest cold start restores before its task runs.

        0: there is none; ``None``: not known of all.
        """
        self._look()
        return self._max_cold_ms

    def add(self, at_ms: int, group: Group, rates: Rates, steps: RoundSteps) -> None:
        """Go on with the steps of a round; ``group`` and ``rates`` are those from then on."""
        if rates is not self._rates or group is not self._group:
            self._look()
        self._group, self._rates = group, rates
        self._rounds.append((at_ms, steps))
        self._number_of_rows += len(steps.rows)
        if self._number_of_rows >= _AT_ONCE:
            self._look()

    def begin(self, steps: RoundSteps) -> None:
        """Count no start so far: these steps were decided before the plan. Where cold ones restore others wait."""
        if self.max_cold_ms is None:
            self._busy_until_ms.update({step.to.process_id: MAX_LONG for step in steps.cold_starts()})
        self._max_cold_ms = 0

    def unrated(self, group: Group) -> tuple[str, ...]:
        """Return the tasks that are restored somewhere at an unknown rate, in task order.

        Either no rate of the instance is known, or no end offset of the task.
        """
        self._look()
        return tuple(str(group.tasks[task].task_id) for task in sorted(self._unrated))

    def _look(self) -> None:
        if not self._rounds:
            return
        rows, number = concatenate([steps.rows for _, steps in self._rounds])
        restoring = are(rows["kind"], *RESTORING) & (rows["restore_records"] != 0)
        self._restores_any = self._restores_any or bool(restoring.any())
        self._note_unrated(rows[restoring])
        cold = restoring & are(rows["kind"], *STARTS) & (rows["caught_up"] == 0)
        for place in np.unique(number[cold]).tolist():
            at_ms, steps = self._rounds[place]
            self._cold(at_ms, [step for step in steps.cold_starts() if step.restore_records != 0])
        self._rounds.clear()
        self._number_of_rows = 0

    def _note_unrated(self, rows: Rows) -> None:
        maker = self._rounds[0][1].maker
        index, rates = self._group.instance_index, self._rates
        is_rated_by_id = {
            process_id: rates.restore_rate(instance) is not None for process_id, instance in index.items()
        }
        is_rated = np.array(
            [is_rated_by_id.get(instance.process_id, False) for instance in maker.group.instances], np.bool_
        )
        instance = np.array(maker.group.instance_of, np.int64)[rows["to_consumer"]]
        endless = maker.end_offset_sums[rows["task"]] == MAX_LONG
        self._unrated.update(rows["task"][endless | ~is_rated[instance]].tolist())

    def _cold(self, at_ms: int, cold: Sequence[HandOver | Promote]) -> None:
        """Take in cold starts of one time that have something to restore."""
        if self._max_cold_ms is None:
            return
        index, rates = self._group.instance_index, self._rates
        lasts = cold_restoring_ms(cold, lambda process_id: rates.restore_rate(index[process_id]))
        shares_rate = any(self._busy_until_ms.get(step.to.process_id, 0) > at_ms for step in cold)
        if len(lasts) < len(cold) or shares_rate or not self._steady(at_ms, at_ms + max(lasts.values())):
            self._max_cold_ms = None
            return
        self._max_cold_ms = max(self._max_cold_ms, *lasts.values())
        for step in cold:
            before_ms = self._busy_until_ms.get(step.to.process_id, 0)
            self._busy_until_ms[step.to.process_id] = max(before_ms, at_ms + lasts[step.task_id])
