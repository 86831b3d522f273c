"""Pauses as numbers: those that end in one round together, and since when each task of a group is paused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.plans.round_steps import Places
from kstream_plan.plans.step_rows import (
    ACTIVE,
    CODES,
    DEMOTE,
    EVENT,
    REVOKE,
    ROLES,
    STARTS,
    THREAD_MOVE,
    Mask,
    Rows,
    are,
    concatenate,
)
from kstream_plan.plans.steps import ReasonCode

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Times and delays up to there, in milliseconds, numbers of 64 bits surely hold, and what they add up to.
MOST_MS = 2**60
#: Instead of the time since when a task is paused.
RUNNING = -(2**63)
#: The same of a task that is unassigned when the plan begins: it is paused from 0 on, unless it starts at 0.
IDLE = RUNNING + 1
#: Owners that give up for these reasons stopped before, go on until the new owner starts, or there is no new owner.
_STOPS_NOT_THEN = (ReasonCode.LEARNED, ReasonCode.MOVES_AT_ONCE, ReasonCode.NOT_CONFIGURED)
_STOOD_STILL = CODES.index(ReasonCode.STOOD_STILL)
#: So many rows are followed at once: with the few of one round it takes longest to begin.
_AT_ONCE = 4096


class PausesTogether(NamedTuple):
    """The pauses of several tasks that end in one round, in milliseconds of the plan's clock: since when each.

    ``places`` are those of the tasks among all of a group, or among its stateless ones.
    """

    places: Places
    from_ms: npt.NDArray[np.int64]
    to_ms: int


class PauseTracker:
    """Tracks, round by round, since when each paused task is paused, in milliseconds of the plan's clock."""

    def __init__(
        self, tasks: int, consumers: int, stopping: Collection[int], times: type[np.int64] | type[object]
    ) -> None:
        """At first each of so many tasks runs. What consumers in ``stopping`` give up has stopped before."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self.since_ms = np.full(tasks, RUNNING, dtype=times)
        self._stops_before = np.zeros(consumers + 1, np.bool_)
        self._stops_before[[*stopping]] = True
        self._added: list[tuple[int, int, Rows]] = []
        self._number_of_rows = 0

    def stop(self, tasks: Iterable[int], since_ms: int) -> None:
        """Pause these tasks, unless they are paused already."""
        running_tasks = [task for task in tasks if self.since_ms[task] == RUNNING]
        self.since_ms[running_tasks] = since_ms

    def add(self, at_ms: int, rows: Rows, unheard_ms: int) -> None:
        """Add rows of one time, to be looked at with others.

        ``unheard_ms``: how long what stood still before the plan waits until members hear of its first round.
        """
        self._added.append((at_ms, unheard_ms, rows))
        self._number_of_rows += len(rows)

    @property
    def is_full(self) -> bool:
        """Whether so many rows were added that they are to be looked at before others come."""
        return self._number_of_rows >= _AT_ONCE

    def ended(self) -> Iterator[PausesTogether]:
        """Look at the rows that were added; yield the pauses that they end, in their order, those of one time together.

        A task that starts has stood still since it last stopped, unless it has started since.
        """
        import numpy as np  # noqa: PLC0415 - as above

        if not self._number_of_rows:
            self._added.clear()
            return
        rows, place = concatenate([of_time for _, _, of_time in self._added])
        times = np.array([at_ms for at_ms, _, _ in self._added], self.since_ms.dtype)
        unheard_of_round = np.array([unheard_ms for _, unheard_ms, _ in self._added], self.since_ms.dtype)
        self._added.clear()
        self._number_of_rows = 0
        kind, reason = rows["kind"], rows["reason"]
        ends = are(kind, REVOKE, DEMOTE) & ~_stops_not_then().take(reason) & ~self._stops_before[rows["from_consumer"]]
        starts = _starts().take(kind * len(ROLES) + rows["to_role"])
        by_task = (ends | starts).nonzero()[0]
        by_task = by_task[rows["task"][by_task].argsort(kind="stable")]
        task, is_start, at_ms = rows["task"][by_task], starts[by_task], times[place[by_task]]
        since_then = np.where(is_start, RUNNING, at_ms)
        is_first = np.append(True, task[1:] != task[:-1])[: len(task)]
        from_ms = np.append(RUNNING, since_then)[: len(task)].astype(self.since_ms.dtype)
        from_ms[is_first] = self.since_ms[task[is_first]]
        is_last = np.append(is_first[1:], True)[: len(task)]
        self.since_ms[task[is_last]] = since_then[is_last]
        from_ms[from_ms == IDLE] = np.where(at_ms > 0, 0, RUNNING)[from_ms == IDLE]
        unheard_ms = unheard_of_round[place[by_task]]
        stood_still = (reason[by_task] == _STOOD_STILL) & ((at_ms > 0) | (unheard_ms != 0))
        from_ms[stood_still] = np.minimum(0, at_ms - unheard_ms)[stood_still]  # longer, in truth: since when is unknown
        ended = (is_start & (from_ms != RUNNING)).nonzero()[0]
        ended = ended[by_task[ended].argsort()]
        task, from_ms, round_place = task[ended], from_ms[ended], place[by_task[ended]]
        edges = [0, *((round_place[1:] != round_place[:-1]).nonzero()[0] + 1).tolist(), len(round_place)]
        for first, end in pairwise(edges):
            if first < end:
                yield PausesTogether(task[first:end], from_ms[first:end], int(times[round_place[first]]))


def type_of_times(last_ms: int) -> type[np.int64] | type[object]:
    """Return the type of numbers that times and delays up to this one fit, and what they add up to."""
    import numpy as np  # noqa: PLC0415 - as in Stopped

    return np.int64 if last_ms <= MOST_MS else object


def take_started(since_ms: npt.NDArray[np.int64], started_places: Places, at_ms: int) -> PausesTogether | None:
    """Let tasks run from ``at_ms`` on; return the pauses that this ends. ``since_ms`` is by place."""
    from_ms = since_ms[started_places]
    from_ms[from_ms == IDLE] = 0 if at_ms > 0 else RUNNING
    since_ms[started_places] = RUNNING
    stood_still = from_ms != RUNNING
    if not stood_still.all():
        started_places, from_ms = started_places[stood_still], from_ms[stood_still]
    return PausesTogether(started_places, from_ms, at_ms) if len(started_places) else None


@cache
def _starts() -> Mask:
    """Return by kind and role that begins, as one number, whether the task is run from then on."""
    import numpy as np  # noqa: PLC0415 - as in Stopped

    kinds = range(EVENT + 1)
    return np.array(
        [kind in STARTS or (kind == THREAD_MOVE and role == ACTIVE) for kind in kinds for role in range(len(ROLES))]
    )


@cache
def _stops_not_then() -> Mask:
    """Return by reason whether who gives up for it does not stop then."""
    import numpy as np  # noqa: PLC0415 - as in Stopped

    return np.array([code in _STOPS_NOT_THEN for code in CODES])
