"""Every order in which the members of a small group can take their steps, searched for a task with two owners."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from kstream_plan.protocols.leader_view import leader_view
from kstream_plan.protocols.member import JoinTrigger, T, before_joining, on_assignment

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
    """``joined``: what each member claimed, ``None`` if it has not joined; ``told``: its assignment on the way."""

    owned: tuple[frozenset[T], ...]
    joined: tuple[frozenset[T] | None, ...]
    told: tuple[frozenset[T] | None, ...]
    joining: bool


def double_ownership(
    owned: Sequence[frozenset[T]],
    decided: Sequence[frozenset[T]],
    eager: Sequence[bool],
    *,
    leader_knows_owned: bool = True,
) -> tuple[Interleaved[T], ...] | None:
    """Return the shortest sequence of steps after which two members own one task; ``None`` if there is none.

    Members join in any order, each gets its assignment at any time, and any may be told that it is not known any more.
    Whoever has not got its assignment when the next rebalance begins joins that one with what it had.

    Args:
        owned: what each member owns when the rebalance begins.
        decided: what the assignor decides for each, in every rebalance.
        eager: whether a member gives up everything before it joins.
        leader_knows_owned: the leader leaves out what others still own; one of old code gives all at once.
    """
    nobody = (None,) * len(owned)
    start: _State[T] = _State(tuple(owned), nobody, nobody, joining=True)
    before: dict[_State[T], tuple[_State[T], Interleaved[T]] | None] = {start: None}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for event, after in _steps(state, tuple(decided), eager, leader_knows_owned):
            if after not in before:
                before[after] = state, event
                if sum(map(len, after.owned)) > len(frozenset().union(*after.owned)):
                    return _path(before, after)
                queue.append(after)
    return None


def _path(
    before: dict[_State[T], tuple[_State[T], Interleaved[T]] | None], state: _State[T]
) -> tuple[Interleaved[T], ...]:
    events = []
    while (step := before[state]) is not None:
        state, event = step
        events.append(event)
    return tuple(reversed(events))


def _steps(
    state: _State[T], decided: tuple[frozenset[T], ...], eager: Sequence[bool], leader_knows_owned: bool
) -> Iterator[tuple[Interleaved[T], _State[T]]]:
    for member, told in enumerate(state.told):
        if state.joined[member] is not None:
            continue
        if state.joining:
            yield _joined(state, member, Action.JOINS, decided, eager[member], leader_knows_owned)
        if state.owned[member]:
            yield _joined(state, member, Action.LOSES, decided, eager[member], leader_knows_owned)
        if told is not None:
            reply = on_assignment(state.owned[member], told)
            owned = (state.owned[member] | reply.added) - reply.revoked
            after = state._replace(owned=_with(state.owned, member, owned), told=_with(state.told, member, None))
            yield Interleaved(member, Action.RECEIVES, owned), after


_TRIGGERS = {Action.JOINS: JoinTrigger.REBALANCE_IN_PROGRESS, Action.LOSES: JoinTrigger.UNKNOWN_MEMBER}


def _joined(
    state: _State[T],
    member: int,
    action: Action,
    decided: tuple[frozenset[T], ...],
    eager: bool,
    leader_knows_owned: bool,
) -> tuple[Interleaved[T], _State[T]]:
    """The member joins; when all have, the leader decides, and a flagged group begins to join again at once."""
    claim = before_joining(_TRIGGERS[action], state.owned[member], eager=eager).owned
    joined = _with(state.joined, member, claim)
    event = Interleaved(member, action, claim)
    after = _State(_with(state.owned, member, claim), joined, _with(state.told, member, None), joining=True)
    claims = [of for of in joined if of is not None]
    if len(claims) < len(joined):
        return event, after
    view = leader_view(claims, decided)
    told = view.told if leader_knows_owned else decided
    nobody = (None,) * len(joined)
    return event, _State(after.owned, nobody, told, joining=leader_knows_owned and view.rejoin)


def _with(values: tuple[S, ...], place: int, value: S) -> tuple[S, ...]:
    return (*values[:place], value, *values[place + 1 :])
