"""Starts that count as caught up, and restore up to ``acceptable.recovery.lag`` first, which may be all they have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kstream_plan.engine.codes import POLL_RECORDS
from kstream_plan.model import Group, Note, Snapshot, WorkId
from kstream_plan.model.scenario import RestoreRate
from kstream_plan.model.times import duration
from kstream_plan.planner.membership_timeline import PaceChange
from kstream_plan.plans import HandOver, Promote, Round
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.restore_times import RestoringStart, restored_at_ms
from kstream_plan.plans.step_rows import STARTS, are, in_batches

#: Less than that is no more than what a hand-over takes anyway.
NOTABLE_MS = 1_000


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


def restores_below_lag(starts: Sequence[RestoringStart]) -> tuple[Note, ...]:
    """Warn of tasks that restore first, if there are any."""
    if not starts:
        return ()
    records = max(start.records for start in starts)
    known_ms = [start.restores_ms for start in starts if start.restores_ms is not None]
    takes = f" ({duration(max(known_ms))})" if known_ms else ""
    message = (
        "Tasks whose copies are behind, but within acceptable.recovery.lag, count as caught up and restore up to "
        f"{records:,} records{takes} before they run: only the upper ends of pauses include that"
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
