"""What tasks restore that count as caught up: no more than ``acceptable.recovery.lag``, which may be all they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kstream_plan.engine.codes import POLL_RECORDS
from kstream_plan.model import Group, Note, Snapshot, WorkId
from kstream_plan.model.scenario import RestoreRate
from kstream_plan.model.times import duration
from kstream_plan.planner.scenario_as_noticed import PaceChange
from kstream_plan.plans import HandOver, Promote, Round
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.restore_times import cold_restoring_ms
from kstream_plan.plans.step_rows import STARTS, are, in_batches

#: Less than that is no more than what a hand-over takes anyway.
NOTABLE_MS = 1_000


class Restores(NamedTuple):
    """What a task restores before it runs that counts as caught up: records, and how long (``None``: not known)."""

    records: int
    lasts_ms: int | None


def restored_first(
    snapshot: Snapshot, group: Group, rounds: Sequence[Round], paces: Sequence[PaceChange] = ()
) -> Mapping[WorkId, Restores]:
    """Return what tasks restore that start warm by Kafka's rule and restore all the same before they run.

    Such a task takes its instance a second or more. If the restore rate is unknown, it begins with half of its records
    or less, and lacks more than a poll brings. ``group`` is everyone who takes part in the ``rounds``. ``paces`` are
    the changes of rates in a scenario, in time order.
    """
    restored, index, rates = dict[WorkId, Restores](), snapshot.state.group.instance_index, snapshot.rates
    changes = [pace for pace in paces if isinstance(pace, RestoreRate)]

    def rate_at(at_ms: int, process_id: str) -> float | None:
        """Return how fast an instance restores from this moment on."""
        earlier = (change for change in reversed(changes) if change.at_ms <= at_ms)
        change = next(
            (change for change in earlier if not change.process_ids or process_id in change.process_ids), None
        )
        return rates.restore_rate(index.get(process_id, len(index))) if change is None else change.per_second

    for at_ms, starts in _starts(group, rounds, any_rate=rates.any_restore or bool(changes)):
        restored.update(_restoring(group, starts, partial(rate_at, at_ms)))
    return restored


def restores_within_limit(restored: Mapping[WorkId, Restores]) -> tuple[Note, ...]:
    """Warn of tasks that restore first, if there are any."""
    if not restored:
        return ()
    records, known = max(of for of, _ in restored.values()), [ms for _, ms in restored.values() if ms is not None]
    takes = f" ({duration(max(known))})" if known else ""
    message = (
        "Tasks whose copies are behind, but within acceptable.recovery.lag, count as caught up and restore up to "
        f"{records:,} records{takes} before they run: only the upper ends of pauses include that"
    )
    return (Note(RESTORES_WITHIN_LIMIT, message, tuple(map(str, restored))),)


def _restoring(
    group: Group, starts: Sequence[HandOver | Promote], rate_of: Callable[[str], float | None]
) -> Iterator[tuple[WorkId, Restores]]:
    """Yield such tasks among the starts of a round, what it restores, and how long (``None``: not known).

    Those of one instance share its rate, with what it restores of tasks that start cold.
    """
    # to restore it, what it counts as makes no difference
    lasts = cold_restoring_ms([replace(step, caught_up=False) for step in starts], rate_of)
    for step in starts:
        if not step.caught_up:
            continue
        takes_ms, whole = lasts.get(step.task_id), group.tasks[group.task_index[step.task_id]].end_offset_sum
        records = step.restore_records or 0
        begins_anew = records > POLL_RECORDS and 2 * records >= whole
        if begins_anew if takes_ms is None else takes_ms >= NOTABLE_MS:
            yield step.task_id, Restores(records, takes_ms)


def _starts(group: Group, rounds: Sequence[Round], *, any_rate: bool) -> Iterator[tuple[int, list[HandOver | Promote]]]:
    """Yield the time of each round in which a task counts as caught up and restores, with all starts that restore.

    ``any_rate``: the restore rate of some instance is known.
    """
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    whole_of, before = np.array([*group.end_offset_sums, 0], np.int64), 0
    for rows, number, in_batch in in_batches([rnd.steps.rows for rnd in rounds]):
        which = are(rows["kind"], *STARTS) & (rows["restore_records"] > 0)
        warm = which & (rows["caught_up"] != 0)
        if not any_rate:  # then those that count as caught up and begin with half of it or less
            whole = whole_of[rows["task"]]
            which = warm = warm & (rows["restore_records"] >= whole - whole // 2)  # twice it may be beyond 64 bits
        for place in np.unique(number[warm]).tolist():
            rnd = rounds[before + place]
            starts = rnd.steps.where(which[number == place])
            yield rnd.at_ms, [step for step in starts if isinstance(step, HandOver | Promote)]
        before += in_batch
