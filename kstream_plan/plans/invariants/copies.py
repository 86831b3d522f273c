"""Invariants of who runs and keeps what, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, pairwise
from operator import attrgetter

from kstream_plan.model import Holding, WorkId
from kstream_plan.model.connect_group import HELD_BY_SEVERAL
from kstream_plan.model.holding_changes import MANY, times_in
from kstream_plan.plans import Demote, NobodyRuns, ReasonCode, Revoke, Round, StopLearned, ThreadMove, Trigger
from kstream_plan.plans.invariants.plan_view import Delta, PlanView
from kstream_plan.plans.invariants.stateless import gone_in

_ACTIVE, _STANDBY, _WARMUP = range(3)


def one_active_per_task(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Every task is decided active once in every round, or told to be run by nobody, and never held active twice.

    What several workers hold, as the plan warns, they may hold before the first round, which mends that.
    """
    unrun = [_run_by_nobody(subject, rnd) for rnd in subject.plan.rounds]
    for index, task, count in _counts(subject, subject.decided, _ACTIVE):
        if count != (task not in unrun[index]):
            yield index + 1, f"{subject.name(task)} is decided active {count} times"
    numbers, held = zip(*subject.in_time, strict=True)
    several = {name for note in subject.plan.warnings if note.code == HELD_BY_SEVERAL for name in note.subjects}
    for index, task, count in _counts(subject, held, _ACTIVE):
        if count > 1 and not (numbers[index] == 0 and subject.name(task) in several):
            yield numbers[index], f"{subject.name(task)} is held active {count} times"
    yield from subject.stateless.not_decided if subject.stateless else ()


def _run_by_nobody(subject: PlanView, rnd: Round) -> set[int]:
    """Return the tasks that a round's decision gives to nobody, as its steps say."""
    names = {task_id for step in rnd.steps_apart if isinstance(step, NobodyRuns) for task_id in step.task_ids}
    return {subject.plan.group.task_index[task_id] for task_id in names}


def one_copy_per_instance(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """No instance is decided, or holds after a round, a task twice, in whatever roles."""
    rounds = subject.plan.rounds
    for word, deltas, history in (
        ("is decided", subject.decided, [rnd.decided for rnd in rounds]),
        ("holds", subject.held[1:], [rnd.assigned for rnd in rounds]),
    ):
        for index, (changes, holdings) in enumerate(zip(deltas, history, strict=True)):
            gained = _everything(holdings) if index == 0 else _gained(changes)
            yield from ((index + 1, message) for message in _twice(subject, word, gained, holdings))


def no_second_owner(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """Nobody starts an active task that another consumer held until then: it is revoked one round, or turn, earlier.

    Unless the other one is gone. Only who gives up everything before a rebalance (``stopping``), or stops what another
    one learns, has revoked it in time; and what the steps say so of changes hands at once.
    """
    plan = subject.plan
    for number, changes in subject.in_time[1:]:
        rnd = plan.rounds[number - 1]
        freed = plan.stopping | gone_in(plan.group, rnd)
        active = [delta for delta in changes if delta.role == _ACTIVE]
        lost = {task for delta in active if delta.consumer not in freed for task in delta.lost}
        gained = {task for delta in active for task in delta.gained}
        for task in sorted((lost & gained) - _changes_at_once(subject, rnd)):
            yield rnd.number, f"{subject.name(task)} starts before its owner has revoked it"
    yield from subject.stateless.second_owner if subject.stateless else ()


def _changes_at_once(subject: PlanView, rnd: Round) -> set[int]:
    """Return the tasks that are learned, and so stop before the rebalance, and those that change hands in one."""
    found: set[WorkId] = set()
    for step in rnd.steps_apart:
        if isinstance(step, StopLearned):
            found.update(step.task_ids)
        elif isinstance(step, Revoke | Demote | ThreadMove) and step.reason.code is ReasonCode.MOVES_AT_ONCE:
            found.add(step.task_id)
    return {subject.plan.group.task_index[task_id] for task_id in found}


def withheld_is_followed_up(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """A follow-up comes next if and only if something is withheld."""
    for (rnd, after), follows in zip(pairwise(subject.plan.rounds), subject.follow_ups, strict=False):
        if follows != (after.trigger is Trigger.FOLLOW_UP):
            withheld = "tasks are withheld" if follows else "no task is withheld"
            yield rnd.number, f"{withheld} and the next trigger is {after.trigger}"


def temporary_only_while_withheld(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """A temporary standby is a task withheld from that very consumer in that very round."""
    for rnd, withheld in zip(subject.plan.rounds, subject.withheld, strict=True):
        for consumer in compress(range(len(rnd.assigned)), map(attrgetter("temporary"), rnd.assigned)):
            for task in rnd.assigned[consumer].temporary:
                if (consumer, task) not in withheld:
                    yield rnd.number, f"{subject.name(task)} is held as a temporary standby but not withheld"


def warmups_within_budget(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """At most ``max_warmup_replicas`` warm-ups are decided at once."""
    for rnd in subject.plan.rounds:
        most = subject.plan.config_of(rnd.number).max_warmup_replicas
        warmups = sum(map(len, map(attrgetter("warmup"), rnd.decided)))
        if warmups > most:
            yield rnd.number, f"{warmups} warm-ups, max_warmup_replicas is {most}"


def one_learner_per_task(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """A task is learned by one instance at most."""
    for index, task, count in _counts(subject, subject.decided, _WARMUP):
        if count > 1:
            yield index + 1, f"{subject.name(task)} is learned by {count} instances"


def standbys_as_wanted(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """A stateful task is decided ``num_standby_replicas`` standbys; fewer only if the plan warns of it."""
    plan = subject.plan
    short = {named for note in plan.warnings if note.code == "standbys-short" for named in note.subjects}
    for index, task, count in _counts(subject, subject.decided, _STANDBY):
        wanted = plan.config_of(plan.rounds[index].number).num_standby_replicas
        if count == wanted or not plan.group.stateful_flags[task]:
            continue
        name = subject.name(task)
        if count > wanted or name not in short:
            yield index + 1, f"{name} is decided {count} standbys, num_standby_replicas is {wanted}"


def stateless_without_copies(subject: PlanView) -> Iterator[tuple[int | None, str]]:
    """A stateless task is active or nothing after every round."""
    stateful = subject.plan.group.stateful_flags
    for index, (rnd, changes) in enumerate(zip(subject.plan.rounds, subject.held[1:], strict=True)):
        copies = [delta.gained for delta in changes if delta.role != _ACTIVE]
        if index == 0:
            copies = [role for held in rnd.assigned for role in held[_STANDBY:]]
        for task in sorted(set().union(*copies)):
            if not stateful[task]:
                yield rnd.number, f"stateless {subject.name(task)} has a copy"


def _counts(subject: PlanView, deltas: Sequence[Sequence[Delta]], role: int) -> Iterator[tuple[int, int, int]]:
    """Yield (index, task, how many consumers have it in the role): every task at first, then those that changed."""
    group = subject.plan.group
    counts, everything = [0] * len(group.tasks), set(subject.tasks)
    for index, changes in enumerate(deltas):
        touched = everything if index == 0 else set()
        for delta in changes:
            if delta.role != role:
                continue
            for task in delta.lost:
                counts[task] -= 1
            for task in delta.gained:
                counts[task] += 1
            touched.update(delta.lost, delta.gained)
        yield from ((index, task, counts[task]) for task in sorted(touched))


def _everything(holdings: Sequence[Holding]) -> dict[int, set[int]]:
    return {consumer: set().union(*held) for consumer, held in enumerate(holdings)}


def _gained(changes: Sequence[Delta]) -> dict[int, set[int]]:
    """Return by consumer the tasks that it got, in whatever role."""
    found: dict[int, set[int]] = {}
    for delta in changes:
        if delta.gained:
            found.setdefault(delta.consumer, set()).update(delta.gained)
    return found


def _twice(subject: PlanView, word: str, gained: dict[int, set[int]], holdings: Sequence[Holding]) -> Iterator[str]:
    """Yield what is wrong with the instances whose consumers got something."""
    group = subject.plan.group
    by_instance: dict[int, set[int]] = {}
    for consumer, tasks in gained.items():
        by_instance.setdefault(group.instance_of[consumer], set()).update(tasks)
    for instance, tasks in sorted(by_instance.items()):
        roles = [role for consumer in group.consumers_of[instance] for role in holdings[consumer]]
        if len(tasks) > MANY and len(set().union(*roles)) == sum(map(len, roles)):
            continue
        twice = [subject.name(task) for task in sorted(tasks) if sum(times_in(role, task) for role in roles) > 1]
        if twice:
            yield f"{subject.process(instance)} {word} more than one copy of {', '.join(twice)}"
