"""A plan in figures: the balance of one round and the summary of all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kstream_plan.model import Group, Holding, Target
from kstream_plan.model.holding_changes import extra_copies, held_by_several, moved
from kstream_plan.plans import (
    HandOver,
    LowerBounds,
    PausedTask,
    Pauses,
    Place,
    Promote,
    Role,
    Round,
    Step,
    Summary,
    Trigger,
    restores_anew,
)
from kstream_plan.plans.balance import instance_loads
from kstream_plan.plans.step_rows import RowTally, StepRows
from kstream_plan.plans.summary import DurationIs


def least_moves(group: Group, initial: Sequence[Holding], present: Group, target: Target) -> int:
    """Return the least number of stateful tasks that must change owner to reach the target's loads, whatever the order.

    Instances of equal capacity may trade their target loads, so the larger loads stay with those that hold most;
    what an instance holds above its load has to leave it, and everything that one held that is not ``present`` at the
    end. Where several hold a task, all but one of these can lose it without its moving. ``initial`` is by consumer of
    ``group``, ``target`` by instance of ``present``.
    """
    loads = zip(group.instances, instance_loads(group, initial), strict=True)
    held = {instance.process_id: load.stateful for instance, load in loads}
    owned_by_capacity: dict[int, list[int]] = defaultdict(list)
    target_by_capacity: dict[int, list[int]] = defaultdict(list)
    for instance, wanted in zip(present.instances, target.active, strict=True):
        owned_by_capacity[instance.capacity].append(held.pop(instance.process_id))
        target_by_capacity[instance.capacity].append(len(wanted))
    leave = sum(held.values()) + sum(
        max(0, owned - wanted)
        for capacity, counts in owned_by_capacity.items()
        for owned, wanted in zip(
            sorted(counts, reverse=True), sorted(target_by_capacity[capacity], reverse=True), strict=True
        )
    )
    return max(0, leave - sum(holders - 1 for holders in held_by_several(initial).values()))


def kept(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> Sequence[Holding]:
    """Return what consumers hold at first of what is still configured at the end: what is deleted has not moved."""
    gone = {group.task_index[task_id] for task_id in rounds[-1].not_configured} if rounds else set()
    if not gone:
        return initial
    return [Holding(tuple(task for task in held.active if task not in gone)) for held in initial]


def summarize(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    bounds: LowerBounds,
    paused: Pauses,
    *,
    duration_ms: int,
    duration_is: DurationIs,
    max_cold_restore_ms: int | None,
    runs_by_ms: int | None = None,
) -> Summary:
    """Add up a plan's rounds.

    ``initial`` is what the consumers of ``group`` held before the first one, ``paused`` what stands still meanwhile,
    ``duration_ms`` when the last one has taken effect.
    """
    final = rounds[-1].assigned if rounds else initial
    tally = _Tally(group)
    for rnd in rounds:
        tally.add(rnd.single_steps)
    worst = min(paused.ms, key=lambda task: (-paused.ms[task], task.sort_key), default=None)
    return Summary(
        rebalances=len(rounds),
        probing_rebalances=sum(rnd.trigger is Trigger.PROBING for rnd in rounds),
        duration_ms=duration_ms,
        duration_is=duration_is,
        moves=len(moved(group, kept(group, initial, rounds), final)),
        hops=tally.hops,
        warmups=tally.warmups,
        cold_handovers=tally.cold_handovers,
        max_cold_restore_ms=max_cold_restore_ms,
        restored_records=tally.restored_records,
        paused_task_ms=sum(paused.ms.values()),
        max_paused_task=None if worst is None else PausedTask(worst, paused.ms[worst], paused.times[worst]),
        peak_extra_copies=max(extra_copies([rnd.assigned for rnd in rounds]), default=0),
        stateless_hops=tally.stateless_hops + sum(rnd.stateless.hops() for rnd in rounds if rnd.stateless is not None),
        lower_bounds=bounds,
        runs_by_ms=runs_by_ms,
    )


#: A tuple, not a union: there may be millions of steps.
_STARTS = (HandOver, Promote)


class _Tally:
    """Running totals over the steps of one plan, apart from those of stateless tasks that are numbers."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.hops = 0
        self.stateless_hops = 0
        self.warmups = 0
        self.cold_handovers = 0
        self.restored_records: int | None = 0

    def add(self, steps: Sequence[Step]) -> None:
        """Count the steps of a round."""
        if isinstance(steps, StepRows):
            self._add_tally(steps.tally)
            steps = steps.members
        for step in steps:
            if isinstance(step, _STARTS):
                self._start(step)
            elif isinstance(step, Place):
                self.warmups += step.to.role is Role.WARMUP
                self._restore(step)

    def _add_tally(self, of: RowTally) -> None:
        self.hops += of.hops
        self.warmups += of.warmups
        self.cold_handovers += of.cold_handovers
        if self.restored_records is not None:
            records = of.restored_records
            self.restored_records = None if records is None else self.restored_records + records

    def _start(self, step: HandOver | Promote) -> None:
        from_ = step.from_ if isinstance(step, HandOver) else None
        hops = from_ is None or from_.process_id != step.to.process_id
        if not self._group.stateful_flags[self._group.task_index[step.task_id]]:
            self.stateless_hops += hops
            return
        self.hops += hops
        self.cold_handovers += not step.caught_up
        self._restore(step)

    def _restore(self, step: Place | HandOver | Promote) -> None:
        if self.restored_records is not None and restores_anew(step, self._group):
            records = step.restore_records
            self.restored_records = None if records is None else self.restored_records + records
