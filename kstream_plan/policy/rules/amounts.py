"""Rules about how much is done on the way: rebalances, moves, copies, records."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model.holding_changes import extra_copies, moved
from kstream_plan.plans import HandOver, Place, Plan, Promote, Role, restores_anew
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.measuring import MeasuredPlan, Measurement, Offence, counted, number, steps, worst_first

#: A tuple, not a union, which would be made anew for every step.
_STARTS = (HandOver, Promote)


def rebalances(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the rounds; to blame is the first one too many."""
    rounds = subject.plan.rounds
    beyond = rounds[number(limit) :]
    return Measurement(len(rounds), (Offence(len(rounds), beyond[0].number),) if beyond else ())


def moves(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the stateful tasks that somebody ran at first and that no such instance runs at the end."""
    return counted(subject.plan.summary.moves, _moves(subject.plan), limit)


def _moves(plan: Plan) -> Iterator[Offence]:
    """Yield the tasks that have moved, by the round in which they last start."""
    group = plan.group
    after = {task: group.instance_of[consumer] for consumer, held in enumerate(plan.final) for task in held.active}
    absent = plan.rounds[-1].not_configured if plan.rounds else frozenset()
    starts = ((rnd.number, step) for rnd, step in steps(plan.rounds, *_STARTS))
    last = {step.task_id: number for number, step in starts if isinstance(step, _STARTS)}
    offences = [
        Offence(
            None,
            last.get(group.tasks[task].task_id),
            group.tasks[task].task_id,
            group.instances[after[task]].process_id if task in after else None,
        )
        for task in sorted(moved(group, plan.initial, plan.final))
        if group.tasks[task].task_id not in absent
    ]
    yield from sorted(offences, key=lambda one: one.round_number or 0)


def warmups(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the warm-up copies that are placed."""
    placed = (
        Offence(step.restore_records, rnd.number, step.task_id, step.to.process_id)
        for rnd, step in steps(subject.plan.rounds, Place)
        if isinstance(step, Place) and step.to.role is Role.WARMUP
    )
    return counted(subject.plan.summary.warmups, placed, limit)


def cold_handovers(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the starts of a stateful task on an instance whose copy is not caught up."""
    cold = (
        Offence(step.restore_records, rnd.number, step.task_id, step.to.process_id)
        for rnd in subject.plan.rounds
        for step in rnd.steps.cold_starts()
    )
    return counted(subject.plan.summary.cold_handovers, cold, limit)


def restored_records(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Take what is restored; an unknown amount is too much, for it cannot be told not to be."""
    in_all, total, offences = subject.plan.summary.restored_records, 0, []
    if in_all is not None and in_all <= number(limit):
        return Measurement(in_all)
    for one in _restores(subject.plan):
        total += one.measured or 0
        if one.measured is None or (one.measured and total > number(limit)):
            offences.append(one)
    return Measurement(in_all, tuple(offences), unknown=in_all is None and total <= number(limit))


def _restores(plan: Plan) -> Iterator[Offence]:
    for rnd, step in steps(plan.rounds, Place, *_STARTS):
        if isinstance(step, (Place, *_STARTS)) and restores_anew(step, plan.group):
            yield Offence(step.restore_records, rnd.number, step.task_id, step.to.process_id)


def peak_extra_copies(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Take how many warm-up and temporary copies there are at once; to blame are the rounds with too many."""
    peak, rounds = subject.plan.summary.peak_extra_copies, subject.plan.rounds
    if peak <= number(limit):
        return Measurement(peak)
    at_once = zip(extra_copies([rnd.assigned for rnd in rounds]), (rnd.number for rnd in rounds), strict=True)
    return Measurement(peak, worst_first(Offence(copies, at) for copies, at in at_once if copies > number(limit)))
