"""Decisions by process and thread, so that two can be compared; made-up members are paired with real ones.

Pairs go by static id, tags, host, then by tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

from kstream_plan.comparison.prediction import Recorded, TaskDifference, TaskHolders
from kstream_plan.model import Group, Holding, Instance, WorkId
from kstream_plan.plans import MemberJoined, MemberLeft, Plan, Round

#: The tasks to run, and those to keep copies of.
Tasks: TypeAlias = tuple[frozenset[WorkId], frozenset[WorkId]]

_NOTHING: Tasks = (frozenset(), frozenset())

#: What Kafka appends to ``group.instance.id`` in the member id of a static member.
_UUID_SUFFIX = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


#: The tasks of each process, generation by generation.
_TasksByGeneration = Sequence[Mapping[str, Tasks]]


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


def names_of_newcomers(plan: Plan, generations: Sequence[Recorded]) -> dict[str, str]:
    """Return recorded process id → the plan's, for members whose ids the plan could only make up.

    The pair that has most in common comes first: static ids, then client tags, then the host, then the number of
    generations for which both were given the same.
    """
    recorded = {
        instance.process_id: instance
        for generation in generations
        for instance in generation.snapshot.state.group.instances
    }
    joined_ids = [step.process_id for rnd in plan.rounds for step in rnd.member_steps if isinstance(step, MemberJoined)]
    plan_newcomers = [plan.group.instances[plan.group.instance_index[name]] for name in dict.fromkeys(joined_ids)]
    plan_newcomers = [instance for instance in plan_newcomers if instance.process_id not in recorded]
    group_newcomers = [instance for name, instance in recorded.items() if name not in plan.group.instance_index]
    if not plan_newcomers or not group_newcomers:
        return {}
    plan_tasks = [
        planned_decision(plan, rnd, has_withheld=generation.has_withheld).by_instance
        for rnd, generation in zip(plan.rounds, generations, strict=False)
    ]
    group_tasks = [recorded_decision(generation).by_instance for generation in generations[: len(plan.rounds)]]
    pairs = sorted(
        ((mine, theirs) for mine in plan_newcomers for theirs in group_newcomers),
        key=lambda pair: (
            *_identity(*pair),
            *_assignment_distance(plan_tasks, group_tasks, pair[0].process_id, pair[1].process_id),
        ),
    )
    names: dict[str, str] = {}
    paired = set[str]()
    for mine, theirs in pairs:
        if theirs.process_id not in names and mine.process_id not in paired:
            names[theirs.process_id] = mine.process_id
            paired.add(mine.process_id)
    return names


def _identity(mine: Instance, theirs: Instance) -> tuple[int, int, bool]:
    """Return how well the names of two instances match: less is better."""
    static = len(_static_ids(mine) & _static_ids(theirs))
    tags = len({*mine.client_tags} & {*theirs.client_tags})
    return -static, -tags, mine.host is None or mine.host != theirs.host


def _static_ids(instance: Instance) -> set[str]:
    """Return the static ids of the threads, from their member ids too: a log has no others."""
    static_ids = {
        consumer.group_instance_id for consumer in instance.consumers if consumer.group_instance_id is not None
    }
    return static_ids | {_UUID_SUFFIX.sub("", consumer.consumer_id) for consumer in instance.consumers}


def _assignment_distance(
    plan_tasks: _TasksByGeneration, group_tasks: _TasksByGeneration, mine: str, theirs: str
) -> tuple[int, int]:
    """Return the number of generations with equal tasks, negative, and how many tasks differ in the next one."""
    for number, (plan_tasks_by_id, group_tasks_by_id) in zip(count(), zip(plan_tasks, group_tasks, strict=True)):
        pair_tasks = plan_tasks_by_id.get(mine, _NOTHING), group_tasks_by_id.get(theirs, _NOTHING)
        differing = sum(
            len(plan_task_ids ^ group_task_ids) for plan_task_ids, group_task_ids in zip(*pair_tasks, strict=True)
        )
        if differing:
            return -number, differing
    return -len(plan_tasks), 0
