"""A comparison as its rebalance looked to the leader and to each member (KIP-429)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kstream_plan.comparison.changes import Side
from kstream_plan.model import Group, WorkId
from kstream_plan.protocols.member import leader_view


class MemberView(NamedTuple):
    """One consumer: the tasks that it starts and then those that it stops with its assignment, as callbacks.

    ``gave_up``: it had given up everything before it joined, so that it claimed nothing.
    """

    process_id: str
    consumer_id: str
    added: tuple[WorkId, ...]
    revoked: tuple[WorkId, ...]
    gave_up: bool


class ProtocolView(NamedTuple):
    """KIP-429's three sets; ``withheld``: tasks of the first whose owner changes, after which all members rejoin."""

    maybe_revoking: tuple[WorkId, ...]
    ready_to_migrate: tuple[WorkId, ...]
    unknown_but_owned: tuple[WorkId, ...]
    withheld: tuple[WorkId, ...]
    rejoin: bool
    members: tuple[MemberView, ...]


def protocol_view(old: Side, new: Side) -> ProtocolView:
    """Return the rebalance that leads from the tasks that members own to those decided.

    Owned is what the members of the new side ran on the old one; decided is the new side's decision if it is known,
    else what it holds.
    """
    stopping = new.stopping
    claimed_tasks = _actives(old)
    owned_tasks = [
        frozenset[WorkId]() if consumer in stopping else claimed_tasks.get(key, frozenset())
        for consumer, key in enumerate(_consumers(new.group))
    ]
    decided_holdings = new.holdings if new.decided_holdings is None else new.decided_holdings
    view = leader_view(owned_tasks, [_task_ids(new.group, holding.active) for holding in decided_holdings])
    return ProtocolView(
        maybe_revoking=_sorted(view.maybe_revoking),
        ready_to_migrate=_sorted(view.ready_to_migrate),
        unknown_but_owned=_sorted(view.unknown_but_owned),
        withheld=_sorted(view.withheld_tasks),
        rejoin=view.rejoin,
        members=tuple(
            MemberView(*key, _sorted(reply.added_tasks), _sorted(reply.revoked_tasks), consumer in stopping)
            for consumer, (key, reply) in enumerate(zip(_consumers(new.group), view.replies, strict=True))
        ),
    )


def _consumers(group: Group) -> list[tuple[str, str]]:
    return [
        (instance.process_id, consumer.consumer_id) for instance in group.instances for consumer in instance.consumers
    ]


def _actives(side: Side) -> dict[tuple[str, str], frozenset[WorkId]]:
    active_task_ids = (_task_ids(side.group, holding.active) for holding in side.holdings)
    return dict(zip(_consumers(side.group), active_task_ids, strict=True))


def _task_ids(group: Group, tasks: Iterable[int]) -> frozenset[WorkId]:
    return frozenset(group.tasks[task].task_id for task in tasks)


def _sorted(task_ids: Iterable[WorkId]) -> tuple[WorkId, ...]:
    return tuple(sorted(task_ids, key=lambda task_id: task_id.sort_key))
