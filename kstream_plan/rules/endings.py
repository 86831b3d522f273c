"""Rules about where a plan ends: that it settles, how even it is then, and how well it is covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import cast

from kstream_plan.policy import LimitValue, TagCounts
from kstream_plan.rules.measuring import Measurement, Offence, Subject, number, worst_first


def settles(subject: Subject, limit: LimitValue) -> Measurement:
    """Tell whether the plan settles (1) or not (0); to blame are the tasks that keep it from it."""
    plan = subject.plan
    if plan.verdict.kind == "settled":
        return Measurement(1)
    if not limit:
        return Measurement(0)
    last = plan.rounds[-1].number if plan.rounds else None
    tasks = plan.verdict.tasks or (None,)
    return Measurement(0, tuple(Offence(0, last, task_id, note=plan.verdict.kind) for task_id in tasks))


def balance(subject: Subject, limit: LimitValue) -> Measurement:
    """Measure KIP-441's instance and subtopology balance of the active tasks at the end (reference section 6).

    Of instances of one capacity most minus least tasks, of all tasks and of each subtopology's; of others 1 and the
    distance to the share that is theirs by capacity, rounded up or down.
    """
    plan = subject.plan
    group, present = plan.group, subject.present
    loads: dict[str, Counter[int]] = {"": Counter()}
    for task in sorted(task for held in plan.final for task in held.active):
        loads.setdefault(group.subtopologies[task], Counter())
    for consumer, held in enumerate(plan.final):
        for task in held.active:
            for of in ("", group.subtopologies[task]):
                loads[of][group.instance_of[consumer]] += 1
    capacities = [group.capacities[instance] for instance in present]
    found = []
    for of, counts in loads.items():
        uneven, place = _unevenness([counts[instance] for instance in present], capacities)
        note = f"subtopology {of}" if of else "all tasks"
        found.append(Offence(uneven, None, None, group.instances[present[place]].process_id if present else None, note))
    worst = max((one.measured or 0 for one in found), default=0)
    return Measurement(worst, worst_first(one for one in found if (one.measured or 0) > number(limit)))


def _unevenness(loads: Sequence[int], capacities: Sequence[int]) -> tuple[int, int]:
    """Return how uneven the loads are, and the place of the instance that is farthest off."""
    if not loads:
        return 0, 0
    if len(set(capacities)) == 1:
        return max(loads) - min(loads), loads.index(max(loads))
    tasks, whole = sum(loads), sum(capacities)
    off = [
        0
        if load * whole == tasks * capacity
        else 1 + max(0, load + -tasks * capacity // whole, tasks * capacity // whole - load)
        for load, capacity in zip(loads, capacities, strict=True)
    ]
    return max(off), off.index(max(off))


def standbys(subject: Subject, limit: LimitValue) -> Measurement:
    """Measure the standbys that every stateful task has at least at the end."""
    plan = subject.plan
    counts = Counter(task for held in plan.final for task in held.standby)
    short = [
        Offence(counts[task], None, plan.group.tasks[task].task_id)
        for task in plan.group.stateful
        if counts[task] < number(limit)
    ]
    least = min((counts[task] for task in plan.group.stateful), default=None)
    return Measurement(
        number(limit) if least is None else least, tuple(sorted(short, key=lambda one: one.measured or 0))
    )


def tag_values(subject: Subject, limit: LimitValue) -> Measurement:
    """Measure over how many values of each tag the active and standby copies of every stateful task lie at the end."""
    plan = subject.plan
    offences, least = [], None
    for tag, wanted in cast(TagCounts, limit):
        values = _values(subject, tag)
        for task in plan.group.stateful:
            count = len(values[task])
            least = count if least is None else min(least, count)
            if count < wanted:
                offences.append(Offence(count, None, plan.group.tasks[task].task_id, note=f"{tag}: {wanted}"))
    return Measurement(least, tuple(sorted(offences, key=lambda one: one.measured or 0)))


def _values(subject: Subject, tag: str) -> list[set[str]]:
    plan = subject.plan
    values: list[set[str]] = [set() for _ in plan.group.tasks]
    for consumer, task in _copies(subject):
        value = dict(plan.group.instances[plan.group.instance_of[consumer]].client_tags).get(tag)
        if value is not None:
            values[task].add(value)
    return values


def _copies(subject: Subject) -> Iterator[tuple[int, int]]:
    for consumer, held in enumerate(subject.plan.final):
        yield from ((consumer, task) for task in (*held.active, *held.standby))
