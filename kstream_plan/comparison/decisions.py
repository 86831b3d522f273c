"""Decisions by process and thread: the tasks to run and to keep copies of, so that two can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.comparison.prediction import Recorded, TaskDifference, TaskHolders
from kstream_plan.model import Group, Holding, WorkId
from kstream_plan.plans import MemberLeft, Plan, Round

#: The tasks to run, and those to keep copies of.
Tasks: TypeAlias = tuple[frozenset[WorkId], frozenset[WorkId]]

_NOTHING: Tasks = (frozenset(), frozenset())


class DecisionByMember(NamedTuple):
    """A decision: process id of each member → consumer id → tasks."""

    members: Mapping[str, Mapping[str, Tasks]]

    @property
    def by_instance(self) -> dict[str, Tasks]:
        """Process id → the tasks of all its threads; without processes that have none."""
        tasks_by_instance = {
            name: (
                frozenset[WorkId]().union(*(active for active, _ in threads.values())),
                frozenset[WorkId]().union(*(copies for _, copies in threads.values())),
            )
            for name, threads in self.members.items()
        }
        return {name: tasks for name, tasks in tasks_by_instance.items() if any(tasks)}

    def same_threads(self, decision: DecisionByMember) -> bool:
        """Whether the threads have the same; where an instance's threads have other ids, in whatever order."""
        for name in self.members.keys() | decision.members.keys():
            mine, theirs = self.members.get(name, {}), decision.members.get(name, {})
            if theirs.keys() <= mine.keys() or mine.keys() <= theirs.keys():
                if any(
                    mine.get(consumer_id, _NOTHING) != theirs.get(consumer_id, _NOTHING)
                    for consumer_id in mine.keys() | theirs.keys()
                ):
                    return False
            elif _unnamed(mine.values()) != _unnamed(theirs.values()):
                return False
        return True


def decision_by_member(
    group: Group, holdings: Sequence[Holding], members: Iterable[str], names: Mapping[str, str] | None = None
) -> DecisionByMember:
    """Return a decision of ``holdings`` by consumer index; ``names`` are other process ids for some of ``members``."""
    present, names = set(members), names or {}
    return DecisionByMember(
        {
            names.get(instance.process_id, instance.process_id): {
                group.consumer_ids[consumer]: (
                    _ids(group, holdings[consumer].active),
                    _ids(
                        group, (*holdings[consumer].standby, *holdings[consumer].warmup, *holdings[consumer].temporary)
                    ),
                )
                for consumer in consumers
            }
            for instance, consumers in zip(group.instances, group.consumers_of, strict=True)
            if instance.process_id in present
        }
    )


def planned_decision(plan: Plan, rnd: Round, *, has_withheld: bool = True) -> DecisionByMember:
    """Return the decision of a round of a plan; without withheld tasks, what it assigns to members."""
    return decision_by_member(
        plan.group, rnd.decided if has_withheld else rnd.assigned, sorted(_members_in(plan, rnd.number))
    )


def recorded_decision(generation: Recorded, names: Mapping[str, str] | None = None) -> DecisionByMember:
    """Return the decision of a recorded generation; ``names``: other process ids for some of its members."""
    group, decision = generation.snapshot.state.group, generation.snapshot.decision
    assert decision is not None
    assert decision.consumers is not None
    return decision_by_member(group, decision.consumers, list(group.instance_index), names)


def _members_in(plan: Plan, number: int) -> set[str]:
    """Return the process ids of the members in a round."""
    members = set(plan.first_members)
    for rnd in plan.rounds[:number]:
        for step in rnd.member_steps:
            (members.discard if isinstance(step, MemberLeft) else members.add)(step.process_id)
    return members


def differences(
    group: Group, plan_decision: DecisionByMember, group_decision: DecisionByMember
) -> Iterator[TaskDifference]:
    """Yield every task whose owner or copies differ between the plan and the group, in order."""
    mine, theirs = plan_decision.by_instance, group_decision.by_instance
    changed_task_ids = set[WorkId]()
    for name in mine.keys() | theirs.keys():
        for plan_task_ids, group_task_ids in zip(mine.get(name, _NOTHING), theirs.get(name, _NOTHING), strict=True):
            changed_task_ids |= plan_task_ids ^ group_task_ids
    for task_id in sorted(changed_task_ids & group.task_index.keys(), key=lambda work_id: work_id.sort_key):
        yield TaskDifference(task_id, _holders(mine, task_id), _holders(theirs, task_id))


def _holders(by_instance: Mapping[str, Tasks], task_id: WorkId) -> TaskHolders:
    runs = [name for name, (active, _) in by_instance.items() if task_id in active]
    return TaskHolders(
        min(runs, default=None), tuple(sorted(name for name, tasks in by_instance.items() if task_id in tasks[1]))
    )


def _ids(group: Group, tasks: Iterable[int]) -> frozenset[WorkId]:
    return frozenset(group.tasks[task].task_id for task in tasks)


def _unnamed(threads: Iterable[Tasks]) -> list[tuple[list[str], ...]]:
    return sorted(
        tuple(sorted(map(str, tasks)) for tasks in thread_tasks) for thread_tasks in threads if any(thread_tasks)
    )
