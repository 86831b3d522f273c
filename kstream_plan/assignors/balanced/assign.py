"""KIP-441 as it is written, at the optimum.

Source: page ``rules``, "Balanced by the KIP".

1. The target: balanced, with the least state to restore, then the fewest moves, then in a fixed order.
2. Active stateful tasks run on their target if it is as caught up as anybody, else on the most caught-up instance.
3. ``num.standby.replicas`` standbys on the next most caught-up instances; where nobody is ahead, on the target's.
4. Warm-ups on the target's instances, as many as ``max.warmup.replicas``, the busiest instance relieved first. Standbys
   move when no active task has to any more.
5. Stateless tasks, evened out beside the target's stateful ones and moved as little as that allows.
6. A probing rebalance follows as long as anything has to move.

**A balanced group is left alone.** Where it is costs nothing, every other target costs a move at least.

**Progress never makes the target flip.** A target's cost is a sum over its tasks t of cost(t, i), i being t's
instance. While members stay, what follows a decision changes these costs only as follows.

- The copies that decision placed restore. Those that run the task or are standbys are ``hot``: they cost 0 before and
  after. All others are warm-ups, and these are on the target's own instances: their cost falls, and a rival that puts
  the task elsewhere does not profit.
- Copies that fill up a task's standbys are new to ``hot``. A task that has too few copies costs 0 everywhere, so
  nobody's cost falls; the target's instance is filled first and goes on costing 0.
- A warm-up that overtakes a hot copy takes its place: the target's cost falls to 0 and the other's does not fall.
- The task starts on its target: it is at home there from now on, and all others are a move away.

So, task by task, the target's cost falls at least as much as any rival's: what was cheapest is. Of those as cheap as
the target, one that costs no more may come first in the fixed order when tasks have got the copies they lacked, and
its standbys may cost more or less; a plan keeps the target it has. The one exception: if no copy of a task has caught
up and there are standbys to restore, whichever is caught up first runs it; that may change where the task is at home,
and so the fewest moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kstream_plan.assignors.balanced.pending_moves import (
    PendingMove,
    active_moves,
    by_relief,
    in_kafkas_order,
    movements,
    probes_until_relieved,
    runs_now,
    standby_moves,
    standbys_now,
)
from kstream_plan.assignors.balanced.task_costs import Prospect, prospects, still_cheapest
from kstream_plan.assignors.high_availability.target import owners, standby_instances
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.threads import split
from kstream_plan.model import (
    NOBODY,
    Assignment,
    Group,
    GroupState,
    Holding,
    Holdings,
    Movement,
    Movements,
    Note,
    Owners,
    Target,
    no_owners,
    revoked_by,
)
from kstream_plan.model.settings import AssignmentConfig

if TYPE_CHECKING:
    from kstream_plan.assignors.balanced.target import CheapestTarget


def assign(
    state: GroupState,
    config: AssignmentConfig,
    previous: tuple[GroupState, Assignment] | None = None,
    *,
    laws: Laws = NEWEST,
) -> Assignment:
    """Decide where every task goes, instance by instance, then consumer by consumer.

    Args:
        state: the group.
        config: the application's settings; ``balance_factor`` among them.
        previous: an earlier decision for the same group and settings, and its state. It only saves work.
        laws: those of older releases of Kafka, none of which has this assignor.
    """
    del laws
    group = state.group
    if previous is not None and previous[0].group is not group:
        previous = None
    start = (previous and _carried_on(state, config, *previous)) or _afresh(state, config)
    owner, standbys = start.owner, start.standbys
    run_by, standbys_by_task = dict(owner), dict(standbys)
    for prospect in start.unsettled_tasks:
        run_by[prospect.task] = runs_now(prospect, owner[prospect.task])
        standbys_by_task[prospect.task] = standbys_now(
            prospect, run_by[prospect.task], owner[prospect.task], standbys[prospect.task]
        )
    moves, loads = active_moves(start.unsettled_tasks, run_by, owner), _counts(group, run_by)
    if moves:
        moves_in_order = by_relief(moves, loads, group.capacities)
        under_way = movements("active", moves_in_order, standbys_by_task, config.max_warmup_replicas)
    else:
        moves_in_order = []
        under_way = _standbys_under_way(group, config, start, standbys_by_task)
    stateful = _holdings(group, run_by, standbys_by_task, under_way)
    instances = Holdings(stateful, group.stateless, start.stateless)
    short_by = config.num_standby_replicas - (len(group.instances) - 1)
    return Assignment(
        instances=instances,
        consumers=split(state, instances, previous),
        probing_rebalance=bool(under_way),
        target=start.target,
        movements=Movements.of(under_way),
        short_standbys=tuple((task, short_by) for task in group.stateful) if short_by > 0 else (),
        warnings=start.warnings,
        keeps_stateless=True,
        notes=_order(moves_in_order, loads, group.capacities, config),
    )


class _Begun(NamedTuple):
    """The target and the tasks that may be elsewhere: all others run, and have their standbys, where it has them.

    ``owner`` and ``standbys`` are by task; ``stateless`` is where each of these runs.
    """

    target: Target
    owner: Mapping[int, int]
    standbys: Mapping[int, tuple[int, ...]]
    stateless: Owners
    unsettled_tasks: Sequence[Prospect]
    warnings: tuple[Note, ...]


def _afresh(state: GroupState, config: AssignmentConfig) -> _Begun:
    """Find the target."""
    from kstream_plan.assignors.balanced.target import cheapest_target  # noqa: PLC0415 - takes a while

    group = state.group
    stateful = list(prospects(state, config, group.stateful))
    cheapest = cheapest_target(group, config, stateful)
    return _Begun(
        target=Target(
            _by_instance(group, cheapest.owner.items()),
            _by_instance(group, ((task, i) for task, instances in cheapest.standbys.items() for i in instances)),
        ),
        owner=cheapest.owner,
        standbys=cheapest.standbys,
        stateless=_stateless(state, config, cheapest.owner),
        unsettled_tasks=stateful,
        warnings=_warnings(group, cheapest),
    )


def _carried_on(
    state: GroupState, config: AssignmentConfig, previous_state: GroupState, previous: Assignment
) -> _Begun | None:
    """Take the target from the decision before, if what has changed since favours no rival (see above)."""
    group = state.group
    owner_of, standbys_of = owners(group, previous.target), standby_instances(group, previous.target)
    owner = {task: owner_of[task] for task in group.stateful}
    standbys = {task: standbys_of[task] for task in group.stateful}
    changed_tasks = state.changed_since(previous_state)
    unsettled_tasks = list(prospects(state, config, changed_tasks))
    for was, prospect in zip(prospects(previous_state, config, changed_tasks), unsettled_tasks, strict=True):
        if not still_cheapest(was, prospect, owner[prospect.task], standbys[prospect.task]):
            return None
    moving_tasks = set(previous.movements.tasks)
    for holding, target_standbys in zip(previous.instances, previous.target.standby, strict=True):
        moving_tasks.update(set(holding.standby).symmetric_difference(target_standbys))
    unsettled_tasks += prospects(state, config, sorted(moving_tasks.difference(changed_tasks)))
    return _Begun(
        target=previous.target,
        owner=owner,
        standbys=standbys,
        stateless=_stateless(state, config, owner, previous),
        unsettled_tasks=sorted(unsettled_tasks, key=lambda prospect: prospect.task),
        warnings=previous.warnings,
    )


def _standbys_under_way(
    group: Group, config: AssignmentConfig, start: _Begun, standbys_by_task: Mapping[int, tuple[int, ...]]
) -> tuple[Movement, ...]:
    """PendingMove the standbys; they get no warm-ups before every task runs, or starts now, where it is to."""
    loads = [0] * len(group.instances)
    for instances in standbys_by_task.values():
        for instance in instances:
            loads[instance] += 1
    moves_in_order = by_relief(
        standby_moves(start.unsettled_tasks, standbys_by_task, start.standbys), loads, group.capacities
    )
    all_there = all(prospect.running in (None, start.owner[prospect.task]) for prospect in start.unsettled_tasks)
    return movements("standby", moves_in_order, standbys_by_task, config.max_warmup_replicas if all_there else 0)


def _stateless(
    state: GroupState, config: AssignmentConfig, owner: Mapping[int, int], previous: Assignment | None = None
) -> Owners:
    """Return where the stateless tasks run; if all are where the ``previous`` decision has them, they stay."""
    group = state.group
    if not group.stateless:
        return no_owners(group)
    run_by = _run_stateless(state)
    if previous is not None and np.array_equal(run_by, owners_before := Holdings.of(group, previous.instances).owners):
        return owners_before
    from kstream_plan.assignors.balanced.target import place_stateless  # noqa: PLC0415 - takes a while

    current_owners = {task: i for task, i in zip(group.stateless, run_by.tolist(), strict=True) if i != NOBODY}
    placed = place_stateless(group, config, current_owners, _counts(group, owner))
    return np.array([placed[task] for task in group.stateless], dtype=run_by.dtype)


def _run_stateless(state: GroupState) -> Owners:
    """Return the instance that runs each stateless task, or has just given it up."""
    owners = Holdings.of(state.group, state.holdings).owners
    instance_of = np.array([*state.group.instance_of, NOBODY], dtype=owners.dtype)  # the last one is nobody's
    run_by = instance_of[np.where(owners < NOBODY, revoked_by(owners), owners)]
    for place, task in enumerate(state.group.stateless) if state.revoked else ():
        run_by[place] = state.revoked.get(task, run_by[place])
    return run_by


def _counts(group: Group, instance_of: Mapping[int, int]) -> list[int]:
    counts = [0] * len(group.instances)
    for instance in instance_of.values():
        counts[instance] += 1
    return counts


def _holdings(
    group: Group, active: Mapping[int, int], standbys: Mapping[int, tuple[int, ...]], movements: Sequence[Movement]
) -> tuple[Holding, ...]:
    warmups = ((movement.task, movement.destination) for movement in movements if movement.warmup)
    roles = (
        _by_instance(group, active.items()),
        _by_instance(group, ((task, instance) for task, instances in standbys.items() for instance in instances)),
        _by_instance(group, warmups),
    )
    return tuple(Holding(*tasks_by_role) for tasks_by_role in zip(*roles, strict=True))


def _by_instance(group: Group, places: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    tasks_of: list[list[int]] = [[] for _ in group.instances]
    for task, instance in places:
        tasks_of[instance].append(task)
    return tuple(tuple(sorted(tasks)) for tasks in tasks_of)


def _warnings(group: Group, target: CheapestTarget) -> tuple[Note, ...]:
    """Name what the target cannot keep to."""
    warnings = []
    if target.crowded:
        names = tuple(str(group.tasks[task].task_id) for task in target.crowded)
        message = (
            f"{len(names)} tasks have copies on instances that share a client tag or a rack, which should keep them "
            "apart"
        )
        warnings.append(Note("tags-short", message, names))
    if target.uneven:
        ids = tuple(group.instances[instance].process_id for instance in target.uneven)
        message = f"{len(ids)} instances hold more or fewer copies than their share: no standby may move there or away"
        warnings.append(Note("copies-uneven", message, ids))
    if not target.proven:
        message = "There are too many balanced assignments to try them all: another target might restore less"
        warnings.append(Note("target-not-proven", message))
    return tuple(warnings)


def _order(
    moves: Sequence[PendingMove], loads: Sequence[int], capacities: Sequence[int], config: AssignmentConfig
) -> tuple[Note, ...]:
    """Say what the order of the moves gains over Kafka's own."""
    at_once = config.max_warmup_replicas
    if len(moves) <= at_once:
        return ()
    probes, kafkas = (
        probes_until_relieved(order, loads, capacities, at_once) for order in (moves, in_kafkas_order(moves))
    )
    message = (
        f"The busiest instance is relieved first, after {probes} of {-(-len(moves) // at_once)} probes; in Kafka's "
        f"order (fewest caught-up instances, then by task) after {kafkas}"
    )
    return (Note("order-of-moves", message),)
