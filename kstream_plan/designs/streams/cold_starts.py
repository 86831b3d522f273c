"""When the tasks that start behind run again: those of one instance share its restore rate evenly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from kstream_plan.model import WorkId
from kstream_plan.plans.restore_times import share_evenly

#: The process id of an instance → the records per second that it restores; ``None``: not known.
RateOf: TypeAlias = Callable[[str], float | None]


@dataclass(slots=True)
class ColdStarts:
    """Follows a plan; a coordinator's own draft.

    ``max_ms`` is how long the slowest cold one restored before it ran, if ``any_cold`` there was; ``run_by_ms`` when
    the last one ran again, cold or nearly caught up. Once ``times_known`` is false, neither is known.
    """

    max_ms: int = 0
    run_by_ms: int = 0
    times_known: bool = True
    any_cold: bool = False
    _warm: set[WorkId] = field(default_factory=set)
    _restoring_tasks: dict[WorkId, tuple[str, float, int]] = field(default_factory=dict)

    def start(self, task_id: WorkId, process_id: str, records: int | None, at_ms: int, *, cold: bool) -> None:
        """Let a task start with ``records`` to restore (``None``: not known)."""
        self.any_cold |= cold
        (self._warm.discard if cold else self._warm.add)(task_id)
        if records is None:
            self.times_known = False
        elif records:
            self._restoring_tasks[task_id] = process_id, records, at_ms

    def stop(self, task_id: WorkId) -> None:
        """Let a task stop, restored or not."""
        self._restoring_tasks.pop(task_id, None)

    def leave(self, process_id: str) -> None:
        """Let all tasks of an instance stop."""
        for task_id in [
            task_id for task_id, (instance, _, _) in self._restoring_tasks.items() if instance == process_id
        ]:
            del self._restoring_tasks[task_id]

    def restore(self, from_ms: int, to_ms: float, rate_of: RateOf) -> None:
        """Let time pass; rates stay the same in it."""
        for process_id in dict.fromkeys(instance for instance, _, _ in self._restoring_tasks.values()):
            rate = rate_of(process_id)
            if rate is None:
                self.times_known = False
            elif rate:
                self._restore_one(process_id, rate, float(from_ms), to_ms)

    def ended(self, at_ms: int, rate_of: RateOf) -> None:
        """Let all tasks that still restore finish."""
        self.restore(at_ms, float("inf"), rate_of)
        if self._restoring_tasks:
            self.times_known = False

    def _restore_one(self, process_id: str, rate: float, from_ms: float, to_ms: float) -> None:
        records = {
            task_id: remaining
            for task_id, (instance, remaining, _) in self._restoring_tasks.items()
            if instance == process_id
        }
        done_ms_by_task, records_by_task = share_evenly(records, rate, from_ms, to_ms)
        for task_id, records_left in records_by_task.items():
            self._restoring_tasks[task_id] = process_id, records_left, self._restoring_tasks[task_id][2]
        for task_id, done_ms in done_ms_by_task.items():
            _, _, since_ms = self._restoring_tasks.pop(task_id)
            if task_id not in self._warm:
                self.max_ms = max(self.max_ms, round(done_ms) - since_ms)
            self.run_by_ms = max(self.run_by_ms, round(done_ms))
