"""What a decision works towards: a target, from a file's slots.

Source: page ``target-file``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kstream_plan.assignors.planned.members import Member, MembersAndTasks
from kstream_plan.assignors.planned.target_file import Slot, TargetFile, TargetRefused, check_against_group
from kstream_plan.model import NOBODY

_THREAD_AND_UUID = re.compile(r"-[0-9]+-[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTarget:
    """Where every task is to be; tasks are indices, members places.

    ``active``: by task the member that is to run it, or :data:`NOBODY`; ``standby``: by task the members that are to
    hold a standby, sorted; ``standbys_wanted``: by task how many there are to be, those of empty slots included;
    ``order``: the stateful tasks that warm up first; ``until_ms``: when to decide again though nothing waits.
    ``slots`` are pairs of a slot's name and the member on it.
    """

    active: tuple[int, ...]
    standby: tuple[tuple[int, ...], ...]
    standbys_wanted: tuple[int, ...]
    order: tuple[int, ...]
    warmups: int
    probe_ms: int
    until_ms: int | None = None
    slots: tuple[tuple[str, int], ...] = ()


def target_of_file(group: MembersAndTasks, file: TargetFile, now_ms: int) -> PlannedTarget:
    """Return what a file makes of a group.

    Raises:
        TargetRefused: the file does not count.
    """
    stateful = set(group.stateful)
    check_against_group(file, group.application, {name: i in stateful for i, name in enumerate(group.task_ids)}, now_ms)
    if len(group.members) > len(file.slots) and not file.waits_for_more:
        raise TargetRefused("more-members")
    index = {name: task for task, name in enumerate(group.task_ids)}
    seats = _seats(group, [_Share.of(slot, index) for slot in file.slots])
    active = [NOBODY] * len(index)
    standby: list[list[int]] = [[] for _ in index]
    standbys_wanted = [0] * len(index)
    for slot, place in zip(file.slots, seats, strict=True):
        for task in map(index.__getitem__, slot.standby):
            standbys_wanted[task] += 1
            if place != NOBODY:
                standby[task].append(place)
        for task in map(index.__getitem__, slot.active):
            active[task] = place
    all_seated = NOBODY not in seats and len(seats) == len(group.members)
    return PlannedTarget(
        active=tuple(active),
        standby=tuple(tuple(sorted(places)) for places in standby),
        standbys_wanted=tuple(standbys_wanted),
        order=tuple(index[task] for task in file.order),
        warmups=file.warmups,
        probe_ms=file.probe_ms,
        until_ms=None if all_seated else file.expires_ms,
        slots=tuple((slot.name, place) for slot, place in zip(file.slots, seats, strict=True) if place != NOBODY),
    )


def is_match(match: str, member: Member) -> bool:
    """Tell whether a slot is meant for this member."""
    kind, _, value = match.partition(":")
    match kind:
        case "tag":
            key, _, tag_value = value.partition("=")
            return member.tags.get(key) == tag_value
        case "static":
            rests = (name.removeprefix(value) for name in member.consumer_ids if name.startswith(value))
            return any(_THREAD_AND_UUID.fullmatch(rest) for rest in rests)
        case "client":
            return any(name.startswith(f"{value}-StreamThread-") for name in member.consumer_ids)
        case "host":
            return member.host == value
        case "process":
            return member.process_id == value
    return False


@dataclass(frozen=True, slots=True)
class _Share:
    match: str
    active: frozenset[int]
    all_tasks: frozenset[int]

    @classmethod
    def of(cls, slot: Slot, index: dict[str, int]) -> _Share:
        active = frozenset(map(index.__getitem__, slot.active))
        return cls(slot.match, active, active.union(map(index.__getitem__, slot.standby)))

    def overlap(self, member: Member) -> tuple[int, int]:
        return len(self.active & member.owned), len(self.all_tasks & member.state)


def _seats(group: MembersAndTasks, shares: Sequence[_Share]) -> tuple[int, ...]:
    """Return by slot the member that sits there: one that it is meant for, else one that has most of it already."""
    seats = [NOBODY] * len(shares)
    free = dict(enumerate(group.members))

    def preferred(slot: int, place: int) -> tuple[int, int]:
        active_in_common, in_common = shares[slot].overlap(free[place])
        return -active_in_common, -in_common

    for slot, share in enumerate(shares):
        matching = [place for place, member in free.items() if is_match(share.match, member)]
        if matching:
            seats[slot] = min(matching, key=lambda place: (*preferred(slot, place), place))
            del free[seats[slot]]

    def pairs() -> Iterator[tuple[int, int, int, int]]:
        for slot, place in enumerate(seats):
            if place == NOBODY:
                yield from ((*preferred(slot, free_place), slot, free_place) for free_place in free)

    for _, _, slot, place in sorted(pairs()):
        if seats[slot] == NOBODY and place in free:
            seats[slot] = place
            del free[place]
    return tuple(seats)
