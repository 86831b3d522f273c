"""When each task stands still: from its owner's giving it up to its next owner's start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from kstream_plan.model import TaskId
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


def pauses(rounds: Sequence[Round]) -> tuple[Pause, ...]:
    """Return every pause that ends within the plan, in the order of its end."""
    stopped: dict[TaskId, int] = {}
    found = []
    for round_ in rounds:
        for step in round_.steps:
            change = _change(step)
            if change is None:
                continue
            task_id, stops = change
            if stops:
                stopped[task_id] = round_.at_ms
            elif task_id in stopped:
                found.append(Pause(task_id, stopped.pop(task_id), round_.at_ms))
    return tuple(found)


def most_at_once(found: Sequence[Pause]) -> int:
    """Return how many tasks stand still at the same time, at worst."""
    changes = sorted([(pause.to_ms, -1) for pause in found] + [(pause.from_ms, 1) for pause in found])
    running = worst = 0
    for _, change in changes:
        running += change
        worst = max(worst, running)
    return worst


def _change(step: Step) -> tuple[TaskId, bool] | None:
    """Return the task that the step stops (true) or starts (false)."""
    match step:
        case Revoke() | Demote():
            return step.task_id, True
        case HandOver() | Promote():
            return step.task_id, False
        case ThreadMove():
            return (step.task_id, False) if step.to.role is Role.ACTIVE else None
        case MemberJoined() | MemberLeft() | Place() | Withhold() | KeepTemporary() | Drop():
            return None
        case _:
            assert_never(step)
