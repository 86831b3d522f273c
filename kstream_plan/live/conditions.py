"""What a deployment waits for: whether it is proven to hold in a snapshot, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from kstream_plan.errors import UsageError
from kstream_plan.model import Holding, Note, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.connect_group import DELAY_UNKNOWN, HELD_BY_SEVERAL, SAME_ADDRESS, WORKER_SILENT
from kstream_plan.model.note import name_list
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Trigger
from kstream_plan.plans.caught_up_evidence import Known, KnownCopies
from kstream_plan.simulation.asked_moment import asked_moment
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.drain import DrainNow, drain
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import plan

#: The notes by which it is unknown whether Connect's workers are all there, and run what they are shown to run.
_OF_WORKERS = (DELAY_UNKNOWN, WORKER_SILENT, SAME_ADDRESS, HELD_BY_SEVERAL)
_DECISION_UNKNOWN = "What the leader decided last is unknown"
_SETTINGS_NEWER = "Topics or settings may have changed since the newest target: one of now has other tasks or standbys"
#: How many different reasons are given.
_MOST_REASONS = 3


class ConditionAnswer(NamedTuple):
    """Whether a condition holds.

    answer: YES only if that is proven.
    reasons: why not, the most important one first; none where it holds.
    """

    answer: Answer
    reasons: tuple[str, ...] = ()


class Question(NamedTuple):
    """What a condition is asked about.

    instances: the instances, by process id, a prefix of it, or host.
    restart_ms: how long one of them is away when it restarts.
    options: how the group is simulated, with the moment that is asked of.
    """

    instances: Sequence[str]
    restart_ms: int
    options: PlanOptions


def has_settled(snapshot: Snapshot, question: Question) -> ConditionAnswer:
    """Tell whether no rebalance is under way or due: the leader wants none, and no member has left unnoticed."""
    moment = asked_moment(snapshot, question.options, ())
    doubts = (*moment.doubts, *(note for note in snapshot.warnings if note.code in _OF_WORKERS))
    if doubts:
        return ConditionAnswer(Answer.UNKNOWN, _messages(doubts))
    if snapshot.group_protocol == "classic" and snapshot.decision is None:
        return ConditionAnswer(Answer.UNKNOWN, (_DECISION_UNKNOWN,))
    options = replace(moment.options.of_one_run(), max_rounds=1)
    is_streams = snapshot.group_protocol == "streams"
    first = next(iter(plan(snapshot, options, scenario=Scenario(events=()) if is_streams else None).rounds), None)
    if is_streams and first is None and _places_otherwise(snapshot, options):
        return ConditionAnswer(Answer.UNKNOWN, (_SETTINGS_NEWER,))
    if first is None or (snapshot.group_protocol == "classic" and first.trigger is Trigger.MANUAL):
        return ConditionAnswer(Answer.YES)
    return ConditionAnswer(Answer.NO, (f"A {_REBALANCES.get(first.trigger, 'rebalance')} is due",))


def _places_otherwise(snapshot: Snapshot, options: PlanOptions) -> bool:
    """Tell whether a target of now would have other active tasks or numbers of standbys than a Stable group has.

    Its broker computes one only if members, topics or settings change. Other owners of the same tasks are no sign of
    that: the assignor goes by the owners before.
    """
    first = next(iter(plan(snapshot, options).rounds), None)
    return first is not None and _numbers(first.decided) != _numbers(snapshot.assigned)


def _numbers(holdings: Iterable[Holding]) -> Counter[tuple[bool, int]]:
    """Return how many have each task, active and as a standby."""
    return Counter(
        (is_active, task)
        for holding in holdings
        for is_active, tasks in ((True, holding.active), (False, holding.standby))
        for task in tasks
    )


_REBALANCES = {Trigger.FOLLOW_UP: "follow-up rebalance", Trigger.PROBING: "probing rebalance"}


def caught_up(snapshot: Snapshot, question: Question) -> ConditionAnswer:
    """Tell whether every standby and warm-up is proven to be caught up.

    Raises:
        UsageError: it is a Connect group, which has no copies.
    """
    if snapshot.group_protocol == "connect":
        raise UsageError("a Connect group has no copies that catch up", fix="wait for settled or safe-to-stop")
    moment = asked_moment(snapshot, question.options, ())
    if moment.doubts:
        return ConditionAnswer(Answer.UNKNOWN, _messages(moment.doubts))
    if snapshot.group_protocol == "classic" and snapshot.decision is None:
        return ConditionAnswer(Answer.UNKNOWN, (_DECISION_UNKNOWN,))
    if snapshot.group_protocol == "streams" and (group := has_settled(snapshot, question)).answer is not Answer.YES:
        return ConditionAnswer(Answer.UNKNOWN, (*group.reasons, "Copies that it places have not caught up"))
    taken_ms, now_ms = snapshot.captured_at_ms, question.options.now_ms
    at_ms = snapshot.known_until_ms if taken_ms is None or now_ms is None else now_ms - taken_ms
    known_copies = KnownCopies(snapshot, at_ms, question.options.trust_ms)
    task_ids_behind, unknown_ids_by_reason = list[str](), dict[str, list[str]]()
    for task, instance in copies_to_catch_up(snapshot):
        evidence, task_id = (
            known_copies.evidence_of(task, instance, at_ms),
            str(snapshot.state.group.tasks[task].task_id),
        )
        if evidence.known is Known.BEHIND:
            task_ids_behind.append(task_id)
        elif evidence.known is Known.UNKNOWN:
            unknown_ids_by_reason.setdefault(evidence.words, []).append(task_id)
    if task_ids_behind:
        return ConditionAnswer(Answer.NO, (f"{_copies_of(task_ids_behind)} are behind",))
    reasons = tuple(f"{_copies_of(tasks)}: {words}" for words, tasks in unknown_ids_by_reason.items())
    return ConditionAnswer(Answer.UNKNOWN, reasons) if reasons else ConditionAnswer(Answer.YES)


def _copies_of(task_ids: Sequence[str]) -> str:
    return f"Copies of {name_list(list(dict.fromkeys(task_ids)), _MOST_REASONS)}"


def copies_to_catch_up(snapshot: Snapshot) -> Sequence[tuple[int, int]]:
    """Return the copies of stateful tasks that are assigned and not active, as (task, instance), in order."""
    group = snapshot.state.group
    copies = {
        (task, group.instance_of[consumer])
        for consumer, holding in enumerate(snapshot.assigned)
        for task in (*holding.standby, *holding.warmup, *holding.temporary)
        if group.stateful_flags[task]
    }
    return sorted(copies)


def safe_to_restart(snapshot: Snapshot, question: Question) -> ConditionAnswer:
    """Tell whether the instances may restart, one after the other, as ``bounce --instance`` does.

    Raises:
        UsageError: it is no classic group.
        ScenarioError: there is no such instance.
    """
    if snapshot.group_protocol != "classic":
        message = f"safe-to-restart is about classic groups, and this one is a {snapshot.group_protocol} group"
        raise UsageError(message, fix="wait for safe-to-stop")
    bounces = bounce(snapshot, question.restart_ms, question.options, instances=question.instances)
    assert bounces.answer is not None
    if bounces.answer is Answer.YES:
        return ConditionAnswer(Answer.YES)
    way = bounces.as_it_is
    cold = way.plan.summary.cold_handovers
    reasons = [f"At least {cold} tasks would start cold"] if cold else []
    reasons += _messages(bounces.reasons)
    reasons += [] if way.safe_pause.reason is None else _messages([way.safe_pause.reason])
    return ConditionAnswer(bounces.answer, tuple(dict.fromkeys(reasons)))


class _AnsweredError(Exception):
    """The answer for now is there: that for later is not asked for."""


def safe_to_stop(snapshot: Snapshot, question: Question) -> ConditionAnswer:
    """Tell whether the instances may stop, as ``drain --require-warm`` does; of a Connect group its workers.

    Raises:
        ScenarioError: there is no such instance, or none would be left.
    """
    if snapshot.group_protocol == "connect":
        workers = drain_workers(snapshot, question.instances, question.options)
        if workers.answer is Answer.YES:
            return ConditionAnswer(Answer.YES)
        unassigned_reasons = ["Connectors and tasks would be unassigned"] if workers.answer is Answer.NO else []
        return ConditionAnswer(workers.answer, (*unassigned_reasons, *_messages(workers.doubts)))
    answers = list[DrainNow]()

    def on_now(now: DrainNow) -> None:
        answers.append(now)
        raise _AnsweredError

    with suppress(_AnsweredError):
        drain(snapshot, question.instances, question.options, on_now=on_now)
    [now] = answers
    if now.answer is Answer.YES:
        return ConditionAnswer(Answer.YES)
    cold = [str(task_id) for task_id, answer in now.answers.items() if answer is Answer.NO]
    reasons = [f"{name_list(cold, _MOST_REASONS)} would start cold, or restore first"] if cold else []
    unknown_ids_by_reason = dict[str, list[str]]()
    for start in now.unknown:
        unknown_ids_by_reason.setdefault(start.evidence.words, []).append(str(start.task_id))
    reasons += [f"{_copies_of(tasks)}: {words}" for words, tasks in unknown_ids_by_reason.items()]
    return ConditionAnswer(now.answer, (*reasons, *_messages([*now.moment_doubts, *now.doubts])))


def _messages(notes: Sequence[Note]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note.message for note in notes))


#: What can be waited for; those that begin with ``safe`` are about instances that are named.
CONDITIONS: Mapping[str, Callable[[Snapshot, Question], ConditionAnswer]] = {
    "settled": has_settled,
    "caught-up": caught_up,
    "safe-to-restart": safe_to_restart,
    "safe-to-stop": safe_to_stop,
}
