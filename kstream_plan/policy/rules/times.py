"""Rules about time: how long it takes, and how long tasks stand still."""

from __future__ import annotations

from collections import Counter

from kstream_plan.model import WorkId
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.measuring import MeasuredPlan, Measurement, Offence, number, worst_first


def duration(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the time from now to the last rebalance; to blame is the first round beyond the limit."""
    plan = subject.plan
    late = next((rnd for rnd in plan.rounds if rnd.at_ms > number(limit)), None)
    offences = () if late is None else (Offence(plan.summary.duration_ms, late.number),)
    return Measurement(plan.rounds[-1].at_ms if plan.rounds else 0, offences)


def pause_per_task(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure how long the worst task stands still in all."""
    totals: Counter[WorkId] = Counter()
    times: Counter[WorkId] = Counter()
    last: dict[WorkId, int | None] = {}
    for pause in subject.plan.pauses:
        totals[pause.task_id] += pause.length_ms
        times[pause.task_id] += 1
        last[pause.task_id] = subject.round_at(pause.to_ms)
    offences = (
        Offence(total, last[task_id], task_id, note=f"{times[task_id]:,} pause{'s' if times[task_id] > 1 else ''}")
        for task_id, total in totals.items()
        if total > number(limit)
    )
    return Measurement(max(totals.values(), default=0), worst_first(offences))


def pause_per_handover(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the longest single pause."""
    offences = (
        Offence(pause.length_ms, subject.round_at(pause.to_ms), pause.task_id)
        for pause in subject.plan.pauses
        if pause.length_ms > number(limit)
    )
    return Measurement(max((pause.length_ms for pause in subject.plan.pauses), default=0), worst_first(offences))


def paused_at_once(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure how many tasks stand still at the same time; to blame are the rounds that stop too many."""
    changes: Counter[int] = Counter()
    for pause in subject.plan.pauses:
        changes[pause.from_ms] += 1
        changes[pause.to_ms] -= 1
    still = worst = 0
    offences = []
    for at_ms in sorted(changes):
        still += changes[at_ms]
        worst = max(worst, still)
        if still > number(limit):
            offences.append(Offence(still, subject.round_at(at_ms)))
    return Measurement(worst, worst_first(offences))
