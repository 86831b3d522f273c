"""The ``decision`` of a snapshot row: what the leader made of the state that the row has."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Group, Holding, KnownDecision
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, shown, time_ms
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id, parsed_task_id


def read_decision(
    decision: written.Decision | None, group: Group, generation: int, captured_at_ms: int | None
) -> KnownDecision | None:
    """Read the decision; ``None`` if the row has none.

    Without ``decided`` the row's own consumers already hold their tasks of the decision; with it, a consumer that it
    leaves out gets none.

    Args:
        decision: the decision of the snapshot row.
        group: its group.
        generation: the row's own generation: the decision's is the next one, unless it says otherwise.
        captured_at_ms: the row's time since 1970, which the decision's times are counted from.

    Raises:
        FieldError: a process, consumer or task that the row does not have, or that is there twice; a task that two
            consumers are to run.
    """
    if decision is None:
        return None
    try:
        at_ms, next_ms = time_ms(decision.at), time_ms(decision.next_rebalance_at)
        holding_of = None if decision.decided is None else _decided_holdings(decision.decided, group)
        consumers = range(len(group.consumer_ids))
        holdings = None if holding_of is None else tuple(holding_of.get(c, Holding()) for c in consumers)
        own_generation = decision.generation
        zero_ms = counted_from_ms(decision, captured_at_ms)
        return KnownDecision(
            generation=generation + (holdings is not None) if own_generation is None else own_generation,
            at_ms=None if at_ms is None or zero_ms is None else at_ms - zero_ms,
            consumers=holdings,
            probing_rebalance=decision.probing_rebalance,
            next_ms=None if next_ms is None or zero_ms is None else next_ms - zero_ms,
            others=() if holding_of is None else tuple(c for c in consumers if c not in holding_of),
            rejoining=_rejoining(decision.rejoin_at_once or (), group),
            by_follower=decision.plan is not None or decision.without_plan is not None,
        )
    except FieldError as error:
        raise error.inside("decision") from None


def counted_from_ms(decision: written.Decision | None, captured_at_ms: int | None) -> int | None:
    """Return what a row's times are counted from: from its decision if it does not say when it was captured."""
    return captured_at_ms if captured_at_ms is not None or decision is None else time_ms(decision.at)


def _rejoining(consumer_ids: Sequence[str], group: Group) -> tuple[int, ...]:
    index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
    consumers = set()
    for position, consumer_id in enumerate(consumer_ids):
        path = f"rejoin_at_once[{position}]"
        if consumer_id not in index:
            problem = f"is {shown(consumer_id)}, which is no consumer of instances"
            raise FieldError(path, problem, "name consumers by their consumer_id, or leave it out")
        consumers.add(index[consumer_id])
    return tuple(sorted(consumers))


def _decided_holdings(instances: Sequence[written.Decided], group: Group) -> dict[int, Holding]:
    holdings: dict[int, Holding] = {}
    owner_paths: dict[int, str] = {}
    seats: set[tuple[int, int]] = set()
    for instance in instances:
        process_id = instance.process_id or ""
        for decided_consumer in instance.consumers:
            consumer_id = decided_consumer.consumer_id or ""
            path = f"decided[{shown(process_id)}].consumers[{shown(consumer_id)}]"
            consumer = group.consumer_index.get((normal_process_id(process_id), consumer_id))
            if consumer is None:
                problem = f"is about consumer {shown(consumer_id)} of {shown(process_id)}, which is not in instances"
                raise FieldError(path, problem, "give the decision that was made from this state, or leave it out")
            if consumer in holdings:
                raise FieldError(path, f"is about {shown(consumer_id)} again", "give every consumer once")
            active, standby, warmup = (
                _tasks(getattr(decided_consumer, role) or (), f"{path}.{role}", group)
                for role in ("active", "standby", "warmup")
            )
            holdings[consumer] = Holding(active, standby, warmup)
            for task in (*active, *standby, *warmup):
                if (group.instance_of[consumer], task) in seats:
                    problem = f"gives {group.tasks[task].task_id} to an instance twice"
                    raise FieldError(path, problem, "give every instance one copy")
                seats.add((group.instance_of[consumer], task))
            for task in active:
                first_path = owner_paths.setdefault(task, path)
                if first_path is not path:
                    problem = f"gives {group.tasks[task].task_id} to a consumer to run, and so does {first_path}"
                    raise FieldError(path, problem, "give every task one owner")
    return holdings


def _tasks(names: Sequence[str], place: str, group: Group) -> tuple[int, ...]:
    tasks = set()
    for position, name in enumerate(names):
        path = f"{place}[{position}]"
        task = group.task_index.get(parsed_task_id(path, name))
        if task is None:
            raise FieldError(path, f"is {shown(name)}, which is not in tasks", "add the task to tasks")
        if task in tasks:
            raise FieldError(path, f"is {shown(name)} again", "name every task once")
        tasks.add(task)
    return tuple(sorted(tasks))
