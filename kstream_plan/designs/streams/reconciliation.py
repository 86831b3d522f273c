"""One heartbeat of one member: how it comes from what it holds to its target (KIP-1071).

Source: page ``streams-rules``, "One heartbeat".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.designs.streams.sticky import MemberTarget

_NONE: frozenset[int] = frozenset()


class MemberState(StrEnum):
    """Where a member is on the way to its target, as the broker names it."""

    STABLE = "STABLE"
    UNREVOKED_TASKS = "UNREVOKED_TASKS"
    UNRELEASED_TASKS = "UNRELEASED_TASKS"


class Owned(NamedTuple):
    """The tasks that a member reports to have."""

    active: frozenset[int]
    standby: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledMember:
    """A member as the broker knows it.

    ``active`` are the active tasks it was told to hold, each with the epoch at which it was granted, ``standby`` its
    standbys; ``revoking_active`` and ``revoking_standby`` are those it was told to give up and has not yet.
    ``offsets`` are what it reported of its directories, by task.
    """

    member_id: str
    process_id: str
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    active: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    standby: frozenset[int] = _NONE
    revoking_active: frozenset[int] = _NONE
    revoking_standby: frozenset[int] = _NONE
    offsets: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def holds(self) -> Owned:
        """What it was told to hold."""
        return Owned(frozenset(self.active), self.standby)


class Holders(NamedTuple):
    """Who holds what in a group, pending revocations included: task → process, and task → processes of standbys."""

    active: Mapping[int, str]
    standby: Mapping[int, frozenset[str]]


def reconcile(
    member: ReconciledMember,
    target: MemberTarget,
    target_epoch: int,
    holders: Holders,
    owned: Owned | None,
    *,
    by_current: bool,
) -> ReconciledMember:
    """Return the member after a heartbeat; itself if nothing changes.

    Args:
        member: the member before it.
        target: what it should hold.
        target_epoch: the epoch of that target.
        holders: who holds what just before, the member included.
        owned: what the member reports to have, ``None`` if it reports nothing.
        by_current: the rules of 4.4, else those of 4.2 and 4.3.
    """
    if member.state is MemberState.STABLE and member.epoch == target_epoch:
        return member
    epoch = member.epoch
    if member.state is MemberState.UNREVOKED_TASKS:
        if _holds_any(owned, member.revoking_active, member.revoking_standby):
            return member
        epoch += 1
    change = _change(member, target, holders, by_current=by_current)
    keep_standby = change.keep_standby
    if (change.revoke_active or change.revoke_standby) and _holds_any(
        owned, change.revoke_active, change.revoke_standby
    ):
        return replace(
            member,
            epoch=epoch,
            previous_epoch=member.epoch,
            state=MemberState.UNREVOKED_TASKS,
            active=change.keep_active,
            standby=keep_standby | change.still_standby,
            revoking_active=change.revoke_active,
            revoking_standby=change.revoke_standby,
        )
    granted = {**change.keep_active, **dict.fromkeys(sorted(change.grant_active), target_epoch)}
    return replace(
        member,
        epoch=target_epoch,
        previous_epoch=member.epoch,
        state=MemberState.UNRELEASED_TASKS if change.waits else MemberState.STABLE,
        active=MappingProxyType(granted),
        standby=keep_standby | change.grant_standby | (change.still_standby - change.grant_active),
        revoking_active=_NONE,
        revoking_standby=_NONE,
    )


class _Change(NamedTuple):
    """What a member keeps, gives up and gets; ``still_standby`` (4.4) are standbys that are to become active."""

    keep_active: Mapping[int, int]
    keep_standby: frozenset[int]
    revoke_active: frozenset[int]
    revoke_standby: frozenset[int]
    grant_active: frozenset[int]
    grant_standby: frozenset[int]
    still_standby: frozenset[int]
    waits: bool


def _change(member: ReconciledMember, target: MemberTarget, holders: Holders, *, by_current: bool) -> _Change:
    process = member.process_id
    keep_active = MappingProxyType({task: epoch for task, epoch in member.active.items() if task in target.active})
    keep_standby = member.standby & target.standby
    want_active, want_standby = target.active - keep_active.keys(), target.standby - keep_standby
    still_standby = member.standby & want_active if by_current else _NONE

    def active_waits(task: int) -> bool:
        if task in holders.active:
            return True
        return process in holders.standby.get(task, _NONE) and not (by_current and task in member.standby)

    def standby_waits(task: int) -> bool:
        if holders.active.get(task) == process and not (by_current and task in member.active):
            return True
        return process in holders.standby.get(task, _NONE)

    grant_active = frozenset(task for task in want_active if not active_waits(task))
    grant_standby = frozenset(task for task in want_standby if not standby_waits(task))
    at_once = grant_standby & member.active.keys() if by_current else _NONE
    return _Change(
        keep_active=keep_active,
        keep_standby=keep_standby | at_once,
        revoke_active=frozenset(member.active) - target.active,
        revoke_standby=member.standby - target.standby - still_standby,
        grant_active=grant_active,
        grant_standby=grant_standby,
        still_standby=still_standby,
        waits=bool(want_active - grant_active or want_standby - grant_standby),
    )


def _holds_any(owned: Owned | None, active: frozenset[int], standby: frozenset[int]) -> bool:
    """Tell whether a member may still have any of these: it reports so, or reports nothing."""
    return owned is None or bool(owned.active & active or owned.standby & standby)
