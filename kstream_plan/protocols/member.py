"""What one member does around a rebalance (KIP-429): what it gives up before it joins, and how it follows the reply.

Source: page ``rules``, "One cooperative rebalance".

Sets hold tasks in any form, all of them in the same.
"""

from __future__ import annotations

from collections.abc import Hashable
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
