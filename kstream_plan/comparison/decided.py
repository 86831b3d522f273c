"""Decisions as what each process and each thread is to run and to keep copies of, so that two can be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.comparison.said_and_happened import HeldBy, Recorded, TaskDifference
from kstream_plan.model import Group, Holding, WorkId
from kstream_plan.plans import MemberLeft, Plan, Round

#: What somebody is to run, and what to keep copies of.
Tasks: TypeAlias = tuple[frozenset[WorkId], frozenset[WorkId]]

_NOTHING: Tasks = (frozenset(), frozenset())


class DecidedBeside(NamedTuple):
    """A decision: per process that takes part, what each of its threads was given, by consumer id."""

    members: Mapping[str, Mapping[str, Tasks]]

    @property
    def by_instance(self) -> dict[str, Tasks]:
        """Process id → what all its threads were given together; without who was given nothing."""
        found = {
            name: (
                frozenset[WorkId]().union(*(active for active, _ in threads.values())),
                frozenset[WorkId]().union(*(copies for _, copies in threads.values())),
            )
            for name, threads in self.members.items()
        }
        return {name: held for name, held in found.items() if any(held)}

    def same_threads(self, other: DecidedBeside) -> bool:
        """Whether the threads have the same; where an instance's threads have other ids, in whatever order."""
        for name in self.members.keys() | other.members.keys():
            mine, theirs = self.members.get(name, {}), other.members.get(name, {})
            if theirs.keys() <= mine.keys() or mine.keys() <= theirs.keys():
                if any(mine.get(of, _NOTHING) != theirs.get(of, _NOTHING) for of in mine.keys() | theirs.keys()):
                    return False
            elif _unnamed(mine.values()) != _unnamed(theirs.values()):
                return False
        return True


def decided(
    group: Group, holdings: Sequence[Holding], members: Iterable[str], names: Mapping[str, str] | None = None
) -> DecidedBeside:
    """Return a decision of ``holdings`` by consumer index; ``names`` are other process ids for some of ``members``."""
    present, known = set(members), names or {}
    return DecidedBeside(
        {
            known.get(instance.process_id, instance.process_id): {
                group.consumer_ids[of]: (
                    _ids(group, holdings[of].active),
                    _ids(group, (*holdings[of].standby, *holdings[of].warmup, *holdings[of].temporary)),
                )
                for of in consumers
            }
            for instance, consumers in zip(group.instances, group.consumers_of, strict=True)
            if instance.process_id in present
        }
    )


def said_in(plan: Plan, rnd: Round, *, has_withheld: bool = True) -> DecidedBeside:
    """Return what a round of a plan decides; without what is withheld, what members are assigned by it."""
    return decided(plan.group, rnd.decided if has_withheld else rnd.assigned, sorted(_members_in(plan, rnd.number)))


def seen_in(generation: Recorded, names: Mapping[str, str] | None = None) -> DecidedBeside:
    """Return what was decided for a recorded generation, by other process ids where ``names`` has them."""
    group, decision = generation.snapshot.state.group, generation.snapshot.decision
    assert decision is not None
    assert decision.consumers is not None
    return decided(group, decision.consumers, list(group.instance_index), names)


def _members_in(plan: Plan, number: int) -> set[str]:
    """Return who takes part in a round."""
    members = set(plan.first_members)
    for rnd in plan.rounds[:number]:
        for step in rnd.member_steps:
            (members.discard if isinstance(step, MemberLeft) else members.add)(step.process_id)
    return members


def differences(group: Group, said: DecidedBeside, seen: DecidedBeside) -> Iterator[TaskDifference]:
    """Yield every task of the group that an instance runs, or keeps, on one side only, in order."""
    mine, theirs = said.by_instance, seen.by_instance
    changed = set[WorkId]()
    for name in mine.keys() | theirs.keys():
        for before, after in zip(mine.get(name, _NOTHING), theirs.get(name, _NOTHING), strict=True):
            changed |= before ^ after
    for task_id in sorted(changed & group.task_index.keys(), key=lambda of: of.sort_key):
        yield TaskDifference(task_id, _held(mine, task_id), _held(theirs, task_id))


def _held(by_instance: Mapping[str, Tasks], task_id: WorkId) -> HeldBy:
    runs = [name for name, (active, _) in by_instance.items() if task_id in active]
    return HeldBy(min(runs, default=None), tuple(sorted(of for of, held in by_instance.items() if task_id in held[1])))


def _ids(group: Group, tasks: Iterable[int]) -> frozenset[WorkId]:
    return frozenset(group.tasks[task].task_id for task in tasks)


def _unnamed(threads: Iterable[Tasks]) -> list[tuple[list[str], ...]]:
    return sorted(tuple(sorted(map(str, tasks)) for tasks in of) for of in threads if any(of))
