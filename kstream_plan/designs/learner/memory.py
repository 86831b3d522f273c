"""What a learner group remembers between its rounds: by process id, so that it outlives joins and leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kstream_plan.designs.learner.reported import Memory, Reported
from kstream_plan.designs.learner.roles import Roles
from kstream_plan.model import NOBODY, Copy, Group, GroupState, Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerMemory:
    """The leader's memory (:class:`~kstream_plan.designs.learner.reported.Memory`), and what members have said.

    ``announced`` are those that say they leave, ``absent`` the static ones that have not come back, each with the time
    since which it has not run; ``leaving_deadlines`` are by process id. Times are on the plan's clock, in milliseconds.
    ``guessed``: no round of this kind has been yet.
    """

    leader: str | None
    last_members: tuple[str, ...]
    leaving_deadlines: tuple[tuple[str, int], ...] = ()
    announced: tuple[str, ...] = ()
    absent: tuple[tuple[str, int], ...] = ()
    guessed: bool = False

    @property
    def departing_ids(self) -> frozenset[str]:
        """The instances that leave in any way, and are members still."""
        return frozenset(self.announced).union(process_id for process_id, _ in self.absent)

    def forget(self, process_ids: Iterable[str]) -> LearnerMemory:
        """Return the memory without these instances: they have gone, or stay after all."""
        forgotten_ids = frozenset(process_ids)
        return replace(
            self,
            announced=tuple(process_id for process_id in self.announced if process_id not in forgotten_ids),
            absent=tuple(absence for absence in self.absent if absence[0] not in forgotten_ids),
        )

    def by_index(self, group: Group) -> Memory:
        """Return the leader's memory by the indices of a group's instances, without those that are no members."""
        index = group.instance_index
        return Memory(
            leader=None if self.leader is None else index.get(self.leader, NOBODY),
            last_members=frozenset(index[process_id] for process_id in self.last_members if process_id in index),
            leaving_deadlines=MappingProxyType(
                {index[process_id]: at_ms for process_id, at_ms in self.leaving_deadlines if process_id in index}
            ),
        )

    def after_round(self, memory: Memory, group: Group, removed: Iterable[str]) -> LearnerMemory:
        """Return the group's memory after a round that left the leader with ``memory``."""
        ids = [instance.process_id for instance in group.instances]
        return replace(
            self.forget(removed),
            guessed=False,
            leader=None if memory.leader is None else ids[memory.leader],
            last_members=tuple(ids[instance] for instance in sorted(memory.last_members)),
            leaving_deadlines=tuple((ids[instance], at_ms) for instance, at_ms in memory.leaving_deadlines.items()),
        )


def memory_of(state: GroupState) -> LearnerMemory:
    """Return a group's memory; for a group of another design, all with tasks were the last members."""
    if isinstance(state.memory, LearnerMemory):
        return state.memory
    group = state.group
    ids = [instance.process_id for instance in group.instances]
    holders = sorted({group.instance_of[consumer] for consumer, holding in enumerate(state.holdings) if any(holding)})
    leader = state.leader if state.leader is not None else next(iter(holders), None)
    last_members = tuple(ids[instance] for instance in holders)
    return LearnerMemory(leader=None if leader is None else ids[leader], last_members=last_members, guessed=True)


def reported_by(state: GroupState, roles: Roles, memory: LearnerMemory, now_ms: int) -> Reported:
    """Return what the members of a group report when they join for a round; ``roles`` are theirs."""
    group = state.group
    absent = frozenset(group.instance_index[process_id] for process_id, _ in memory.absent)
    copied: dict[int, list[int]] = {}
    for consumer, holding in enumerate(Holdings.of(group, state.holdings).stateful):
        for task in (*holding.standby, *holding.temporary):
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
            task: {
                instance: lag(task, instance, state.copies[task]) for instance in instances if instance not in absent
            }
            for task, instances in copied.items()
        },
        learner={
            task: (instance, lag(task, instance, copies))
            for task, instance, copies in learner
            if instance not in absent
        },
        members=frozenset(range(len(group.instances))),
        announced=frozenset(group.instance_index[process_id] for process_id in memory.announced),
        absent=absent,
    )
