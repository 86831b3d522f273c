"""What a decision works towards: a target, from a file's slots, or without a file that counts.

Source: page ``target-file``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kstream_plan.assignors.planned.members import Member, MembersAndTasks, stateful_owners
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


def target_without_file(group: MembersAndTasks) -> PlannedTarget:
    """Return an even target that moves as few tasks as it can, first to where a copy is caught up."""
    home = stateful_owners(group, [NOBODY] * len(group.task_ids))
    order = _even_out(group, home)
    counts = _counts(group, (home[task] for task in group.stateful))
    standby = _place_standbys(group, home, counts)
    active = _place_stateless(group, home, counts)
    return PlannedTarget(
        active=tuple(active),
        standby=tuple(tuple(sorted(places)) for places in standby),
        standbys_wanted=tuple(map(len, standby)),
        order=tuple(order),
        warmups=max(1, group.max_warmup_replicas),
        probe_ms=group.probing_rebalance_interval_ms,
    )


def quota(group: MembersAndTasks, number: int, counts: Sequence[int]) -> list[int]:
    """Return by member its share of a number of tasks; what rounding leaves goes to those who hold more than theirs."""
    threads = [member.threads for member in group.members]
    all_threads = sum(threads)
    shares = [number * of_member // all_threads for of_member in threads]
    uneven = [place for place, of_member in enumerate(threads) if number * of_member % all_threads]
    uneven.sort(key=lambda place: (shares[place] - counts[place], place))
    for place in uneven[: number - sum(shares)]:
        shares[place] += 1
    return shares


def _counts(group: MembersAndTasks, places: Iterable[int]) -> list[int]:
    counts = [0] * len(group.members)
    for place in places:
        counts[place] += 1
    return counts


def _even_out(group: MembersAndTasks, home: list[int]) -> list[int]:
    """Move tasks in ``home`` from members above their quota to those below; return them in that order."""
    counts = _counts(group, (home[task] for task in group.stateful))
    of_subtopology = Counter((home[task], group.subtopologies[task]) for task in group.stateful)
    shares = quota(group, len(group.stateful), counts)
    moves = []

    def is_caught_up(task: int, place: int) -> bool:
        return bool(group.ranks[task, place] == 0)

    def has_state(task: int, place: int) -> bool:
        return task in group.members[place].state

    def is_any(task: int, place: int) -> bool:  # noqa: ARG001 - as the others
        return True

    def give(tasks: Sequence[int], is_allowed: Callable[[int, int], bool]) -> None:
        for task in tasks:
            source, subtopology = home[task], group.subtopologies[task]
            if counts[source] <= shares[source]:
                continue
            takers = [p for p, share in enumerate(shares) if counts[p] < share and is_allowed(task, p)]
            if not takers:
                continue
            taker = min(takers, key=lambda p: (of_subtopology[p, subtopology], counts[p] * group.weights[p], p))
            for place, change in ((source, -1), (taker, 1)):
                counts[place] += change
                of_subtopology[place, subtopology] += change
            home[task] = taker
            moves.append(task)

    give(group.stateful, is_caught_up)
    give(group.stateful, has_state)
    give(_by_turns(group, home), is_any)
    return moves


def _by_turns(group: MembersAndTasks, home: Sequence[int]) -> list[int]:
    """Return the stateful tasks, the first of each subtopology on each member before the second ones."""
    turn = Counter[tuple[int, int]]()
    turns = []
    for task in group.stateful:
        member_and_subtopology = home[task], group.subtopologies[task]
        turns.append((turn[member_and_subtopology], task))
        turn[member_and_subtopology] += 1
    return [task for _, task in sorted(turns)]


def _place_standbys(group: MembersAndTasks, home: Sequence[int], counts: Sequence[int]) -> list[list[int]]:
    """Return by task the members that hold a standby: tags apart, then room, then state that is there already."""
    standby: list[list[int]] = [[] for _ in group.task_ids]
    replicas = min(group.num_standby_replicas, len(group.members) - 1)
    if replicas <= 0:
        return standby
    copies = [*counts]
    all_threads = sum(member.threads for member in group.members)
    number = len(group.stateful) * (1 + replicas)
    room = [-(-number * member.threads // all_threads) for member in group.members]
    for task in group.stateful:
        holders = [home[task]]
        crowds = [0] * len(group.members)
        rests = [_rest(group, task, place) for place in range(len(group.members))]
        values: set[tuple[str, str]] = set()
        for _ in range(replicas):
            added = set(_tags(group, holders[-1])) - values
            if added:
                values |= added
                crowds = [len(values.intersection(_tags(group, place))) for place in range(len(group.members))]
            holder = min(
                (place for place in range(len(group.members)) if place not in holders),
                key=lambda place: (
                    crowds[place],
                    copies[place] >= room[place],
                    rests[place],
                    copies[place] * group.weights[place],
                    place,
                ),
            )
            copies[holder] += 1
            holders.append(holder)
        standby[task] = holders[1:]
    return standby


def _rest(group: MembersAndTasks, task: int, place: int) -> int:
    """Return 0 for a member that has a caught-up copy, 1 for one that has any, 2 for all others."""
    if task not in group.members[place].state and group.owner[task] != place:
        return 2
    return int(group.ranks[task, place] != 0)


def _tags(group: MembersAndTasks, place: int) -> list[tuple[str, str]]:
    tags = group.members[place].tags
    return [(key, tags[key]) for key in group.rack_aware_assignment_tags if key in tags]


def _place_stateless(group: MembersAndTasks, home: Sequence[int], stateful_counts: Sequence[int]) -> list[int]:
    """Return by task the member that is to run it; stateless ones stay where there is room for them."""
    active = [*home]
    counts = [*stateful_counts]
    owned = [*stateful_counts]
    for task in group.stateless:
        if group.owner[task] != NOBODY:
            owned[group.owner[task]] += 1
    shares = quota(group, len(group.task_ids), owned)
    rest = []
    for task in group.stateless:
        owner = group.owner[task]
        if owner != NOBODY and counts[owner] < shares[owner]:
            active[task] = owner
            counts[owner] += 1
        else:
            rest.append(task)
    for task in rest:
        with_room = [place for place, share in enumerate(shares) if counts[place] < share] or range(len(counts))
        active[task] = group.least_loaded(with_room, counts)
        counts[active[task]] += 1
    return active
