"""A plan in figures: the balance of one round and the summary of all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kstream_plan.model import Group, Holding, Target
from kstream_plan.model.holding_changes import extra_copies
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
    Balance,
    HandOver,
    LowerBounds,
    MemberJoined,
    Outage,
    PausedTask,
    Place,
    Promote,
    Role,
    Round,
    RoundSteps,
    Step,
    Summary,
    Trigger,
    member_steps,
    restores_anew,
)
from kstream_plan.plans.pause_totals import standstill


@dataclass(frozen=True, slots=True)
class InstanceLoad:
    """What one instance was decided to run; ``subtopologies`` are its active tasks by subtopology."""

    active: int
    stateful: int
    standby: int
    per_thread: float
    subtopologies: Mapping[str, int]


def instance_loads(group: Group, decided: Sequence[Holding]) -> tuple[InstanceLoad, ...]:
    """Count every instance's tasks; ``decided`` is by consumer."""
    return tuple(_count(group, decided[of.start : of.stop]) for of in group.consumers_of)


def _count(group: Group, held: Sequence[Holding]) -> InstanceLoad:
    active = [task for of in held for task in of.active]
    standby = sum(len(of.standby) + len(of.warmup) for of in held)
    return InstanceLoad(
        active=len(active),
        stateful=sum(map(group.stateful_flags.__getitem__, active)),
        standby=standby,
        per_thread=(len(active) + standby) / len(held),
        subtopologies=Counter(map(group.subtopologies.__getitem__, active)),
    )


def balance(loads: Sequence[InstanceLoad]) -> Balance:
    """Put the loads side by side (KIP-441's two figures included). No instance: all zero."""
    counts: dict[str, list[int]] = defaultdict(list)
    for load in loads:
        for subtopology, tasks in load.subtopologies.items():
            counts[subtopology].append(tasks)
    active = [load.active for load in loads]
    return Balance(
        active=tuple(active),
        standby=tuple([load.standby for load in loads]),
        load_per_thread=tuple([load.per_thread for load in loads]),
        instance_spread=_spread([load.stateful for load in loads]),
        balance_factor=_spread(active),
        subtopology_spread=_spread(list(map(len, counts.values()))),
        subtopology_task_spread=max(
            (max(of) - (min(of) if len(of) == len(loads) else 0) for of in counts.values()), default=0
        ),
    )


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0


def initial_balance(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> Balance:
    """Put the loads side by side as the first rebalance finds them.

    Who joins in it counts as empty; who joins in a later one does not count yet.
    """
    loads = instance_loads(group, initial)
    found, later = balance(loads), _joining_later(rounds)
    if not later:
        return found
    there = balance([load for of, load in zip(group.instances, loads, strict=True) if of.process_id not in later])
    return replace(there, active=found.active, standby=found.standby, load_per_thread=found.load_per_thread)


def _joining_later(rounds: Sequence[Round]) -> set[str]:
    """Return who is no member yet in the first of the rounds."""
    joins_later: dict[str, bool] = {}
    for place, rnd in enumerate(rounds):
        for step in member_steps(rnd.steps):
            joins_later.setdefault(step.process_id, place > 0 and isinstance(step, MemberJoined))
    return {process_id for process_id, later in joins_later.items() if later}


def lower_bounds(
    group: Group,
    initial: Sequence[Holding],
    present: Group,
    target: Target,
    config: AssignmentConfig,
    least_restored: int | None,
) -> LowerBounds:
    """The least number of stateful tasks that must change owner to reach the target's loads, whatever the order.

    Instances of equal capacity may trade their target loads, so the larger loads stay with those that hold most;
    what an instance holds above its load has to leave it, and everything that one held that is not ``present`` at the
    end. ``initial`` is by consumer of ``group``, ``target`` by instance of ``present``.
    """
    loads = zip(group.instances, instance_loads(group, initial), strict=True)
    held = {instance.process_id: load.stateful for instance, load in loads}
    owned_by_capacity: dict[int, list[int]] = defaultdict(list)
    target_by_capacity: dict[int, list[int]] = defaultdict(list)
    for instance, wanted in zip(present.instances, target.active, strict=True):
        owned_by_capacity[instance.capacity].append(held.pop(instance.process_id))
        target_by_capacity[instance.capacity].append(len(wanted))
    moves = sum(held.values()) + sum(
        max(0, owned - wanted)
        for capacity, counts in owned_by_capacity.items()
        for owned, wanted in zip(
            sorted(counts, reverse=True), sorted(target_by_capacity[capacity], reverse=True), strict=True
        )
    )
    return LowerBounds(
        moves=moves, probing_rebalances=-(-moves // config.max_warmup_replicas), restored_records=least_restored
    )


def summarize(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    steps: Iterable[Step],
    bounds: LowerBounds,
    config: AssignmentConfig,
    *,
    rate_known: bool,
    max_cold_restore_ms: int | None,
    stopping: Collection[int] = (),
    outages: Sequence[Outage] = (),
) -> Summary:
    """Add up a plan's rounds.

    ``initial`` is what the consumers of ``group`` held before the first one, ``steps`` are those of stateful tasks
    (:func:`~kstream_plan.plans.stateful_steps`), ``stopping`` and ``outages`` as in
    :func:`~kstream_plan.plans.pauses.pauses`.
    """
    final = rounds[-1].assigned if rounds else initial
    tally = _Tally(group)
    for step in steps:
        tally.add(step)
    apart = (rnd.steps for rnd in rounds if isinstance(rnd.steps, RoundSteps))
    paused = standstill(group, initial, rounds, stopping, config, outages)
    worst = min(paused.ms, key=lambda task: (-paused.ms[task], task.sort_key), default=None)
    return Summary(
        rebalances=len(rounds),
        probing_rebalances=sum(rnd.trigger is Trigger.PROBING for rnd in rounds),
        duration_ms=rounds[-1].at_ms if rounds else 0,
        duration_is="estimate" if rate_known else "floor",
        moves=_moves(group, initial, final),
        hops=tally.hops,
        warmups=tally.warmups,
        cold_handovers=tally.cold_handovers,
        max_cold_restore_ms=max_cold_restore_ms,
        restored_records=tally.restored_records,
        paused_task_ms=sum(paused.ms.values()),
        max_paused_task=None if worst is None else PausedTask(worst, paused.ms[worst], paused.times[worst]),
        peak_extra_copies=max(extra_copies([rnd.assigned for rnd in rounds]), default=0),
        stateless_hops=sum(steps.stateless_hops() for steps in apart),
        lower_bounds=bounds,
    )


def _moves(group: Group, initial: Sequence[Holding], final: Sequence[Holding]) -> int:
    def owners(holdings: Sequence[Holding]) -> dict[int, int]:
        return {
            task: group.instance_of[consumer]
            for consumer, held in enumerate(holdings)
            for task in held.active
            if group.tasks[task].stateful
        }

    before, after = owners(initial), owners(final)
    return sum(instance != after.get(task) for task, instance in before.items())


class _Tally:
    """Running totals over the steps of one plan's stateful tasks."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.hops = 0
        self.warmups = 0
        self.cold_handovers = 0
        self.restored_records: int | None = 0

    def add(self, step: Step) -> None:
        """Count a step."""
        match step:
            case HandOver() | Promote():
                from_ = step.from_ if isinstance(step, HandOver) else None
                self.hops += from_ is None or from_.process_id != step.to.process_id
                self.cold_handovers += not step.caught_up
            case Place():
                self.warmups += step.to.role is Role.WARMUP
            case _:
                return
        if self.restored_records is not None and restores_anew(step, self._group):
            records = step.restore_records
            self.restored_records = None if records is None else self.restored_records + records
