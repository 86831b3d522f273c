"""What tasks restore that count as caught up: no more than ``acceptable.recovery.lag``, which may be all they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kstream_plan.model import Group, Note, Snapshot, WorkId
from kstream_plan.model.times import duration
from kstream_plan.plans import HandOver, Promote, Round, Step
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.restoring import POLL_RECORDS, cold_restoring_ms
from kstream_plan.plans.step_rows import STARTS, StepRows

#: Less than that is no more than what a hand-over takes anyway.
NOTABLE_MS = 1_000


def restores_within_limit(snapshot: Snapshot, group: Group, rounds: Sequence[Round]) -> tuple[Note, ...]:
    """Warn of tasks that start warm by Kafka's rule and restore all the same before they run.

    Told are those whose instance takes a second or more for it, or, where nobody knows how fast it restores, those that
    begin with half of what they need or less, and lack more than a poll brings. ``group`` is everyone who takes part in
    the ``rounds``.
    """
    found = dict[WorkId, tuple[int, int | None]]()
    for rnd in rounds:
        found.update(_restoring(snapshot, group, rnd))
    if not found:
        return ()
    records, known = max(of for of, _ in found.values()), [ms for _, ms in found.values() if ms is not None]
    takes = f" ({duration(max(known))})" if known else ""
    message = (
        "Tasks whose copies are behind, but within acceptable.recovery.lag, count as caught up and restore up to "
        f"{records:,} records{takes} before they run: only the upper ends of pauses include that"
    )
    return (Note(RESTORES_WITHIN_LIMIT, message, tuple(map(str, found))),)


def _restoring(snapshot: Snapshot, group: Group, rnd: Round) -> Iterator[tuple[WorkId, tuple[int, int | None]]]:
    """Yield such tasks, what each restores, and how long that takes, in milliseconds (``None``: not known).

    Those of one instance share its rate, with what it restores of tasks that start cold.
    """
    starts = [step for step in _steps(snapshot, rnd) if isinstance(step, (HandOver, Promote)) and step.restore_records]
    if not any(step.caught_up for step in starts):
        return
    index, rates = snapshot.state.group.instance_index, snapshot.rates
    lasts = cold_restoring_ms(
        [replace(step, caught_up=False) for step in starts],  # to restore it, what it counts as makes no difference
        lambda of: rates.restore_rate(index.get(of, len(index))),
    )
    for step in starts:
        if not step.caught_up:
            continue
        takes_ms, whole = lasts.get(step.task_id), group.tasks[group.task_index[step.task_id]].end_offset_sum
        records = step.restore_records or 0
        begins_anew = records > POLL_RECORDS and 2 * records >= whole
        if begins_anew if takes_ms is None else takes_ms >= NOTABLE_MS:
            yield step.task_id, (records, takes_ms)


def _steps(snapshot: Snapshot, rnd: Round) -> Iterable[Step]:
    """Yield the steps of a round, of those that are rows as few as may be such."""
    steps = rnd.single_steps
    if not isinstance(steps, StepRows):
        return steps
    if not steps.tally.restores_within_limit:
        return ()
    rows, which = steps.rows, steps.restoring(*STARTS)
    if not snapshot.rates.any_restore:  # then those that count as caught up and begin with half of it or less
        which &= rows["caught_up"] != 0
        whole = steps.maker.end_offset_sums[rows["task"]]
        which &= rows["restore_records"] >= whole - whole // 2  # twice the records may be beyond 64 bits
    return steps.of_rows(which)
