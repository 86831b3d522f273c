"""Rules about time: how long the plan takes, and how long tasks are paused."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

from kstream_plan.plans import Plan
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.measuring import UNKNOWN, MeasuredPlan, Measurement, Offence, number, worst_first


def duration(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the time from now to the last rebalance; to blame is the first round beyond the limit.

    Of a streams group it is the time until everything runs, since Stable only means that all members got their
    assignment; of a Connect group the time by which the last round has taken effect. Where the plan has a lower bound
    alone, it is unknown. Without a restore rate it is the likely time, unless the policy requires a rate.
    """
    plan = subject.plan
    if plan.summary.duration_is == "least" or (subject.needs_rate and lacks_rate(plan)):
        return UNKNOWN
    if plan.design == "streams":
        return _until_everything_runs(plan, limit)
    in_effect_ms = plan.in_effect_ms
    late = next((rnd for rnd, at_ms in zip(plan.rounds, in_effect_ms, strict=True) if at_ms > number(limit)), None)
    by_ms = max(in_effect_ms, default=0)
    return Measurement(by_ms, () if late is None else (Offence(by_ms, late.number),))


def _until_everything_runs(plan: Plan, limit: LimitValue) -> Measurement:
    if plan.may_be_endless("runs_by_ms"):
        return UNKNOWN
    by_ms, likely_ms = plan.ends("runs_by_ms")[1], plan.figure("runs_by_ms")
    if by_ms <= number(limit):
        return Measurement(by_ms)
    return Measurement(by_ms, (Offence(by_ms),), unknown=likely_ms is None or likely_ms <= number(limit))


def lacks_rate(plan: Plan) -> bool:
    """Tell whether something is restored at a rate that is unknown."""
    return plan.summary.duration_is != "estimate"


def restore_rate(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Tell whether the rate of whatever is restored is known (1); else what takes time is unknown."""
    if not lacks_rate(subject.plan):
        return Measurement(1)
    return UNKNOWN if limit else Measurement(0)


def pause_per_task(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the longest pause of a task in all."""
    pauses = subject.plan.pauses
    too_long = {task_id: total for task_id, total in pauses.ms.items() if total > number(limit)}
    last = {pause.task_id: pause.to_ms for pause in pauses if pause.task_id in too_long} if too_long else {}
    offences = (
        Offence(total, subject.round_at(last[task_id]), task_id, note=_pauses(pauses.times[task_id]))
        for task_id, total in too_long.items()
    )
    return Measurement(max(pauses.ms.values(), default=0), worst_first(offences))


def _pauses(times: int) -> str:
    return "1 pause" if times == 1 else f"in {times:,} pauses together"


def pause_per_handover(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the longest single pause."""
    pauses = subject.plan.pauses
    offences = (
        Offence(pause.length_ms, subject.round_at(pause.to_ms), pause.task_id)
        for pause in (pauses if pauses.longest_ms > number(limit) else ())
        if pause.length_ms > number(limit)
    )
    return Measurement(pauses.longest_ms, worst_first(offences))


def pause_in_all(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add up the pauses of all tasks; to blame is the first round by which the sum is too long."""
    pauses = subject.plan.pauses
    total = sum(pauses.ms.values())
    if total <= number(limit):
        return Measurement(total)
    so_far = accumulate((pause.length_ms for pause in pauses), initial=0)
    ends_ms = next(
        (
            pause.to_ms
            for pause, earlier_ms in zip(pauses, so_far, strict=False)
            if earlier_ms + pause.length_ms > number(limit)
        ),
        0,
    )
    return Measurement(total, (Offence(total, subject.round_at(ends_ms)),))


def paused_at_once(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure how many tasks are paused at the same time; to blame are the rounds that pause too many.

    At the plan's first moment all unassigned tasks count, also those that the first round starts.
    """
    changes: Counter[int] = Counter({0: 0})
    for (from_ms, to_ms), tasks in subject.plan.pauses.spans.items():
        changes[from_ms] += tasks
        changes[to_ms] -= tasks
    paused_tasks = 0
    worst = idle = len(subject.plan.pauses.rounds.idle())
    offences = []
    for at_ms in sorted(changes):
        paused_tasks += changes[at_ms]
        paused_then = max(paused_tasks, idle) if at_ms == 0 else paused_tasks
        worst = max(worst, paused_then)
        if paused_then > number(limit):
            offences.append(Offence(paused_then, subject.round_at(at_ms)))
    return Measurement(worst, worst_first(offences))
