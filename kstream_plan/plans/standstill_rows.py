"""Standstills as numbers: those that end in one round together, and since when each task of a group stands still."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Group, WorkId
from kstream_plan.plans.stateless_steps import Places
from kstream_plan.plans.step_rows import ACTIVE, DEMOTE, KINDS, REVOKE, ROLES, STARTS, THREAD_MOVE, Mask, StepRows, are

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Times and delays up to there, in milliseconds, numbers of 64 bits surely hold, and what they add up to.
MOST_MS = 2**60
#: Instead of the time since when a task stands still.
RUNNING = -(2**63)
#: The same of a task that nobody runs when the plan begins: it stands still from 0 on, unless it starts at 0.
IDLE = RUNNING + 1


class PausesTogether(NamedTuple):
    """The pauses of several tasks that end in one round, in milliseconds of the plan's clock: since when each.

    ``places`` are those of the tasks among all of a group, or among its stateless ones.
    """

    places: Places
    from_ms: npt.NDArray[np.int64]
    to_ms: int


class SinceByTask(MutableMapping[WorkId, int]):
    """Since when each task stands still that does, in milliseconds of the plan's clock: by id, and by index."""

    def __init__(self, group: Group) -> None:
        """At first every task runs."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self._tasks, self._index = group.tasks, group.task_index
        self._ms = np.full(len(group.tasks), RUNNING, dtype=np.int64)

    def __getitem__(self, task_id: WorkId) -> int:
        since_ms = int(self._ms[self._index[task_id]])
        if since_ms == RUNNING:
            raise KeyError(task_id)
        return since_ms

    def __setitem__(self, task_id: WorkId, since_ms: int) -> None:
        self._ms[self._index[task_id]] = since_ms

    def __delitem__(self, task_id: WorkId) -> None:
        self._ms[self._index[task_id]] = RUNNING

    def __iter__(self) -> Iterator[WorkId]:
        return (self._tasks[task].task_id for task in (self._ms != RUNNING).nonzero()[0].tolist())

    def __len__(self) -> int:
        return int((self._ms != RUNNING).sum())

    def until(self, at_ms: int, steps: StepRows) -> PausesTogether | None:
        """Take the rows of a round; return the pauses that they end, by place among all tasks, in order of the rows."""
        kind, task = steps.rows["kind"], steps.rows["task"]
        self._ms[task[are(kind, REVOKE, DEMOTE)]] = at_ms
        return take_started(self._ms, task[_starts().take(kind * len(ROLES) + steps.rows["to_role"])], at_ms)


def take_started(since_ms: npt.NDArray[np.int64], started: Places, at_ms: int) -> PausesTogether | None:
    """Let tasks run from ``at_ms`` on; return the pauses that this ends. ``since_ms`` is by place."""
    from_ms = since_ms[started]
    from_ms[from_ms == IDLE] = 0 if at_ms > 0 else RUNNING
    since_ms[started] = RUNNING
    stood_still = from_ms != RUNNING
    if not stood_still.all():
        started, from_ms = started[stood_still], from_ms[stood_still]
    return PausesTogether(started, from_ms, at_ms) if len(started) else None


@cache
def _starts() -> Mask:
    """Return by kind and role that begins, as one number, whether the task is run from then on."""
    import numpy as np  # noqa: PLC0415 - as in SinceByTask

    kinds = range(len(KINDS))
    return np.array(
        [kind in STARTS or (kind == THREAD_MOVE and role == ACTIVE) for kind in kinds for role in range(len(ROLES))]
    )
