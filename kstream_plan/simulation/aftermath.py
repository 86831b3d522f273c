"""What follows for the group when instances have stopped: what others stand still, who runs most, how it ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from kstream_plan.model import Holding, WorkId
from kstream_plan.plans import HandOver, MemberLeft, Plan, Promote
from kstream_plan.plans.loads import Busiest, at_the_end, busiest


class Aftermath(NamedTuple):
    """What follows, as far as it was played.

    ``noticed_ms`` is how long the group takes to notice that they have gone, the last of them; ``None``: what was
    played does not tell. Of the tasks that others ran, or nobody, ``others_cold`` start from a copy that is not
    caught up, ``others_paused`` stand still, the longest of them for ``others_longest_ms`` in all: that is a floor
    where nobody knows how long cold starts restore. ``rebalances`` and ``duration_ms`` count from when they stop.
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


def aftermath(plan: Plan, gone: Collection[str], from_ms: int = 0) -> Aftermath:
    """Return what follows when the instances in ``gone`` stop at ``from_ms`` of the ``plan``."""
    held = held_before(plan, from_ms)
    own, cold = _ran_by(plan, gone, held), set[WorkId]()
    noticed_ms = dict[str, int]()
    for rnd in plan.rounds:
        if rnd.at_ms < from_ms:
            continue
        for step in rnd.single_steps:
            if isinstance(step, MemberLeft) and step.process_id in gone:
                noticed_ms[step.process_id] = rnd.at_ms - from_ms
            elif isinstance(step, HandOver | Promote) and not step.caught_up and step.task_id not in own:
                cold.add(step.task_id)
    paused = {task: length_ms for task, length_ms in _paused_from(plan, from_ms).items() if task not in own}
    left = [load for process_id, load in at_the_end(plan) if process_id not in gone]
    return Aftermath(
        noticed_ms=max(noticed_ms.values()) if noticed_ms.keys() >= set(gone) else None,
        others_cold=len(cold),
        others_paused=len(paused),
        others_longest_ms=max(paused.values(), default=0),
        others_longest_is="floor" if plan.pauses_are_least and cold else "estimate",
        rebalances=sum(rnd.at_ms >= from_ms for rnd in plan.rounds),
        duration_ms=max(plan.summary.duration_ms - from_ms, 0),
        busiest=busiest(plan, from_ms),
        instances=len(left),
        least=min(left, default=0),
        most=max(left, default=0),
        without_standby=(_without_standby(plan, held), _without_standby(plan, plan.final)),
        left_alone=_left_alone(plan, gone, held),
    )


def held_before(plan: Plan, at_ms: int) -> Sequence[Holding]:
    """Return what everybody holds just before a time: a rebalance at that very time counts no more."""
    return next((rnd.assigned for rnd in reversed(plan.rounds) if rnd.at_ms < at_ms), plan.initial)


def _paused_from(plan: Plan, from_ms: int) -> Mapping[WorkId, int]:
    """Return how long each task is paused that goes on after a time, all of such a pause."""
    if from_ms <= 0:
        return plan.pauses.ms
    paused = Counter[WorkId]()
    for pause in plan.pauses:
        if pause.to_ms > from_ms:
            paused[pause.task_id] += pause.length_ms
    return paused


def _ran_by(plan: Plan, process_ids: Iterable[str], held: Sequence[Holding]) -> set[WorkId]:
    group = plan.group
    consumers = (consumer for one in process_ids for consumer in group.consumers_of[group.instance_index[one]])
    return {group.tasks[task].task_id for consumer in consumers for task in held[consumer].active}


def _without_standby(plan: Plan, holdings: Sequence[Holding]) -> int:
    return len(set(plan.group.stateful).difference(*(held.standby for held in holdings)))


def _left_alone(plan: Plan, gone: Collection[str], holdings: Sequence[Holding]) -> int:
    """Return of how many stateful tasks all copies but one are on the instances that go."""
    group, holders = plan.group, defaultdict[int, set[str]](set)
    for consumer, held in enumerate(holdings):
        for task in (*held.active, *held.standby):
            holders[task].add(group.instances[group.instance_of[consumer]].process_id)
    stateful = (holders[task] for task in group.stateful)
    return sum(len(item) > 1 and len(item.difference(gone)) == 1 for item in stateful)
