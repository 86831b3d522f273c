"""Another way of coordinating a group: plain named items, handed on by members that go one by one.

When members come or go, or an item is pinned to one, it is decided anew who is to run what; what nobody runs starts at
once. The rest waits: each member has a timer of its own, and when it rings gives up what it is to run no more and takes
what somebody else has given up by then. No item has any state, and nobody probes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kstream_plan.model import (
    Consumer,
    Group,
    GroupState,
    Holding,
    Holdings,
    Instance,
    ItemName,
    Note,
    Snapshot,
    Target,
    Task,
)
from kstream_plan.model.scenario import Leave
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
    HandOver,
    MemberLeft,
    Phase,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    Trigger,
    Withhold,
)
from kstream_plan.plans.design import Ahead, Coordinator, Design, FinishedRun, Interval, NextRebalance, Rebalance
from kstream_plan.plans.membership import MembershipChange, regrouped

BEAT_MS = 5_000

_WHY = Reason(ReasonCode.MOVES_AWAY)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the group remembers: who is to run what, by member, which items are pinned to whom, and who is leaving."""

    items: tuple[tuple[int, ...], ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    leaving: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """An event that only this design knows: an item is to run on this member from now on."""

    at_ms: int
    item: str
    process_id: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Relay(Design):
    name: ClassVar[str] = "relay"
    models: ClassVar[str] = "Relays 1-2"
    assignor: ClassVar[str] = "relay"
    protocol: ClassVar[str] = "one-by-one"

    def coordinator(self, _config: AssignmentConfig) -> RelayCoordinator:
        return RelayCoordinator()

    def assumptions(self, plan: FinishedRun) -> tuple[Note, ...]:
        return (Note("goes-on", "What was decided before is still to be done"),) if plan.goes_on else ()


@dataclass(frozen=True, slots=True)
class PatientRelay(Relay):
    """Who leaves stays a member until it has handed on everything; its last turn lets it go."""

    def coordinator(self, _config: AssignmentConfig) -> RelayCoordinator:
        return PatientCoordinator()


class RelayCoordinator(Coordinator[Rebalance]):
    waits_for_all = False

    def resume(self, state: GroupState) -> Rebalance | None:
        if not _wanted(state).items:
            return None
        return self._rebalance(state, 0, _active(state.holdings), _wanted(state).items, ())

    def rebalance(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> Rebalance:
        if trigger is Trigger.FOLLOW_UP:
            return self._members_turn(state, at_ms)
        held, wanted = _active(state.holdings), _dealt(state)
        owners = {item: member for member, items in enumerate(held) for item in items}
        steps = list(members)
        for item, to in sorted((item, member) for member, items in enumerate(wanted) for item in items):
            if item not in owners:
                steps.append(HandOver(_name(state, item), None, _seat(state, to), True, 0, _WHY))
                held[to] = (*held[to], item)
            elif owners[item] != to:
                steps.append(Withhold(_name(state, item), _seat(state, owners[item]), _seat(state, to), _WHY))
        state = replace(state, memory=replace(_wanted(state), items=wanted))
        return replace(self._rebalance(state, at_ms, held, wanted, steps), generation=state.generation + 1)

    def next_rebalance(self, rebalance: Rebalance, ahead: Ahead) -> NextRebalance | None:
        rings = [
            _ring(rebalance.state, member, rebalance.at_ms, ahead)
            for member in range(len(rebalance.held))
            if _to_do(rebalance.held, rebalance.decided, member)
        ]
        return NextRebalance(min(rings), Trigger.FOLLOW_UP) if rings else None

    def advance(self, rebalance: Rebalance, interval: Interval) -> GroupState:
        if interval.idle:
            return rebalance.state
        return replace(rebalance.state, generation=rebalance.generation, at_ms=rebalance.at_ms, holdings=rebalance.held)

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        event = taking.change.event
        if isinstance(event, Pin):
            pins = (*_wanted(state).pins, (event.item, event.process_id))
            state = replace(state, memory=replace(_wanted(state), pins=pins))
        return super().apply_change(state, taking)

    def _members_turn(self, state: GroupState, at_ms: int) -> Rebalance:
        held, wanted = _active(state.holdings), _wanted(state).items
        now, then = _holdings(state, held), _holdings(state, wanted)
        member = next(m for m in range(len(held)) if _to_do(now, then, m) and (at_ms - _phase(state, m)) % BEAT_MS == 0)
        run = {item for items in held for item in items}
        seat = _seat(state, member)
        gone = [item for item in held[member] if item not in wanted[member]]
        come = [item for item in wanted[member] if item not in run]
        held[member] = tuple(sorted({*held[member], *come}.difference(gone)))
        steps = [Revoke(_name(state, item), seat, _WHY) for item in gone]
        steps += [HandOver(_name(state, item), None, seat, True, 0, _WHY) for item in come]
        rebalance = self._rebalance(state, at_ms, held, wanted, steps)
        return replace(rebalance, member=(seat.process_id, seat.consumer_id))

    def _rebalance(
        self,
        state: GroupState,
        at_ms: int,
        held: Sequence[tuple[int, ...]],
        wanted: Sequence[tuple[int, ...]],
        steps: Sequence[Step],
    ) -> Rebalance:
        now, then = _holdings(state, held), _holdings(state, wanted)
        started = any(isinstance(step, HandOver) for step in steps)
        return Rebalance(
            at_ms=at_ms,
            state=state,
            generation=state.generation,
            decided=then,
            held=now,
            target=Target(tuple(wanted), ((),) * len(wanted)),
            steps=tuple(steps),
            phases=(Phase.CUT_OVER,) * started + (Phase.SETTLED,) * (now == then),
        )


class PatientCoordinator(RelayCoordinator):
    def rebalance(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> Rebalance:
        rebalance = super().rebalance(state, at_ms, trigger, members)
        names, leaving = state.group.consumer_ids, _wanted(state).leaving
        gone = frozenset(
            name for name, held in zip(names, rebalance.held, strict=True) if name in leaving and not held.active
        )
        if not gone:
            return rebalance
        stay = [place for place, name in enumerate(names) if name not in gone]
        group = Group.of("relay", list(state.group.tasks), [state.group.instances[place] for place in stay])
        smaller = regrouped(rebalance.state, group, gone, {}, at_ms, lambda _task, _from_ms, _to_ms: 0)
        memory = replace(_wanted(rebalance.state), leaving=tuple(name for name in leaving if name not in gone))
        smaller = replace(smaller, memory=replace(memory, items=tuple(memory.items[place] for place in stay)))
        held, wanted = ([tuple(item[place].active) for place in stay] for item in (rebalance.held, rebalance.decided))
        left = [MemberLeft(name, at_ms, Reason(ReasonCode.MEMBERSHIP)) for name in sorted(gone)]
        after = self._rebalance(smaller, at_ms, held, wanted, (*rebalance.steps, *left))
        return replace(after, generation=rebalance.generation, member=rebalance.member)

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        if not isinstance(taking.change.event, Leave):
            return super().apply_change(state, taking)
        leaving = (*_wanted(state).leaving, *taking.change.event.process_ids)
        return replace(state, memory=replace(_wanted(state), leaving=leaving)), ()


def _to_do(now: Holdings, wanted: Holdings, member: int) -> bool:
    """Whether a member has to give up anything, or can take what nobody runs."""
    here, there = set(now[member].active), set(wanted[member].active)
    run = {item for held in now for item in held.active}
    return bool(here - there or there - run)


def _ring(state: GroupState, member: int, at_ms: int, ahead: Ahead) -> int:
    """When the timer of a member rings next; not while its instance does not run."""
    ring_ms = at_ms + (_phase(state, member) - at_ms) % BEAT_MS
    while member in ahead(ring_ms + 1)[-1].stopped_instances:
        ring_ms += BEAT_MS
    return ring_ms


def _phase(state: GroupState, member: int) -> int:
    """After how long, from each beat on, a member's timer rings: by the number in its name."""
    return int(state.group.consumer_ids[member][1:]) * 700 % BEAT_MS


def _dealt(state: GroupState) -> tuple[tuple[int, ...], ...]:
    """As evenly as pins allow: everybody keeps its first items up to its share, the others fill up in order."""
    group, held = state.group, _active(state.holdings)
    pinned = {
        group.task_index_by_text[item]: group.instance_index[process_id]
        for item, process_id in _wanted(state).pins
        if process_id in group.instance_index
    }
    staying = [member for member, name in enumerate(group.consumer_ids) if name not in _wanted(state).leaving]
    share, extra = divmod(len(group.tasks), len(staying))
    most_first = sorted(staying, key=lambda member: (-len(held[member]), member))
    room = dict.fromkeys(range(len(held)), 0) | {m: share + (place < extra) for place, m in enumerate(most_first)}
    dealt = [[item for item, to in sorted(pinned.items()) if to == member] for member in range(len(held))]
    for member, items in enumerate(held):
        free = [item for item in items if item not in pinned]
        dealt[member] += free[: max(0, room[member] - len(dealt[member]))]
    taken = {item for items in dealt for item in items}
    for item in sorted(set(range(len(group.tasks))) - taken):
        least = min(staying, key=lambda member: (len(dealt[member]) - room[member], member))
        dealt[least].append(item)
    return tuple(tuple(sorted(items)) for items in dealt)


def _wanted(state: GroupState) -> Wanted:
    return state.memory if isinstance(state.memory, Wanted) else Wanted()


def _active(holdings: Iterable[Holding]) -> list[tuple[int, ...]]:
    return [held.active for held in holdings]


def _holdings(state: GroupState, items: Sequence[tuple[int, ...]]) -> Holdings:
    return Holdings.of(state.group, [Holding(tuple(sorted(item))) for item in items])


def _seat(state: GroupState, member: int) -> Seat:
    name = state.group.consumer_ids[member]
    return Seat(name, name, Role.ACTIVE)


def _name(state: GroupState, item: int) -> ItemName:
    name = state.group.tasks[item].task_id
    assert isinstance(name, ItemName)
    return name


def member(name: str) -> Instance:
    """A member that is one process and nothing more."""
    return Instance(process_id=name, consumers=(Consumer(consumer_id=name),))


def group_of(**items: str) -> Snapshot:
    """Members and the items that each runs, one letter an item: ``group_of(m1="abc", m2="")``."""
    tasks = [Task(task_id=ItemName(item), stateful=True) for item in "".join(items.values())]
    group = Group.of("relay", tasks, [member(name) for name in items])
    held = [Holding(tuple(group.task_index_by_text[item] for item in sorted(items[m]))) for m in group.consumer_ids]
    state = GroupState(
        group=group, generation=7, at_ms=0, holdings=tuple(held), copies=((),) * len(group.tasks), leader=None
    )
    return Snapshot(state=state, config=AssignmentConfig())


def who_runs(holdings: Sequence[Holding], group: Group) -> dict[str, str]:
    """The items of every member of a group that runs any."""
    return {
        name: "".join(str(group.tasks[item].task_id) for item in held.active)
        for name, held in zip(group.consumer_ids, holdings, strict=True)
        if held.active
    }
