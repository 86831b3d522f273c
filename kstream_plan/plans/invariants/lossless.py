"""The invariant that steps are complete: they give the decision and the assignment that every round states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from kstream_plan.model import Holding
from kstream_plan.model.holding_changes import Change, changed_holdings, difference, unlike
from kstream_plan.plans.invariants.changes import CopyChanges
from kstream_plan.plans.invariants.plan_view import PlanView
from kstream_plan.plans.step_rows import Numbers


def steps_are_lossless(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """``initial`` and the steps give every round's ``decided`` and ``assigned``, and ``final``.

    Of rounds whose holdings are made of their steps only the last one is compared.
    """
    plan, part = subject.plan, changes.part
    faults = [(index, "a step does not fit what is held") for index in changes.misfits]
    faults += [(index, "the steps do not give what was decided") for index in _decided_otherwise(subject, changes)]
    faults += [(index, "the steps do not give what is assigned") for index in _assigned_otherwise(subject, changes)]
    yield from ((changes.rounds[index].number, message) for index, message in sorted(faults))
    if part.first + len(part.rounds) == len(plan.rounds) and plan.final != (
        plan.rounds[-1].assigned if plan.rounds else plan.initial
    ):
        yield None, "final is not what the last round assigned"


def _decided_otherwise(subject: PlanView, changes: CopyChanges) -> list[int]:
    """Return the rounds whose stated decision is not the one that the steps give."""
    part = changes.part
    stated = [(index - part.first, subject.plan.rounds[index]) for index in part.stated]
    stated_changes = (
        (index, _different(*map(subject.looked_at, (rnd.assigned, rnd.decided)))) for index, rnd in stated
    )
    copy, number, sign = changes.difference
    mask = number >= part.stated.start - part.first
    return _differing(changes, stated_changes, copy[mask], number[mask], sign[mask])


def _assigned_otherwise(subject: PlanView, changes: CopyChanges) -> list[int]:
    """Return the rounds whose stated assignment is not the one that the steps give."""
    part, plan = changes.part, subject.plan
    if len(part.stated) < len(part.rounds):
        stated_copies = [
            changes.copies.numbers_of(subject.looked_at(plan.rounds[index].assigned)) for index in part.stated
        ]
        return [
            part.stated.start - part.first for copies in stated_copies if len(np.setxor1d(copies, changes.copies_after))
        ]
    previous_holdings = plan.rounds[part.first - 1].assigned if part.first else plan.initial
    history = [
        subject.looked_at(holdings) for holdings in (previous_holdings, *(rnd.assigned for rnd in changes.rounds))
    ]
    stated_changes = ((index - 1, of_round) for index, of_round in islice(changed_holdings(history), 1, None))
    return _differing(changes, stated_changes, *changes.by_round)


def _different(assignment: Sequence[Holding], decision: Sequence[Holding]) -> list[Change]:
    return [(consumer, assignment[consumer], decision[consumer]) for consumer in unlike(assignment, decision)]


def _differing(
    changes: CopyChanges,
    stated_changes: Iterable[tuple[int, list[Change]]],
    copy: Numbers,
    number: Numbers,
    sign: Numbers,
) -> list[int]:
    """Return the rounds whose ``stated_changes`` differ from these."""
    rounds, columns = len(changes.rounds), [*_columns(stated_changes)]
    index, consumer, role, task, stated_sign = np.array(columns, np.int64).reshape(-1, 5).T
    stated_keys = (changes.copies.number(task, consumer, role) * rounds + index) * 2 + (stated_sign > 0)
    step_keys = (copy * rounds + number) * 2 + (sign > 0)
    differing_rounds: list[int] = np.unique(np.setxor1d(stated_keys, step_keys) // 2 % max(rounds, 1)).tolist()
    return differing_rounds


def _columns(stated_changes: Iterable[tuple[int, list[Change]]]) -> Iterator[tuple[int, int, int, int, int]]:
    for index, of_round in stated_changes:
        for consumer, old, new in of_round:
            for role, (old_tasks, new_tasks) in enumerate(zip(old, new, strict=True)):
                if old_tasks is not new_tasks:
                    lost_tasks, gained_tasks = difference(old_tasks, new_tasks)
                    yield from ((index, consumer, role, task, -1) for task in lost_tasks)
                    yield from ((index, consumer, role, task, 1) for task in gained_tasks)
