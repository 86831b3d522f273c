"""What follows for the group when instances have stopped: which other tasks pause, who runs most, how it ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from kstream_plan.model import Holding, WorkId
from kstream_plan.plans import HandOver, MemberLeft, Plan, Promote
from kstream_plan.plans.loads import Busiest, at_the_end, busiest


class Aftermath(NamedTuple):
    """What follows, as far as it was simulated.

    ``noticed_ms`` is how long the group takes to notice that they have gone, the last of them; ``None``: the simulation
    does not tell. Of the other tasks, ``others_cold`` start from a copy that is not caught up, ``others_paused`` pause,
    the longest of them for ``others_longest_ms`` in all, with what those restore that count as caught up: a floor if it
    is unknown how long that takes, or what cold starts restore.
    ``rebalances`` and ``duration_ms`` count from when they stop.
    In the end the ``instances`` that are left run ``least`` to ``most`` tasks each, stateful ones if there are any;
    ``without_standby`` is how many stateful tasks have none, before and in the end. ``left_alone`` have one copy
    left of several, until a new one has restored.
    """

    noticed_ms: int | None
    others_cold: int
    others_paused: int
    others_longest_ms: int
    others_longest_is: Literal["floor", "estimate"]
    rebalances: int
    duration_ms: int
    busiest: Busiest
    instances: int
    least: int
    most: int
    without_standby: tuple[int, int]
    left_alone: int


def aftermath(plan: Plan, stopped_ids: Collection[str], from_ms: int = 0) -> Aftermath:
    """Return what follows when the instances in ``stopped_ids`` stop at ``from_ms`` of the ``plan``."""
    holdings = held_before(plan, from_ms)
    own_tasks, cold = _ran_by(plan, stopped_ids, holdings), set[WorkId]()
    noticed_ms = dict[str, int]()
    for rnd in plan.rounds:
        if rnd.at_ms < from_ms:
            continue
        for step in rnd.single_steps:
            if isinstance(step, MemberLeft) and step.process_id in stopped_ids:
                noticed_ms[step.process_id] = rnd.at_ms - from_ms
            elif isinstance(step, HandOver | Promote) and not step.caught_up and step.task_id not in own_tasks:
                cold.add(step.task_id)
    pauses_ms = {task: length_ms for task, length_ms in _paused_from(plan, from_ms).items() if task not in own_tasks}
    restoring = [start for start in plan.restoring_starts if start.at_ms >= from_ms and start.task_id not in own_tasks]
    for start in restoring:
        pauses_ms[start.task_id] = pauses_ms.get(start.task_id, 0) + (start.restores_ms or 0)
    is_floor = (plan.pauses_are_least and cold) or any(start.restores_ms is None for start in restoring)
    loads = [load for process_id, load in at_the_end(plan) if process_id not in stopped_ids]
    return Aftermath(
        noticed_ms=max(noticed_ms.values()) if noticed_ms.keys() >= set(stopped_ids) else None,
        others_cold=len(cold),
        others_paused=len(pauses_ms),
        others_longest_ms=max(pauses_ms.values(), default=0),
        others_longest_is="floor" if is_floor else "estimate",
        rebalances=sum(rnd.at_ms >= from_ms for rnd in plan.rounds),
        duration_ms=max(plan.summary.duration_ms - from_ms, 0),
        busiest=busiest(plan, from_ms),
        instances=len(loads),
        least=min(loads, default=0),
        most=max(loads, default=0),
        without_standby=(_without_standby(plan, holdings), _without_standby(plan, plan.final)),
        left_alone=_left_alone(plan, stopped_ids, holdings),
    )


def held_before(plan: Plan, at_ms: int) -> Sequence[Holding]:
    """Return what all members hold just before a time: a rebalance at that time does not count."""
    return next((rnd.assigned for rnd in reversed(plan.rounds) if rnd.at_ms < at_ms), plan.initial)


def _paused_from(plan: Plan, from_ms: int) -> Mapping[WorkId, int]:
    """Return how long each task is paused that goes on after a time, all of such a pause."""
    if from_ms <= 0:
        return plan.pauses.ms
    pauses_ms = Counter[WorkId]()
    for pause in plan.pauses:
        if pause.to_ms > from_ms:
            pauses_ms[pause.task_id] += pause.length_ms
    return pauses_ms


def _ran_by(plan: Plan, process_ids: Iterable[str], holdings: Sequence[Holding]) -> set[WorkId]:
    group = plan.group
    consumers = (
        consumer for process_id in process_ids for consumer in group.consumers_of[group.instance_index[process_id]]
    )
    return {group.tasks[task].task_id for consumer in consumers for task in holdings[consumer].active}


def _without_standby(plan: Plan, holdings: Sequence[Holding]) -> int:
    return len(set(plan.group.stateful).difference(*(holding.standby for holding in holdings)))


def _left_alone(plan: Plan, stopped_ids: Collection[str], holdings: Sequence[Holding]) -> int:
    """Return the number of stateful tasks whose copies, all but one, are on the instances that stop."""
    group, holders = plan.group, defaultdict[int, set[str]](set)
    for consumer, holding in enumerate(holdings):
        for task in (*holding.active, *holding.standby):
            holders[task].add(group.instances[group.instance_of[consumer]].process_id)
    stateful = (holders[task] for task in group.stateful)
    return sum(len(process_ids) > 1 and len(process_ids.difference(stopped_ids)) == 1 for process_ids in stateful)
