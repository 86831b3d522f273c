"""Random lives of groups whose assignor follows a target file: crashes, empty disks, late joiners, lost and cut files.

usage: python tests/fuzz/planned.py [--sequences N] [--seed N]

Every decision is held to what it must never do; every group has to settle once nothing happens any more.
"""

from __future__ import annotations

import argparse
import random
import time
import uuid
from dataclasses import dataclass, field

import numpy as np

from kstream_plan.assignors.planned.decide import Followed, PlannedDecision, decide
from kstream_plan.assignors.planned.members import Member, MembersAndTasks
from kstream_plan.assignors.planned.target_file import Slot, TargetFile, target_text
from kstream_plan.model import LATEST, NOBODY
from kstream_plan.model.group import process_order

_NOW_MS = 1_795_000_000_000
_ROUNDS_TO_SETTLE = 400


@dataclass
class Process:
    """A member of the world: what it owns, what is on its disk (task → lag), and what it runs."""

    process_id: str
    threads: int
    pod: str
    owned: set[int] = field(default_factory=set)
    disk: dict[int, int] = field(default_factory=dict)


class World:
    """A group, its file and the clock; private to one sequence."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.names = [f"{s}_{p}" for s in range(chance.randint(1, 3)) for p in range(chance.randint(1, 5))]
        flags = [chance.random() < 0.8 for _ in self.names]
        self.stateful = tuple(task for task, is_stateful in enumerate(flags) if is_stateful)
        self.sizes = [chance.choice((0, 50, 2_000, 100_000)) for _ in self.names]
        self.standbys = chance.choice((0, 0, 1, 1, 2))
        self.number = 0
        self.members = [self.process() for _ in range(chance.randint(1, 4))]
        for task in range(len(self.names)):
            owner = chance.choice(self.members)
            owner.owned.add(task)
            if task in self.stateful:
                owner.disk[task] = 0
                for holder in chance.sample(self.members, min(self.standbys, len(self.members))):
                    holder.disk.setdefault(task, chance.choice((0, 0, self.sizes[task] // 2)))
        self.now_ms = _NOW_MS
        self.content: bytes | None = self.new_file()

    def process(self) -> Process:
        """Start a process with an empty disk."""
        self.number += 1
        process_id = str(uuid.UUID(int=self.chance.getrandbits(128)))
        return Process(process_id, self.chance.choice((1, 2, 2, 4)), f"pod-{self.number}")

    def new_file(self) -> bytes:
        """Write a file that puts everything anywhere, for who is there and perhaps others."""
        chance = self.chance
        matches = [f"tag:pod={member.pod}" for member in self.members]
        matches += ["new"] * chance.choice((0, 0, 1, 2))
        chance.shuffle(matches)
        matches = matches[: max(1, len(matches) - chance.choice((0, 0, 0, 1)))]
        active: list[list[str]] = [[] for _ in matches]
        standby: list[list[str]] = [[] for _ in matches]
        for task, name in enumerate(self.names):
            home = chance.randrange(len(matches))
            active[home].append(name)
            others = [slot for slot in range(len(matches)) if slot != home]
            if task in self.stateful:
                for slot in chance.sample(others, min(self.standbys, len(others))):
                    standby[slot].append(name)
        order = [self.names[task] for task in self.stateful if chance.random() < 0.7]
        chance.shuffle(order)
        file = TargetFile(
            plan=f"{chance.getrandbits(48):012x}",
            application="fuzz",
            expires_ms=(self.now_ms // 1000 + chance.choice((60, 3_600, 7_200))) * 1000,
            waits_for_more=chance.random() < 0.5,
            warmups=chance.choice((1, 2, 5)),
            probe_ms=chance.choice((5_000, 15_000)),
            order=tuple(order),
            slots=tuple(
                Slot(name=f"s{n}", match=match, active=tuple(active[n]), standby=tuple(standby[n]))
                for n, match in enumerate(matches)
            ),
        )
        return target_text(file).encode()

    def group(self) -> MembersAndTasks:
        """Return the group as its leader sees it now."""
        by_id = {member.process_id: member for member in self.members}
        self.members = [by_id[process_id] for process_id in process_order(list(by_id))]
        lags = np.array([self.sizes] * len(self.members), dtype=np.int64).T.copy()
        for place, member in enumerate(self.members):
            for task, lag in member.disk.items():
                lags[task, place] = LATEST if task in member.owned and lag == 0 else lag
        return MembersAndTasks(
            application="fuzz",
            leader=None,
            task_ids=tuple(self.names),
            subtopologies=tuple(int(name.split("_")[0]) for name in self.names),
            stateful=self.stateful,
            members=tuple(
                Member(
                    process_id=member.process_id,
                    threads=member.threads,
                    owned=frozenset(member.owned),
                    state=frozenset(member.disk.keys() - member.owned),
                    tags={"pod": member.pod},
                    host=None,
                    consumer_ids=(f"fuzz-{member.process_id}-StreamThread-1-consumer",),
                )
                for member in self.members
            ),
            lags=lags,
            acceptable_recovery_lag=100,
            max_warmup_replicas=2,
            num_standby_replicas=self.standbys,
            probing_rebalance_interval_ms=60_000,
            rack_aware_assignment_tags=(),
        )

    def disturb(self) -> None:
        """Let something happen to the group or to its file."""
        chance = self.chance
        match chance.randrange(8):
            case 0 if len(self.members) > 1:
                self.members.remove(chance.choice(self.members))
            case 1:
                self.members.append(self.process())
            case 2:
                member = chance.choice(self.members)
                member.disk, member.owned = {}, set()
            case 3 if len(self.members) > 1:
                gone = chance.choice(self.members)
                gone.process_id, gone.owned = self.process().process_id, set()
            case 4:
                self.content = None
            case 5 if self.content:
                self.content = self.content[: chance.randrange(len(self.content))]
            case 6 | 7:
                self.content = self.new_file()

    def go_on(self, group: MembersAndTasks, decision: PlannedDecision) -> None:
        """Apply a decision as Kafka does: a task is withheld until its owner has given it up; copies restore."""
        self.now_ms += 6_000
        copies = {(task, place) for task, places in enumerate(decision.standby) for place in places}
        copies |= set(decision.warmups)
        for place, member in enumerate(self.members):
            wanted = {task for task, runs_on in enumerate(decision.running) if runs_on == place}
            owned_by_others = {task for task in wanted if group.owner[task] not in (place, NOBODY)}
            kept = wanted - owned_by_others
            for task in range(len(self.names)):
                is_restoring = (task, place) in copies or task in kept
                if task in self.stateful and is_restoring:
                    lag = member.disk.get(task, self.sizes[task])
                    member.disk[task] = 0 if self.chance.random() < 0.5 else lag // 3
            member.owned = kept

    def is_settled(self, group: MembersAndTasks, decision: PlannedDecision) -> bool:
        """Tell whether nothing waits and everybody owns what was decided."""
        return not decision.tasks_waiting and not decision.standbys_waiting and decision.running == group.owner


def broken(group: MembersAndTasks, followed: Followed, decision: PlannedDecision) -> str | None:
    """Return what a decision must not do and does; ``None``: nothing."""
    places = range(len(group.members))
    if any(place not in places for place in decision.running):
        return "a task is lost"
    for task in group.stateful:
        place, owner, lowest = decision.running[task], group.owner[task], int(group.ranks[task].min())
        rank = int(group.ranks[task, place])
        most = lowest if owner == NOBODY or lowest == 0 else int(group.ranks[task, owner])
        if rank > most:
            return f"{group.task_ids[task]} goes to a colder copy"
        holders = [place, *decision.standby[task]]
        warm = [on for of, on in decision.warmups if of == task]
        if len(set(holders + warm)) != len(holders) + len(warm):
            return f"{group.task_ids[task]} has two copies on one member"
        if len(decision.standby[task]) > followed.target.standbys_wanted[task]:
            return f"{group.task_ids[task]} has too many standbys"
    if len(decision.warmups) > followed.target.warmups:
        return "too many warm-ups"
    return None


def play(seed: int) -> str | None:
    """Play one sequence; return what went wrong, or ``None``."""
    world = World(seed)
    disturbances = world.chance.randint(0, 5)
    for _ in range(_ROUNDS_TO_SETTLE):
        if disturbances and world.chance.random() < 0.5:
            world.disturb()
            disturbances -= 1
        group = world.group()
        followed, decision = decide(group, world.content, world.now_ms)
        if (what := broken(group, followed, decision)) is not None:
            return what
        if not disturbances and world.is_settled(group, decision):
            return None
        world.go_on(group, decision)
    return "it does not settle"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begun, wrong = time.monotonic(), 0
    for seed in range(arguments.seed, arguments.seed + arguments.sequences):
        if (what := play(seed)) is not None:
            print(f"seed {seed}: {what}")
            wrong += 1
    print(f"{arguments.sequences:,} sequences, {wrong} wrong, {time.monotonic() - begun:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
