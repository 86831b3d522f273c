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

from kstream_plan.assignors.balanced.interim_holdings import (
    active_moves,
    movements,
    runs_now,
    standby_moves,
    standbys_now,
)
from kstream_plan.assignors.balanced.move_order import PendingMove, by_relief, in_kafkas_order, probes_until_relieved
from kstream_plan.assignors.balanced.task_costs import Prospect, prospects, still_cheapest
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.placement import owners, standby_instances
from kstream_plan.assignors.threads.split import split
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
    begun = (previous and _carried_on(state, config, *previous)) or _afresh(state, config)
    owner, standbys = begun.owner, begun.standbys
    run_by, held = dict(owner), dict(standbys)
    for one in begun.unsettled:
        run_by[one.task] = runs_now(one, owner[one.task])
        held[one.task] = standbys_now(one, run_by[one.task], owner[one.task], standbys[one.task])
    moves, loads = active_moves(begun.unsettled, run_by, owner), _counts(group, run_by)
    if moves:
        ordered = by_relief(moves, loads, group.capacities)
        under_way = movements("active", ordered, held, config.max_warmup_replicas)
    else:
        ordered = []
        under_way = _standbys_under_way(group, config, begun, held)
    stateful = _holdings(group, run_by, held, under_way)
    instances = Holdings(stateful, group.stateless, begun.stateless)
    missing = config.num_standby_replicas - (len(group.instances) - 1)
    return Assignment(
        instances=instances,
        consumers=split(state, instances, previous),
        probing_rebalance=bool(under_way),
        target=begun.target,
        movements=Movements.of(under_way),
        short_standbys=tuple((task, missing) for task in group.stateful) if missing > 0 else (),
        warnings=begun.warnings,
        keeps_stateless=True,
        notes=_order(ordered, loads, group.capacities, config),
    )


class _Begun(NamedTuple):
    """The target and the tasks that may be elsewhere: all others run, and have their standbys, where it has them.

    ``owner`` and ``standbys`` are by task; ``stateless`` is where each of these runs.
    """

    target: Target
    owner: Mapping[int, int]
    standbys: Mapping[int, tuple[int, ...]]
    stateless: Owners
    unsettled: Sequence[Prospect]
    warnings: tuple[Note, ...]


def _afresh(state: GroupState, config: AssignmentConfig) -> _Begun:
    """Find the target."""
    from kstream_plan.assignors.balanced.target import cheapest_target  # noqa: PLC0415 - takes a while

    group = state.group
    stateful = list(prospects(state, config, group.stateful))
    found = cheapest_target(group, config, stateful)
    return _Begun(
        target=Target(
            _by_instance(group, found.owner.items()),
            _by_instance(group, ((task, i) for task, of in found.standbys.items() for i in of)),
        ),
        owner=found.owner,
        standbys=found.standbys,
        stateless=_stateless(state, config, found.owner),
        unsettled=stateful,
        warnings=_warnings(group, found),
    )


def _carried_on(state: GroupState, config: AssignmentConfig, before: GroupState, decided: Assignment) -> _Begun | None:
    """Take the target from the decision before, if what has changed since favours no rival (see above)."""
    group = state.group
    owner_of, standbys_of = owners(group, decided.target), standby_instances(group, decided.target)
    owner = {task: owner_of[task] for task in group.stateful}
    standbys = {task: standbys_of[task] for task in group.stateful}
    changed = state.changed_since(before)
    found = list(prospects(state, config, changed))
    for was, one in zip(prospects(before, config, changed), found, strict=True):
        if not still_cheapest(was, one, owner[one.task], standbys[one.task]):
            return None
    elsewhere = set(decided.movements.tasks)
    for held, wanted in zip(decided.instances, decided.target.standby, strict=True):
        elsewhere.update(set(held.standby).symmetric_difference(wanted))
    found += prospects(state, config, sorted(elsewhere.difference(changed)))
    return _Begun(
        target=decided.target,
        owner=owner,
        standbys=standbys,
        stateless=_stateless(state, config, owner, decided),
        unsettled=sorted(found, key=lambda one: one.task),
        warnings=decided.warnings,
    )


def _standbys_under_way(
    group: Group, config: AssignmentConfig, begun: _Begun, held: Mapping[int, tuple[int, ...]]
) -> tuple[Movement, ...]:
    """PendingMove the standbys; they get no warm-ups before every task runs, or starts now, where it is to."""
    loads = [0] * len(group.instances)
    for instances in held.values():
        for instance in instances:
            loads[instance] += 1
    ordered = by_relief(standby_moves(begun.unsettled, held, begun.standbys), loads, group.capacities)
    all_there = all(one.running in (None, begun.owner[one.task]) for one in begun.unsettled)
    return movements("standby", ordered, held, config.max_warmup_replicas if all_there else 0)


def _stateless(
    state: GroupState, config: AssignmentConfig, owner: Mapping[int, int], decided: Assignment | None = None
) -> Owners:
    """Return where the stateless tasks run; if all are where they were ``decided`` to be, they stay."""
    group = state.group
    if not group.stateless:
        return no_owners(group)
    run_by = _run_stateless(state)
    if decided is not None and np.array_equal(run_by, before := Holdings.of(group, decided.instances).owners):
        return before
    from kstream_plan.assignors.balanced.target import place_stateless  # noqa: PLC0415 - takes a while

    known = {task: i for task, i in zip(group.stateless, run_by.tolist(), strict=True) if i != NOBODY}
    placed = place_stateless(group, config, known, _counts(group, owner))
    return np.array([placed[task] for task in group.stateless], dtype=run_by.dtype)


def _run_stateless(state: GroupState) -> Owners:
    """Return the instance that runs each stateless task, or has just given it up."""
    owners = Holdings.of(state.group, state.holdings).owners
    of = np.array([*state.group.instance_of, NOBODY], dtype=owners.dtype)  # the last one is nobody's
    run_by = of[np.where(owners < NOBODY, revoked_by(owners), owners)]
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
        _by_instance(group, ((task, instance) for task, of in standbys.items() for instance in of)),
        _by_instance(group, warmups),
    )
    return tuple(Holding(*held) for held in zip(*roles, strict=True))


def _by_instance(group: Group, places: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in group.instances]
    for task, instance in places:
        found[instance].append(task)
    return tuple(tuple(sorted(tasks)) for tasks in found)


def _warnings(group: Group, found: CheapestTarget) -> tuple[Note, ...]:
    """Name what the target cannot keep to."""
    warnings = []
    if found.crowded:
        names = tuple(str(group.tasks[task].task_id) for task in found.crowded)
        message = (
            f"{len(names)} tasks have copies on instances that share a client tag or a rack, which should keep them "
            "apart"
        )
        warnings.append(Note("tags-short", message, names))
    if found.uneven:
        ids = tuple(group.instances[instance].process_id for instance in found.uneven)
        message = f"{len(ids)} instances hold more or fewer copies than their share: no standby may move there or away"
        warnings.append(Note("copies-uneven", message, ids))
    if not found.proven:
        message = "There are too many balanced assignments to try them all: another target might restore less"
        warnings.append(Note("target-not-proven", message))
    return tuple(warnings)


def _order(
    ordered: Sequence[PendingMove], loads: Sequence[int], capacities: Sequence[int], config: AssignmentConfig
) -> tuple[Note, ...]:
    """Say what the order of the moves gains over Kafka's own."""
    at_once = config.max_warmup_replicas
    if len(ordered) <= at_once:
        return ()
    ours, kafkas = (
        probes_until_relieved(order, loads, capacities, at_once) for order in (ordered, in_kafkas_order(ordered))
    )
    message = (
        f"The busiest instance is relieved first, after {ours} of {-(-len(ordered) // at_once)} probes; in Kafka's "
        f"order (fewest caught-up instances, then by task) after {kafkas}"
    )
    return (Note("order-of-moves", message),)
