"""Pairs the made-up members of a plan with real ones: by static id, tags, host, then by their tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from kstream_plan.comparison.decisions import Tasks, planned_decision, recorded_decision
from kstream_plan.comparison.prediction import Recorded
from kstream_plan.model import Instance
from kstream_plan.plans import MemberJoined, Plan

#: What Kafka appends to ``group.instance.id`` in the member id of a static member.
_UUID_SUFFIX = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_NOTHING: Tasks = (frozenset(), frozenset())

#: The tasks of each process, generation by generation.
_TasksByGeneration = Sequence[Mapping[str, Tasks]]


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
