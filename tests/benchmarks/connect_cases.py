"""Random cases of Connect groups for Kafka's own classes and ours, in the form of ``vectors/connect-*``.

Names are of several styles, those whose hashes collide and those beyond 16 bits included; what workers report is
balanced, random or lopsided, with duplicates, what was deleted and what nobody has; memories are of any kind.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

#: A task, or a connector, whose number is -1.
Item: TypeAlias = tuple[str, int]

_DELAYS_MS = [0, 1, 40, 1_000, 10_000, 60_000, 64_000, 300_000, 300_000, 300_000, 300_000, 3_600_000]
_CONNECTOR = -1
_MOST_WORKERS = 38


class _Names:
    """Member ids and connectors of one style each."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._number = 0
        self._style = chance.choices(["real", "plain", "colliding", "odd"], [10, 3, 2, 1])[0]
        self._connectors = chance.choices(["real", "plain", "colliding", "odd"], [8, 3, 2, 1])[0]

    def member(self, host: int | None = None) -> str:
        self._number += 1
        at = self._number if host is None else host
        if self._style == "real":
            random_id = uuid.UUID(int=self._chance.getrandbits(128), version=4)
            return f"connect-10.{at % 3}.{at // 7}.{at}:8083-{random_id}"
        if self._style == "colliding":
            return f"{self._colliding(7)}{self._number % 3}-{self._number}"
        if self._style == "odd":
            return f"{self._chance.choice(['😀', chr(0xFFEE), 'é', 'z', 'B'])}-{self._number}"
        return f"worker{self._number}"

    def connector(self, number: int) -> str:
        if self._connectors == "real":
            kinds = ["jdbc-source", "s3-sink", "debezium-source", "elastic-sink", "mm2-source"]
            return f"{self._chance.choice(kinds)}-{self._chance.choice(['orders', 'users', 'clicks'])}-{number}"
        if self._connectors == "colliding":
            return f"{self._colliding(6)}{number}"
        if self._connectors == "odd":
            return f"{self._chance.choice(['😀', chr(0xFFEE), 'a b', 'ü', 'C-1'])}{number}"
        return f"connector{number}"

    def _colliding(self, length: int) -> str:
        return "".join(self._chance.choice(["Aa", "BB"]) for _ in range(length))


def _some(chance: random.Random, most: int) -> int:
    return max(1, min(most, int(most * chance.random() ** 2) + chance.randint(0, 3)))


def _connectors(chance: random.Random, names: _Names) -> dict[str, int]:
    found, left = {}, chance.choice([20, 60, 150, 300, 600])
    for number in range(chance.choice([0, 1, 2, 3, 5, 8, 12, 13, 24, 25, 30, 48])):
        count = min(left, chance.choice([0, 1, 1, 2, 3, 5, 8, 16, 40, 100]))
        found[names.connector(number)] = count
        left -= count
    return found


def _items(connectors: dict[str, int]) -> list[Item]:
    return [(name, number) for name, count in connectors.items() for number in range(_CONNECTOR, count)]


def _wire(items: Iterable[Item]) -> list[list[Any]]:
    groups: dict[str, list[int]] = {}
    for name, number in items:
        groups.setdefault(name, []).append(number)
    return [[name, numbers] for name, numbers in groups.items()]


def _sorted_wire(items: Iterable[Item]) -> list[list[Any]]:
    return _wire(sorted(set(items), key=lambda item: (item[0].encode("utf-16-be"), item[1])))


# --- one decision -----------------------------------------------------------------------------------------------


def random_decision(seed: int) -> dict[str, Any]:
    """A decision of a leader that may remember anything."""
    chance = random.Random(f"decision {seed}")
    names = _Names(chance)
    members = list(dict.fromkeys(names.member() for _ in range(_some(chance, 40))))
    connectors = _connectors(chance, names)
    deleted = {
        names.connector(100 + number): chance.choice([0, 1, 3, 8]) for number in range(chance.choice([0, 0, 1, 3]))
    }
    held, previous = _held(chance, members, _items(connectors), _items(deleted))
    generation = chance.randint(1, 500)
    case: dict[str, Any] = {
        "id": f"decision-{seed}",
        "now": chance.choice([1_700_000_000_000, 1_000, 5]) + chance.randint(0, 999),
        "max_delay": chance.choice(_DELAYS_MS),
        "connectors": connectors,
        "members": [
            [member, _wire(held[member]) if held[member] or chance.random() < 0.5 else None] for member in members
        ],
        "leader": chance.choice(members),
        "generation": generation,
        "last_completed": chance.choice([generation - 1] * 6 + [generation - 2, -1]),
    }
    chance.shuffle(case["members"])
    if connectors and chance.random() < 0.08:
        case["inconsistent"] = chance.sample(list(connectors), chance.randint(1, min(3, len(connectors))))
    if chance.random() < 0.05:
        offsets = {member: chance.randint(3, 6) for member in members}
        case["offsets"] = {"leader": chance.choice([3, 5]), "fresh": chance.choice([3, 5, 6]), "members": offsets}
    if chance.random() < 0.12:
        case["protocol"] = "eager"
    elif chance.random() < 0.95:
        case["memory"] = _memory(chance, names, case, members, previous)
    return case


def _held(
    chance: random.Random, members: Sequence[str], configured: list[Item], deleted: list[Item]
) -> tuple[dict[str, list[Item]], list[Item]]:
    """Return what every worker reports, and what was assigned before."""
    users = list(members)
    style = chance.choice(["balanced", "balanced", "random", "few", "one"])
    if style in ("few", "one"):
        users = chance.sample(users, 1 if style == "one" else chance.randint(1, len(users)))
    new, lost = chance.choice([0, 0, 0.1, 0.5, 1]), chance.choice([0, 0, 0.1, 0.4])
    held: dict[str, list[Item]] = {member: [] for member in members}
    previous = []
    chance.shuffle(configured)
    for place, item in enumerate([*configured, *deleted]):
        if item not in deleted and chance.random() < new:
            continue
        if chance.random() < 0.95:
            previous.append(item)
        if chance.random() >= lost:
            held[chance.choice(users) if style == "random" else users[place % len(users)]].append(item)
    if chance.random() < 0.15:
        for item in [one for items in held.values() for one in items if chance.random() < 0.05]:
            held[chance.choice(members)].append(item)
    if chance.random() < 0.7:
        for items in held.values():
            chance.shuffle(items)
    return held, previous


def _memory(
    chance: random.Random, names: _Names, case: dict[str, Any], members: Sequence[str], previous: Sequence[Item]
) -> dict[str, Any]:
    now, most = case["now"], case["max_delay"]
    scheduled = chance.choice(
        [0, 0, 0, now - chance.randint(1, 5), now, now + 1, now + chance.randint(1, max(1, most)), now + 10_000_000]
    )
    before = [member for member in members if chance.random() < 0.9] if chance.random() < 0.6 else list(members)
    before += [names.member() for _ in range(chance.choice([0, 1, 3]))]
    candidates = chance.sample(list(members), chance.randint(0, min(4, len(members))))
    candidates += [names.member()] if chance.random() < 0.3 else []
    revocation = [item for item in previous if chance.random() < 0.1] if chance.random() < 0.35 else []
    return {
        "previous": _sorted_wire(previous),
        "revocation": _sorted_wire(revocation),
        "revoked_in_previous": chance.random() < 0.35,
        "candidates": list(dict.fromkeys(candidates)) if chance.random() < 0.5 else [],
        "scheduled": max(0, scheduled),
        "delay": 0 if scheduled == 0 and chance.random() < 0.9 else chance.choice([0, 1, most]),
        "generation": chance.choice([case["last_completed"]] * 7 + [case["generation"] - 1, -1]),
        "members": sorted(set(before), key=lambda name: name.encode("utf-16-be")),
        "successive": chance.choice([0, 0, 1, 2, 3, 4, 9]),
    }


# --- a history --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _History:
    """A group to which things happen."""

    chance: random.Random
    names: _Names
    connectors: dict[str, int]
    delay_ms: int
    at_ms: int
    hosts: dict[str, int] = field(default_factory=dict)
    here: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    created: int = 200
    events: list[dict[str, Any]] = field(default_factory=list)

    def happen(self, **what: Any) -> None:
        self.events.append({"at": self.at_ms, **what})

    def fresh(self, host: int | None = None) -> str:
        member = self.names.member(host)
        self.hosts[member] = len(self.hosts) if host is None else host
        self.here.append(member)
        return member

    def leaves(self, member: str) -> str:
        self.here.remove(member)
        self.gone.append(member)
        return member

    def begin(self, workers: int) -> None:
        first = [self.fresh() for _ in range(workers)]
        if self.chance.random() < 0.5:
            self.happen(join=first)
            return
        for member in first:
            self.happen(join=[member])
            self.at_ms += self.chance.choice([0, 500, 3_000])

    def join(self) -> None:
        if len(self.here) < _MOST_WORKERS:
            self.happen(join=[self.fresh() for _ in range(self.chance.randint(1, 4))])

    def leave(self) -> None:
        if len(self.here) > 1:
            leaving = self.chance.sample(self.here, self.chance.randint(1, min(4, len(self.here) - 1)))
            self.happen(leave=[self.leaves(member) for member in leaving])

    def bounce(self) -> None:
        member = self.leaves(self.chance.choice(self.here))
        self.happen(leave=[member])
        self.at_ms += self.chance.choice([1, 5_000, max(1, self.delay_ms // 2), self.delay_ms + 10])
        self.happen(join=[self.fresh(self.hosts[self.gone.pop()])])

    def come_back(self) -> None:
        if self.gone:
            member = self.gone.pop(self.chance.randrange(len(self.gone)))
            new = self.fresh(self.hosts[member])
            # the same process, with its work and its memory, under a new id; or a new one
            self.happen(join=[[new, member] if self.chance.random() < 0.3 else new])

    def create(self) -> None:
        changed = {}
        for _ in range(self.chance.randint(1, 3)):
            self.created += 1
            changed[self.names.connector(self.created)] = self.chance.choice([0, 1, 2, 5, 12])
        self.connectors |= changed
        self.happen(connectors=changed)

    def change(self) -> None:
        if self.connectors:
            some = self.chance.sample(list(self.connectors), self.chance.randint(1, min(3, len(self.connectors))))
            changed = {name: self.chance.choice([None, 0, 1, 3, 7, 20]) for name in some}
            for name, count in changed.items():
                if count is None:
                    self.connectors.pop(name)
                else:
                    self.connectors[name] = count
            self.happen(connectors=changed)

    def fail(self) -> None:
        if len(self.here) < _MOST_WORKERS:
            how = self.chance.choice([{"fail": "sync"}, {"fail": "lag"}, {"lost": self.chance.sample(self.here, 1)}])
            self.happen(join=[self.fresh()], **how)

    def roll(self) -> None:
        for member in self.here[:12]:
            self.happen(leave=[self.leaves(member)])
            self.at_ms += self.chance.choice([2_000, 20_000])
            self.happen(join=[self.fresh(self.hosts[self.gone.pop()])])
            self.at_ms += self.chance.choice([1_000, 30_000])


def random_sequence(seed: int) -> dict[str, Any]:
    """A group that workers join, leave and come back to, whose connectors change, and whose rounds may fail."""
    chance = random.Random(f"sequence {seed}")
    names = _Names(chance)
    connectors = _connectors(chance, names)
    start_ms, delay_ms = chance.choice([0, 1_700_000_000_000]), chance.choice(_DELAYS_MS)
    item = _History(chance, names, dict(connectors), delay_ms, start_ms)
    item.begin(_some(chance, 30))
    kinds = [item.join, item.leave, item.bounce, item.come_back, item.create, item.change, item.fail, item.roll]
    for _ in range(chance.randint(1, 9)):
        third_ms = max(1, delay_ms // 3)
        item.at_ms += chance.choice(
            [1, 1_000, 30_000, third_ms, third_ms, delay_ms, delay_ms + 1, 2 * delay_ms + 1_000]
        )
        chance.choices(kinds, [5, 6, 4, 6, 4, 6, 4, 1])[0]()
    return {
        "id": f"sequence-{seed}",
        "protocol": "eager" if chance.random() < 0.07 else "sessioned",
        "max_delay": delay_ms,
        "round_ms": chance.choice([0, 0, 5, 250, 3_000]),
        "start": start_ms,
        "connectors": connectors,
        "max_rounds": 150,
        "events": item.events,
    }
