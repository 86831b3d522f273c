"""Invariants of owners and copies of tasks, round by round, and that the steps give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from kstream_plan.model import Holding
from kstream_plan.model.connect_group import HELD_BY_SEVERAL
from kstream_plan.model.holding_changes import Change, changed_holdings, difference, unlike
from kstream_plan.plans import NobodyRuns, ReasonCode, StopLearned
from kstream_plan.plans.invariants.changes import CopyChanges, are_among
from kstream_plan.plans.invariants.plan_view import PlanView
from kstream_plan.plans.step_rows import (
    ACTIVE,
    CODES,
    DEMOTE,
    MEMBER_LEFT,
    REVOKE,
    STANDBY,
    TEMPORARY,
    THREAD_MOVE,
    WARMUP,
    Mask,
    Numbers,
    are,
)


def one_active_per_task(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """Every task is decided active once in every round, or stated as unassigned, and never held active twice.

    Tasks that several workers hold, as the plan warns, they may hold before the first round, which mends that.
    """
    totals = changes.decided_in_role(ACTIVE)
    is_unassigned = are_among(_pairs(subject, totals.time, totals.key), _tasks_of_events(subject, changes, NobodyRuns))
    for index, task, count in totals.rows(
        (totals.number != ~is_unassigned) & _flags(subject, subject.tasks)[totals.key]
    ):
        yield changes.rounds[index].number, f"{subject.name(task)} is decided active {count} times"
    shared_names = {name for note in subject.plan.warnings if note.code == HELD_BY_SEVERAL for name in note.subjects}
    active_totals = changes.active_in_time()
    for moment, task, count in active_totals.rows(
        (active_totals.number > 1) & (changes.is_first | (active_totals.time > 0))
    ):
        if moment or subject.name(task) not in shared_names:
            number = changes.rounds[changes.round_of[moment - 1]].number if moment else 0
            yield number, f"{subject.name(task)} is held active {count} times"


def one_copy_per_instance(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """No instance is decided, or holds after a round, a task twice, in whatever roles."""
    instances = len(subject.plan.group.instances)
    for word, totals in (("is decided", changes.decided_by_place()), ("holds", changes.held_by_place())):
        duplicates: dict[tuple[int, int], list[str]] = {}
        for index, place, _ in totals.rows(totals.number > 1):
            task, instance = divmod(place, instances)
            duplicates.setdefault((index, instance), []).append(subject.name(task))
        for (index, instance), names in sorted(duplicates.items()):
            message = f"{subject.process(instance)} {word} more than one copy of {', '.join(names)}"
            yield changes.rounds[index].number, message


def no_second_owner(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """No consumer starts an active task that another one held until then: it is revoked one round, or update, earlier.

    Exceptions: the other one is gone, gives up everything before a rebalance (``stopping``), or stops a task that its
    learner takes over; or a step states that the task changes its owner at once.
    """
    active = (changes.role == ACTIVE) & (changes.moment >= 0)
    task, moment, number, sign = (
        column[active] for column in (changes.task, changes.moment, changes.round, changes.sign)
    )
    consumer = changes.copies.consumer(changes.copy[active])
    freed = are_among(consumer, np.array([*subject.plan.stopping], np.int64)) | _has_left(changes, number, consumer)
    at_once = are_among(_pairs(subject, number, task), _changes_at_once(subject, changes))
    is_lost, is_gained = (sign < 0) & ~freed & ~at_once, sign > 0
    tasks = len(subject.plan.group.tasks)
    moment_tasks = moment * tasks + task
    second = np.unique(moment_tasks[is_lost][are_among(moment_tasks[is_lost], moment_tasks[is_gained])])
    for moment_of, task_of in (divmod(key, tasks) for key in second.tolist()):
        number_of = changes.rounds[changes.round_of[moment_of]].number
        yield number_of, f"{subject.name(task_of)} starts before its owner has revoked it"


def _has_left(changes: CopyChanges, number: Numbers, consumer: Numbers) -> Mask:
    """Tell which consumers are on an instance that leaves in the round, or on a thread that it stops."""
    rows, of_row, instances = changes.rows, changes.row_round, changes.copies.instance_of
    is_leave = rows["kind"] == MEMBER_LEFT
    is_stop = (rows["kind"] == REVOKE) & (rows["reason"] == CODES.index(ReasonCode.THREAD_STOPPED))
    consumers = len(instances)
    has_left: Mask = are_among(
        number * consumers + instances[consumer],
        of_row[is_leave] * consumers + instances[rows["from_consumer"][is_leave]],
    )
    has_left |= are_among(number * consumers + consumer, of_row[is_stop] * consumers + rows["from_consumer"][is_stop])
    return has_left


def _changes_at_once(subject: PlanView, changes: CopyChanges) -> Numbers:
    """Return the tasks that are learned, and so stop before the rebalance, and those that change hands in one."""
    rows = changes.rows
    at_once = are(rows["kind"], REVOKE, DEMOTE, THREAD_MOVE) & (rows["reason"] == CODES.index(ReasonCode.MOVES_AT_ONCE))
    return np.append(
        _tasks_of_events(subject, changes, StopLearned),
        _pairs(subject, changes.row_round[at_once], rows["task"][at_once]),
    )


def temporary_only_while_withheld(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """A temporary standby is a task withheld from that very consumer in that very round."""
    copies, difference = changes.copies, changes.difference
    copy, number = difference.copy - copies.role(difference.copy), difference.round
    is_temporary, is_withheld = (difference.sign < 0) & (copies.role(difference.copy) == TEMPORARY), difference.sign > 0
    rounds = len(changes.rounds)
    is_wrong = is_temporary & ~are_among(copy * rounds + number, (copy * rounds + number)[is_withheld])
    for index, task in sorted(zip(number[is_wrong].tolist(), copies.task(copy[is_wrong]).tolist(), strict=True)):
        yield changes.rounds[index].number, f"{subject.name(task)} is held as a temporary standby but not withheld"


def warmups_within_budget(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """At most ``max_warmup_replicas`` warm-ups are decided at once, or as many as a target file says."""
    warmup = changes.role == WARMUP
    counts = np.bincount(changes.round[warmup].clip(0), changes.sign[warmup], minlength=len(changes.rounds)).cumsum()
    most = np.array(
        [
            subject.plan.config_of(rnd.number).max_warmup_replicas if rnd.follows is None else rnd.follows.warmups
            for rnd in changes.rounds
        ]
    )
    for index in (counts[: len(most)] > most).nonzero()[0].tolist():
        yield changes.rounds[index].number, f"{int(counts[index])} warm-ups, at most {most[index]} are allowed"


def one_learner_per_task(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """A task is learned by one instance at most."""
    learned = changes.decided_in_role(WARMUP)
    for index, task, count in learned.rows(learned.number > 1):
        yield changes.rounds[index].number, f"{subject.name(task)} is learned by {count} instances"


def standbys_as_wanted(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """A stateful task is decided ``num_standby_replicas`` standbys; fewer only if the plan warns of it.

    A target file says itself how many there are.
    """
    plan, totals = subject.plan, changes.decided_in_role(STANDBY)
    names = {name for note in plan.warnings if note.code == "standbys-short" for name in note.subjects}
    short = [task for task in plan.group.stateful if names and subject.name(task) in names]
    of_round = np.array([plan.config_of(rnd.number).num_standby_replicas for rnd in changes.rounds], np.int64)
    wanted_number = of_round[totals.time]
    by_file = np.array([rnd.follows is not None and rnd.follows.refusal is None for rnd in changes.rounds], bool)
    is_wrong = (totals.number > wanted_number) | ((totals.number < wanted_number) & ~_flags(subject, short)[totals.key])
    is_wrong &= ~by_file[totals.time]
    for index, task, count in totals.rows(is_wrong & _flags(subject, plan.group.stateful)[totals.key]):
        message = f"{subject.name(task)} is decided {count} standbys, num_standby_replicas is {of_round[index]}"
        yield changes.rounds[index].number, message


def stateless_without_copies(subject: PlanView, changes: CopyChanges) -> Iterator[tuple[int | None, str]]:
    """A stateless task is active or nothing after every round."""
    stateful = _flags(subject, subject.plan.group.stateful)
    copy, first_round, _ = changes.intervals((changes.role != ACTIVE) & ~stateful[changes.task])
    for index, task in sorted({*zip(first_round.tolist(), changes.copies.task(copy).tolist(), strict=True)}):
        yield changes.rounds[index].number, f"stateless {subject.name(task)} has a copy"


def _tasks_of_events(subject: PlanView, changes: CopyChanges, kind: type[NobodyRuns | StopLearned]) -> Numbers:
    """Return the tasks of steps of a kind, by round (:func:`_pairs`)."""
    index_of, tasks = subject.plan.group.task_index, len(subject.plan.group.tasks)
    numbers = [
        index * tasks + index_of[task_id]
        for index, rnd in enumerate(changes.rounds)
        for step in rnd.steps.events
        if type(step) is kind
        for task_id in step.task_ids
    ]
    return np.array(numbers, np.int64)


def _pairs(subject: PlanView, number: Numbers, task: Numbers) -> Numbers:
    """Return pairs of round and task as numbers."""
    return number * len(subject.plan.group.tasks) + task


def _flags(subject: PlanView, tasks: Sequence[int]) -> Mask:
    """Return by task whether it is one of these."""
    flags = np.zeros(len(subject.plan.group.tasks), np.bool_)
    flags[[*tasks]] = True
    return flags


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
