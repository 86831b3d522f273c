"""Rules about where a plan ends: that it settles, and how well it is covered then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

from kstream_plan.policy.limits import LimitValue, TagCounts
from kstream_plan.policy.rules.measuring import MeasuredPlan, Measurement, Offence, number


def settles(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Tell whether the plan settles (1) or not (0); to blame are the tasks that keep it from it."""
    plan = subject.plan
    if plan.verdict.kind == "settled":
        return Measurement(1)
    if not limit:
        return Measurement(0)
    last = plan.rounds[-1].number if plan.rounds else None
    tasks = plan.verdict.tasks or (None,)
    return Measurement(0, tuple(Offence(0, last, task_id, note=plan.verdict.kind) for task_id in tasks))


def standbys(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the standbys that every stateful task has at least at the end."""
    plan = subject.plan
    counts = Counter(task for holding in plan.final for task in holding.standby)
    short = [
        Offence(counts[task], None, plan.group.tasks[task].task_id)
        for task in plan.group.stateful
        if counts[task] < number(limit)
    ]
    least = min((counts[task] for task in plan.group.stateful), default=None)
    return Measurement(
        number(limit) if least is None else least, tuple(sorted(short, key=lambda offence: offence.value or 0))
    )


def tag_values(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure over how many values of each tag the active and standby copies of every stateful task lie at the end."""
    plan = subject.plan
    offences, least = [], None
    for tag, minimum in cast(TagCounts, limit):
        values = _values(subject, tag)
        for task in plan.group.stateful:
            count = len(values[task])
            least = count if least is None else min(least, count)
            if count < minimum:
                offences.append(Offence(count, None, plan.group.tasks[task].task_id, note=f"{tag}: {minimum}"))
    return Measurement(least, tuple(sorted(offences, key=lambda offence: offence.value or 0)))


def _values(subject: MeasuredPlan, tag: str) -> list[set[str]]:
    plan = subject.plan
    values: list[set[str]] = [set() for _ in plan.group.tasks]
    for consumer, task in _copies(subject):
        value = dict(plan.group.instances[plan.group.instance_of[consumer]].client_tags).get(tag)
        if value is not None:
            values[task].add(value)
    return values


def _copies(subject: MeasuredPlan) -> Iterator[tuple[int, int]]:
    for consumer, holding in enumerate(subject.plan.final):
        yield from ((consumer, task) for task in (*holding.active, *holding.standby))
