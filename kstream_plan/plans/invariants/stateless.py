"""Invariants of stateless tasks whose owners are numbers: thousands in a round, all at once."""

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

#: Faults: (round number, message)
_Wrong = list[tuple[int | None, str]]


class StatelessTasks(NamedTuple):
    """The faults of a plan's stateless tasks, by invariant, and for each round whether one is withheld."""

    faults: dict[str, _Wrong]
    withholds: list[bool]


def held_as_numbers(plan: Plan) -> bool:
    """Tell whether a plan has all its stateless tasks as numbers."""
    if not isinstance(plan.initial, Holdings) or not isinstance(plan.final, Holdings):
        return False
    if any(rnd.turns for rnd in plan.rounds):  # they have all steps one by one
        return False
    is_stateless = _is_stateless(plan.group)
    return all(
        isinstance(rnd.decided, Holdings)
        and isinstance(rnd.assigned, Holdings)
        and (rnd.stateless is not None or not _stateless_steps(rnd, is_stateless))
        for rnd in plan.rounds
    )


def check_stateless(plan: Plan) -> StatelessTasks:
    """Check the stateless tasks of a plan that has them as numbers (:func:`held_as_numbers`)."""
    not_decided, second_owner, lost_steps, withholds = _Wrong(), _Wrong(), _Wrong(), list[bool]()
    place_of, translations = _places(plan.group), _Translations(plan.group)
    is_stateless = _is_stateless(plan.group)
    owners_before = _owners(plan.initial)
    for rnd in plan.rounds:
        decided_owners, owners_after = _owners(rnd.decided), _owners(rnd.assigned)
        departed = departed_consumers(plan.group, rnd)
        fits = _revokes_what_stopped(plan.group, rnd, owners_before, departed, place_of, is_stateless)
        owners_before[[owner in departed for owner in owners_before.tolist()] if departed else []] = NOBODY
        if (unassigned_count := int((decided_owners == NOBODY).sum())) > 0:
            not_decided.append((rnd.number, f"{unassigned_count} stateless tasks are decided for no consumer"))
        replaced_owners = owners_before[(owners_before != owners_after) & (owners_before >= 0) & (owners_after >= 0)]
        if any(owner not in plan.stopping for owner in set(replaced_owners.tolist())):
            second_owner.append((rnd.number, "stateless tasks start before their owners have revoked them"))
        stated_owners = [owners_before] * 3 if rnd.stateless is None else translations.translate(rnd.stateless)
        if not fits or not all(map(same_owners, stated_owners, (owners_before, decided_owners, owners_after))):
            lost_steps.append((rnd.number, "the steps of stateless tasks do not give their owners"))
        withholds.append(bool(((decided_owners >= 0) & (owners_after < 0)).any()))
        owners_before = owners_after
    if not same_owners(owners_before, _owners(plan.final)):
        lost_steps.append((None, "final is not what the last round assigned of stateless tasks"))
    names = ("one-active-per-task", "no-second-owner", "steps-are-lossless")
    return StatelessTasks(dict(zip(names, (not_decided, second_owner, lost_steps), strict=True)), withholds)


def _owners(holdings: Sequence[Holding]) -> Owners:
    """Return the owner of each stateless task, as an array of its own, without codes of revocations."""
    assert isinstance(holdings, Holdings)
    return holdings.owners.clip(min=NOBODY)


def _places(group: Group) -> Mapping[WorkId, int]:
    return {group.tasks[task].task_id: place for place, task in enumerate(group.stateless)}


def _is_stateless(group: Group) -> Mask:
    """Tell which tasks are stateless; the last one stands for none."""
    return ~np.array([*group.stateful_flags, True])


def _stateless_steps(rnd: Round, is_stateless: Mask) -> list[Step]:
    """Return the steps that are about stateless tasks, apart from those that are numbers."""
    return [*rnd.steps.steps_of(is_stateless[rnd.steps.rows["task"]])]


def _revokes_what_stopped(
    group: Group,
    rnd: Round,
    owners_before: Owners,
    departed: Collection[int],
    place_of: Mapping[WorkId, int],
    is_stateless: Mask,
) -> bool:
    """Tell whether the steps that are made already revoke just those stateless tasks that the stopped threads ran.

    A thread may have stopped before its instance left.
    """
    steps = _stateless_steps(rnd, is_stateless)
    if not steps and not departed:
        return True
    left_ids = {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)}
    stopped_consumers = {
        consumer for consumer in departed if group.instances[group.instance_of[consumer]].process_id not in left_ids
    }
    owned_places = {(place, owner) for place, owner in enumerate(owners_before.tolist()) if owner in departed}
    owned_by_stopped = {(place, owner) for place, owner in owned_places if owner in stopped_consumers}
    revoke_steps = [step for step in steps if isinstance(step, Revoke)]
    revoked_places = [(place_of[step.task_id], group.consumer_index.get(step.from_[:2])) for step in revoke_steps]
    return len(steps) == len(set(revoked_places)) and owned_by_stopped <= set(revoked_places) <= owned_places


def departed_consumers(group: Group, rnd: Round) -> set[int]:
    """Return the consumers whose instance left in the round, and those that their instance stopped."""
    left_ids = {step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)}
    rows = rnd.steps.rows
    stops = (rows["kind"] == REVOKE) & (rows["reason"] == CODES.index(ReasonCode.THREAD_STOPPED))
    departed = set(rows["from_consumer"][stops].tolist())
    for process_id in left_ids:
        departed.update(group.consumers_of[group.instance_index[process_id]])
    return departed


class _Translations:
    """Translates owners in a round's steps, by the index of its members then, to indices of the plan's group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._last_group: Group = group
        self._index: Sequence[int] = range(len(group.consumer_ids))

    def translate(self, changes: StatelessChanges) -> list[Owners]:
        """Return the owners before, decided and after."""
        if changes.maker.group is self._group:
            return list(changes.owners)
        if changes.maker.group is not self._last_group:
            self._last_group, self._index = changes.maker.group, self._group.indices_of(changes.maker.group)
        return [
            Holdings((), self._group.stateless, owners).renumbered((), self._group, self._index, self._index).owners
            for owners in changes.owners
        ]
