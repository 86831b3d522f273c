"""The ``decision`` of a snapshot row: what the leader made of the state that the row has."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Group, Holding, KnownDecision
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, shown
from kstream_plan.snapshots.rows.members import normal_process_id
from kstream_plan.snapshots.rows.tasks import parsed_task_id
from kstream_plan.snapshots.rows.times import time_ms


def read_decision(
    given: written.Decision | None, group: Group, generation: int, captured_at_ms: int | None
) -> KnownDecision | None:
    """Read what was decided; ``None`` if the row has no decision.

    Without ``decided`` the row's own consumers have what was decided already; with it those that are not in it get
    nothing.

    Args:
        given: the decision of the snapshot row.
        group: its group.
        generation: the row's own generation: the decision's is the next one, unless it says otherwise.
        captured_at_ms: the row's time since 1970, which the decision's times are counted from.

    Raises:
        FieldError: a process, consumer or task that the row does not have, or that is there twice; a task that two
            consumers are to run.
    """
    if given is None:
        return None
    try:
        at_ms, next_ms = time_ms(given.at), time_ms(given.next_rebalance_at)
        told = None if given.decided is None else _decided(given.decided, group)
        decided = None if told is None else tuple(told.get(c, Holding()) for c in range(len(group.consumer_ids)))
        own = given.generation
        zero_ms = counted_from_ms(given, captured_at_ms)
        return KnownDecision(
            generation=generation + (decided is not None) if own is None else own,
            at_ms=None if at_ms is None or zero_ms is None else at_ms - zero_ms,
            consumers=decided,
            probing_rebalance=given.probing_rebalance,
            next_ms=None if next_ms is None or zero_ms is None else next_ms - zero_ms,
            others=() if told is None else tuple(c for c in range(len(group.consumer_ids)) if c not in told),
            rejoining=_rejoining(given.rejoin_at_once or (), group),
            by_follower=given.plan is not None or given.without_plan is not None,
        )
    except FieldError as error:
        raise error.inside("decision") from None


def counted_from_ms(decision: written.Decision | None, captured_at_ms: int | None) -> int | None:
    """Return what a row's times are counted from: from its decision if it does not say when it was captured."""
    return captured_at_ms if captured_at_ms is not None or decision is None else time_ms(decision.at)


def _rejoining(consumer_ids: Sequence[str], group: Group) -> tuple[int, ...]:
    index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
    found = set()
    for position, consumer_id in enumerate(consumer_ids):
        where = f"rejoin_at_once[{position}]"
        if consumer_id not in index:
            what = f"is {shown(consumer_id)}, which is no consumer of instances"
            raise FieldError(where, what, "name consumers by their consumer_id, or leave it out")
        found.add(index[consumer_id])
    return tuple(sorted(found))


def _decided(given: Sequence[written.Decided], group: Group) -> dict[int, Holding]:
    holdings: dict[int, Holding] = {}
    runs: dict[int, str] = {}
    has: set[tuple[int, int]] = set()
    for instance in given:
        process_id = instance.process_id or ""
        for held in instance.consumers:
            consumer_id = held.consumer_id or ""
            seat = f"decided[{shown(process_id)}].consumers[{shown(consumer_id)}]"
            consumer = group.consumer_index.get((normal_process_id(process_id), consumer_id))
            if consumer is None:
                what = f"is about consumer {shown(consumer_id)} of {shown(process_id)}, which is not in instances"
                raise FieldError(seat, what, "give the decision that was made from this state, or leave it out")
            if consumer in holdings:
                raise FieldError(seat, f"is about {shown(consumer_id)} again", "give every consumer once")
            active, standby, warmup = (
                _tasks(getattr(held, role) or (), f"{seat}.{role}", group) for role in ("active", "standby", "warmup")
            )
            holdings[consumer] = Holding(active, standby, warmup)
            for task in (*active, *standby, *warmup):
                if (group.instance_of[consumer], task) in has:
                    what = f"gives {group.tasks[task].task_id} to an instance twice"
                    raise FieldError(seat, what, "give every instance one copy")
                has.add((group.instance_of[consumer], task))
            for task in active:
                first = runs.setdefault(task, seat)
                if first is not seat:
                    what = f"gives {group.tasks[task].task_id} to a consumer to run, and so does {first}"
                    raise FieldError(seat, what, "give every task one owner")
    return holdings


def _tasks(names: Sequence[str], place: str, group: Group) -> tuple[int, ...]:
    tasks = set()
    for position, name in enumerate(names):
        where = f"{place}[{position}]"
        task = group.task_index.get(parsed_task_id(where, name))
        if task is None:
            raise FieldError(where, f"is {shown(name)}, which is not in tasks", "add the task to tasks")
        if task in tasks:
            raise FieldError(where, f"is {shown(name)} again", "name every task once")
        tasks.add(task)
    return tuple(sorted(tasks))
