"""Invariants of a plan as a whole: the order of its rounds, what they add up to, and how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from kstream_plan.model.holding_changes import extra_copies
from kstream_plan.plans import InstanceLeaving, InstanceStays, MemberLeft, Phase, Plan, Trigger
from kstream_plan.plans.invariants.plan_view import PlanView
from kstream_plan.plans.round_order import wrong_order


def rounds_in_order(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Rounds follow one another, in number, generation and time."""
    return wrong_order(subject.plan)


def leaving_is_over_in_time(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """No round is later than the deadline of an instance that is leaving, unless it stays, or is gone with that one."""
    until_ms: dict[str, int] = {}
    for rnd in subject.plan.rounds:
        for step in rnd.steps.events:
            if isinstance(step, InstanceLeaving):
                until_ms[step.process_id] = step.until_ms
            elif isinstance(step, InstanceStays | MemberLeft):
                until_ms.pop(step.process_id, None)
        for process_id in sorted(name for name, deadline_ms in until_ms.items() if deadline_ms <= rnd.at_ms):
            yield rnd.number, f"{process_id} is still leaving, after {until_ms[process_id]} ms"


def verdict_fits(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Settled means: nothing withheld or learned and no probing at the end; any other verdict means the opposite.

    A group that waits for a silent member only is stuck wherever the plan ends, and a scenario may be cut off while the
    group waits for its next event.
    """
    plan = subject.plan
    if plan.verdict.waits_for_a_member:
        return
    if plan.verdict.kind == "unfinished" and plan.digest != plan.snapshot_digest:
        return
    last = plan.rounds[-1] if plan.rounds else None
    going_on = last is not None and (
        last.probing_rebalance or subject.follow_ups[-1] or not (plan.probes or Phase.SETTLED in last.phases)
    )
    if (plan.verdict.kind == "settled") == going_on:
        yield None, f"the verdict is {plan.verdict.kind} but the last round {'goes on' if going_on else 'does not'}"


def settles_at_target(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Once settled after at least one round, every stateful task is active on its target instance."""
    plan = subject.plan
    if plan.verdict.kind != "settled" or not plan.rounds:
        return
    for instance, consumers in enumerate(plan.group.consumers_of):
        active = sorted(
            task for consumer in consumers for task in plan.final[consumer].active if plan.group.tasks[task].stateful
        )
        if active != sorted(plan.target.active[instance]):
            yield None, f"{subject.process(instance)} does not run what the target gives it"


def holders_are_members(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Every consumer that holds anything at the end is a member then."""
    plan = subject.plan
    members = {plan.group.instance_index[process_id] for process_id, _ in plan.members}
    holders = {plan.group.instance_of[consumer] for consumer, holding in enumerate(subject.plan.final) if any(holding)}
    for instance in sorted(holders - members):
        yield None, f"{subject.process(instance)} holds tasks at the end and is no member"


def target_covers_every_task(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """The target runs every stateful task exactly once, and what is not configured at the end not at all."""
    plan = subject.plan
    counts = Counter(task for tasks in plan.target.active for task in tasks)
    absent = plan.rounds[-1].not_configured if plan.rounds else frozenset()
    for task in plan.group.stateful:
        if counts[task] != (plan.group.tasks[task].task_id not in absent):
            yield None, f"the target runs {subject.name(task)} {counts[task]} times"


def summary_adds_up(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """The summary's rebalances, probes, duration, moves and peak of extra copies are those of the rounds."""
    plan = subject.plan
    summary = plan.summary
    figures = {
        "rebalances": len(plan.rounds),
        "probing_rebalances": sum(rnd.trigger is Trigger.PROBING for rnd in plan.rounds),
        "duration_ms": max(plan.in_effect_ms, default=0),
        "moves": _moves(plan),
        "peak_extra_copies": max(extra_copies([rnd.assigned for rnd in plan.rounds]), default=0),
    }
    for name, figure in figures.items():
        if getattr(summary, name) != figure:
            yield None, f"the summary says {name} {getattr(summary, name)}, the rounds give {figure}"


def _moves(plan: Plan) -> int:
    """Stateful tasks that somebody ran at first and that none of those runs at the end."""
    first, last = (
        {
            (task, plan.group.instance_of[consumer])
            for consumer, holding in enumerate(holdings)
            for task in holding.active
        }
        for holdings in (plan.initial, plan.final)
    )
    absent = plan.rounds[-1].not_configured if plan.rounds else frozenset()
    moved_tasks = {task for task, _ in first} - {task for task, _ in first & last}
    return sum(plan.group.tasks[task].stateful and plan.group.tasks[task].task_id not in absent for task in moved_tasks)


def withheld_is_followed_up(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """A follow-up comes next if and only if something is withheld."""
    for (rnd, next_rnd), follows in zip(pairwise(subject.plan.rounds), subject.follow_ups, strict=False):
        if follows != (next_rnd.trigger is Trigger.FOLLOW_UP):
            condition = "tasks are withheld" if follows else "no task is withheld"
            yield rnd.number, f"{condition} and the next trigger is {next_rnd.trigger}"
