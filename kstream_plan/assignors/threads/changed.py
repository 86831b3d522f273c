"""Which tasks are reported otherwise than before."""

from __future__ import annotations

from kstream_plan.model import GroupState


def changed_tasks(before: GroupState, after: GroupState) -> list[int]:
    """Return the tasks of which something else is reported now, in task order."""
    return [task for task in after.changed_since(before) if reports(before, task) != reports(after, task)]


def reports(state: GroupState, task: int) -> set[tuple[int, int | None, tuple[int, ...]]]:
    """Return what is reported of the task's copies: (instance, lag, reporters)."""
    return {copy[:3] for copy in state.copies[task]}
