"""Rules about amounts: rebalances, moves, copies, records."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model.holding_changes import extra_copies, moved
from kstream_plan.plans import HandOver, Place, Plan, Promote, Role, restores_anew
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.measuring import (
    MeasuredPlan,
    Measurement,
    Offence,
    count_events,
    number,
    steps,
    worst_first,
)

#: A tuple, not a union, which would be made anew for every step.
_STARTS = (HandOver, Promote)


def rebalances(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the rounds; to blame is the first one too many."""
    rounds = subject.plan.rounds
    excess_rounds = rounds[number(limit) :]
    return Measurement(len(rounds), (Offence(len(rounds), excess_rounds[0].number),) if excess_rounds else ())


def moves(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the stateful tasks that somebody ran at first and that no such instance runs at the end."""
    return count_events(subject.plan.summary.moves, _moves(subject.plan), limit)


def _moves(plan: Plan) -> Iterator[Offence]:
    """Yield the tasks that have moved, by the round in which they last start."""
    group = plan.group
    final_instances = {
        task: group.instance_of[consumer] for consumer, holding in enumerate(plan.final) for task in holding.active
    }
    absent = plan.rounds[-1].not_configured if plan.rounds else frozenset()
    starts = ((rnd.number, step) for rnd, step in steps(plan.rounds, *_STARTS))
    last_rounds = {step.task_id: number for number, step in starts if isinstance(step, _STARTS)}
    offences = [
        Offence(
            None,
            last_rounds.get(group.tasks[task].task_id),
            group.tasks[task].task_id,
            group.instances[final_instances[task]].process_id if task in final_instances else None,
        )
        for task in sorted(moved(group, plan.initial, plan.final))
        if group.tasks[task].task_id not in absent
    ]
    yield from sorted(offences, key=lambda offence: offence.round_number or 0)


def warmups(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the warm-up copies that are placed."""
    placed = (
        Offence(step.restore_records, rnd.number, step.task_id, step.to.process_id)
        for rnd, step in steps(subject.plan.rounds, Place)
        if isinstance(step, Place) and step.to.role is Role.WARMUP
    )
    return count_events(subject.plan.summary.warmups, placed, limit)


def cold_handovers(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Count the starts of a stateful task on an instance whose copy is not caught up."""
    cold = (
        Offence(step.restore_records, rnd.number, step.task_id, step.to.process_id)
        for rnd in subject.plan.rounds
        for step in rnd.steps.cold_starts()
    )
    return count_events(subject.plan.summary.cold_handovers, cold, limit)


def restored_records(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the records to restore; an unknown amount is too much, since less is not certain."""
    in_all, total, offences = subject.plan.summary.restored_records, 0, []
    if in_all is not None and in_all <= number(limit):
        return Measurement(in_all)
    for offence in _restores(subject.plan):
        total += offence.value or 0
        if offence.value is None or (offence.value and total > number(limit)):
            offences.append(offence)
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
    return Measurement(
        peak, worst_first(Offence(copies, round_number) for copies, round_number in at_once if copies > number(limit))
    )
