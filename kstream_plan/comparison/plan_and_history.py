"""Compares a plan with the generations that a group then had, and finds the first difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from kstream_plan.comparison.decisions import (
    decision_by_member,
    differences,
    names_of_newcomers,
    planned_decision,
    recorded_decision,
)
from kstream_plan.comparison.prediction import (
    CopyEvidence,
    DifferenceCause,
    FirstDifference,
    GenerationPair,
    Likeness,
    Recorded,
    SaidAndHappened,
    TaskDifference,
)
from kstream_plan.model import UNKNOWN, Group, WorkId
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans import HandOver, Plan, Promote, Reason, Round, Trigger, Withhold
from kstream_plan.snapshots.rows.fields import parse_time

#: A follow-up that comes so much later or earlier than planned finds other lags.
_LATE_MS = 500


def said_and_happened(
    plan: Plan, history: Sequence[Recorded], event_ms: int | None = None, *, whole: bool = False
) -> SaidAndHappened:
    """Compare a plan with the generations that followed its beginning.

    Args:
        plan: the plan.
        history: what was recorded from the plan's first generation on, or from a later one, at least one, in time.
        event_ms: when the plan's clock was 0, since 1970; by default so that the first generations are at one time.
        whole: all of the history belongs to what was planned; else it ends before the next thing that happens to the
            group from outside once the plan has ended.
    """
    generations = history if whole else _course(plan, history)
    missed_count = _missed_count(plan, generations[0])
    first_ms = plan.rounds[missed_count].at_ms if plan.rounds else 0
    starts_ms = generations[0].at_ms - first_ms if event_ms is None else event_ms
    names = names_of_newcomers(plan, generations)
    pairs = tuple(
        _pair(plan, number, rnd, generation, starts_ms, names)
        for number, (rnd, generation) in enumerate(
            zip_longest(plan.rounds, [*[None] * missed_count, *generations]), start=1
        )
    )
    return SaidAndHappened(
        plan=plan,
        group=_group_of_both(plan.group, generations, names),
        starts_ms=starts_ms,
        assumed=event_ms is None,
        pairs=pairs,
        first=_first_difference(plan, pairs, missed_count, names),
        misplaced_tasks=_misplaced_tasks(plan, generations, names)
        if missed_count + len(generations) >= len(plan.rounds)
        else None,
        later=len(history) - len(generations),
    )


def _missed_count(plan: Plan, first: Recorded) -> int:
    """Return how many rounds of the plan come before the history, by the number and the time of its generation."""
    decision = first.snapshot.decision
    if not plan.generation or plan.captured_at is None or not plan.rounds or decision is None:
        return 0
    missed_count = decision.generation - plan.rounds[0].generation
    if not 0 < missed_count < len(plan.rounds):
        return 0
    since_ms = first.at_ms - parse_time(plan.captured_at)
    is_closer = abs(since_ms - plan.rounds[missed_count].at_ms) < abs(since_ms - plan.rounds[0].at_ms)
    return missed_count if is_closer else 0  # generations that have no number are counted from 0


def _course(plan: Plan, history: Sequence[Recorded]) -> Sequence[Recorded]:
    """Return the generations until both have ended: the plan, and the follow-ups and probes of the group."""
    least = max(len(plan.rounds), 1)
    inside = (Trigger.PROBING, Trigger.FOLLOW_UP)
    ends = (place for place, generation in enumerate(history) if place >= least and generation.trigger not in inside)
    return history[: next(ends, len(history))]


def _group_of_both(group: Group, generations: Sequence[Recorded], names: Mapping[str, str]) -> Group:
    extra_instances = {
        instance.process_id: instance
        for generation in generations
        for instance in generation.snapshot.state.group.instances
        if instance.process_id not in group.instance_index and instance.process_id not in names
    }
    if not extra_instances:
        return group
    return Group.of(group.application_id, list(group.tasks), [*group.instances, *extra_instances.values()])


def _pair(
    plan: Plan, number: int, rnd: Round | None, generation: Recorded | None, starts_ms: int, names: Mapping[str, str]
) -> GenerationPair:
    seen_ms = None if generation is None else generation.at_ms - starts_ms
    if rnd is None or generation is None:
        likeness = Likeness.NOT_SAID if rnd is None else Likeness.NOT_SEEN
        return GenerationPair(
            number=number, planned_round=rnd, recorded_generation=generation, seen_ms=seen_ms, likeness=likeness
        )
    mine = planned_decision(plan, rnd, has_withheld=generation.has_withheld)
    theirs = recorded_decision(generation, names)
    decision = generation.snapshot.decision
    assert decision is not None
    wants_the_same = decision.probing_rebalance in (None, rnd.probing_rebalance)
    likeness = Likeness.OTHER
    if mine.by_instance == theirs.by_instance and wants_the_same:
        likeness = Likeness.AS_SAID if mine.same_threads(theirs) else Likeness.OTHER_THREADS
    return GenerationPair(
        number=number,
        planned_round=rnd,
        recorded_generation=generation,
        seen_ms=seen_ms,
        likeness=likeness,
        tasks=tuple(differences(plan.group, mine, theirs)),
        members_said=tuple(sorted(mine.members.keys() - theirs.members.keys())),
        members_seen=tuple(sorted(theirs.members.keys() - mine.members.keys())),
    )


def _misplaced_tasks(
    plan: Plan, generations: Sequence[Recorded], names: Mapping[str, str]
) -> tuple[TaskDifference, ...]:
    holdings = plan.rounds[-1].decided if plan.rounds else plan.final
    final_decision = decision_by_member(plan.group, holdings, [name for name, _ in plan.members])
    task_differences = differences(plan.group, final_decision, recorded_decision(generations[-1], names))
    return tuple(task for task in task_differences if task.said.active != task.seen.active)


def _first_difference(
    plan: Plan, pairs: Sequence[GenerationPair], missed_count: int, names: Mapping[str, str]
) -> FirstDifference | None:
    threads = next((pair for pair in pairs if pair.likeness is Likeness.OTHER_THREADS), None)
    pair = next((pair for pair in pairs[missed_count:] if not pair.likeness.is_as_planned), threads)
    if pair is None:
        return None
    previous_pair = pairs[pair.number - 2] if pair.number > missed_count + 1 else None
    since_said = since_seen = None
    if pair.planned_round is not None:
        previous_round = None if previous_pair is None else previous_pair.planned_round
        since_said = pair.planned_round.at_ms - (0 if previous_round is None else previous_round.at_ms)
    if pair.seen_ms is not None:
        since_seen = pair.seen_ms - (previous_pair.seen_ms or 0 if previous_pair is not None else 0)
    copy = _evidence(plan, pair, names)
    race = threads if threads is not None and threads.number <= pair.number else None
    return FirstDifference(
        pair=pair,
        cause=_cause(pair, since_said, since_seen, copy, race),
        since_said_ms=since_said,
        since_seen_ms=since_seen,
        copy=copy,
        threads_differ_from=None if race is None else race.number,
    )


def _cause(
    pair: GenerationPair,
    since_said_ms: int | None,
    since_seen_ms: int | None,
    copy: CopyEvidence | None,
    race: GenerationPair | None,
) -> DifferenceCause:
    """Return the first cause that applies: those that the records show come before those that they leave open."""
    if pair.planned_round is None or pair.recorded_generation is None:
        return DifferenceCause.LENGTH
    inside = {Trigger.PROBING.value, Trigger.FOLLOW_UP.value}
    planned_trigger, recorded_trigger = pair.planned_round.trigger.value, pair.recorded_generation.trigger
    has_other_origin = recorded_trigger is not None and (planned_trigger in inside) != (recorded_trigger in inside)
    if pair.members_said or pair.members_seen or has_other_origin:
        return DifferenceCause.ANOTHER_MEMBER
    if pair.recorded_generation.without_plan is not None and pair.likeness is Likeness.OTHER:
        return DifferenceCause.WITHOUT_FILE
    if pair.likeness is Likeness.OTHER_THREADS:
        return DifferenceCause.THREAD_RACE
    late = abs((since_seen_ms or 0) - (since_said_ms or 0)) > _LATE_MS
    if Trigger.FOLLOW_UP.value in (planned_trigger, recorded_trigger) and (planned_trigger != recorded_trigger or late):
        return DifferenceCause.LATE_FOLLOW_UP
    left_open = DifferenceCause.UNKNOWN if race is None else DifferenceCause.THREAD_RACE
    return DifferenceCause.RATE if copy is not None and copy.lag is not None else left_open


def _evidence(plan: Plan, pair: GenerationPair, names: Mapping[str, str]) -> CopyEvidence | None:
    """Return the first copy that was reported otherwise than the plan has it.

    Where the plan starts a task on a copy it says whether that is caught up; where the group started one on a copy
    that the plan leaves waiting, the plan says that it is not.
    """
    if pair.planned_round is None or pair.recorded_generation is None:
        return None
    limit = plan.config_of(pair.planned_round.number).acceptable_recovery_lag
    lags = _reported(pair.recorded_generation, names)
    starts = _said_caught_up(pair.planned_round, limit)
    unknown_evidence = None
    for difference in pair.tasks:
        task = plan.group.tasks[plan.group.task_index[difference.task_id]]
        if not task.stateful or difference.said.active == difference.seen.active:
            continue
        for process_id, caught_up in (
            (difference.said.active, starts.get(difference.task_id)),
            (difference.seen.active, False),
        ):
            if process_id is None or caught_up is None:
                continue
            lag = lags.get((difference.task_id, process_id))
            evidence = CopyEvidence(difference.task_id, process_id, lag, limit, caught_up)
            if lag is None:
                unknown_evidence = unknown_evidence or evidence
            elif is_caught_up(lag, limit) != caught_up:
                return evidence
    return unknown_evidence


def _said_caught_up(rnd: Round, limit: int) -> dict[WorkId, bool]:
    """Return for every task that a round moves whether its copy there is caught up in the plan."""
    caught_up_by_task: dict[WorkId, bool] = {}
    for step in rnd.single_steps:
        match step:
            case HandOver() | Promote():
                caught_up_by_task[step.task_id] = step.caught_up
            case Withhold(reason=Reason(lag=int(lag))):
                caught_up_by_task[step.task_id] = is_caught_up(lag, limit)
    return caught_up_by_task


def _reported(generation: Recorded, names: Mapping[str, str]) -> dict[tuple[WorkId, str], int]:
    """Return the known lags that were reported for a generation, by task and process; a running task has none."""
    state = generation.snapshot.state
    return {
        (task.task_id, names.get(process_id, process_id)): max(copy.lag, 0)
        for task, copies in zip(state.group.tasks, state.copies, strict=True)
        for copy in copies
        if copy.lag is not None and copy.lag != UNKNOWN
        for process_id in (state.group.instances[copy.instance].process_id,)
    }
