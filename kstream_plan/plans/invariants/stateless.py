"""What the invariants say of stateless tasks whose owners are numbers: of thousands in a round, all at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kstream_plan.model import NOBODY, Group, Holding, Holdings, Owners, WorkId, same_owners
from kstream_plan.plans import (
    MemberLeft,
    Plan,
    ReasonCode,
    Revoke,
    Round,
    StatelessChanges,
    Step,
)
from kstream_plan.plans.step_rows import CODES, REVOKE, Mask

#: What is wrong: (round number, message)
_Wrong = list[tuple[int | None, str]]


class StatelessTasks(NamedTuple):
    """What is wrong with the stateless tasks of a plan, by invariant, and whether any is withheld, round by round."""

    broken: dict[str, _Wrong]
    withheld: list[bool]


def held_as_numbers(plan: Plan) -> bool:
    """Tell whether all that a plan says of stateless tasks is in numbers."""
    if not isinstance(plan.initial, Holdings) or not isinstance(plan.final, Holdings):
        return False
    if any(rnd.turns for rnd in plan.rounds):  # they tell all steps one by one
        return False
    is_stateless = _is_stateless(plan.group)
    return all(
        isinstance(rnd.decided, Holdings)
        and isinstance(rnd.assigned, Holdings)
        and (rnd.stateless is not None or not _about(rnd, is_stateless))
        for rnd in plan.rounds
    )


def check_stateless(plan: Plan) -> StatelessTasks:
    """Check the stateless tasks of a plan that has them as numbers (:func:`held_as_numbers`)."""
    not_decided, second_owner, lost_steps, withheld = _Wrong(), _Wrong(), _Wrong(), list[bool]()
    place_of, translations = _places(plan.group), _Translations(plan.group)
    is_stateless = _is_stateless(plan.group)
    before = _owners(plan.initial)
    for rnd in plan.rounds:
        decided, assigned = _owners(rnd.decided), _owners(rnd.assigned)
        gone = gone_in(plan.group, rnd)
        fits = _revokes_what_stopped(plan.group, rnd, before, gone, place_of, is_stateless)
        before[[owner in gone for owner in before.tolist()] if gone else []] = NOBODY
        if (nobody := int((decided == NOBODY).sum())) > 0:
            not_decided.append((rnd.number, f"{nobody} stateless tasks are decided for no consumer"))
        taken = before[(before != assigned) & (before >= 0) & (assigned >= 0)]
        if any(owner not in plan.stopping for owner in set(taken.tolist())):
            second_owner.append((rnd.number, "stateless tasks start before their owners have revoked them"))
        told = [before] * 3 if rnd.stateless is None else translations.of(rnd.stateless)
        if not fits or not all(map(same_owners, told, (before, decided, assigned))):
            lost_steps.append((rnd.number, "the steps of stateless tasks do not give their owners"))
        withheld.append(bool(((decided >= 0) & (assigned < 0)).any()))
        before = assigned
    if not same_owners(before, _owners(plan.final)):
        lost_steps.append((None, "final is not what the last round assigned of stateless tasks"))
    names = ("one-active-per-task", "no-second-owner", "steps-are-lossless")
    return StatelessTasks(dict(zip(names, (not_decided, second_owner, lost_steps), strict=True)), withheld)


def _owners(holdings: Sequence[Holding]) -> Owners:
    """Return who runs each stateless task, as an array of its own; no matter who has just given it up."""
    assert isinstance(holdings, Holdings)
    return holdings.owners.clip(min=NOBODY)


def _places(group: Group) -> Mapping[WorkId, int]:
    return {group.tasks[task].task_id: place for place, task in enumerate(group.stateless)}


def _is_stateless(group: Group) -> Mask:
    """Tell which tasks are stateless; the last one stands for none."""
    return ~np.array([*group.stateful_flags, True])


def _about(rnd: Round, is_stateless: Mask) -> list[Step]:
    """Return the steps that are about stateless tasks, apart from those that are numbers."""
    return [*rnd.steps.steps_of(is_stateless[rnd.steps.rows["task"]])]


def _revokes_what_stopped(
    group: Group,
    rnd: Round,
    before: Owners,
    gone: Collection[int],
    place_of: Mapping[WorkId, int],
    is_stateless: Mask,
) -> bool:
    """Tell whether the steps that are made already revoke, of stateless tasks, just what the stopped threads ran.

    A thread may have stopped before its instance left.
    """
    made = _about(rnd, is_stateless)
    if not made and not gone:
        return True
    left = {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)}
    stopped = {c for c in gone if group.instances[group.instance_of[c]].process_id not in left}
    ran = {(place, owner) for place, owner in enumerate(before.tolist()) if owner in gone}
    ran_by_stopped = {of for of in ran if of[1] in stopped}
    revoked = [step for step in made if isinstance(step, Revoke)]
    said = [(place_of[step.task_id], group.consumer_index.get(step.from_[:2])) for step in revoked]
    return len(made) == len(set(said)) and ran_by_stopped <= set(said) <= ran


def gone_in(group: Group, rnd: Round) -> set[int]:
    """Return the consumers whose instance left in the round, and those that their instance stopped."""
    left = {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)}
    rows = rnd.steps.rows
    stops = (rows["kind"] == REVOKE) & (rows["reason"] == CODES.index(ReasonCode.THREAD_STOPPED))
    gone = set(rows["from_consumer"][stops].tolist())
    for process_id in left:
        gone.update(group.consumers_of[group.instance_index[process_id]])
    return gone


class _Translations:
    """From the owners that a round's steps tell, by index of who took part then, to those of the plan's group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._then: Group = group
        self._index: Sequence[int] = range(len(group.consumer_ids))

    def of(self, changes: StatelessChanges) -> list[Owners]:
        """Return the owners before, decided and after."""
        if changes.maker.group is self._group:
            return list(changes.owners)
        if changes.maker.group is not self._then:
            self._then, self._index = changes.maker.group, self._group.indices_of(changes.maker.group)
        return [
            Holdings((), self._group.stateless, owners).renumbered((), self._group, self._index, self._index).owners
            for owners in changes.owners
        ]
