"""When a task stands still: from what stops it to what starts it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple, assert_never

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import Group, Holding, TaskId
from kstream_plan.protocols import gives_up
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
    Seat,
    Step,
    ThreadMove,
    Withhold,
)


class Pause(NamedTuple):
    """One standstill of a task, in milliseconds of the plan's clock."""

    task_id: TaskId
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """How long it stands still."""
        return self.to_ms - self.from_ms


class Standstill(NamedTuple):
    """Pauses in milliseconds of the plan's clock: their sum and number per task, and the longest one.

    ``most_at_once`` is how many tasks stand still at the same time, at worst.
    """

    ms: Counter[TaskId]
    times: Counter[TaskId]
    longest_ms: int
    most_at_once: int


def plan_pauses(plan: Plan) -> tuple[Pause, ...]:
    """Return every pause that ends within a plan, in the order of its end."""
    return pauses(plan.group, plan.initial, plan.rounds, gives_up(plan.group, plan.protocol), plan.config)


def plan_standstill(plan: Plan) -> Standstill:
    """Add up every pause that ends within a plan."""
    return standstill(plan_pauses(plan))


def standstill(found: Sequence[Pause]) -> Standstill:
    """Add up pauses."""
    ms: Counter[TaskId] = Counter()
    for pause in found:
        ms[pause.task_id] += pause.length_ms
    return Standstill(
        ms,
        Counter(pause.task_id for pause in found),
        max((pause.length_ms for pause in found), default=0),
        _most_at_once(found),
    )


def pauses(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
) -> tuple[Pause, ...]:
    """Return every pause that ends within the rounds, in the order of its end.

    A task that is withheld stands still from the round in which it is revoked until it starts; one whose instance has
    gone, from then on. The consumers in ``stopping`` stop all they run when they hear of a rebalance, by heartbeat,
    whether they get it back or not.

    Args:
        group: the group.
        initial: what every consumer holds before the first round.
        rounds: the rounds.
        stopping: consumers that give up everything before they join a rebalance.
        config: its ``heartbeat_interval_ms`` is the typical time that such a consumer waits.
    """
    found: list[Pause] = []
    held, running = initial, _Running(group, initial, stopping)
    for rnd in rounds:
        stopped_ms = rnd.at_ms - config.heartbeat_interval_ms
        found += [
            Pause(group.tasks[task].task_id, stopped_ms, rnd.at_ms)
            for consumer in sorted(stopping)
            for task in held[consumer].active
        ]
        for step in rnd.steps:
            found += running.ended(step, rnd.at_ms)
        held = rnd.assigned
    return tuple(found)


class _Running:
    """Follows, step by step, who runs each task and since when it stands still."""

    def __init__(self, group: Group, initial: Sequence[Holding], stopping: Collection[int]) -> None:
        self._stopped: dict[TaskId, int] = {}
        self._running: dict[str, set[TaskId]] = {instance.process_id: set() for instance in group.instances}
        self._stop_before = {
            (group.instances[group.instance_of[c]].process_id, group.consumer_ids[c]) for c in stopping
        }
        for consumer, held in enumerate(initial):
            process_id = group.instances[group.instance_of[consumer]].process_id
            self._running[process_id].update(group.tasks[task].task_id for task in held.active)

    def ended(self, step: Step, at_ms: int) -> tuple[Pause, ...]:
        """Take one step of a round at ``at_ms``; return the pause that it ends, if any."""
        match step:
            case Revoke() | Demote():
                self._running[step.from_.process_id].discard(step.task_id)
                if step.from_[:2] not in self._stop_before:
                    self._stopped[step.task_id] = at_ms
            case MemberLeft():
                left = self._running[step.process_id]
                self._stopped.update(dict.fromkeys(left, step.stopped_at_ms))
                left.clear()
            case HandOver() | Promote() | ThreadMove(to=Seat(role=Role.ACTIVE)):
                self._running[step.to.process_id].add(step.task_id)
                if step.task_id in self._stopped:
                    return (Pause(step.task_id, self._stopped.pop(step.task_id), at_ms),)
            case MemberJoined() | Place() | Withhold() | KeepTemporary() | Drop() | ThreadMove():
                pass
            case _:
                assert_never(step)
        return ()


def _most_at_once(found: Sequence[Pause]) -> int:
    changes = sorted([(pause.to_ms, -1) for pause in found] + [(pause.from_ms, 1) for pause in found])
    running = worst = 0
    for _, change in changes:
        running += change
        worst = max(worst, running)
    return worst
