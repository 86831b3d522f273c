"""Every order in which the members of a small group can take their steps, searched for a task with two owners."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from kstream_plan.protocols.member import JoinTrigger, T, before_joining, leader_view, on_assignment

S = TypeVar("S")


class Action(StrEnum):
    """A step of one member; the leader decides in the moment the last one has joined."""

    JOINS = "joins"
    #: The coordinator does not know it any more: it loses everything and joins with nothing.
    LOSES = "loses"
    #: It gets its assignment and starts and stops what that says.
    RECEIVES = "receives"


class Interleaved(NamedTuple, Generic[T]):
    """One step: who, what, and what the member owns after it."""

    member: int
    action: Action
    owned: frozenset[T]


class _State(NamedTuple, Generic[T]):
    """``claims``: what each member claimed, ``None`` if it has not joined; ``pending_assignments``: on the way."""

    owned: tuple[frozenset[T], ...]
    claims: tuple[frozenset[T] | None, ...]
    pending_assignments: tuple[frozenset[T] | None, ...]
    is_joining: bool


def double_ownership(
    owned: Sequence[frozenset[T]],
    assignments: Sequence[frozenset[T]],
    eager: Sequence[bool],
    *,
    leader_knows_owned: bool = True,
) -> tuple[Interleaved[T], ...] | None:
    """Return the shortest sequence of steps after which two members own one task; ``None`` if there is none.

    Members join in any order, each gets its assignment at any time, and any may become unknown to the coordinator.
    A member without its assignment when the next rebalance begins joins that one with what it had.

    Args:
        owned: what each member owns when the rebalance begins.
        assignments: what the assignor decides for each, in every rebalance.
        eager: whether a member gives up everything before it joins.
        leader_knows_owned: the leader leaves out what others still own; one of old code gives all at once.
    """
    unset = (None,) * len(owned)
    start: _State[T] = _State(tuple(owned), unset, unset, is_joining=True)
    predecessors: dict[_State[T], tuple[_State[T], Interleaved[T]] | None] = {start: None}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for event, next_state in _steps(state, tuple(assignments), eager, leader_knows_owned):
            if next_state not in predecessors:
                predecessors[next_state] = state, event
                if sum(map(len, next_state.owned)) > len(frozenset().union(*next_state.owned)):
                    return _path(predecessors, next_state)
                queue.append(next_state)
    return None


def _path(
    predecessors: dict[_State[T], tuple[_State[T], Interleaved[T]] | None], state: _State[T]
) -> tuple[Interleaved[T], ...]:
    events = []
    while (step := predecessors[state]) is not None:
        state, event = step
        events.append(event)
    return tuple(reversed(events))


def _steps(
    state: _State[T], assignments: tuple[frozenset[T], ...], eager: Sequence[bool], leader_knows_owned: bool
) -> Iterator[tuple[Interleaved[T], _State[T]]]:
    for member, assignment in enumerate(state.pending_assignments):
        if state.claims[member] is not None:
            continue
        if state.is_joining:
            yield _join(state, member, Action.JOINS, assignments, eager[member], leader_knows_owned)
        if state.owned[member]:
            yield _join(state, member, Action.LOSES, assignments, eager[member], leader_knows_owned)
        if assignment is not None:
            reply = on_assignment(state.owned[member], assignment)
            owned = (state.owned[member] | reply.added_tasks) - reply.revoked_tasks
            next_state = state._replace(
                owned=_replaced(state.owned, member, owned),
                pending_assignments=_replaced(state.pending_assignments, member, None),
            )
            yield Interleaved(member, Action.RECEIVES, owned), next_state


_TRIGGERS = {Action.JOINS: JoinTrigger.REBALANCE_IN_PROGRESS, Action.LOSES: JoinTrigger.UNKNOWN_MEMBER}


def _join(
    state: _State[T],
    member: int,
    action: Action,
    assignments: tuple[frozenset[T], ...],
    eager: bool,
    leader_knows_owned: bool,
) -> tuple[Interleaved[T], _State[T]]:
    """Let a member join; the last join lets the leader decide, and a flagged group joins again at once."""
    claim = before_joining(_TRIGGERS[action], state.owned[member], eager=eager).owned
    all_claims = _replaced(state.claims, member, claim)
    event = Interleaved(member, action, claim)
    next_state = _State(
        _replaced(state.owned, member, claim),
        all_claims,
        _replaced(state.pending_assignments, member, None),
        is_joining=True,
    )
    claims = [claimed for claimed in all_claims if claimed is not None]
    if len(claims) < len(all_claims):
        return event, next_state
    view = leader_view(claims, assignments)
    pending = view.assignments if leader_knows_owned else assignments
    unset = (None,) * len(all_claims)
    return event, _State(next_state.owned, unset, pending, is_joining=leader_knows_owned and view.rejoin)


def _replaced(values: tuple[S, ...], place: int, value: S) -> tuple[S, ...]:
    return (*values[:place], value, *values[place + 1 :])
