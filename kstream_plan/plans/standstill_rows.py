"""Standstills as numbers: those that end in one round together, and since when each task of a group stands still."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.stateless_steps import Places
from kstream_plan.plans.step_rows import (
    ACTIVE,
    CODES,
    DEMOTE,
    KINDS,
    REVOKE,
    ROLES,
    STARTS,
    THREAD_MOVE,
    Mask,
    Rows,
    are,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Times and delays up to there, in milliseconds, numbers of 64 bits surely hold, and what they add up to.
MOST_MS = 2**60
#: Instead of the time since when a task stands still.
RUNNING = -(2**63)
#: The same of a task that nobody runs when the plan begins: it stands still from 0 on, unless it starts at 0.
IDLE = RUNNING + 1
#: Who gives up for these reasons has stopped before, or goes on until the other one starts, or nobody is to run it.
_AT_ONCE = (ReasonCode.LEARNED, ReasonCode.MOVES_AT_ONCE, ReasonCode.NOT_CONFIGURED)
_STOOD_STILL = CODES.index(ReasonCode.STOOD_STILL)


class PausesTogether(NamedTuple):
    """The pauses of several tasks that end in one round, in milliseconds of the plan's clock: since when each.

    ``places`` are those of the tasks among all of a group, or among its stateless ones.
    """

    places: Places
    from_ms: npt.NDArray[np.int64]
    to_ms: int


class Stopped:
    """Follows, round by round, since when each task stands still that does, in milliseconds of the plan's clock."""

    def __init__(
        self, tasks: int, consumers: int, stopping: Collection[int], times: type[np.int64] | type[object]
    ) -> None:
        """At first each of so many tasks runs. What consumers in ``stopping`` give up has stopped before."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self.since_ms = np.full(tasks, RUNNING, dtype=times)
        self._stops_before = np.zeros(consumers + 1, np.bool_)
        self._stops_before[[*stopping]] = True

    def stop(self, tasks: Iterable[int], since_ms: int) -> None:
        """Let tasks stand still that do not yet."""
        runs = [task for task in tasks if self.since_ms[task] == RUNNING]
        self.since_ms[runs] = since_ms

    def until(self, at_ms: int, rows: Rows, unheard_ms: int) -> PausesTogether | None:
        """Take rows of one time; return the pauses that they end, in order of the rows.

        ``unheard_ms``: how long what stood still before the plan waits until members hear of its first round.
        """
        kind, task, reason = rows["kind"], rows["task"], rows["reason"]
        ends = are(kind, REVOKE, DEMOTE) & ~_at_once().take(reason) & ~self._stops_before[rows["from_consumer"]]
        self.since_ms[task[ends]] = at_ms
        starts = _starts().take(kind * len(ROLES) + rows["to_role"])
        if at_ms > 0 or unheard_ms:  # longer, in truth: since when is unknown
            self.since_ms[task[starts & (reason == _STOOD_STILL)]] = min(0, at_ms - unheard_ms)
        return take_started(self.since_ms, task[starts], at_ms)


def type_of_times(last_ms: int) -> type[np.int64] | type[object]:
    """Return the type of numbers that times and delays up to this one fit, and what they add up to."""
    import numpy as np  # noqa: PLC0415 - as in Stopped

    return np.int64 if last_ms <= MOST_MS else object


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
    import numpy as np  # noqa: PLC0415 - as in Stopped

    kinds = range(len(KINDS))
    return np.array(
        [kind in STARTS or (kind == THREAD_MOVE and role == ACTIVE) for kind in kinds for role in range(len(ROLES))]
    )


@cache
def _at_once() -> Mask:
    """Return by reason whether who gives up for it does not stop then."""
    import numpy as np  # noqa: PLC0415 - as in Stopped

    return np.array([code in _AT_ONCE for code in CODES])
