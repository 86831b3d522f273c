"""KIP-441 as it is written, at the optimum (reference section 6).

1. The target: balanced, with the least state to restore, then the fewest moves, then in a fixed order.
2. Active stateful tasks run on their target if it is as caught up as anybody, else on the most caught-up instance.
3. ``num.standby.replicas`` standbys on the next most caught-up instances; where nobody is ahead, on the target's.
4. Warm-ups on the target's instances, as many as ``max.warmup.replicas``, the busiest instance relieved first. Standbys
   move when no active task has to any more.
5. Stateless tasks, evened out beside the target's stateful ones and moved as little as that allows.
6. A probing rebalance follows as long as anything has to move.

**A balanced group is left alone.** Where it is costs nothing, every other target costs a move at least.

**Progress never makes the target flip.** A target's cost is a sum over its tasks t of cost(t, i), i being t's instance.
While members stay, what follows a decision changes these costs only as follows.

- The copies that decision placed restore. Those that run the task or are standbys are ``hot``: they cost 0 before and
  after. All others are warm-ups, and these are on the target's own instances: their cost falls, and a rival that puts
  the task elsewhere does not profit.
- Copies that fill up a task's standbys are new to ``hot``. A task that has too few copies costs 0 everywhere, so
  nobody's cost falls; the target's instance is filled first and goes on costing 0.
- A warm-up that overtakes a hot copy takes its place: the target's cost falls to 0 and the other's does not fall.
- The task starts on its target: it is at home there from now on, and all others are a move away.

So, task by task, the target's cost falls at least as much as any rival's: what was cheapest is. Of those as cheap as the
target before, those that are so still profited as much, task by task, which leaves their order, that depends on nothing
but tasks and instances, as it was. The one exception: if nobody is caught up on a task and there are standbys to
restore, whichever is caught up first runs it; that may change where the task is at home, and with it the fewest moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.assignors.prospects import Prospect, prospects
from kstream_plan.assignors.relief import Move, by_relief, in_kafkas_order, probes_until_relieved
from kstream_plan.assignors.splitting import split
from kstream_plan.model import Assignment, Group, GroupState, Holding, Movement, Note, Target

if TYPE_CHECKING:
    from kstream_plan.assignors.cheapest_target import CheapestTarget


def assign(
    state: GroupState, config: AssignmentConfig, previous: tuple[GroupState, Assignment] | None = None
) -> Assignment:
    """Decide where every task goes, instance by instance, then consumer by consumer.

    Args:
        state: the group.
        config: the application's settings; ``balance_factor`` among them.
        previous: an earlier decision for the same group and settings, and its state. It only saves work.
    """
    from kstream_plan.assignors.cheapest_target import cheapest_target, place_stateless  # noqa: PLC0415 - takes a while

    group = state.group
    if previous is not None and previous[0].group is not group:
        previous = None
    stateful = list(prospects(state, config, group.stateful))
    target = cheapest_target(group, config, stateful)
    run_by = {one.task: _runs_now(one, target.owner[one.task]) for one in stateful}
    standbys = {
        one.task: _standbys_now(one, run_by[one.task], target.owner[one.task], target.standbys[one.task])
        for one in stateful
    }
    moves = _active_moves(stateful, run_by, target.owner)
    loads = _counts(group, run_by)
    ordered = by_relief(moves, loads, group.capacities)
    movements = _active_movements(ordered, stateful, standbys, config)
    if not moves:
        movements = _standby_movements(state, config, stateful, standbys, target)
    stateless = place_stateless(group, config, _stateless_owners(state), _counts(group, target.owner))
    instances = _holdings(group, run_by | stateless, standbys, movements)
    missing = config.num_standby_replicas - (len(group.instances) - 1)
    return Assignment(
        instances=instances,
        consumers=split(state, instances, previous),
        probing_rebalance=bool(movements),
        target=Target(
            _by_instance(group, target.owner.items()),
            _by_instance(group, ((task, i) for task, of in target.standbys.items() for i in of)),
        ),
        movements=movements,
        short_standbys=tuple((task, missing) for task in group.stateful) if missing > 0 else (),
        notes=(*_crowded(group, target.crowded), *_order(ordered, loads, group.capacities, config)),
    )


def _runs_now(one: Prospect, target: int) -> int:
    """Return the target's instance if nobody is further, else the most caught-up one."""
    home = one.home
    return target if home is None or one.rank(target) <= one.rank(home) else home


def _standbys_now(one: Prospect, active: int, owner: int, standbys: Sequence[int]) -> tuple[int, ...]:
    """Return the next most caught-up instances, as many as the target has.

    Among equals: the one that is to run the task, the target's standbys, those that are standbys now, by instance; while
    the task is not there yet, those that are standbys now come before the target's.
    """
    there = one.copies.get(owner) == "active"

    def key(instance: int) -> tuple[int, bool, bool, bool, int]:
        wanted, held = instance in standbys, one.copies.get(instance) == "standby"
        first, second = (wanted, held) if there else (held, wanted)
        return one.rank(instance), instance != owner, not first, not second, instance

    if not standbys:
        return ()
    return tuple(sorted({*one.ranks, owner, *standbys} - {active}, key=key)[: len(standbys)])


def _active_moves(stateful: Sequence[Prospect], run_by: Mapping[int, int], owner: Mapping[int, int]) -> list[Move]:
    return [
        Move(task, run_by[task], owner[task], one.rank(owner[task]), list(one.ranks.values()).count(0))
        for one in stateful
        if run_by[task := one.task] != owner[task]
    ]


def _active_movements(
    ordered: Sequence[Move],
    stateful: Sequence[Prospect],
    standbys: Mapping[int, tuple[int, ...]],
    config: AssignmentConfig,
) -> tuple[Movement, ...]:
    """Let destinations warm up: where one does so already, then in order; a standby there needs no warm-up."""
    copies = {one.task: one.copies for one in stateful}
    budget, movements = config.max_warmup_replicas, []
    for move in sorted(ordered, key=lambda move: not copies[move.task].get(move.destination)):
        swap = move.destination in standbys[move.task]
        how = f"{'swap' if swap else 'move'}_{'most_' if not move.caught_up else ''}caught_up"
        warm_up = not swap and budget > 0
        budget -= warm_up
        movements.append(Movement(move.task, "active", how, move.source, move.destination, warm_up))
    return tuple(movements)


def _standby_movements(
    state: GroupState,
    config: AssignmentConfig,
    stateful: Sequence[Prospect],
    standbys: Mapping[int, tuple[int, ...]],
    target: CheapestTarget,
) -> tuple[Movement, ...]:
    """Do the same for standbys that are not where the target has them, once every task runs where it is to."""
    wanted = target.standbys
    all_there = all(one.copies.get(target.owner[one.task]) == "active" for one in stateful)
    loads = [0] * len(state.group.instances)
    moves = []
    for one in stateful:
        now = standbys[one.task]
        for instance in now:
            loads[instance] += 1
        kept = [instance for instance in now if instance not in wanted[one.task]]
        to = [instance for instance in wanted[one.task] if instance not in now]
        moves += [
            Move(one.task, source, destination, one.rank(destination), list(one.ranks.values()).count(0))
            for source, destination in zip(kept, to, strict=True)
        ]
    copies = {one.task: one.copies for one in stateful}
    budget = config.max_warmup_replicas if all_there else 0
    ordered = by_relief(moves, loads, state.group.capacities)
    ordered.sort(key=lambda move: not copies[move.task].get(move.destination))
    return tuple(
        Movement(
            move.task,
            "standby",
            "move_caught_up" if move.caught_up > 1 else "move_most_caught_up",
            move.source,
            move.destination,
            number < budget,
        )
        for number, move in enumerate(ordered)
    )


def _stateless_owners(state: GroupState) -> dict[int, int]:
    flags, instance_of = state.group.stateful_flags, state.group.instance_of
    return {
        task: instance_of[consumer]
        for consumer, held in enumerate(state.holdings)
        for task in held.active
        if not flags[task]
    }


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


def _crowded(group: Group, tasks: Sequence[int]) -> tuple[Note, ...]:
    """Name the tasks of which two copies had to be put on one value of a tag, or in one rack."""
    if not tasks:
        return ()
    names = tuple(str(group.tasks[task].task_id) for task in tasks)
    message = f"{len(names)} tasks have copies that share a client tag or a rack: no other instance may hold them"
    return (Note("tags-short", message, names),)


def _order(
    ordered: Sequence[Move], loads: Sequence[int], capacities: Sequence[int], config: AssignmentConfig
) -> tuple[Note, ...]:
    """Say what the order of the moves gains over Kafka's own."""
    at_once = config.max_warmup_replicas
    if len(ordered) <= at_once:
        return ()
    ours, kafkas = (
        probes_until_relieved(order, loads, capacities, at_once) for order in (ordered, in_kafkas_order(ordered))
    )
    message = (
        f"The busiest instance is relieved first, after {ours} of {-(-len(ordered) // at_once)} probes; "
        f"in Kafka's own order (fewest caught-up instances, then by task) after {kafkas}"
    )
    return (Note("order-of-moves", message),)
