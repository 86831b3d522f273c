"""How warm a move is: by lags, end offsets, and the course from one side to the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kstream_plan.comparison.changes import NO_LAGS, ChangeCourse, Side, Start, TaskChange, TaskClass, between_text
from kstream_plan.model import UNKNOWN, Group, Note, WorkId, whole_sum
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans import Seat


class _Reported(NamedTuple):
    lag: int | None
    has_copy: bool


class Evidence:
    """Evidence of a task's state on an instance: both sides of a comparison and the course between them."""

    def __init__(self, old: Side, new: Side, course: ChangeCourse) -> None:
        self._old, self._new, self._course = old, new, course
        self._limit = new.config.acceptable_recovery_lag
        self._stopping = _consumer_names(old.group, old.stopping)
        self._staying = {instance.process_id for instance in new.group.instances}
        self._old_copies = held_copies(old) if old.copies is None else set()
        self._guessed: list[WorkId] = []
        #: Connectors and tasks of Kafka Connect start from no state, and wait for minutes, which snapshots do not tell.
        self.of_workers = new.config.scheduled_rebalance_max_delay_ms is not None

    def stateful(self, task_id: WorkId) -> bool:
        """Whether a task of the new side has state."""
        return self._new.group.tasks[self._new.group.task_index[task_id]].stateful

    def start(self, task_id: WorkId, process_id: str) -> Start:
        """Return what a stateful task starts from on its new instance."""
        recorded_start = self._course.starts.get(task_id)
        if recorded_start is not None:
            return recorded_start
        lag, had_copy = self._reported(task_id, process_id)
        restores = self.restores(task_id, process_id)
        if self._old.copies is None:
            self._guessed.append(task_id)
            return Start(had_copy or restores == 0, had_copy, None, self._limit, 0 if had_copy else restores)
        assert lag is not None
        is_within_limit = restores == 0 or is_caught_up(lag, self._limit)
        return Start(is_within_limit, had_copy, lag, self._limit, restores)

    def restores(self, task_id: WorkId, process_id: str) -> int | None:
        """Return the records that an instance lacks of a task's state; ``None``: the end offset is unknown."""
        if (task_id, process_id) in self._course.restore_records_by_copy:
            return self._course.restore_records_by_copy[task_id, process_id]
        task = self._new.group.tasks[self._new.group.task_index[task_id]]
        lag, _ = self._reported(task_id, process_id)
        if lag is not None and lag < 0:
            lag = None if lag == UNKNOWN else 0
        if lag is None:
            lag = task.end_offset_sum
        return lag if task.end_offset_known or not lag else None

    def pause_ms(self, task_id: WorkId, old_owner: Seat | None, kind: TaskClass) -> int:
        """Return the expected pause: from revoking to handing over, or until it is noticed that the owner is gone."""
        if self._course.pauses_ms is not None:
            return self._course.pauses_ms.get(task_id, 0)
        if old_owner is None or self.of_workers or kind in (TaskClass.NEW, TaskClass.GONE):
            return 0
        if old_owner.process_id not in self._staying:
            return self._new.config.session_timeout_ms
        stops = kind is not TaskClass.STAYED or (old_owner.process_id, old_owner.consumer_id) in self._stopping
        return self._new.config.heartbeat_interval_ms if stops else 0

    def remarks(self, changes: Sequence[TaskChange]) -> Remarks:
        """Return remarks on how certain the starts are; ``changes`` are all changes of tasks."""
        warnings, assumptions = list[Note](), list[Note]()
        if unknown_pauses := self._course.unknown_pauses:
            message = "It is unknown since when tasks paused whose instance had gone, and no pause counts that"
            warnings.append(Note("left-before", f"{message}: {name_list(unknown_pauses)}", unknown_pauses))
        if guessed_ids := tuple(map(str, self._guessed)):
            message = "Lags are unknown: a copy that was held counts as caught up, everything else as cold"
            assumptions.append(Note(NO_LAGS, f"{message}: {name_list(guessed_ids)}", guessed_ids))
        if self.untold and any(change.start for change in changes):
            message = f"Lags are those of the older snapshot, and {between_text(self._old, self.untold)}"
            warnings.append(Note("old-lags", message))
        return Remarks(warnings=tuple(warnings), assumptions=tuple(assumptions))

    @property
    def untold(self) -> int:
        """The number of unknown generations between the older and the newer side."""
        has_evidence = self._course.starts or self.pauses_known or self._old.copies is None
        return 0 if has_evidence else max(self._new.generation - self._old.generation - 1, 0)

    @property
    def pauses_known(self) -> bool:
        """Whether the pauses between the two are known."""
        return self._course.pauses_ms is not None

    def _reported(self, task_id: WorkId, process_id: str) -> _Reported:
        """The instance's lag, the whole sum if it reported nothing, ``None`` if no lags are known."""
        group = self._old.group
        task, instance = group.task_index.get(task_id), group.instance_index.get(process_id)
        if self._old.copies is None:
            return _Reported(None, (task_id, process_id) in self._old_copies)
        if task is None or instance is None:
            task = self._new.group.task_index[task_id]
            return _Reported(self._new.group.tasks[task].end_offset_sum, has_copy=False)
        lag = next((copy.lag for copy in self._old.copies[task] if copy.instance == instance), None)
        had_copy = any(task in role for c in group.consumers_of[instance] for role in self._old.holdings[c][1:])
        return _Reported(whole_sum(lag, group.tasks[task].end_offset_sum), had_copy)


def held_copies(side: Side) -> set[tuple[WorkId, str]]:
    """Return the task and the process of every copy that is assigned."""
    group = side.group
    return {
        (group.tasks[task].task_id, group.instances[group.instance_of[consumer]].process_id)
        for consumer, holding in enumerate(side.holdings)
        for role in holding[1:]
        for task in role
    }


def _consumer_names(group: Group, consumers: Iterable[int]) -> frozenset[tuple[str, str]]:
    return frozenset((group.instances[group.instance_of[c]].process_id, group.consumer_ids[c]) for c in consumers)
