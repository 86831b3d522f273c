"""A plan in figures: the balance of one round and the summary of all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import Group, GroupState, Holding, Target, TaskId
from kstream_plan.steps import (
    Balance,
    Demote,
    HandOver,
    LowerBounds,
    PausedTask,
    Place,
    Promote,
    Revoke,
    Role,
    Round,
    Seat,
    Step,
    Summary,
    ThreadMove,
    Trigger,
)


@dataclass(frozen=True, slots=True)
class InstanceLoad:
    """What one instance was decided to run.

    ``held`` are its consumers' holdings, ``subtopologies`` its active tasks by subtopology.
    """

    held: tuple[Holding, ...]
    active: int
    stateful: int
    standby: int
    subtopologies: Mapping[str, int]


def instance_loads(
    group: Group, decided: Sequence[Holding], known: Sequence[InstanceLoad] | None = None
) -> tuple[InstanceLoad, ...]:
    """Count every instance's tasks; an instance whose holdings are those in ``known`` is not counted again."""
    loads = []
    for instance, consumers in enumerate(group.consumers_of):
        held = tuple(decided[consumers.start : consumers.stop])
        same = known is not None and all(a is b for a, b in zip(held, known[instance].held, strict=True))
        loads.append(known[instance] if same and known is not None else _count(group, held))
    return tuple(loads)


def _count(group: Group, held: tuple[Holding, ...]) -> InstanceLoad:
    active = [task for of in held for task in of.active]
    return InstanceLoad(
        held,
        len(active),
        sum(map(group.stateful_flags.__getitem__, active)),
        sum(len(of.standby) + len(of.warmup) for of in held),
        Counter(map(group.subtopologies.__getitem__, active)),
    )


def balance(group: Group, loads: Sequence[InstanceLoad]) -> Balance:
    """Put the loads side by side (KIP-441's two figures included). No instance: all zero."""
    counts: dict[str, list[int]] = defaultdict(list)
    for load in loads:
        for subtopology, tasks in load.subtopologies.items():
            counts[subtopology].append(tasks)
    return Balance(
        active=tuple(load.active for load in loads),
        standby=tuple(load.standby for load in loads),
        load_per_thread=tuple(
            (load.active + load.standby) / instance.capacity
            for load, instance in zip(loads, group.instances, strict=True)
        ),
        instance_spread=_spread(load.stateful for load in loads),
        balance_factor=_spread(load.active for load in loads),
        subtopology_spread=_spread(map(len, counts.values())),
        subtopology_task_spread=max(
            (max(of) - (min(of) if len(of) == len(loads) else 0) for of in counts.values()), default=0
        ),
    )


def _spread(values: Iterable[int]) -> int:
    counts = list(values)
    return max(counts) - min(counts) if counts else 0


def lower_bounds(
    state: GroupState, target: Target, config: AssignmentConfig, least_restored: int | None
) -> LowerBounds:
    """The least number of stateful tasks that must change owner to reach the target's loads, whatever the order.

    Instances of equal capacity may trade their target loads, so the larger loads stay with those that hold most;
    what an instance holds above its load has to leave it.
    """
    group = state.group
    owned_by_capacity: dict[int, list[int]] = defaultdict(list)
    target_by_capacity: dict[int, list[int]] = defaultdict(list)
    for load, instance, wanted in zip(
        instance_loads(group, state.holdings), group.instances, target.active, strict=True
    ):
        owned_by_capacity[instance.capacity].append(load.stateful)
        target_by_capacity[instance.capacity].append(len(wanted))
    moves = sum(
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
    state: GroupState,
    rounds: Sequence[Round],
    target: Target,
    config: AssignmentConfig,
    *,
    rate_known: bool,
    least_restored: int | None = None,
) -> Summary:
    """Add up a plan's rounds; ``state`` is the group before the first one, ``least_restored`` the bound, if known."""
    final = rounds[-1].assigned if rounds else state.holdings
    tally = _Tally(state.group)
    for rnd in rounds:
        tally.add(rnd)
    worst = min(tally.paused_ms, key=lambda task: (-tally.paused_ms[task], task.sort_key), default=None)
    return Summary(
        rebalances=len(rounds),
        probing_rebalances=sum(rnd.trigger is Trigger.PROBING for rnd in rounds),
        duration_ms=rounds[-1].at_ms if rounds else 0,
        duration_is="estimate" if rate_known else "floor",
        moves=_moves(state, final),
        hops=tally.hops[True],
        warmups=tally.warmups,
        cold_handovers=tally.cold_handovers,
        restored_records=tally.restored_records,
        paused_task_ms=sum(tally.paused_ms.values()),
        max_paused_task=None if worst is None else PausedTask(worst, tally.paused_ms[worst], tally.pauses[worst]),
        peak_extra_copies=tally.peak_extra_copies,
        stateless_hops=tally.hops[False],
        lower_bounds=lower_bounds(state, target, config, least_restored),
    )


def _moves(state: GroupState, final: Sequence[Holding]) -> int:
    group = state.group

    def owners(holdings: Sequence[Holding]) -> dict[int, int]:
        return {
            task: group.instance_of[consumer]
            for consumer, held in enumerate(holdings)
            for task in held.active
            if group.tasks[task].stateful
        }

    before, after = owners(state.holdings), owners(final)
    return sum(instance != after.get(task) for task, instance in before.items())


class _Tally:
    """Running totals over the rounds of one plan."""

    def __init__(self, group: Group) -> None:
        self._stateful = {task.task_id: task.stateful for task in group.tasks}
        self._revoked_at_ms: dict[TaskId, int] = {}
        self.paused_ms: Counter[TaskId] = Counter()
        self.pauses: Counter[TaskId] = Counter()
        self.hops: Counter[bool] = Counter()
        self.warmups = 0
        self.cold_handovers = 0
        self.restored_records: int | None = 0
        self.peak_extra_copies = 0

    def add(self, rnd: Round) -> None:
        for step in rnd.steps:
            self._add(step, rnd.at_ms)
        extra = sum(len(held.warmup) + len(held.temporary) for held in rnd.assigned)
        self.peak_extra_copies = max(self.peak_extra_copies, extra)

    def _add(self, step: Step, at_ms: int) -> None:
        match step:
            case Revoke() | Demote():
                self._revoked_at_ms[step.task_id] = at_ms
            case ThreadMove(task_id=task_id, to=Seat(role=Role.ACTIVE)):
                self._resumed(task_id, at_ms)
            case HandOver() | Promote():
                self._resumed(step.task_id, at_ms)
                self._started(step)
            case Place():
                self.warmups += step.to.role is Role.WARMUP
                if step.from_ is None:
                    self._restores(step.restore_records)
            case _:
                pass

    def _resumed(self, task_id: TaskId, at_ms: int) -> None:
        revoked_at_ms = self._revoked_at_ms.pop(task_id, None)
        if revoked_at_ms is not None:
            self.paused_ms[task_id] += at_ms - revoked_at_ms
            self.pauses[task_id] += 1

    def _started(self, step: HandOver | Promote) -> None:
        same_instance = isinstance(step, HandOver) and step.from_ and step.from_.process_id == step.to.process_id
        self.hops[self._stateful[step.task_id]] += not same_instance
        if not step.caught_up:
            self.cold_handovers += 1
            self._restores(step.restore_records)

    def _restores(self, records: int | None) -> None:
        if records is None or self.restored_records is None:
            self.restored_records = None
        else:
            self.restored_records += records
