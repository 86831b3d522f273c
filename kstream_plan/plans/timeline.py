"""A plan over time: members, the tasks that they run, warm up and restore, and pauses."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import NamedTuple

from kstream_plan.model import Group, Holding
from kstream_plan.model.holding_changes import Change, apart_from_stateless, changed_holdings
from kstream_plan.plans.cold_starts import ColdStart, cold_starts_of
from kstream_plan.plans.loads import after_each_round, at_first
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.series import Level, levels_of, summed
from kstream_plan.plans.steps import InstanceLeaving, InstanceStays, MemberJoined, MemberLeft
from kstream_plan.plans.task_pauses import Pause, moments

#: The maximum of pauses of single tasks: where members give up everything, each task has one a round.
MOST_STANDSTILLS = 20_000
#: This part of the time is left on either side, to see how it begins and ends.
_ASIDE = 25


class TaskRole(StrEnum):
    """The role of an instance for a task. A task that restores before it runs counts as running, too, as in plans."""

    RUNS = "runs"
    RESTORES = "restores"
    WARMS_UP = "warms-up"
    STANDBY = "standby"
    TEMPORARY = "temporary"


class Stretch(NamedTuple):
    """The time of a role of an instance for a task (both indices), in milliseconds of the plan's clock.

    A role that does not end within the plan ends with the timeline.
    """

    task: int
    instance: int
    role: TaskRole
    from_ms: int
    to_ms: int


class Standstill(NamedTuple):
    """The time of a pause of a task (by index)."""

    task: int
    from_ms: int
    to_ms: int


class LoadAt(NamedTuple):
    """How evenly the load is spread from a time on, as a decision leaves it.

    The ``least`` and the ``most`` active tasks of an instance; KIP-441's instance and subtopology balance as of
    :class:`~kstream_plan.plans.Balance`.
    """

    at_ms: int
    least: int
    most: int
    balance_factor: int
    subtopology_task_spread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceCourse:
    """One instance over time: ``member_spans``, its times as a member, and the tasks that it runs, warms up, restores.

    Levels count stateful tasks; ``runs`` counts all tasks, if none has state. ``cold_ms`` are the times of cold starts;
    ``unsure`` counts the tasks that it runs since a cold start whose restore time is unknown.
    """

    process_id: str
    member_spans: tuple[tuple[int, int], ...]
    runs: tuple[Level, ...]
    warms_up: tuple[Level, ...]
    restores: tuple[Level, ...]
    unsure: tuple[Level, ...]
    cold_ms: tuple[int, ...]

    def is_there(self, at_ms: int) -> bool:
        """Whether it is a member at a time."""
        return any(begin_ms <= at_ms < end_ms for begin_ms, end_ms in self.member_spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A plan over time, from ``from_ms``, before anything happens, to ``to_ms``, so long after the last thing does.

    ``ends_ms`` is when that happens. ``stretches`` and
    ``standstills`` are those of stateful tasks, in task order and time; of the latter ``None`` if they are more than
    :data:`MOST_STANDSTILLS`. ``still`` counts all tasks that nobody runs, ``warming_up`` all warm-up
    copies, ``restoring`` all tasks that restore before they run, as far as that is known.
    """

    from_ms: int
    ends_ms: int
    to_ms: int
    instances: tuple[InstanceCourse, ...]
    stretches: tuple[Stretch, ...]
    cold_starts: tuple[ColdStart, ...]
    standstills: tuple[Standstill, ...] | None
    still: tuple[Level, ...]
    loads: tuple[LoadAt, ...]
    warming_up: tuple[Level, ...]
    restoring: tuple[Level, ...]


def summed_course(courses: Sequence[InstanceCourse]) -> InstanceCourse:
    """Return what several instances run, warm up and restore together."""
    return InstanceCourse(
        process_id="",
        member_spans=tuple(span for course in courses for span in course.member_spans),
        runs=summed([course.runs for course in courses]),
        warms_up=summed([course.warms_up for course in courses]),
        restores=summed([course.restores for course in courses]),
        unsure=summed([course.unsure for course in courses]),
        cold_ms=tuple(sorted(at_ms for course in courses for at_ms in course.cold_ms)),
    )


def timeline(plan: Plan) -> Timeline:
    """Return the plan over time."""
    cold, spans = tuple(cold_starts_of(plan)), _spans(plan)
    begins_ms, ends_ms = _ends(plan, cold, spans)
    aside_ms = max(plan.config.heartbeat_interval_ms, (ends_ms - begins_ms) // _ASIDE)
    from_ms, to_ms = begins_ms - aside_ms, ends_ms + aside_ms
    member_spans = _member_spans(plan, from_ms, to_ms)
    stretches = [*_holding_stretches(plan, member_spans, from_ms, to_ms), *_restore_stretches(cold, to_ms)]
    stretches.sort(key=attrgetter("task", "from_ms", "instance", "role"))
    instances = tuple(_instances(plan, stretches, cold, member_spans, from_ms, to_ms))
    unended = list(_alone_at_the_end(plan, stretches, from_ms, to_ms))
    return Timeline(
        from_ms=from_ms,
        ends_ms=ends_ms,
        to_ms=to_ms,
        instances=instances,
        stretches=tuple(stretches),
        cold_starts=cold,
        standstills=_standstills(plan, unended),
        still=_still(plan, spans, unended, from_ms, to_ms),
        loads=tuple(_loads(plan, from_ms)),
        warming_up=_levels_of_role(stretches, TaskRole.WARMS_UP, from_ms, to_ms),
        restoring=_levels_of_role(stretches, TaskRole.RESTORES, from_ms, to_ms),
    )


def _still(
    plan: Plan, spans: Mapping[tuple[int, int], int], unended: Iterable[Standstill], from_ms: int, to_ms: int
) -> tuple[Level, ...]:
    """Return how many tasks are paused; those that are unassigned when the plan begins were paused before."""
    idle_span = ((from_ms, 0), len(plan.pauses.rounds.idle()))
    return levels_of(
        [idle_span, *spans.items(), *(((standstill.from_ms, standstill.to_ms), 1) for standstill in unended)],
        from_ms,
        to_ms,
    )


def _ends(plan: Plan, cold: Sequence[ColdStart], spans: Mapping[tuple[int, int], int]) -> tuple[int, int]:
    last_changes_ms = plan.in_effect_ms[-1:] + [outage.to_ms for outage in plan.outages]
    restored_ms = (start.at_ms + (start.restores_ms or 0) for start in cold)
    return (
        min((0, *(from_ms for from_ms, _ in spans))),
        max(plan.summary.duration_ms, 0, *last_changes_ms, *restored_ms, *(to_ms for _, to_ms in spans)),
    )


def _in_time(plan: Plan) -> Iterator[Pause]:
    """Yield the pauses of single tasks at their times; plans have those of a Connect group earlier, as its rounds."""
    pauses = plan.pauses.rounds.single()
    if not plan.is_of_workers:
        yield from pauses
        return
    times_ms, in_effect_ms = [rnd.at_ms for rnd in plan.rounds], plan.in_effect_ms
    owned_ids = {plan.group.tasks[task].task_id for holding in plan.initial for task in holding.active}

    def later(at_ms: int) -> int:
        place = min(bisect_left(times_ms, at_ms), len(times_ms) - 1)
        return at_ms + in_effect_ms[place] - times_ms[place]

    for pause in pauses:
        since_before = pause.from_ms <= 0 and pause.task_id not in owned_ids
        yield Pause(pause.task_id, 0 if since_before else later(pause.from_ms), later(pause.to_ms))


def _spans(plan: Plan) -> Mapping[tuple[int, int], int]:
    """Return the number of pauses by (from ms, to ms)."""
    if not plan.is_of_workers:
        return plan.pauses.spans
    return Counter((pause.from_ms, pause.to_ms) for pause in _in_time(plan))


def _member_spans(plan: Plan, from_ms: int, to_ms: int) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return by process id the times in which an instance is a member that runs."""
    since_ms: dict[str, int] = dict.fromkeys(plan.first_members, from_ms)
    member_spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def stops(process_id: str, at_ms: int) -> None:
        if process_id in since_ms:
            member_spans[process_id].append((since_ms.pop(process_id), at_ms))

    for rnd in plan.rounds:
        for step in rnd.single_steps:
            match step:
                case MemberJoined() | InstanceStays():
                    since_ms.setdefault(step.process_id, rnd.at_ms)
                case MemberLeft():
                    stops(step.process_id, min(step.stopped_at_ms, rnd.at_ms))
                case InstanceLeaving() if step.absent_since_ms is not None:
                    stops(step.process_id, step.absent_since_ms)
    for process_id in list(since_ms):
        stops(process_id, to_ms)
    for process_id, begins_ms, ends_ms in plan.outages:
        member_spans[process_id] = [*_outside(member_spans[process_id], begins_ms, ends_ms)]
    return member_spans


def _outside(spans: Iterable[tuple[int, int]], begins_ms: int, ends_ms: int) -> Iterator[tuple[int, int]]:
    for from_ms, to_ms in spans:
        parts = ((from_ms, min(to_ms, begins_ms)), (max(from_ms, ends_ms), to_ms))
        yield from (part for part in parts if part[0] < part[1])


_ROLES = (TaskRole.RUNS, TaskRole.STANDBY, TaskRole.WARMS_UP, TaskRole.TEMPORARY)


def _holding_stretches(
    plan: Plan, member_spans: Mapping[str, Sequence[tuple[int, int]]], from_ms: int, to_ms: int
) -> Iterator[Stretch]:
    """Yield the roles of instances for stateful tasks, as long as these are members."""
    group = plan.group
    since_ms: dict[tuple[int, int, TaskRole], int] = {}
    times, history = zip(*_history(plan, from_ms), strict=True)

    def closed(key: tuple[int, int, TaskRole], end_ms: int) -> Iterator[Stretch]:
        whole = Stretch(*key, since_ms.pop(key), end_ms)
        return _while_there(whole, member_spans.get(group.instances[whole.instance].process_id, ()))

    for place, changes in changed_holdings(history):
        for key, change in _role_changes(group, changes).items():
            if change > 0:
                since_ms[key] = times[place]
            elif change < 0:
                yield from closed(key, times[place])
    for key in list(since_ms):
        yield from closed(key, to_ms)


def _role_changes(group: Group, changes: Iterable[Change]) -> Counter[tuple[int, int, TaskRole]]:
    """Return the roles that begin (1) and end (-1), whichever thread of an instance has them."""
    changes_by_key: Counter[tuple[int, int, TaskRole]] = Counter()
    for consumer, old, new in changes:
        instance = group.instance_of[consumer]
        for role, tasks_before, tasks_now in zip(_ROLES, old, new, strict=True):
            changes_by_key.subtract((task, instance, role) for task in tasks_before if group.stateful_flags[task])
            changes_by_key.update((task, instance, role) for task in tasks_now if group.stateful_flags[task])
    return changes_by_key


def _while_there(whole: Stretch, member_spans: Iterable[tuple[int, int]]) -> Iterator[Stretch]:
    for begin_ms, end_ms in member_spans:
        from_ms, to_ms = max(whole.from_ms, begin_ms), min(whole.to_ms, end_ms)
        if from_ms < to_ms:
            yield whole._replace(from_ms=from_ms, to_ms=to_ms)


def _history(plan: Plan, from_ms: int) -> Iterator[tuple[int, Sequence[Holding]]]:
    """Yield the holdings from each time on, without stateless tasks where these are many."""
    holdings = plan.initial
    yield from_ms, apart_from_stateless(holdings)
    for rnd, in_effect_ms in zip(plan.rounds, plan.in_effect_ms, strict=True):
        if rnd.turns:
            parts = list(moments(plan.group, rnd, holdings))
            yield from ((parts[place - 1][0], parts[place][2]) for place in range(1, len(parts)))
        holdings = rnd.assigned
        yield in_effect_ms, apart_from_stateless(holdings)


def _restore_stretches(cold: Iterable[ColdStart], to_ms: int) -> Iterator[Stretch]:
    for task, instance, at_ms, restores_ms in cold:
        if restores_ms:
            yield Stretch(task, instance, TaskRole.RESTORES, at_ms, min(at_ms + restores_ms, to_ms))


def _instances(
    plan: Plan,
    stretches: Sequence[Stretch],
    cold: Sequence[ColdStart],
    member_spans: Mapping[str, Sequence[tuple[int, int]]],
    from_ms: int,
    to_ms: int,
) -> Iterator[InstanceCourse]:
    group = plan.group
    stretches_of: defaultdict[tuple[int, TaskRole], list[Stretch]] = defaultdict(list)
    for stretch in stretches:
        stretches_of[stretch.instance, stretch.role].append(stretch)
    start_times_ms: defaultdict[int, list[int]] = defaultdict(list)
    unsure: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for start in cold:
        start_times_ms[start.instance].append(start.at_ms)
        if start.restores_ms is None:
            unsure[start.instance, start.task].append(start.at_ms)
    dealt = [] if group.stateful else _stateless_counts(plan, from_ms)
    for index, instance in enumerate(group.instances):
        series = {role: _levels_of_role(stretches_of[index, role], role, from_ms, to_ms) for role in TaskRole}
        yield InstanceCourse(
            process_id=instance.process_id,
            member_spans=tuple(member_spans.get(instance.process_id, ())),
            runs=series[TaskRole.RUNS] if group.stateful else _steps(dealt, index),
            warms_up=series[TaskRole.WARMS_UP],
            restores=series[TaskRole.RESTORES],
            unsure=levels_of(_unsure(stretches_of[index, TaskRole.RUNS], unsure), from_ms, to_ms),
            cold_ms=tuple(start_times_ms[index]),
        )


def _unsure(
    runs: Iterable[Stretch], started_ms: Mapping[tuple[int, int], Sequence[int]]
) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the times in which one of these tasks runs or still restores: from its cold start until it leaves."""
    for run in runs:
        cold_ms = [at_ms for at_ms in started_ms.get((run.instance, run.task), ()) if run.from_ms <= at_ms < run.to_ms]
        if cold_ms:
            yield (min(cold_ms), run.to_ms), 1


def _stateless_counts(plan: Plan, from_ms: int) -> list[tuple[int, Sequence[int]]]:
    """Return how many tasks every instance runs from each time on, where no task has state."""
    return [
        (from_ms, at_first(plan)),
        *zip((rnd.ends_ms for rnd in plan.rounds), after_each_round(plan), strict=True),
    ]


def _steps(dealt: Iterable[tuple[int, Sequence[int]]], index: int) -> tuple[Level, ...]:
    levels = (Level(at_ms, numbers[index]) for at_ms, numbers in dealt)
    return tuple(next(same) for _, same in groupby(levels, attrgetter("number")))


def _levels_of_role(stretches: Iterable[Stretch], role: TaskRole, from_ms: int, to_ms: int) -> tuple[Level, ...]:
    return levels_of(
        (((stretch.from_ms, stretch.to_ms), 1) for stretch in stretches if stretch.role is role), from_ms, to_ms
    )


def _loads(plan: Plan, from_ms: int) -> Iterator[LoadAt]:
    times_ms = plan.in_effect_ms if plan.is_of_workers else [rnd.at_ms for rnd in plan.rounds]
    balances = (rnd.balance for rnd in plan.rounds)
    for at_ms, balance in [(from_ms, plan.initial_balance), *zip(times_ms, balances, strict=True)]:
        most = max(balance.active, default=0)
        yield LoadAt(
            at_ms, most - balance.balance_factor, most, balance.balance_factor, balance.subtopology_task_spread
        )


def _alone_at_the_end(plan: Plan, stretches: Iterable[Stretch], from_ms: int, to_ms: int) -> Iterator[Standstill]:
    """Yield the pauses that do not end within the plan."""
    absent = plan.rounds[-1].not_configured if plan.rounds else frozenset()
    owned_tasks = {task for holding in apart_from_stateless(plan.final) for task in holding.active}
    unrun_tasks = {
        task for task in plan.group.stateful if task not in owned_tasks and plan.group.tasks[task].task_id not in absent
    }
    last_run_ms = {
        stretch.task: stretch.to_ms
        for stretch in stretches
        if stretch.task in unrun_tasks and stretch.role is TaskRole.RUNS
    }
    yield from (Standstill(task, last_run_ms.get(task, from_ms), to_ms) for task in sorted(unrun_tasks))


def _standstills(plan: Plan, unended: Iterable[Standstill]) -> tuple[Standstill, ...] | None:
    group = plan.group
    stateful = (pause for pause in _in_time(plan) if group.stateful_flags[group.task_index[pause.task_id]])
    ended = (Standstill(group.task_index[task_id], from_ms, to_ms) for task_id, from_ms, to_ms in stateful)
    standstills = list(islice(chain(unended, ended), MOST_STANDSTILLS + 1))
    return None if len(standstills) > MOST_STANDSTILLS else tuple(sorted(standstills))
