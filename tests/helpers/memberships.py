"""Settled groups and what a change of members makes of them."""

from __future__ import annotations

from dataclasses import replace

from kstream_plan.model import LATEST, Copy, Group, GroupState, Holding, Instance, Snapshot
from kstream_plan.plans import Plan
from kstream_plan.simulation.one_plan import plan


def after(plan: Plan) -> Snapshot:
    """The group as a plan leaves it, everything caught up and nothing left over."""
    group = plan.group
    copies: list[list[Copy]] = [[] for _ in group.tasks]
    for consumer, held in enumerate(plan.final):
        for task in held.active:
            copies[task].append(Copy(group.instance_of[consumer], LATEST, (consumer,)))
        for task in (*held.standby, *held.warmup, *held.temporary):
            copies[task].append(Copy(group.instance_of[consumer], 0, (consumer,)))
    state = GroupState(
        group=group,
        generation=plan.generation + len(plan.rounds),
        at_ms=0,
        holdings=plan.final,
        copies=tuple(tuple(sorted(item)) if group.tasks[t].stateful else () for t, item in enumerate(copies)),
    )
    return Snapshot(state=state, config=plan.config)


def settled(snapshot: Snapshot) -> Snapshot:
    """The group after everything that follows from the snapshot has happened."""
    return after(plan(snapshot, floor=False, ranges=False))


def with_members(snapshot: Snapshot, instances: list[Instance]) -> Snapshot:
    """The same group with other members: who stays keeps what it holds and has on disk."""
    old, state = snapshot.state.group, snapshot.state
    new = Group.of(old.application_id, list(old.tasks), instances)
    index_of = {consumer_id: index for index, consumer_id in enumerate(new.consumer_ids)}
    moved = [index_of.get(consumer_id) for consumer_id in old.consumer_ids]
    holdings = [Holding()] * len(new.consumer_ids)
    for consumer, held in zip(moved, state.holdings, strict=True):
        if consumer is not None:
            holdings[consumer] = held
    copies = tuple(
        tuple(
            sorted(
                copy._replace(
                    instance=new.instance_index[process_id],
                    reporters=tuple(c for r in copy.reporters if (c := moved[r]) is not None),
                )
                for copy in of_task
                if (process_id := old.instances[copy.instance].process_id) in new.instance_index
            )
        )
        for of_task in state.copies
    )
    return replace(snapshot, state=replace(state, group=new, holdings=tuple(holdings), copies=copies))
