"""Designs I, II and III of incremental cooperative rebalancing once more, as literally as they are written.

It shares no code with the package: lists of (member, connectors, tasks), and one function a round.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Settings(NamedTuple):
    """``design`` is 1, 2 or 3; the others are those of Designs II and III."""

    design: int
    delay_ms: int = 0
    defer_join: bool = False
    step: int = 0
    pause_ms: int = 0


class Memory(NamedTuple):
    """What is remembered between rounds."""

    known: frozenset[Any] = frozenset()
    deadline: int | None = None
    next_step: int | None = None


class Told(NamedTuple):
    """By member and kind what it gets and loses, and the delay for all."""

    assigned: dict[str, list[list[Any]]]
    revoked: dict[str, list[list[Any]]]
    delay: int


def hash_order(names: list[str]) -> list[str]:
    """ASCII names in the order of Java's ``HashMap``, without tree bins."""
    size = 16
    while len(names) > 0.75 * size:
        size *= 2

    def bucket(name: str) -> int:
        item = 0
        for char in name:
            item = (31 * item + ord(char)) % 2**32
        return (item ^ item >> 16) % size

    return sorted(names, key=bucket)


def play(  # noqa: C901, PLR0912 - as it is written, in one piece
    settings: Settings,
    now: int,
    connectors: dict[str, int],
    members: list[tuple[str, list[Any], list[Any]]],
    memory: Memory,
) -> tuple[Told, Memory]:
    """One round."""
    configured = [sorted(connectors), sorted((name, place) for name in connectors for place in range(connectors[name]))]
    reported = {member: [items, tasks] for member, items, tasks in members}
    revoked: dict[str, list[list[Any]]] = {member: [[], []] for member in reported}
    held: dict[str, list[list[Any]]] = {}
    for member, kinds in reported.items():
        held[member] = [[], []]
        for kind in (0, 1):
            for item in kinds[kind]:
                twice = sum(item in other[kind] for other in reported.values()) > 1
                gone = twice or item not in configured[kind]
                (revoked if gone else held)[member][kind].append(item)
    active = [{item for kinds in reported.values() for item in kinds[kind]} for kind in (0, 1)]
    free = [[item for item in configured[kind] if item not in active[kind]] for kind in (0, 1)]
    lost = [[item for item in free[kind] if item in memory.known] for kind in (0, 1)]
    new = [[item for item in free[kind] if item not in memory.known] for kind in (0, 1)]
    surplus = [_surplus(kind, held, configured) for kind in (0, 1)]
    deadline, next_step, delay, waits = None, None, 0, False
    if settings.design > 1:
        if any(lost) or (settings.defer_join and any(surplus)):
            deadline = now + settings.delay_ms if memory.deadline is None else memory.deadline
        waits = deadline is not None and now < deadline
        deadline = deadline if waits else None
        delay = (deadline or 0) - now if waits else 0
        next_step = memory.next_step if waits else None
    if settings.design == 3 and not waits:
        if memory.next_step is not None and now < memory.next_step:
            next_step, delay, surplus = memory.next_step, memory.next_step - now, [[], []]
        elif max(map(len, surplus)) > settings.step:
            next_step, surplus = now + settings.pause_ms, [pairs[: settings.step] for pairs in surplus]
    if not waits:
        for kind in (0, 1):
            for member, item in surplus[kind]:
                held[member][kind].remove(item)
                revoked[member][kind].append(item)
    for kind in (0, 1):
        _place(new[kind] if waits else free[kind] if settings.design == 1 else new[kind] + lost[kind], kind, held)
    known = frozenset(item for kinds in held.values() for kind in kinds for item in kind)
    if waits:
        known |= {item for kind in lost for item in kind}
    assigned = {
        member: [[item for item in kinds[kind] if item not in reported[member][kind]] for kind in (0, 1)]
        for member, kinds in held.items()
    }
    if any(kind for kinds in revoked.values() for kind in kinds):
        delay = 0
    return Told(assigned, revoked, delay), Memory(known, deadline, next_step)


def _surplus(kind: int, held: dict[str, list[list[Any]]], configured: list[list[Any]]) -> list[tuple[str, Any]]:
    """What members have too much of, with who has it, in the order in which it is taken."""
    if not any(entry for kinds in held.values() for entry in kinds) or not any(configured):
        return []
    low, extra = divmod(len(configured[kind]), len(held))
    sizes = sorted((len(kinds[kind]) for kinds in held.values()), reverse=True)
    if sizes == [low + 1] * extra + [low] * (len(held) - extra):
        return []
    found: list[tuple[str, Any]] = []
    for member in hash_order(list(held)):
        items = held[member][kind]
        if len(items) <= low:
            continue
        share = low + 1 if extra > 0 else low
        extra -= 1
        found += [(member, item) for item in items[: len(items) - share]]
    return found


def _place(items: list[Any], kind: int, held: dict[str, list[list[Any]]]) -> None:
    order = sorted(held, key=lambda member: (len(held[member][kind]), member))
    items = list(items)
    while items:
        first = len(held[order[0]][kind])
        for member in order:
            if not items or len(held[member][kind]) > first:
                break
            held[member][kind].append(items.pop(0))
