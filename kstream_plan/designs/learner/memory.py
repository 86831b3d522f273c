"""What a learner group remembers between its rounds: by process id, so that it outlives who comes and goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kstream_plan.designs.learner.reported import Memory, Reported
from kstream_plan.designs.learner.roles import Roles
from kstream_plan.model import NOBODY, Copy, Group, GroupState, Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The leader's memory (:class:`~kstream_plan.designs.learner.reported.Memory`), and what members have said.

    ``announced`` are those that say they leave, ``absent`` the static ones that have not come back, each with the time
    since which it has not run; ``leaving`` has deadlines. Times are those of the plan's clock, in milliseconds.
    ``guessed``: no round of this kind has been yet.
    """

    leader: str | None
    last_members: tuple[str, ...]
    leaving: tuple[tuple[str, int], ...] = ()
    announced: tuple[str, ...] = ()
    absent: tuple[tuple[str, int], ...] = ()
    guessed: bool = False

    @property
    def going(self) -> frozenset[str]:
        """Who is to go, in whatever way, and is still a member."""
        return frozenset(self.announced).union(of for of, _ in self.absent)

    def without(self, process_ids: Iterable[str]) -> Remembered:
        """Return the same after these have gone, or stay after all."""
        gone = frozenset(process_ids)
        return replace(
            self,
            announced=tuple(of for of in self.announced if of not in gone),
            absent=tuple(one for one in self.absent if one[0] not in gone),
        )

    def by_index(self, group: Group) -> Memory:
        """Return the leader's memory by the indices of a group's instances; who is no member there is left out."""
        index = group.instance_index
        return Memory(
            leader=None if self.leader is None else index.get(self.leader, NOBODY),
            last_members=frozenset(index[of] for of in self.last_members if of in index),
            leaving=MappingProxyType({index[of]: at_ms for of, at_ms in self.leaving if of in index}),
        )

    def after(self, memory: Memory, group: Group, removed: Iterable[str]) -> Remembered:
        """Return what is remembered after a round that left the leader with this memory."""
        ids = [instance.process_id for instance in group.instances]
        return replace(
            self.without(removed),
            guessed=False,
            leader=None if memory.leader is None else ids[memory.leader],
            last_members=tuple(ids[of] for of in sorted(memory.last_members)),
            leaving=tuple((ids[of], at_ms) for of, at_ms in memory.leaving.items()),
        )


def remembered_of(state: GroupState) -> Remembered:
    """Return what a group remembers; of one that comes from elsewhere, who holds anything were the last members."""
    if isinstance(state.memory, Remembered):
        return state.memory
    group = state.group
    ids = [instance.process_id for instance in group.instances]
    holders = sorted({group.instance_of[consumer] for consumer, held in enumerate(state.holdings) if any(held)})
    leader = state.leader if state.leader is not None else next(iter(holders), None)
    last_members = tuple(ids[of] for of in holders)
    return Remembered(leader=None if leader is None else ids[leader], last_members=last_members, guessed=True)


def reported_by(state: GroupState, roles: Roles, memory: Remembered, now_ms: int) -> Reported:
    """Return what the members of a group report when they join for a round; ``roles`` are who holds what in it."""
    group = state.group
    absent = frozenset(group.instance_index[of] for of, _ in memory.absent)
    copied: dict[int, list[int]] = {}
    for consumer, held in enumerate(Holdings.of(group, state.holdings).stateful):
        for task in (*held.standby, *held.temporary):
            copied.setdefault(task, []).append(group.instance_of[consumer])

    def lag(task: int, instance: int, copies: Sequence[Copy]) -> int:
        for copy in copies:
            if copy.instance == instance:
                return copy.remaining
        return group.end_offset_sums[task]

    learned = roles.learned.tolist()
    learner = zip(learned, roles.learner[learned].tolist(), state.copies_of(learned), strict=True)
    return Reported(
        now_ms=now_ms,
        stateful=group.stateful_flags,
        threads=group.capacities,
        owner=roles.owner,
        standbys={
            task: {instance: lag(task, instance, state.copies[task]) for instance in of if instance not in absent}
            for task, of in copied.items()
        },
        learner={task: (of, lag(task, of, copies)) for task, of, copies in learner if of not in absent},
        members=frozenset(range(len(group.instances))),
        announced=frozenset(group.instance_index[of] for of in memory.announced),
        absent=absent,
    )
