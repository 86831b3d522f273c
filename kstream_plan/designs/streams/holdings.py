"""What the newest target of a streams group gives everybody, and what they hold until they have given it up.

Tasks that members were told to give up are theirs until they have confirmed it. ``number`` gives the group's number of
each of the broker's tasks throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kstream_plan.designs.streams.coordinator import GroupCoordinator
from kstream_plan.designs.streams.memory import consumer_of
from kstream_plan.designs.streams.steps import seat
from kstream_plan.designs.streams.sticky import MemberTarget
from kstream_plan.model import Group, GroupState, Holding, Holdings, Target, WorkId
from kstream_plan.model.holding import NOBODY
from kstream_plan.plans import Drop, Reason, ReasonCode, Revoke, Role


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetHoldings:
    """A target, by the indices of a group, whose members it was computed for.

    group: the group.
    targets: the target as the broker has it, by member id.
    holdings: what each consumer is to hold.
    """

    group: Group
    targets: Mapping[str, MemberTarget]
    holdings: Sequence[Holding]

    @cached_property
    def owners(self) -> Mapping[int, int]:
        """Who is to run each task, by consumer."""
        return {task: consumer for consumer, holding in enumerate(self.holdings) for task in holding.active}

    @cached_property
    def target(self) -> Target:
        """What each instance is to hold of the stateful tasks."""
        group = self.group
        of_instances = [
            Holding(*(tuple(sorted(sum(r, ()))) for r in zip(*(self.holdings[c] for c in consumers), strict=True)))
            for consumers in group.consumers_of
        ]
        return Target(
            tuple(tuple(task for task in holding.active if group.stateful_flags[task]) for holding in of_instances),
            tuple(holding.standby for holding in of_instances),
        )

    def decided_holdings(self, current_holdings: Holdings) -> Holdings:
        """Return what each consumer is to run, with the current standbys that stay beside it."""
        by_consumer = zip(self._active.stateful, current_holdings.stateful, self._active_of, strict=True)
        stateful = tuple(
            [Holding(target.active, _difference(current.standby, active)) for target, current, active in by_consumer]
        )
        return replace(self._active, stateful=stateful)

    def queued_count(self, current_holdings: Holdings) -> int:
        """Return the number of tasks that do not run yet on their target."""
        owners = self._active.owners
        stateful = zip(self._active.stateful, current_holdings.stateful, strict=True)
        moving = sum(
            len({*target.active}.difference(current.active))
            for target, current in stateful
            if target.active != current.active
        )
        return moving + int(((owners != current_holdings.owners) & (owners != NOBODY)).sum())

    @cached_property
    def _active(self) -> Holdings:
        return Holdings.of(self.group, [Holding(holding.active) for holding in self.holdings])

    @cached_property
    def _active_of(self) -> Sequence[frozenset[int]]:
        """By consumer, what its instance is to run."""
        of_instances = [
            frozenset(task for consumer in consumers for task in self.holdings[consumer].active)
            for consumers in self.group.consumers_of
        ]
        return [of_instances[instance] for instance in self.group.instance_of]


def _difference(tasks: tuple[int, ...], excluded_tasks: frozenset[int]) -> tuple[int, ...]:
    return tasks if excluded_tasks.isdisjoint(tasks) else tuple(task for task in tasks if task not in excluded_tasks)


def target_holdings(group: Group, broker: GroupCoordinator, number: Sequence[int]) -> TargetHoldings:
    """Return the broker's newest target."""
    holdings = [Holding()] * len(group.consumer_ids)
    for member_id, target in broker.targets.items():
        if member_id in broker.members:
            holdings[consumer_of(group, broker, member_id)] = as_holding(number, target.active, target.standby)
    return TargetHoldings(group=group, targets=broker.targets, holdings=holdings)


def pending(state: GroupState, broker: GroupCoordinator, number: Sequence[int]) -> Iterator[Revoke | Drop]:
    """Yield the steps that end pending revocations, member by member in the order of the broker's table."""
    for member_id in broker.table.order():
        member, consumer = broker.members[member_id], consumer_of(state.group, broker, member_id)
        for task in sorted(number[task] for task in member.revoking_active):
            yield Revoke(state.group.tasks[task].task_id, seat(state, consumer), Reason(ReasonCode.MOVES_AWAY))
        for task in sorted(number[task] for task in member.revoking_standby):
            yield Drop(
                state.group.tasks[task].task_id, seat(state, consumer, Role.STANDBY), Reason(ReasonCode.NOT_NEEDED)
            )


def with_pending(state: GroupState, broker: GroupCoordinator, number: Sequence[int]) -> Holdings:
    """Return what every consumer holds, or has not confirmed yet to have given up."""
    holdings = list(state.holdings)
    for member_id, member in broker.members.items():
        active, standby = (*member.active, *member.revoking_active), (*member.standby, *member.revoking_standby)
        holdings[consumer_of(state.group, broker, member_id)] = as_holding(number, active, standby)
    return Holdings.of(state.group, holdings)


def revoking_tasks(
    state: GroupState, broker: GroupCoordinator, number: Sequence[int], member_id: str
) -> tuple[WorkId, ...]:
    """Return the tasks that a member was told to give up, active ones first."""
    member = broker.members[member_id]
    roles = (member.revoking_active, member.revoking_standby)
    return tuple(
        state.group.tasks[task].task_id
        for role in roles
        for task in sorted(number[broker_task] for broker_task in role)
    )


def owned_by(state: GroupState, broker: GroupCoordinator, number: Sequence[int]) -> dict[int, int]:
    """Return the consumer that runs each task, or has not confirmed yet that it has given it up."""
    consumer_by_task = dict[int, int]()
    for member_id, member in broker.members.items():
        tasks = (number[task] for task in (*member.active, *member.revoking_active))
        consumer_by_task |= dict.fromkeys(tasks, consumer_of(state.group, broker, member_id))
    return consumer_by_task


def as_holding(number: Sequence[int], active: Iterable[int], standby: Iterable[int]) -> Holding:
    """Return the broker's tasks in two roles as a holding."""
    return Holding(tuple(sorted(number[task] for task in active)), tuple(sorted(number[task] for task in standby)))
