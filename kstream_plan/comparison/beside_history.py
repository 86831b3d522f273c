"""Holds a plan against the generations that a group then had, and finds what differs first. Values in, values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from kstream_plan.comparison.decided import decided, differences, said_in, seen_in
from kstream_plan.comparison.newcomers import names_of_newcomers
from kstream_plan.comparison.said_and_happened import (
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
from kstream_plan.snapshots.rows.times import parse_time

#: A follow-up that comes so much later or earlier than said finds other lags.
_LATE_MS = 500


def said_and_happened(
    plan: Plan, history: Sequence[Recorded], event_ms: int | None = None, *, whole: bool = False
) -> SaidAndHappened:
    """Hold a plan against the generations that followed its beginning.

    Args:
        plan: what was said.
        history: what was recorded from the plan's first generation on, or from a later one, at least one, in time.
        event_ms: when the plan's clock was 0, since 1970; by default so that the first generations are at one time.
        whole: all of the history belongs to what was planned; else it ends before the next thing that happens to the
            group from outside once the plan has ended.
    """
    happened = history if whole else _course(plan, history)
    missed = _missed(plan, happened[0])
    first_ms = plan.rounds[missed].at_ms if plan.rounds else 0
    starts_ms = happened[0].at_ms - first_ms if event_ms is None else event_ms
    names = names_of_newcomers(plan, happened)
    pairs = tuple(
        _pair(plan, number, said, seen, starts_ms, names)
        for number, (said, seen) in enumerate(zip_longest(plan.rounds, [*[None] * missed, *happened]), start=1)
    )
    return SaidAndHappened(
        plan=plan,
        group=_everybody(plan.group, happened, names),
        starts_ms=starts_ms,
        assumed=event_ms is None,
        pairs=pairs,
        first=_first_difference(plan, pairs, missed, names),
        elsewhere=_elsewhere(plan, happened, names) if missed + len(happened) >= len(plan.rounds) else None,
        later=len(history) - len(happened),
    )


def _missed(plan: Plan, first: Recorded) -> int:
    """Return how many rounds of the plan come before the history, by the number and the time of its generation."""
    decision = first.snapshot.decision
    if not plan.generation or plan.captured_at is None or not plan.rounds or decision is None:
        return 0
    missed = decision.generation - plan.rounds[0].generation
    if not 0 < missed < len(plan.rounds):
        return 0
    since_ms = first.at_ms - parse_time(plan.captured_at)
    is_closer = abs(since_ms - plan.rounds[missed].at_ms) < abs(since_ms - plan.rounds[0].at_ms)
    return missed if is_closer else 0  # generations that have no number are counted from 0


def _course(plan: Plan, history: Sequence[Recorded]) -> Sequence[Recorded]:
    """Return the generations up to where both have ended: the plan, and what the group did of itself."""
    least = max(len(plan.rounds), 1)
    inside = (Trigger.PROBING, Trigger.FOLLOW_UP)
    ends = (place for place, one in enumerate(history) if place >= least and one.trigger not in inside)
    return history[: next(ends, len(history))]


def _everybody(group: Group, happened: Sequence[Recorded], names: Mapping[str, str]) -> Group:
    more = {
        one.process_id: one
        for of in happened
        for one in of.snapshot.state.group.instances
        if one.process_id not in group.instance_index and one.process_id not in names
    }
    return Group.of(group.application_id, list(group.tasks), [*group.instances, *more.values()]) if more else group


def _pair(
    plan: Plan, number: int, said: Round | None, seen: Recorded | None, starts_ms: int, names: Mapping[str, str]
) -> GenerationPair:
    seen_ms = None if seen is None else seen.at_ms - starts_ms
    if said is None or seen is None:
        likeness = Likeness.NOT_SAID if said is None else Likeness.NOT_SEEN
        return GenerationPair(number=number, said=said, seen=seen, seen_ms=seen_ms, likeness=likeness)
    mine, theirs = said_in(plan, said, has_withheld=seen.has_withheld), seen_in(seen, names)
    decision = seen.snapshot.decision
    assert decision is not None
    wants_the_same = decision.probing_rebalance in (None, said.probing_rebalance)
    likeness = Likeness.OTHER
    if mine.by_instance == theirs.by_instance and wants_the_same:
        likeness = Likeness.AS_SAID if mine.same_threads(theirs) else Likeness.OTHER_THREADS
    return GenerationPair(
        number=number,
        said=said,
        seen=seen,
        seen_ms=seen_ms,
        likeness=likeness,
        tasks=tuple(differences(plan.group, mine, theirs)),
        members_said=tuple(sorted(mine.members.keys() - theirs.members.keys())),
        members_seen=tuple(sorted(theirs.members.keys() - mine.members.keys())),
    )


def _elsewhere(plan: Plan, happened: Sequence[Recorded], names: Mapping[str, str]) -> tuple[TaskDifference, ...]:
    holdings = plan.rounds[-1].decided if plan.rounds else plan.final
    said = decided(plan.group, holdings, [name for name, _ in plan.members])
    found = differences(plan.group, said, seen_in(happened[-1], names))
    return tuple(of for of in found if of.said.active != of.seen.active)


def _first_difference(
    plan: Plan, pairs: Sequence[GenerationPair], missed: int, names: Mapping[str, str]
) -> FirstDifference | None:
    threads = next((pair for pair in pairs if pair.likeness is Likeness.OTHER_THREADS), None)
    pair = next((pair for pair in pairs[missed:] if not pair.likeness.came), threads)
    if pair is None:
        return None
    before = pairs[pair.number - 2] if pair.number > missed + 1 else None
    since_said = since_seen = None
    if pair.said is not None:
        since_said = pair.said.at_ms - (before.said.at_ms if before is not None and before.said is not None else 0)
    if pair.seen_ms is not None:
        since_seen = pair.seen_ms - (before.seen_ms or 0 if before is not None else 0)
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
    """Return the first that applies, those that the records show before those that they leave open."""
    if pair.said is None or pair.seen is None:
        return DifferenceCause.LENGTH
    inside = {Trigger.PROBING.value, Trigger.FOLLOW_UP.value}
    said, seen = pair.said.trigger.value, pair.seen.trigger
    if pair.members_said or pair.members_seen or (seen is not None and (said in inside) != (seen in inside)):
        return DifferenceCause.ANOTHER_MEMBER
    if pair.seen.without_plan is not None and pair.likeness is Likeness.OTHER:
        return DifferenceCause.WITHOUT_FILE
    if pair.likeness is Likeness.OTHER_THREADS:
        return DifferenceCause.THREAD_RACE
    late = abs((since_seen_ms or 0) - (since_said_ms or 0)) > _LATE_MS
    if Trigger.FOLLOW_UP.value in (said, seen) and (said != seen or late):
        return DifferenceCause.LATE_FOLLOW_UP
    left_open = DifferenceCause.UNKNOWN if race is None else DifferenceCause.THREAD_RACE
    return DifferenceCause.RATE if copy is not None and copy.lag is not None else left_open


def _evidence(plan: Plan, pair: GenerationPair, names: Mapping[str, str]) -> CopyEvidence | None:
    """Return the first copy that was reported otherwise than the plan has it.

    Where the plan starts a task on a copy it says whether that is caught up; where the group started one on a copy
    that the plan leaves waiting, the plan says that it is not.
    """
    if pair.said is None or pair.seen is None:
        return None
    limit = plan.config_of(pair.said.number).acceptable_recovery_lag
    lags = _reported(pair.seen, names)
    starts = _said_caught_up(pair.said, limit)
    unknown = None
    for of in pair.tasks:
        task = plan.group.tasks[plan.group.task_index[of.task_id]]
        if not task.stateful or of.said.active == of.seen.active:
            continue
        for process_id, caught_up in ((of.said.active, starts.get(of.task_id)), (of.seen.active, False)):
            if process_id is None or caught_up is None:
                continue
            lag = lags.get((of.task_id, process_id))
            found = CopyEvidence(of.task_id, process_id, lag, limit, caught_up)
            if lag is None:
                unknown = unknown or found
            elif is_caught_up(lag, limit) != caught_up:
                return found
    return unknown


def _said_caught_up(said: Round, limit: int) -> dict[WorkId, bool]:
    """Return of every task that a round gives to somebody else whether the plan has its copy there caught up."""
    found: dict[WorkId, bool] = {}
    for step in said.single_steps:
        match step:
            case HandOver() | Promote():
                found[step.task_id] = step.caught_up
            case Withhold(reason=Reason(lag=int(lag))):
                found[step.task_id] = is_caught_up(lag, limit)
    return found


def _reported(one: Recorded, names: Mapping[str, str]) -> dict[tuple[WorkId, str], int]:
    """Return the known lags that were reported for a generation, by task and process; a running task has none."""
    state = one.snapshot.state
    return {
        (task.task_id, names.get(process_id, process_id)): max(copy.lag, 0)
        for task, copies in zip(state.group.tasks, state.copies, strict=True)
        for copy in copies
        if copy.lag is not None and copy.lag != UNKNOWN
        for process_id in (state.group.instances[copy.instance].process_id,)
    }
