"""What members do around a rebalance (KIP-429), before they join and after the reply, and the leader's view of it.

Source: page ``rules``, "One cooperative rebalance".

Sets hold tasks in any form, all of them in the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)


class JoinTrigger(StrEnum):
    """Why a member joins."""

    SUBSCRIPTION_CHANGED = "subscription-changed"
    #: Topic metadata changed: something it owns is no more.
    TOPICS_DELETED = "topics-deleted"
    REBALANCE_IN_PROGRESS = "rebalance-in-progress"
    UNKNOWN_MEMBER = "unknown-member-id"
    ILLEGAL_GENERATION = "illegal-generation"
    #: The coordinator has told it its id; it sends the same request again.
    MEMBER_ID_REQUIRED = "member-id-required"
    #: The assignment before flagged it, or it revoked something then.
    FOLLOW_UP = "follow-up"


class Joining(NamedTuple, Generic[T]):
    """What a member claims to own when it joins, and the callbacks before: ``revoked_tasks``, ``lost_tasks``."""

    owned: frozenset[T]
    revoked_tasks: frozenset[T] = frozenset()
    lost_tasks: frozenset[T] = frozenset()


class Reply(NamedTuple, Generic[T]):
    """A member's callbacks on its assignment, in order: it starts ``added_tasks``, then stops ``revoked_tasks``."""

    added_tasks: frozenset[T]
    revoked_tasks: frozenset[T]


def before_joining(
    trigger: JoinTrigger, owned: frozenset[T], *, eager: bool = False, valid_tasks: frozenset[T] | None = None
) -> Joining[T]:
    """Return what a member gives up before it joins, and what it then claims.

    Args:
        trigger: why it joins.
        owned: what it owns.
        eager: it gives up everything, whatever the trigger.
        valid_tasks: what it still subscribes to, or what still exists (``None``: all of it).
    """
    invalid_tasks = frozenset[T]() if valid_tasks is None else owned - valid_tasks
    if trigger in (JoinTrigger.UNKNOWN_MEMBER, JoinTrigger.ILLEGAL_GENERATION):
        return Joining(frozenset(), lost_tasks=owned)
    lost_tasks = invalid_tasks if trigger is JoinTrigger.TOPICS_DELETED else frozenset[T]()
    revoked_tasks = invalid_tasks if trigger is JoinTrigger.SUBSCRIPTION_CHANGED else frozenset[T]()
    if eager:
        return Joining(frozenset(), revoked_tasks=owned - lost_tasks, lost_tasks=lost_tasks)
    return Joining(owned - revoked_tasks - lost_tasks, revoked_tasks, lost_tasks)


def on_assignment(owned: frozenset[T], assignment: frozenset[T]) -> Reply[T]:
    """Return what a member that claimed ``owned`` starts and stops once it gets ``assignment``."""
    return Reply(added_tasks=assignment - owned, revoked_tasks=owned - assignment)


class LeaderView(NamedTuple, Generic[T]):
    """The three sets, each member's assignment, and its callbacks.

    ``maybe_revoking`` are owned and assigned, ``ready_to_migrate`` assigned and without owner, ``unknown_but_owned``
    owned and not assigned. ``withheld_tasks`` are those of the first whose owner changes: left out of the new owner's
    assignment. ``assignments`` are by member; if any task is withheld, the whole group joins again (``rejoin``).
    """

    maybe_revoking: frozenset[T]
    ready_to_migrate: frozenset[T]
    unknown_but_owned: frozenset[T]
    withheld_tasks: frozenset[T]
    assignments: tuple[frozenset[T], ...]
    replies: tuple[Reply[T], ...]

    @property
    def rejoin(self) -> bool:
        """Whether all members are told to join again at once."""
        return bool(self.withheld_tasks)


def leader_view(owned: Sequence[frozenset[T]], decided_tasks: Sequence[frozenset[T]]) -> LeaderView[T]:
    """Return the leader's view of a decision.

    Args:
        owned: what each member claims to own; an eager one claims nothing.
        decided_tasks: what the assignor decided for each.
    """
    owner = {task: member for member, tasks in enumerate(owned) for task in tasks}
    assigned_tasks = frozenset(task for tasks in decided_tasks for task in tasks)
    withheld_tasks = frozenset(
        task for member, tasks in enumerate(decided_tasks) for task in tasks if owner.get(task, member) != member
    )
    unknown = frozenset(owner) - assigned_tasks
    assignments = tuple(
        (tasks - withheld_tasks) | (claimed & unknown) for tasks, claimed in zip(decided_tasks, owned, strict=True)
    )
    return LeaderView(
        maybe_revoking=assigned_tasks & owner.keys(),
        ready_to_migrate=assigned_tasks - owner.keys(),
        unknown_but_owned=unknown,
        withheld_tasks=withheld_tasks,
        assignments=assignments,
        replies=tuple(map(on_assignment, owned, assignments)),
    )
