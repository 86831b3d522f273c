"""Tasks that members of a streams group were told to give up and have not confirmed yet: they are still theirs.

``number`` gives the group's number of each of the broker's tasks throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kstream_plan.designs.streams.coordinator import GroupCoordinator
from kstream_plan.designs.streams.memory import consumer_of
from kstream_plan.designs.streams.steps import seat
from kstream_plan.model import GroupState, Holding, Holdings, WorkId
from kstream_plan.plans import Drop, Reason, ReasonCode, Revoke, Role


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
