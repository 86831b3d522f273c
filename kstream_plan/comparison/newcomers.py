"""Pairs made-up members with those that came: by static id, tags, host, then by what they were given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from kstream_plan.comparison.decided import Tasks, said_in, seen_in
from kstream_plan.comparison.said_and_happened import Recorded
from kstream_plan.model import Instance
from kstream_plan.plans import MemberJoined, Plan

#: What Kafka appends to ``group.instance.id`` in the member id of a static member.
_UUID_SUFFIX = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_NOTHING: Tasks = (frozenset(), frozenset())

#: What each process was given, generation by generation.
_Given = Sequence[Mapping[str, Tasks]]


def names_of_newcomers(plan: Plan, happened: Sequence[Recorded]) -> dict[str, str]:
    """Return recorded process id → the plan's, for members whose ids the plan could only make up.

    The pair that has most in common comes first: static ids, then client tags, then the host, then the number of
    generations for which both were given the same.
    """
    recorded = {
        instance.process_id: instance
        for generation in happened
        for instance in generation.snapshot.state.group.instances
    }
    joined = [step.process_id for rnd in plan.rounds for step in rnd.member_steps if isinstance(step, MemberJoined)]
    planned = [plan.group.instances[plan.group.instance_index[name]] for name in dict.fromkeys(joined)]
    planned = [instance for instance in planned if instance.process_id not in recorded]
    came = [instance for name, instance in recorded.items() if name not in plan.group.instance_index]
    if not planned or not came:
        return {}
    said = [
        said_in(plan, rnd, has_withheld=generation.has_withheld).by_instance
        for rnd, generation in zip(plan.rounds, happened, strict=False)
    ]
    seen = [seen_in(generation).by_instance for generation in happened[: len(plan.rounds)]]
    pairs = sorted(
        ((mine, theirs) for mine in planned for theirs in came),
        key=lambda pair: (*_identity(*pair), *_given(said, seen, pair[0].process_id, pair[1].process_id)),
    )
    names: dict[str, str] = {}
    paired = set[str]()
    for mine, theirs in pairs:
        if theirs.process_id not in names and mine.process_id not in paired:
            names[theirs.process_id] = mine.process_id
            paired.add(mine.process_id)
    return names


def _identity(mine: Instance, theirs: Instance) -> tuple[int, int, bool]:
    """Return how far two are the same by what they are called: less is better."""
    static = len(_static_ids(mine) & _static_ids(theirs))
    tags = len({*mine.client_tags} & {*theirs.client_tags})
    return -static, -tags, mine.host is None or mine.host != theirs.host


def _static_ids(instance: Instance) -> set[str]:
    """Return the static ids of the threads, from their member ids too: a log has no others."""
    told = {of.group_instance_id for of in instance.consumers if of.group_instance_id is not None}
    return told | {_UUID_SUFFIX.sub("", of.consumer_id) for of in instance.consumers}


def _given(said: _Given, seen: _Given, mine: str, theirs: str) -> tuple[int, int]:
    """Return for how many generations two were given the same, negative, and how many tasks differ then."""
    for number, (before, after) in zip(count(), zip(said, seen, strict=True)):
        same = before.get(mine, _NOTHING), after.get(theirs, _NOTHING)
        differing = sum(len(here ^ there) for here, there in zip(*same, strict=True))
        if differing:
            return -number, differing
    return -len(said), 0
