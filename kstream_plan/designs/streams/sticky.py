"""The broker's assignor ``sticky``, of Kafka 4.2 to 4.4, to the last tie.

Source: page ``streams-rules``, "The assignor sticky", whose steps are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from kstream_plan.assignors.java.collections import given_out_in_turn
from kstream_plan.assignors.java.text_maps import HashMapOrder, hash_map_order
from kstream_plan.model.java_hash import java_string_key


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsTasks:
    """The tasks of a topology, in order of subtopology (as Java's strings), then partition; they are their numbers.

    ``by_partition`` are the same in order of partition, then subtopology. ``stateful`` is by task.
    """

    names: tuple[str, ...]
    stateful: tuple[bool, ...]
    by_partition: tuple[int, ...]

    @classmethod
    def from_subtopologies(cls, subtopologies: Iterable[tuple[str, int, bool]]) -> StreamsTasks:
        """Return the tasks of subtopologies: (id, number of partitions, whether it keeps state)."""
        tasks = sorted(
            (java_string_key(name), partition, f"{name}_{partition}", stateful)
            for name, partitions, stateful in subtopologies
            for partition in range(partitions)
        )
        return cls(
            names=tuple(name for *_, name, _ in tasks),
            stateful=tuple(stateful for *_, stateful in tasks),
            by_partition=tuple(sorted(range(len(tasks)), key=lambda number: (tasks[number][1], tasks[number][0]))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedMember:
    """A member as the assignor is given it: its previous target (4.2, 4.3) or what it holds (4.4), and left-over state.

    ``offsets`` are what it has reported of its directories, by task (4.4).
    """

    member_id: str
    process_id: str
    active: frozenset[int] = frozenset()
    standby: frozenset[int] = frozenset()
    offsets: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class MemberTarget:
    """What a member should hold."""

    active: frozenset[int]
    standby: frozenset[int]


def assign(
    tasks: StreamsTasks, members: Sequence[AssignedMember], num_standby_replicas: int, *, by_current: bool
) -> dict[str, MemberTarget]:
    """Return every member's target.

    Args:
        tasks: all tasks.
        members: in the order in which they are put into the assignor's map.
        num_standby_replicas: of the group's configuration.
        by_current: the rules of 4.4, which go by what members hold; else those of 4.2 and 4.3.
    """
    if not members:
        return {}
    draft = _Draft(tasks, members, num_standby_replicas, by_current=by_current)
    draft.place_actives()
    if num_standby_replicas:
        draft.place_standbys(num_standby_replicas)
    return {
        member.member_id: MemberTarget(frozenset(active), frozenset(standby))
        for member, active, standby in zip(draft.members, draft.active, draft.standby, strict=True)
    }


class _Draft:
    """One assignment under way; members are their places in the order of the assignor's map."""

    __slots__ = (
        "active",
        "active_pool",
        "active_quota",
        "at_home",
        "by_current",
        "copies",
        "count",
        "load",
        "members",
        "owner",
        "process_count",
        "process_of",
        "process_tasks",
        "queues",
        "size",
        "standby",
        "tasks",
        "total_pool",
        "total_quota",
    )

    def __init__(
        self, tasks: StreamsTasks, members: Sequence[AssignedMember], num_standby_replicas: int, *, by_current: bool
    ) -> None:
        by_id = {member.member_id: member for member in members}
        self.members = [by_id[member_id] for member_id in hash_map_order(by_id)]
        self.tasks, self.by_current = tasks, by_current
        number = len(self.members)
        order = HashMapOrder(number)
        for member in self.members:
            (order.compute_if_absent if by_current else order.put)(member.process_id)
        processes = {process_id: process for process, process_id in enumerate(order)}
        self.process_of = [processes[member.process_id] for member in self.members]
        at_home: list[list[int]] = [[] for _ in processes]
        for place, process in enumerate(self.process_of):
            at_home[process].append(place)
        self.at_home = [self._in_counts_order(places) for places in at_home]
        self.size = list(map(len, self.at_home))
        self.count = [0] * number
        self.process_count = [0] * len(processes)
        self.load = [0.0] * len(processes)
        self.process_tasks: list[set[int]] = [set() for _ in processes]
        self.active: list[list[int]] = [[] for _ in self.members]
        self.standby: list[list[int]] = [[] for _ in self.members]
        self.queues: list[Iterator[int] | None] = [None] * len(processes)
        standbys = num_standby_replicas * sum(tasks.stateful)
        self.active_pool = [len(tasks.names), number]
        self.total_pool = [len(tasks.names) + standbys, number]
        self.active_quota, self.total_quota = _quota(self.active_pool), _quota(self.total_pool)
        self.owner: dict[int, int] = {}
        self.copies: dict[int, list[int]] = {}
        self._previous()

    def _in_counts_order(self, places: Sequence[int]) -> list[int]:
        """Return the members of a process in the order of its own map."""
        if len(places) == 1:
            return list(places)
        by_id = {self.members[place].member_id: place for place in places}
        return [by_id[member_id] for member_id in hash_map_order(by_id)]

    def _previous(self) -> None:
        """Find the previous active owner (the last in member order) and the previous standbys of every task."""
        for place, member in enumerate(self.members):
            for task in member.active:
                self.owner[task] = place
            copies = member.standby | member.offsets.keys() if self.by_current else member.standby
            for task in copies:
                self.copies.setdefault(task, []).append(place)
        if self.by_current:
            members = self.members
            for task, places in self.copies.items():
                places.sort(
                    key=lambda place: (task not in members[place].standby, -members[place].offsets.get(task, 0))
                )

    # -- granting ------------------------------------------------------------------------------------------------

    def _grant(self, task: int, place: int, *, active: bool) -> None:
        (self.active if active else self.standby)[place].append(task)
        process = self.process_of[place]
        self.process_tasks[process].add(task)
        self.process_count[process] = in_process = self.process_count[process] + 1
        self.load[process] = in_process / self.size[process]
        self.count[place] = count = self.count[place] + 1
        if active and count == self.active_quota:
            self.active_quota = _quota_without(self.active_pool, count)
        if count == self.total_quota:
            self.total_quota = _quota_without(self.total_pool, count)

    def _grant_by_name(self, task: int, place: int, *, active: bool) -> None:
        self.queues[self.process_of[place]] = None
        self._grant(task, place, active=active)

    def _grant_least_loaded(self, task: int, process: int, *, active: bool) -> None:
        queue = self.queues[process]
        if queue is None:
            queue = given_out_in_turn(self.at_home[process], self.count.__getitem__, evenly=True)
            self.queues[process] = queue
        self._grant(task, next(queue), active=active)

    def _best(self, places: Sequence[int], task: int | None = None) -> int | None:
        """Return the member with the least load among these; with ``task``, of a process that lacks it."""
        if self.by_current:
            return self._best_lacking(places, task)
        if not places:
            return None
        best = places[0]
        for place in places[1:]:
            if self._is_better(place, best) and not (
                task is not None and task in self.process_tasks[self.process_of[place]]
            ):
                best = place
        # as shipped: it is the first one that is asked whether its process has the task (KAFKA-20899)
        return None if task is not None and task in self.process_tasks[self.process_of[places[0]]] else best

    def _best_lacking(self, places: Iterable[int], task: int | None) -> int | None:
        best: int | None = None
        for place in places:
            if task is not None and task in self.process_tasks[self.process_of[place]]:
                continue
            if best is None or self._is_better(place, best):
                best = place
        return best

    def _is_better(self, place: int, other_place: int) -> bool:
        load, process_of = self.load, self.process_of
        return load[process_of[place]] < load[process_of[other_place]] and self.count[place] < self.count[other_place]

    # -- rules ---------------------------------------------------------------------------------------------------

    def place_actives(self) -> None:
        """Place the active tasks: with their owners, where a copy is, where the load is least (steps 1 to 3)."""
        unplaced = self._keep(self.tasks.by_partition, self.owner, self.owner.get)
        rest = self._keep(unplaced, self.copies, lambda task: self._best(self.copies.get(task, ())))
        for task, process in zip(sorted(rest), self._processes_in_turn(), strict=False):
            self._grant_least_loaded(task, process, active=True)

    def _keep(
        self, tasks: Sequence[int], previous_holders: Mapping[int, object], holder_of: Callable[[int], int | None]
    ) -> Sequence[int]:
        """Grant each task to its ``holder_of``, if the quota allows; return the others. ``previous_holders``: all."""
        if not previous_holders:
            return tasks
        remaining_tasks = []
        for task in tasks:
            place = holder_of(task)
            if place is not None and self.count[place] < self.active_quota:
                self._grant_by_name(task, place, active=True)
            else:
                remaining_tasks.append(task)
        return remaining_tasks

    def place_standbys(self, replicas: int) -> None:
        """Place the standbys: with previous owners, where a copy is, where the load is least (steps 4 to 7)."""
        missing_standbys: dict[int, int] = {}
        stateful, somebody_had = self.tasks.stateful, self.owner.keys() | self.copies.keys()
        for task in self.tasks.by_partition[::-1]:
            if stateful[task]:
                missing_standbys[task] = self._give_back(task, replicas) if task in somebody_had else replicas
        self._spread_standbys(missing_standbys)

    def _give_back(self, task: int, replicas: int) -> int:
        """Grant standbys of a task to its previous holders; return the number still missing."""
        for replica in range(replicas):
            place = self._former_holder(task)
            if place is None:
                return replicas - replica
            self._grant_by_name(task, place, active=False)
        return 0

    def _former_holder(self, task: int) -> int | None:
        """Return a previous holder of the task, active or standby, that may have a standby of it now."""
        place = self.owner.get(task)
        if (
            place is not None
            and task not in self.process_tasks[self.process_of[place]]
            and self.count[place] < self.total_quota
        ):
            return place
        place = self._best(self.copies.get(task, ()), task)
        return place if place is not None and self.count[place] < self.total_quota else None

    def _spread_standbys(self, missing_standbys: Mapping[int, int]) -> None:
        """Grant every standby to the least loaded process that lacks the task, as long as there is one (step 7)."""
        turns, process_tasks = self._processes_in_turn(), self.process_tasks
        process = next(turns)
        for task in sorted(missing_standbys, reverse=True):
            for _ in range(missing_standbys[task]):
                while process >= 0 and task in process_tasks[process]:
                    process = turns.send(True)
                if process < 0:
                    process = next(turns)
                    break
                self._grant_least_loaded(task, process, active=False)
                process = next(turns)

    def _processes_in_turn(self) -> Generator[int, bool | None, None]:
        """Yield the least loaded process, again and again."""
        evenly = len(set(self.size)) == 1
        return given_out_in_turn(range(len(self.size)), self.load.__getitem__, evenly=evenly)


def _quota(pool: Sequence[int]) -> int:
    """Return how many of the tasks each of the members may have: (tasks, members)."""
    tasks, members = pool
    return -(-tasks // members) if members else 0


def _quota_without(pool: list[int], count: int) -> int:
    """Take a member that is full, and its tasks, out of a pool; return the quota of the others."""
    pool[0] -= count
    pool[1] -= 1
    return _quota(pool)
