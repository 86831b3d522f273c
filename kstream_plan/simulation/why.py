"""Why a group does what it does: why it still probes, why a task moves, why an instance gets nothing, and so on.

Everything is read off one plan, and off plans of the same with other settings; nothing is guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Unpack

from kstream_plan.model import Group, Holding, Snapshot, WorkId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.plans import HandOver, OfNoSingleTask, Plan, Promote, Role, Round, ThreadMove, Trigger
from kstream_plan.plans.balance import Load, instance_loads
from kstream_plan.plans.rebalance_events import events
from kstream_plan.plans.simulated import WhatIf
from kstream_plan.plans.why_answers import (
    Balancing,
    InstanceAnswer,
    Probing,
    Rebalances,
    Share,
    TaskAnswer,
    TaskStep,
    Uneven,
    Why,
    WhyBalance,
    WhyInstance,
    WhyTask,
)
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.pending_movements import (
    PlanMoment,
    handed_over_now,
    moment_of,
    queued_tasks,
    waiting_copies,
)
from kstream_plan.simulation.what_ifs import cure, what_ifs

#: Rounds times copies of a plan that takes a minute on one core; beside a longer one only short ones are tried.
_MOST_WORK = 1_000_000


def why(
    snapshot: Snapshot,
    options: PlanOptions = PlanOptions(),
    *,
    task_id: WorkId | None = None,
    process_id: str | None = None,
    other_settings: bool = True,
    on_round: OnRound | None = None,
    **keywords: Unpack[PlanKeywords],
) -> Why:
    """Say why a group does what it does; of one task or one instance too, if asked.

    With ``options.replay`` it is about the decision that the snapshot knows, which is made again from its own input.
    ``other_settings`` are tried for whether it is over sooner with them, or settles, which takes a plan for each.
    The ``options`` may be given one by one as well. ``on_round`` gets the progress of each plan that this takes.

    Raises:
        KeyError: there is no such task or instance in the group.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    options = replace(options, **keywords)
    is_replay = options.replay and snapshot.decision is not None
    result = plan_checked(snapshot, options, on_round=on_round)
    known_snapshot = replace(snapshot, decision=None, known_until_ms=0) if is_replay else snapshot
    rounds = 0 if snapshot.decision is not None else next((len(event.rounds) for event in events(result)), 0)
    position = moment_of(result, known_snapshot, rounds, 0 if is_replay else _begins_ms(snapshot, options))
    handed_over = handed_over_now(position)
    copies = waiting_copies(position, handed_over)
    queued_ids = queued_tasks(position, handed_over)

    def plan_with(config: AssignmentConfig) -> Plan:
        other_options = replace(options, long_ranges=False, floor=False)
        return plan_checked(replace(snapshot, config=config), other_options, on_round=on_round)

    is_waiting, settles = bool(copies or queued_ids), result.verdict.kind == "settled"
    probes = Probing(
        next_ms=position.next_probe_ms,
        interval_ms=result.config.probing_rebalance_interval_ms,
        at_once=result.config.max_warmup_replicas,
        handed_over=handed_over,
        waiting=copies,
        queued=queued_ids,
        tried=other_settings,
        sooner=_sooner(what_ifs(result, plan_with, long=_is_long(result)))
        if other_settings and is_waiting and settles
        else (),
        cure=cure(result, plan_with) if other_settings else None,
    )
    return Why(
        plan=result,
        stands_after=rounds,
        stands_ms=position.at_ms,
        as_decided=_as_decided(result, snapshot) if is_replay else None,
        probing=probes,
        balance=_balance(position, probes),
        rebalances=_rebalances(result),
        task=None if task_id is None else _task(position, task_id, probes),
        instance=None if process_id is None else _instance(position, process_id, probes),
    )


def _is_long(plan: Plan) -> bool:
    """Tell whether another plan of as many rounds is worth waiting for no more."""
    copies = len(plan.group.stateful) * (1 + plan.config.num_standby_replicas)
    return len(plan.rounds) * copies > _MOST_WORK


def _sooner(tried: Sequence[WhatIf]) -> tuple[WhatIf, ...]:
    """Return those that are shorter than the one of the same setting before them, which costs less."""
    shorter: list[WhatIf] = []
    for trial in tried:
        earlier_ms = [choice.duration_ms for choice in shorter if choice.setting == trial.setting]
        if trial.verdict == "settled" and trial.duration_ms < min(earlier_ms, default=trial.duration_ms + 1):
            shorter.append(trial)
    return tuple(shorter)


def _begins_ms(snapshot: Snapshot, options: PlanOptions) -> int:
    if options.now_ms is None or snapshot.captured_at_ms is None:
        return snapshot.known_until_ms
    return options.now_ms - snapshot.captured_at_ms


def _as_decided(plan: Plan, snapshot: Snapshot) -> bool:
    """Tell whether the first round decides what was decided, instance by instance; True if that is unknown."""
    decision, group = snapshot.decision, snapshot.state.group
    if decision is None or decision.consumers is None:
        return True

    def by_instance(holdings: Sequence[Holding]) -> list[tuple[list[int], list[int]]]:
        tasks_by_instance = []
        for consumers in group.consumers_of:
            own_holdings = holdings[consumers.start : consumers.stop]
            active = sorted(task for holding in own_holdings for task in holding.active)
            tasks_by_instance.append(
                (
                    active,
                    sorted(
                        task
                        for holding in own_holdings
                        for task in holding.standby + holding.warmup + holding.temporary
                    ),
                )
            )
        return tasks_by_instance

    return by_instance(plan.rounds[0].decided if plan.rounds else plan.initial) == by_instance(decision.consumers)


def _balance(position: PlanMoment, probes: Probing) -> Balancing:
    plan = position.plan
    final_loads = instance_loads(plan.group, plan.final)
    uneven = Uneven(_spread(_stateful(position)), _spread([load.stateful for load in final_loads]))
    current_balance = plan.rounds[position.rounds - 1].balance if position.rounds else plan.initial_balance
    final_balance = plan.rounds[-1].balance if plan.rounds else current_balance
    to_move = sum(position.owners.get(task) != instance for task, instance in position.targets)
    warming_count = len({copy.task_id for copy in probes.waiting if copy.to_run} | set(probes.queued))
    if to_move:
        code = WhyBalance.WAITS_FOR_COPIES if warming_count else WhyBalance.MOVES
    elif max(current_balance.balance_factor, uneven.now) <= 1:
        code = WhyBalance.BALANCED
    elif len(set(plan.group.capacities)) > 1:
        code = WhyBalance.EVEN_BY_THREAD
    else:
        code = WhyBalance.AS_EVEN_AS_DECIDED
    return Balancing(
        why=code,
        stateful=uneven,
        tasks=Uneven(current_balance.balance_factor, final_balance.balance_factor),
        subtopology=Uneven(current_balance.subtopology_task_spread, final_balance.subtopology_task_spread),
        to_move=to_move,
        warming=warming_count,
        balanced_ms=_last_start_ms(position) if plan.verdict.kind == "settled" else None,
    )


def _spread(counts: Sequence[int]) -> int:
    return max(counts, default=0) - min(counts, default=0)


def _stateful(position: PlanMoment) -> list[int]:
    """Return how many stateful tasks each instance runs."""
    counts = Counter(position.owners.values())
    return [counts[instance] for instance in range(len(position.plan.group.instances))]


def _loads(position: PlanMoment) -> list[Load]:
    plan = position.plan
    return instance_loads(plan.group, plan.rounds[position.rounds - 1].assigned if position.rounds else plan.initial)


def _last_start_ms(position: PlanMoment) -> int:
    """Return when the last stateful task starts elsewhere."""
    starts = (rnd.at_ms for rnd in position.later_rounds if _starts(position.plan.group, rnd)[0])
    return max(starts, default=position.at_ms)


def _rebalances(plan: Plan) -> Rebalances:
    only: Counter[tuple[bool, bool, bool]] = Counter()
    threads = 0
    for rnd in plan.rounds:
        state, stateless, thread_moves = _starts(plan.group, rnd)
        threads += thread_moves
        if rnd.trigger is Trigger.FOLLOW_UP:
            only[state > 0, stateless > 0, thread_moves > 0] += 1
    return Rebalances(
        by_trigger=MappingProxyType(dict(Counter(rnd.trigger for rnd in plan.rounds))),
        for_state=sum(number for (state, _, _), number in only.items() if state),
        only_stateless=only[False, True, False],
        only_threads=only[False, False, True],
        only_both=only[False, True, True],
        stateless_hops=plan.summary.stateless_hops,
        thread_moves=threads,
        moves=plan.summary.moves,
    )


def _starts(group: Group, rnd: Round) -> tuple[int, int, int]:
    """Return how many tasks with state, and without, start on another instance, and how many on another thread."""
    state = stateless = threads = 0
    for step in rnd.single_steps:
        if isinstance(step, HandOver | Promote):
            stateful = group.tasks[group.task_index[step.task_id]].stateful
            state, stateless = state + stateful, stateless + (not stateful)
        elif isinstance(step, ThreadMove):
            threads += step.to.role is Role.ACTIVE
    if rnd.stateless is not None:
        hops = rnd.stateless.hops()
        stateless, threads = stateless + hops, threads + len(rnd.stateless.started_places) - hops
    return state, stateless, threads


def _task(position: PlanMoment, task_id: WorkId, probes: Probing) -> TaskAnswer:
    plan, group = position.plan, position.plan.group
    task = group.task_index[task_id]
    first = plan.rounds[position.rounds - 1].assigned if position.rounds else plan.initial
    owner, ends = position.owners.get(task, _owner(group, first, task)), _owner(group, plan.final, task)
    target = next((instance for instance, tasks in enumerate(plan.target.active) if task in tasks), None)
    waiting_copy = next((copy for copy in probes.waiting if copy.task_id == task_id and copy.to_run), None)
    if not group.tasks[task].stateful:
        code = WhyTask.STATELESS
    elif owner is None:
        code = WhyTask.HAS_NO_OWNER
    elif target in (None, owner):
        code = WhyTask.STAYS
    elif ends != target:
        code = WhyTask.NEVER_ARRIVES
    elif task_id in probes.queued or (waiting_copy is not None and waiting_copy.decided_ms != position.at_ms):
        code = WhyTask.WAITS_FOR_COPY
    else:
        code = WhyTask.MOVES
    concerned = [instance for instance in dict.fromkeys((owner, target)) if instance is not None]
    return TaskAnswer(
        why=code,
        task_id=task_id,
        owner=_name(group, owner),
        target=_name(group, target),
        ends=_name(group, ends),
        shares=tuple(_share(position, instance, task) for instance in concerned),
        waiting=waiting_copy,
        steps=tuple(_steps_of(plan, task_id)),
    )


def _name(group: Group, instance: int | None) -> str | None:
    return None if instance is None else group.instances[instance].process_id


def _owner(group: Group, holdings: Sequence[Holding], task: int) -> int | None:
    return next(
        (group.instance_of[consumer] for consumer, holding in enumerate(holdings) if task in holding.active), None
    )


def _share(position: PlanMoment, instance: int, task: int) -> Share:
    """Return the stateful tasks of an instance, and those among them of the same subtopology as ``task``."""
    group = position.plan.group
    own_tasks = [own_task for own_task, owner in position.owners.items() if owner == instance]
    due_tasks = [due_task for due_task, target in position.targets if target == instance]
    subtopology = group.subtopologies[task]
    kinds = [[group.subtopologies[number] == subtopology for number in tasks] for tasks in (own_tasks, due_tasks)]
    return Share(group.instances[instance].process_id, len(own_tasks), len(due_tasks), *map(sum, kinds))


def _due(position: PlanMoment, instance: int) -> int:
    """Return how many stateful tasks an instance is to run."""
    tasks = position.plan.group.tasks
    return sum(tasks[task].stateful for task in position.plan.target.active[instance])


def _steps_of(plan: Plan, task_id: WorkId) -> Iterator[TaskStep]:
    stateful = plan.group.tasks[plan.group.task_index[task_id]].stateful
    for rnd in plan.rounds:
        # those of stateless tasks are made when they are read, which takes long where these are many
        for at_ms, steps in rnd.moments if rnd.turns or not stateful else [(rnd.at_ms, rnd.single_steps)]:
            for step in steps:
                if not isinstance(step, OfNoSingleTask) and step.task_id == task_id:
                    yield TaskStep(rnd.number, rnd.generation, at_ms, rnd.trigger, step)


def _instance(position: PlanMoment, process_id: str, probes: Probing) -> InstanceAnswer:
    plan, group = position.plan, position.plan.group
    instance = group.instance_index[process_id]
    load, stateful = _loads(position)[instance], _stateful(position)[instance]
    shares = [_due(position, index) for index in range(len(group.instances))]
    own_copies = tuple(copy for copy in probes.waiting if copy.destination == process_id)
    target_ids = {group.tasks[task].task_id for task, target in position.targets if target == instance}
    starts = (
        (rnd.at_ms, group.tasks[group.task_index[step.task_id]].stateful)
        for rnd in position.later_rounds
        for step in rnd.steps
        if isinstance(step, HandOver | Promote) and step.to.process_id == process_id
    )
    first_ms, first_is_stateful = next(starts, (None, False))
    queued_ids = tuple(task_id for task_id in probes.queued if task_id in target_ids)
    decision = position.snapshot.decision
    newcomers = set() if decision is None else {group.instance_of[consumer] for consumer in decision.others}
    if instance in newcomers and not load.tasks:
        code = WhyInstance.NOT_DECIDED_FOR
    elif any(copy.to_run for copy in own_copies):
        code = WhyInstance.WAITS_FOR_COPIES
    elif queued_ids:
        code = WhyInstance.WAITS_FOR_A_PLACE
    elif target_ids.intersection(probes.handed_over):
        code = WhyInstance.ABOUT_TO_START
    else:
        code = WhyInstance.HAS_ITS_SHARE if target_ids else WhyInstance.NOTHING_LEFT_FOR_IT
    return InstanceAnswer(
        why=code,
        process_id=process_id,
        threads=group.instances[instance].capacity,
        now=load.stateless + stateful,
        stateful=stateful,
        copies=load.copies,
        target=shares[instance],
        least=min(shares),
        most=max(shares),
        then=instance_loads(group, plan.final)[instance].tasks,
        waiting=own_copies,
        queued=queued_ids,
        first_ms=first_ms,
        first_is_stateful=first_is_stateful,
    )
