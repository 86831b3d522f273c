"""When a task stands still: from what stops it to what starts it again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import NamedTuple

from kstream_plan.model import Group, Holding, WorkId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Demote, HandOver, MemberLeft, Outage, Plan, Promote, Revoke, Role, Round, ThreadMove
from kstream_plan.protocols import gives_up

#: Tuples of types, not unions, and no match: there may be millions of steps.
_ENDS = (Revoke, Demote)
_STARTS = (HandOver, Promote)


class Pause(NamedTuple):
    """One standstill of a task, in milliseconds of the plan's clock."""

    task_id: WorkId
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """How long it stands still."""
        return self.to_ms - self.from_ms


def plan_pauses(plan: Plan, first: int = 0, last: int | None = None) -> tuple[Pause, ...]:
    """Return every pause that ends within a plan, in the order of its end.

    With ``first`` or ``last``: what follows from the rounds after number ``first``, up to number ``last``.
    """
    rounds = plan.rounds[first:last]
    held = plan.rounds[first - 1].assigned if first else plan.initial
    from_ms = plan.rounds[first - 1].at_ms if first else 0
    until_ms = inf if last is None or last >= len(plan.rounds) else plan.rounds[last].at_ms
    outages = [outage for outage in plan.outages if from_ms <= outage.from_ms < until_ms]
    return tuple(pauses(plan.group, held, rounds, gives_up(plan.group, plan.protocol), plan.config, outages))


def pauses(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
    outages: Sequence[Outage] = (),
) -> Iterator[Pause]:
    """Yield every pause that ends within the rounds, in the order of its end.

    A task that is withheld stands still from the round in which it is revoked until it starts; one whose instance has
    gone, from then on. The consumers in ``stopping`` stop all they run when they hear of a rebalance, by heartbeat,
    whether they get it back or not. What an instance runs when an outage begins stands still until that is over.

    Args:
        group: the group.
        initial: what every consumer holds before the first round.
        rounds: the rounds.
        stopping: consumers that give up everything before they join a rebalance.
        config: its ``heartbeat_interval_ms`` is the typical time that such a consumer waits.
        outages: those that the group does not notice; no round ends during one.
    """
    found = _apart_from_outages(group, initial, rounds, stopping, config)
    yield from _joined(list(found), _in_outages(group, initial, rounds, outages)) if outages else found


def _apart_from_outages(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
) -> Iterator[Pause]:
    held, stopped = initial, _Stopped(group, stopping)
    for rnd in rounds:
        stopped_ms = rnd.at_ms - config.heartbeat_interval_ms
        running = tuple(held) if stopping else ()
        for consumer in sorted(stopping):
            for task in running[consumer].active:
                yield Pause(group.tasks[task].task_id, stopped_ms, rnd.at_ms)
        yield from stopped.until(rnd, held)
        held = rnd.assigned


def _in_outages(
    group: Group, initial: Sequence[Holding], rounds: Sequence[Round], outages: Sequence[Outage]
) -> list[Pause]:
    """Return the standstills of what each instance runs when its outage begins."""
    found, decided = [], 0
    for process_id, from_ms, to_ms in sorted(outages, key=lambda one: one.from_ms):
        while decided < len(rounds) and rounds[decided].at_ms <= from_ms:
            decided += 1
        held = rounds[decided - 1].assigned if decided else initial
        found += [Pause(task_id, from_ms, to_ms) for task_id in _run_by(group, process_id, held)]
    return found


def _joined(found: Sequence[Pause], in_outages: Sequence[Pause]) -> tuple[Pause, ...]:
    """Return all pauses in the order of their ends, a task's own as one where an outage touches another one."""
    concerned = {pause.task_id for pause in in_outages}
    joined = [pause for pause in found if pause.task_id not in concerned]
    last: dict[WorkId, Pause] = {}
    own = [pause for pause in found if pause.task_id in concerned]
    for pause in sorted([*own, *in_outages], key=lambda one: one.from_ms):
        before = last.get(pause.task_id)
        if before is not None and pause.from_ms <= before.to_ms:
            last[pause.task_id] = before._replace(to_ms=max(before.to_ms, pause.to_ms))
            continue
        if before is not None:
            joined.append(before)
        last[pause.task_id] = pause
    return tuple(sorted([*joined, *last.values()], key=lambda one: one.to_ms))


def _run_by(group: Group, process_id: str, held: Sequence[Holding]) -> list[WorkId]:
    consumers = group.consumers_of[group.instance_index[process_id]]
    return [group.tasks[task].task_id for consumer in consumers for task in held[consumer].active]


class _Stopped:
    """Follows, round by round, since when each task stands still."""

    def __init__(self, group: Group, stopping: Collection[int]) -> None:
        self._group = group
        self._since: dict[WorkId, int] = {}
        self._stop_before = {
            (group.instances[group.instance_of[c]].process_id, group.consumer_ids[c]) for c in stopping
        }

    def until(self, rnd: Round, held: Sequence[Holding]) -> list[Pause]:
        """Take the steps of a round, before which this was ``held``; return the pauses that they end."""
        since, at_ms, ended = self._since, rnd.at_ms, list[Pause]()
        gone: set[str] = set()
        for step in rnd.steps:
            if isinstance(step, _ENDS):
                if not self._stop_before or step.from_[:2] not in self._stop_before:
                    since[step.task_id] = at_ms
            elif isinstance(step, _STARTS) or (isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE):
                from_ms = since.pop(step.task_id, None)
                if from_ms is not None:
                    ended.append(Pause(step.task_id, from_ms, at_ms))
            elif isinstance(step, MemberLeft):
                if step.process_id not in gone:
                    run = _run_by(self._group, step.process_id, held)
                    since.update(dict.fromkeys(run, step.stopped_at_ms))
                gone.add(step.process_id)
        return ended
