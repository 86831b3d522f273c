"""What the steps of a plan restore: whether it is known how long that takes, and which warm starts take long first.

A start counts as caught up though it restores up to ``acceptable.recovery.lag`` first, which may be all that it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from kstream_plan.engine.codes import POLL_RECORDS
from kstream_plan.model import Group, Note, Rates, Snapshot, WorkId
from kstream_plan.model.scenario import RestoreRate
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.times import duration
from kstream_plan.planner.membership_timeline import PaceChange
from kstream_plan.plans import HandOver, Promote, Round
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.restore_times import RestoringStart, cold_restoring_ms, restored_at_ms
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import RESTORING, STARTS, Rows, are, concatenate, in_batches

#: Whether all run, at the same rates, from one time (milliseconds) to another.
_Steady: TypeAlias = Callable[[int, int], bool]

#: So many rows are looked at at once: with the few of one round it takes longest to begin.
_AT_ONCE = 4096

#: Less than that is no more than what a hand-over takes anyway.
NOTABLE_MS = 1_000


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


def restoring_starts(
    snapshot: Snapshot, group: Group, rounds: Sequence[Round], paces: Sequence[PaceChange] = ()
) -> tuple[RestoringStart, ...]:
    """Return the starts that are warm by Kafka's rule and restore for long all the same before the tasks run, by round.

    Such a task takes its instance a second or more. If the restore rate is unknown, it begins with half of its records
    or less, and lacks more than a poll brings. ``group`` has all members that take part in the ``rounds``. ``paces``
    are the changes of rates in a scenario, in time order. A cold start shares the rate of its instance, until the task
    restores elsewhere.
    """
    rates, changes = snapshot.rates, [pace for pace in paces if isinstance(pace, RestoreRate)]
    starts = list(_starts(group, rounds, any_rate=rates.any_restore or bool(changes)))
    index, restored_ms = snapshot.state.group.instance_index, dict[tuple[WorkId, int], int]()
    starts_of: defaultdict[str, list[tuple[int, int, WorkId]]] = defaultdict(list)
    last_ms, given_up_ms = dict[WorkId, int](), dict[tuple[WorkId, int], int]()
    for _, at_ms, step in starts:
        starts_of[step.to.process_id].append((at_ms, step.restore_records or 0, step.task_id))
        if step.task_id in last_ms:
            given_up_ms[step.task_id, last_ms[step.task_id]] = at_ms
        last_ms[step.task_id] = at_ms
    for process_id, its_starts in starts_of.items():
        first_rate = rates.restore_rate(index.get(process_id, len(index)))
        its_changes = (pace for pace in changes if not pace.process_ids or process_id in pace.process_ids)
        its_rates = [(0, first_rate), *((pace.at_ms, pace.per_second) for pace in its_changes)]
        restored_ms |= restored_at_ms(its_starts, its_rates, given_up_ms)
    warm = []
    for number, at_ms, step in starts:
        until_ms = restored_ms.get((step.task_id, at_ms))
        lasts_ms = None if until_ms is None else until_ms - at_ms
        if step.caught_up:
            records = step.restore_records or 0
            warm.append(RestoringStart(step.task_id, step.to.process_id, number, at_ms, records, lasts_ms))
    return tuple(start for start in warm if _restores_long(start, group))


def _restores_long(start: RestoringStart, group: Group) -> bool:
    """Tell whether a start restores for longer than a hand-over takes anyway."""
    if start.restores_ms is not None:
        return start.restores_ms >= NOTABLE_MS
    whole = group.tasks[group.task_index[start.task_id]].end_offset_sum
    return start.records > POLL_RECORDS and 2 * start.records >= whole


def restores_below_lag(starts: Sequence[RestoringStart], *, in_pauses: bool = False) -> tuple[Note, ...]:
    """Warn of tasks that restore first, if there are any; ``in_pauses``: the likely pauses include that."""
    if not starts:
        return ()
    records = max(start.records for start in starts)
    known_ms = [start.restores_ms for start in starts if start.restores_ms is not None]
    takes = f" ({duration(max(known_ms))})" if known_ms else ""
    message = (
        "Tasks whose copies are behind, but within acceptable.recovery.lag, count as caught up and restore up to "
        f"{records:,} records{takes} before they run"
        f"{': only the upper ends of pauses include that' * (not in_pauses)}"
    )
    return (Note(RESTORES_WITHIN_LIMIT, message, tuple(dict.fromkeys(str(start.task_id) for start in starts))),)


def _starts(group: Group, rounds: Sequence[Round], *, any_rate: bool) -> Iterator[tuple[int, int, HandOver | Promote]]:
    """Yield the starts that restore, with the number of the round and the time, if any of them counts as caught up.

    ``any_rate``: the restore rate of some instance is known. Else those rounds have all that are needed in which a task
    counts as caught up that begins with half of it or less.
    """
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    whole_of, batch_start = np.array([*group.end_offset_sums, 0], np.int64), 0
    restoring, any_warm = list[Round](), False
    for rows, number, in_batch in in_batches([rnd.steps.rows for rnd in rounds]):
        mask = are(rows["kind"], *STARTS) & (rows["restore_records"] > 0)
        warm = mask & (rows["caught_up"] != 0)
        if not any_rate:
            whole = whole_of[rows["task"]]
            mask = warm = warm & (rows["restore_records"] >= whole - whole // 2)  # twice it may be beyond 64 bits
        any_warm = any_warm or bool(warm.any())
        restoring += [rounds[batch_start + place] for place in np.unique(number[mask]).tolist()]
        batch_start += in_batch
    for rnd in restoring if any_warm else ():
        for at_ms, steps in rnd.moments:
            yield from ((rnd.number, at_ms, step) for step in steps.starts_behind())
