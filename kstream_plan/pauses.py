"""When each task stands still: from its owner's giving it up to its next owner's start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from kstream_plan.model import Group, Holding, TaskId
from kstream_plan.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    Place,
    Promote,
    Revoke,
    Role,
    Round,
    Seat,
    Step,
    ThreadMove,
    Withhold,
)


class Pause(NamedTuple):
    """One standstill of a task, in milliseconds of the plan's clock."""

    task_id: TaskId
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """How long it stands still."""
        return self.to_ms - self.from_ms


def pauses(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> tuple[Pause, ...]:
    """Return every pause that ends within the plan, in the order of its end.

    ``initial`` is what the consumers of ``group`` held before the first round.
    """
    standstills = Standstills(group, initial)
    return tuple(pause for round_ in rounds for step in round_.steps for pause in standstills.ended(step, round_.at_ms))


class Standstills:
    """Follows, step by step, who runs each task and since when it stands still."""

    def __init__(self, group: Group, initial: Sequence[Holding]) -> None:
        self._stopped: dict[TaskId, int] = {}
        self._running: dict[str, set[TaskId]] = {instance.process_id: set() for instance in group.instances}
        for consumer, held in enumerate(initial):
            process_id = group.instances[group.instance_of[consumer]].process_id
            self._running[process_id].update(group.tasks[task].task_id for task in held.active)

    def ended(self, step: Step, at_ms: int) -> tuple[Pause, ...]:
        """Take one step of a round at ``at_ms``; return the pause that it ends, if any."""
        match step:
            case Revoke() | Demote():
                self._stop(step.task_id, step.from_.process_id, at_ms)
            case MemberLeft():
                for task_id in sorted(self._running[step.process_id], key=lambda task_id: task_id.sort_key):
                    self._stop(task_id, step.process_id, step.stopped_at_ms)
            case HandOver() | Promote() | ThreadMove(to=Seat(role=Role.ACTIVE)):
                self._running[step.to.process_id].add(step.task_id)
                if step.task_id in self._stopped:
                    return (Pause(step.task_id, self._stopped.pop(step.task_id), at_ms),)
            case MemberJoined() | Place() | Withhold() | KeepTemporary() | Drop() | ThreadMove():
                pass
            case _:
                assert_never(step)
        return ()

    def _stop(self, task_id: TaskId, process_id: str, at_ms: int) -> None:
        self._stopped[task_id] = at_ms
        self._running[process_id].discard(task_id)


def most_at_once(found: Sequence[Pause]) -> int:
    """Return how many tasks stand still at the same time, at worst."""
    changes = sorted([(pause.to_ms, -1) for pause in found] + [(pause.from_ms, 1) for pause in found])
    running = worst = 0
    for _, change in changes:
        running += change
        worst = max(worst, running)
    return worst
