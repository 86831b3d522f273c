"""When each task stands still: from its owner's giving it up to its next owner's start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple, assert_never

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import Group, Holding, TaskId
from kstream_plan.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    Place,
    Plan,
    Promote,
    Revoke,
    Role,
    Round,
    Step,
    ThreadMove,
    Withhold,
)
from kstream_plan.transition import gives_up


class Standstill(NamedTuple):
    """Pauses in milliseconds of the plan's clock: their sum and number per task, and the longest one.

    ``most_at_once`` is how many tasks stand still at the same time, at worst.
    """

    ms: Counter[TaskId]
    times: Counter[TaskId]
    longest_ms: int
    most_at_once: int


def plan_standstill(plan: Plan) -> Standstill:
    """Return every pause that ends within a plan."""
    return standstill(plan.group, plan.initial, plan.rounds, gives_up(plan.group, plan.protocol), plan.config)


def standstill(
    group: Group,
    held: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
) -> Standstill:
    """Return every pause that ends within the rounds.

    A task that is withheld stands still from the round in which it is revoked until it starts. The consumers in
    ``stopping`` stop all they run when they hear of a rebalance, by heartbeat, whether they get it back or not.

    Args:
        group: the group.
        held: what every consumer holds before the first round.
        rounds: the rounds.
        stopping: consumers that give up everything before they join a rebalance.
        config: its ``heartbeat_interval_ms`` is the typical time that such a consumer waits.
    """
    stops_by = {(group.instances[group.instance_of[c]].process_id, group.consumer_ids[c]) for c in stopping}
    stop_ms = config.heartbeat_interval_ms
    stopped: dict[TaskId, int] = {}
    found = Standstill(Counter(), Counter(), 0, 0)
    longest, changes = 0, []
    for rnd in rounds:
        all_stopped = [group.tasks[task].task_id for consumer in sorted(stopping) for task in held[consumer].active]
        if all_stopped:
            found.ms.update(dict.fromkeys(all_stopped, stop_ms))
            found.times.update(all_stopped)
            changes += [(rnd.at_ms - stop_ms, len(all_stopped)), (rnd.at_ms, -len(all_stopped))]
            longest = max(longest, stop_ms)
        for step in rnd.steps:
            change = _change(step)
            if change is None:
                continue
            task_id, stops = change
            if stops:
                assert isinstance(step, Revoke | Demote)
                if step.from_[:2] not in stops_by:
                    stopped[task_id] = rnd.at_ms
            elif task_id in stopped:
                from_ms = stopped.pop(task_id)
                found.ms[task_id] += rnd.at_ms - from_ms
                found.times[task_id] += 1
                longest = max(longest, rnd.at_ms - from_ms)
                changes += [(from_ms, 1), (rnd.at_ms, -1)]
        held = rnd.assigned
    return found._replace(longest_ms=longest, most_at_once=_most_at_once(changes))


def _most_at_once(changes: Sequence[tuple[int, int]]) -> int:
    running = worst = 0
    for _, change in sorted(changes):
        running += change
        worst = max(worst, running)
    return worst


def _change(step: Step) -> tuple[TaskId, bool] | None:
    """Return the task that the step stops (true) or starts (false)."""
    match step:
        case Revoke() | Demote():
            return step.task_id, True
        case HandOver() | Promote():
            return step.task_id, False
        case ThreadMove():
            return (step.task_id, False) if step.to.role is Role.ACTIVE else None
        case MemberJoined() | MemberLeft() | Place() | Withhold() | KeepTemporary() | Drop():
            return None
        case _:
            assert_never(step)
