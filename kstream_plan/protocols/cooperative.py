"""KIP-429 as Kafka Streams applies it: an active task is handed over only after its owner has revoked it.

Source: page ``rules``, "One cooperative rebalance".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import filterfalse
from types import MappingProxyType

from kstream_plan.model import Assignment, Group, GroupState, Holding, Holdings, Owners, revoked_by
from kstream_plan.model.holding_changes import unlike
from kstream_plan.protocols.transition import ActiveChange, Transition, Withheld


def rebalance(
    state: GroupState,
    decision: Assignment,
    stopping: frozenset[int] = frozenset(),
    *,
    any_temporary: bool = False,
) -> Transition:
    """Say what every member holds once it has received the decision.

    ``stopping`` are consumers that gave up everything before they joined: nobody owns what they had.

    For each consumer, ``gained`` = decided active - owned active and ``lost`` = owned active - decided active. What
    is gained here and lost elsewhere is withheld from the gainer (another thread of the same instance included); the
    loser revokes it in this rebalance. What is gained and owned by nobody is handed over at once. A stateful task
    that is withheld is held as a temporary standby if its new instance reported state of it and did not own it;
    with ``any_temporary``, as releases before 3.5.2 have it, even if it reported none.
    """
    group = state.group
    before, decided = Holdings.of(group, state.holdings), Holdings.of(group, decision.consumers)
    changed = tuple(unlike(before.stateful, decided.stateful))
    wanted = _wanted_changes(before.stateful, decided.stateful, changed)
    owner_of_lost: dict[int, int] = {}
    for consumer, lost, _ in wanted:
        if consumer not in stopping:
            owner_of_lost.update(dict.fromkeys(lost, consumer))
    withheld = _withheld(state, wanted, owner_of_lost, any_temporary=any_temporary)
    kept_back = {entry.task for entry in withheld}
    owners, revoking, waiting = stateless_owners(before.owners, decided.owners, stopping)
    return Transition(
        before=before,
        decided=decided,
        holdings=Holdings(_held(decided.stateful, withheld, kept_back), group.stateless, owners),
        changed=changed,
        active_changes=_without(wanted, kept_back),
        withheld=tuple(withheld),
        revoking=revoking.union(owner_of_lost.values()),
        waiting=waiting.union([entry.consumer for entry in withheld]),
        given_up=MappingProxyType(
            {task: consumer for consumer in sorted(stopping) for task in before.stateful[consumer].active}
        ),
    )


def gives_up(_group: Group) -> frozenset[int]:
    """Return the consumers that give up everything before they join: none."""
    return frozenset()


def _wanted_changes(owned: Sequence[Holding], decided: Sequence[Holding], changed: Iterable[int]) -> list[ActiveChange]:
    """Return what each consumer loses and gains of the active stateful tasks."""
    changes = []
    for consumer in changed:
        before, after = owned[consumer].active, decided[consumer].active
        if before != after:
            had, has = frozenset(before), frozenset(after)
            changes.append(ActiveChange(consumer, had - has, has - had))
    return changes


def _withheld(
    state: GroupState, wanted: list[ActiveChange], owner_of: dict[int, int], *, any_temporary: bool
) -> list[Withheld]:
    """Return what is gained here and lost elsewhere, in task order."""
    withheld = [
        Withheld(task, owner, consumer, _is_temporary(state, task, consumer, owner, any_temporary=any_temporary))
        for consumer, _, gained in wanted
        for task in gained & owner_of.keys()
        for owner in (owner_of[task],)
    ]
    return sorted(withheld)


def stateless_owners(
    before: Owners, decided: Owners, stopping: frozenset[int]
) -> tuple[Owners, frozenset[int], frozenset[int]]:
    """Do the same for the stateless tasks; return who then runs each, who revokes any, and who waits for any."""
    withheld = ((before != decided) & (before >= 0)).nonzero()[0]
    if stopping:
        withheld = withheld[[owner not in stopping for owner in before[withheld].tolist()]]
    if not len(withheld):
        return decided, frozenset(), frozenset()
    owners, losing = decided.copy(), before[withheld]
    owners[withheld] = revoked_by(losing)
    gaining = decided[withheld]
    return owners, frozenset(losing.tolist()), frozenset(gaining[gaining >= 0].tolist())


def _without(changes: list[ActiveChange], kept_back: set[int]) -> tuple[ActiveChange, ...]:
    return tuple([ActiveChange(consumer, lost, gained - kept_back) for consumer, lost, gained in changes])


def _is_temporary(state: GroupState, task: int, consumer: int, owner: int, *, any_temporary: bool) -> bool:
    instance_of = state.group.instance_of
    if instance_of[owner] == instance_of[consumer]:
        return False  # the instance's own active task, open on another thread: no standby can be there
    return any_temporary or any(
        copy.instance == instance_of[consumer] and copy.lag is not None for copy in state.copies[task]
    )


def _held(decided: Sequence[Holding], withheld: list[Withheld], kept_back: set[int]) -> Sequence[Holding]:
    if not withheld:
        return decided
    holdings, temporary = list(decided), defaultdict[int, list[int]](list)
    for task, _, consumer, is_temporary in withheld:
        if is_temporary:
            temporary[consumer].append(task)
    for consumer in {entry.consumer for entry in withheld}:
        given = holdings[consumer]
        active = tuple(filterfalse(kept_back.__contains__, given.active))
        holdings[consumer] = Holding(active, given.standby, given.warmup, tuple(temporary.get(consumer, ())))
    return tuple(holdings)
