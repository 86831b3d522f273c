"""A plan in figures: the balance of one round and the summary of all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.model import Group, Holding, Target
from kstream_plan.model.holding_changes import extra_copies, held_by_several, moved
from kstream_plan.plans import LowerBounds, PausedTask, Pauses, Round, Summary, Trigger
from kstream_plan.plans.balance import instance_loads
from kstream_plan.plans.step_rows import NO_SEAT, NOT_KNOWN, PLACE, PROMOTE, RESTORING, WARMUP, anew, are, in_batches
from kstream_plan.plans.summary import DurationIs


def least_moves(group: Group, initial: Sequence[Holding], present: Group, target: Target) -> int:
    """Return the least number of stateful tasks that must change owner to reach the target's loads, whatever the order.

    Instances of equal capacity may trade their target loads, so the larger loads stay with those that hold most;
    what an instance holds above its load has to leave it, and everything that one held that is not ``present`` at the
    end. Where several hold a task, all but one of these can lose it without its moving. ``initial`` is by consumer of
    ``group``, ``target`` by instance of ``present``.
    """
    loads = zip(group.instances, instance_loads(group, initial), strict=True)
    stateful_by_id = {instance.process_id: load.stateful for instance, load in loads}
    owned_by_capacity: dict[int, list[int]] = defaultdict(list)
    target_by_capacity: dict[int, list[int]] = defaultdict(list)
    for instance, tasks in zip(present.instances, target.active, strict=True):
        owned_by_capacity[instance.capacity].append(stateful_by_id.pop(instance.process_id))
        target_by_capacity[instance.capacity].append(len(tasks))
    leave = sum(stateful_by_id.values()) + sum(
        max(0, owned - target_count)
        for capacity, counts in owned_by_capacity.items()
        for owned, target_count in zip(
            sorted(counts, reverse=True), sorted(target_by_capacity[capacity], reverse=True), strict=True
        )
    )
    return max(0, leave - sum(holders - 1 for holders in held_by_several(initial).values()))


def still_configured(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> Sequence[Holding]:
    """Return what consumers hold at first, without what is deleted by the end: that has not moved."""
    deleted_tasks = {group.task_index[task_id] for task_id in rounds[-1].not_configured} if rounds else set()
    if not deleted_tasks:
        return initial
    return [Holding(tuple(task for task in holding.active if task not in deleted_tasks)) for holding in initial]


def summarize(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    bounds: LowerBounds,
    pauses: Pauses,
    *,
    duration_ms: int,
    duration_is: DurationIs,
    max_cold_restore_ms: int | None,
    runs_by_ms: int | None = None,
) -> Summary:
    """Add up a plan's rounds.

    ``initial`` is what the consumers of ``group`` held before the first one, ``pauses`` what stands still meanwhile,
    ``duration_ms`` when the last one has taken effect.
    """
    final = rounds[-1].assigned if rounds else initial
    totals = _totals(group, rounds)
    worst = min(pauses.ms, key=lambda task: (-pauses.ms[task], task.sort_key), default=None)
    return Summary(
        rebalances=len(rounds),
        probing_rebalances=sum(rnd.trigger is Trigger.PROBING for rnd in rounds),
        duration_ms=duration_ms,
        duration_is=duration_is,
        moves=len(moved(group, still_configured(group, initial, rounds), final)),
        hops=totals.hops,
        warmups=totals.warmups,
        cold_handovers=totals.cold_handovers,
        max_cold_restore_ms=max_cold_restore_ms,
        restored_records=totals.restored_records,
        paused_task_ms=sum(pauses.ms.values()),
        max_paused_task=None if worst is None else PausedTask(worst, pauses.ms[worst], pauses.times[worst]),
        peak_extra_copies=max(extra_copies([rnd.assigned for rnd in rounds]), default=0),
        stateless_hops=totals.stateless_hops + sum(rnd.stateless.hops() for rnd in rounds if rnd.stateless is not None),
        lower_bounds=bounds,
        runs_by_ms=runs_by_ms,
    )


class _Totals(NamedTuple):
    """What the steps of a plan come to, apart from those of stateless tasks that are numbers."""

    hops: int = 0
    stateless_hops: int = 0
    warmups: int = 0
    cold_handovers: int = 0
    restored_records: int | None = 0


def _totals(group: Group, rounds: Sequence[Round]) -> _Totals:
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    total, stateful = _Totals(), np.array(group.stateful_flags, np.bool_)
    sums = np.array(group.end_offset_sums, np.int64)
    instance_of = np.array([*group.instance_of, NO_SEAT])
    for all_rows, _, _ in in_batches([rnd.steps.rows for rnd in rounds]):
        rows = all_rows[are(all_rows["kind"], *RESTORING)]
        is_placed, has_state = rows["kind"] == PLACE, stateful[rows["task"]]
        changes_instance = instance_of[rows["from_consumer"]] != instance_of[rows["to_consumer"]]
        hops = ~is_placed & (changes_instance | (rows["kind"] == PROMOTE))
        restore_records = rows["restore_records"][anew(rows, sums) & (is_placed | has_state)].tolist()
        is_known = total.restored_records is not None and NOT_KNOWN not in restore_records
        total = _Totals(
            total.hops + int((hops & has_state).sum()),
            total.stateless_hops + int((hops & ~has_state).sum()),
            total.warmups + int((is_placed & (rows["to_role"] == WARMUP)).sum()),
            total.cold_handovers + int((~is_placed & has_state & (rows["caught_up"] == 0)).sum()),
            sum(restore_records, total.restored_records or 0) if is_known else None,
        )
    return total
