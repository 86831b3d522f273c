"""KIP-429 as Kafka Streams applies it: an active task is handed over only after its owner has revoked it."""

from __future__ import annotations

from itertools import filterfalse
from types import MappingProxyType

from kstream_plan.histories import unlike
from kstream_plan.model import Assignment, Group, GroupState, Holding
from kstream_plan.transition import Transition, Withheld


def rebalance(state: GroupState, decision: Assignment, stopping: frozenset[int] = frozenset()) -> Transition:
    """Say what every member holds once it has received the decision.

    ``stopping`` are consumers that gave up everything before they joined: nobody owns what they had.

    For each consumer, ``gained`` = decided active - owned active and ``lost`` = owned active - decided active. What
    is gained here and lost elsewhere is withheld from the gainer (another thread of the same instance included); the
    loser revokes it in this rebalance. What is gained and owned by nobody is handed over at once. A stateful task
    that is withheld is held as a temporary standby if its new instance reported state of it and did not own it
    (reference, "One Kafka generation").
    """
    changed = tuple(unlike(state.holdings, decision.consumers))
    owner_of_lost = {
        task: consumer
        for consumer in changed
        if consumer not in stopping and state.holdings[consumer].active != decision.consumers[consumer].active
        for task in set(state.holdings[consumer].active).difference(decision.consumers[consumer].active)
    }
    holdings = list(state.holdings)
    withheld: list[Withheld] = []
    for consumer in changed:
        kept_back = _kept_back(state, decision, consumer, owner_of_lost)
        withheld += kept_back
        holdings[consumer] = _held(decision.consumers[consumer], kept_back)
    return Transition(
        holdings=tuple(holdings) if withheld else decision.consumers,
        changed=changed,
        withheld=tuple(sorted(withheld)),
        revoking=frozenset(owner_of_lost.values()),
        given_up=MappingProxyType(
            {task: consumer for consumer in sorted(stopping) for task in state.holdings[consumer].active}
        ),
    )


def gives_up(_group: Group) -> frozenset[int]:
    """Return the consumers that give up everything before they join: none."""
    return frozenset()


def _kept_back(state: GroupState, decision: Assignment, consumer: int, owner_of_lost: dict[int, int]) -> list[Withheld]:
    owned, decided = state.holdings[consumer].active, decision.consumers[consumer].active
    if decided == owned:
        return []
    kept_back = [(task, owner_of_lost[task]) for task in set(decided).difference(owned) if task in owner_of_lost]
    stateless = state.group.stateless_set
    return [
        Withheld(task, owner, consumer, task not in stateless and _reported_as_standby(state, task, consumer, owner))
        for task, owner in kept_back
    ]


def _reported_as_standby(state: GroupState, task: int, consumer: int, owner: int) -> bool:
    instance_of = state.group.instance_of
    if instance_of[owner] == instance_of[consumer]:
        return False  # the instance's own active task: it was never a standby there
    return any(copy.instance == instance_of[consumer] and copy.lag is not None for copy in state.copies[task])


def _held(decided: Holding, kept_back: list[Withheld]) -> Holding:
    if not kept_back:
        return decided
    tasks = {entry.task for entry in kept_back}
    return Holding(
        active=tuple(filterfalse(tasks.__contains__, decided.active)),
        standby=decided.standby,
        warmup=decided.warmup,
        temporary=tuple(sorted(entry.task for entry in kept_back if entry.temporary)),
    )
