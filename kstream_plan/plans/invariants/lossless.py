"""The invariant that steps tell everything: they give what every round says that it decided and left."""

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
    wrong = [(index, "a step does not fit what is held") for index in changes.misfits]
    wrong += [(index, "the steps do not give what was decided") for index in _decided_otherwise(subject, changes)]
    wrong += [(index, "the steps do not give what is assigned") for index in _assigned_otherwise(subject, changes)]
    yield from ((changes.rounds[index].number, message) for index, message in sorted(wrong))
    if part.first + len(part.rounds) == len(plan.rounds) and plan.final != (
        plan.rounds[-1].assigned if plan.rounds else plan.initial
    ):
        yield None, "final is not what the last round assigned"


def _decided_otherwise(subject: PlanView, changes: CopyChanges) -> list[int]:
    """Return the rounds that say that they decided otherwise than they left, and the steps do not give that."""
    part = changes.part
    stated = [(index - part.first, subject.plan.rounds[index]) for index in part.stated]
    said = ((index, _different(*map(subject.looked_at, (rnd.assigned, rnd.decided)))) for index, rnd in stated)
    copy, number, sign = changes.difference
    which = number >= part.stated.start - part.first
    return _differing(changes, said, copy[which], number[which], sign[which])


def _assigned_otherwise(subject: PlanView, changes: CopyChanges) -> list[int]:
    """Return the rounds that say that they left other copies than the steps give."""
    part, plan = changes.part, subject.plan
    if len(part.stated) < len(part.rounds):
        held = [changes.copies.held(subject.looked_at(plan.rounds[index].assigned)) for index in part.stated]
        return [part.stated.start - part.first for of in held if len(np.setxor1d(of, changes.after))]
    before = plan.rounds[part.first - 1].assigned if part.first else plan.initial
    history = [subject.looked_at(of) for of in (before, *(rnd.assigned for rnd in changes.rounds))]
    said = ((index - 1, of_round) for index, of_round in islice(changed_holdings(history), 1, None))
    return _differing(changes, said, *changes.by_round)


def _different(held: Sequence[Holding], decided: Sequence[Holding]) -> list[Change]:
    return [(consumer, held[consumer], decided[consumer]) for consumer in unlike(held, decided)]


def _differing(
    changes: CopyChanges, said: Iterable[tuple[int, list[Change]]], copy: Numbers, number: Numbers, sign: Numbers
) -> list[int]:
    """Return the rounds of which other changes are ``said`` than these."""
    rounds, columns = len(changes.rounds), [*_columns(said)]
    index, consumer, role, task, more = np.array(columns, np.int64).reshape(-1, 5).T
    one = (changes.copies.number(task, consumer, role) * rounds + index) * 2 + (more > 0)
    other = (copy * rounds + number) * 2 + (sign > 0)
    found: list[int] = np.unique(np.setxor1d(one, other) // 2 % max(rounds, 1)).tolist()
    return found


def _columns(said: Iterable[tuple[int, list[Change]]]) -> Iterator[tuple[int, int, int, int, int]]:
    for index, of_round in said:
        for consumer, old, new in of_round:
            for role, (before, after) in enumerate(zip(old, new, strict=True)):
                if before is not after:
                    lost, gained = difference(before, after)
                    yield from ((index, consumer, role, task, -1) for task in lost)
                    yield from ((index, consumer, role, task, 1) for task in gained)
