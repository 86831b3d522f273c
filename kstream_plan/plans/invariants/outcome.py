"""Invariants of a plan as a whole: the order of its rounds, what they add up to, and how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kstream_plan.model.holding_changes import SameHistory, extra_copies
from kstream_plan.plans import InstanceLeaving, InstanceStays, MemberLeft, Phase, Plan, Round, Trigger
from kstream_plan.plans.invariants.plan_view import PlanView
from kstream_plan.plans.replay import replay

#: What never starts a plan that begins after 0.
_FROM_THE_GROUP = (Trigger.MANUAL, Trigger.PROBING, Trigger.FOLLOW_UP)


def rounds_in_order(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Rounds are numbered from 1, generations follow the snapshot's, one by one if classic, and time never goes back.

    It starts at 0, when a member is back that the group did not miss, or with what comes from outside; if it goes on
    from a decision before the plan, with what follows from that one; a broker may wait until it may compute a target.
    """
    plan = subject.plan
    goes_on = any(note.code == "goes-on" for note in plan.assumptions) or plan.design == "streams"
    at_ms, back_ms, generation = 0, {outage.to_ms for outage in plan.outages}, plan.generation
    for index, rnd in enumerate(plan.rounds):
        follows = rnd.generation == generation + 1 if plan.design == "classic" else rnd.generation >= generation
        generation = rnd.generation
        if rnd.number != index + 1 or not follows:
            yield index + 1, f"is numbered {rnd.number}, generation {rnd.generation}"
        late = index == 0 and rnd.at_ms not in (0, *back_ms) and rnd.trigger in _FROM_THE_GROUP and not goes_on
        if rnd.at_ms < at_ms or late:
            yield index + 1, f"is at {rnd.at_ms} ms, after {at_ms} ms"
        if rnd.turns and not _turns_in_order(rnd):
            yield index + 1, "has turns that are not in the order of time, or of the steps"
        at_ms = rnd.ends_ms


def _turns_in_order(rnd: Round) -> bool:
    times_ms = [rnd.at_ms, *(turn.at_ms for turn in rnd.turns)]
    firsts = [0, *(turn.first for turn in rnd.turns), len(rnd.steps)]
    return times_ms == sorted(times_ms) and firsts == sorted(firsts)


def steps_are_lossless(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """``initial`` and the steps give every round's ``decided`` and ``assigned``, and ``final``."""
    plan = subject.plan
    replayed = replay(plan.group, plan.initial, (rnd.steps for rnd in plan.rounds))
    decided, assigned = SameHistory(), SameHistory()
    try:
        for rnd, outcome in zip(plan.rounds, replayed, strict=True):
            if not decided.next(outcome.decided, rnd.decided):
                yield rnd.number, "the steps do not give what was decided"
            if not assigned.next(outcome.assigned, rnd.assigned):
                yield rnd.number, "the steps do not give what is assigned"
    except ValueError as error:
        yield None, f"a step does not fit: {error}"
    if plan.final != (plan.rounds[-1].assigned if plan.rounds else plan.initial):
        yield None, "final is not what the last round assigned"
    yield from subject.stateless.lost_steps if subject.stateless else ()


def leaving_is_over_in_time(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """No round is later than the deadline of an instance that is leaving, unless it stays, or is gone with that one."""
    until_ms: dict[str, int] = {}
    for rnd in subject.plan.rounds:
        for step in rnd.steps_apart:
            if isinstance(step, InstanceLeaving):
                until_ms[step.process_id] = step.until_ms
            elif isinstance(step, InstanceStays | MemberLeft):
                until_ms.pop(step.process_id, None)
        for process_id in sorted(of for of, deadline_ms in until_ms.items() if deadline_ms <= rnd.at_ms):
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
        active = sorted(t for c in consumers for t in plan.final[c].active if plan.group.tasks[t].stateful)
        if active != sorted(plan.target.active[instance]):
            yield None, f"{subject.process(instance)} does not run what the target gives it"


def holders_are_members(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Who holds anything at the end takes part then."""
    plan = subject.plan
    members = {plan.group.instance_index[process_id] for process_id, _ in plan.members}
    holding = {plan.group.instance_of[consumer] for consumer, held in enumerate(subject.whole.final) if any(held)}
    for instance in sorted(holding - members):
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
    for name, counted in figures.items():
        if getattr(summary, name) != counted:
            yield None, f"the summary says {name} {getattr(summary, name)}, the rounds give {counted}"


def _moves(plan: Plan) -> int:
    """Stateful tasks that somebody ran at first and that none of those runs at the end."""
    first, last = (
        {(task, plan.group.instance_of[c]) for c, held in enumerate(holdings) for task in held.active}
        for holdings in (plan.initial, plan.final)
    )
    absent = plan.rounds[-1].not_configured if plan.rounds else frozenset()
    moved = {task for task, _ in first} - {task for task, _ in first & last}
    return sum(plan.group.tasks[task].stateful and plan.group.tasks[task].task_id not in absent for task in moved)
