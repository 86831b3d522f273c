"""The sentences beside the figures of a plan, by what they mean: warnings, notes and assumptions.

A warning says that something may start cold, stand unassigned, lose data or not settle, or that the plan may not hold.
A note says what is good to know, or what merely costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from kstream_plan.model import Note
from kstream_plan.model.note import Remarks, count, name_list, span_to
from kstream_plan.model.target_refusals import NO_FILE, REFUSALS
from kstream_plan.model.times import duration
from kstream_plan.plans.loads import lacks_end_offsets, tasks_of_connectors, tells_connectors
from kstream_plan.plans.note_codes import (
    COLD_STARTS,
    CONNECTOR_UNEVEN,
    KEPT_WORK,
    LEADER_LEFT,
    MOVES_AGAIN,
    NOTE_CODES,
    STATELESS_MOVES,
    TARGET_REFUSED,
    THREAD_MOVES,
)
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.rebalance_events import Move, RebalanceEvent, Totals, events, membership, totals
from kstream_plan.plans.rounds import Trigger
from kstream_plan.plans.simulated import Draws, more_may_follow, range_of
from kstream_plan.plans.steps import MemberLeft, NobodyRuns, ReasonCode

#: Stateless tasks that change the instance so often each are worth a note.
_MANY_HOPS = 3
_MOST_NAMED = 5
#: So many owners of one task are named in their order.
_MOST_OWNERS = 8


def remarks(plan: Plan, activities: Sequence[RebalanceEvent] | None = None, draws: Draws | None = None) -> Remarks:
    """Return the warnings, notes, assumptions and commands of a plan.

    ``activities`` are its events, if they are known; ``draws`` the random simulations whose ends are the ranges.
    """
    activities = events(plan) if activities is None else activities
    total = totals(activities)
    return Remarks(
        warnings=(
            *_cold_starts(plan, total, draws),
            *_refused_targets(plan),
            *(note for note in plan.warnings if note.code not in NOTE_CODES),
        ),
        notes=(
            *(note for note in plan.warnings if note.code in NOTE_CODES),
            *_kept_work(plan),
            *_uneven_connectors(plan),
            *_moves_again(plan, activities),
            *_stateless_moves(plan, total),
            *_thread_moves(plan, total),
        ),
        assumptions=plan.assumptions,
        next=tuple(_next(plan)),
    )


def _next(plan: Plan) -> Iterator[Note]:
    """Yield the commands that answer the next question."""
    if plan.verdict.kind != "settled" and plan.probes:
        yield Note("ask-why", "kstream-plan why SNAPSHOT")
    elif not plan.rounds and plan.group.tasks and not plan.outages:
        yield Note("scale-out", "kstream-plan simulate-scaleout SNAPSHOT --add 1")
    elif (
        plan.design == "classic" and (change := change_option(plan)) is not None and plan.summary.probing_rebalances > 1
    ):
        values = ",".join(f"{plan.config.max_warmup_replicas * factor}" for factor in (1, 2, 4))
        yield Note("other-settings", f"kstream-plan compare SNAPSHOT{change} --vary max.warmup.replicas={values}")
    elif plan.design == "streams" and (change := change_option(plan)) is not None:
        command = f"simulate-scaleout SNAPSHOT{change}" if change else "assign SNAPSHOT"
        if plan.rates[0] is None and not lacks_end_offsets(plan):  # else a rate alone tells nothing
            yield Note("with-rate", f"kstream-plan {command} --restore-rate 5000/s")
        else:
            yield Note("what-it-means", "kstream-plan help streams-groups")


def change_option(plan: Plan) -> str | None:
    """Return the option that makes the change of a plan, after a blank: none, or instances that join; None: another."""
    if plan.digest == plan.snapshot_digest:
        return ""
    joined_ids, left_ids = membership(plan)
    by_itself = {Trigger.PROBING, Trigger.FOLLOW_UP, *[Trigger.JOIN] * (plan.design == "streams")}
    starts = [rnd for rnd in plan.rounds if rnd.trigger not in by_itself or rnd.member_steps]
    is_whole = [step.process_id for step in starts[0].member_steps] == joined_ids if len(starts) == 1 else False
    instances = [plan.group.instances[plan.group.instance_index[process_id]] for process_id in joined_ids]
    is_plain = not any(instance.rack or instance.client_tags for instance in instances)
    is_plain = is_plain and len({instance.capacity for instance in plan.group.instances}) == 1
    return f" --add {len(joined_ids)}" if joined_ids and is_whole and is_plain and not left_ids else None


def _cold_starts(plan: Plan, total: Totals, draws: Draws | None) -> Iterator[Note]:
    """Yield which tasks start cold, what they restore before they run, and which more are not proven to be warm."""
    if not total.cold:
        return
    task_ids = tuple(dict.fromkeys(str(move.task_id) for move in total.cold))
    bound = "at least " if plan.lower_bound_lags.intersection(task_ids) else ""
    records = "an unknown number of" if total.cold_records is None else f"{bound}{total.cold_records:,}"
    cold = range_of(plan, "cold_handovers", draws)
    span = span_to(cold.least, cold.most, is_open=more_may_follow(plan, draws))
    ends = f" ({span})" if cold.least < cold.most else ""
    starts = f", in {len(total.cold):,}{ends} starts" if ends or len(total.cold) > len(task_ids) else ""
    longest_ms = plan.summary.max_cold_restore_ms
    lasts = "" if not longest_ms else f", the slowest for about {duration(longest_ms)}"
    is_single = len(task_ids) == 1
    message = (
        f"{'1 task starts' if is_single else f'{len(task_ids):,} tasks start'} cold{starts}: "
        f"{name_list(task_ids, _MOST_NAMED)}. {'It restores' if is_single else 'They restore'} {records} records "
        f"before {'it runs' if is_single else 'they run'}{lasts}{_not_proven(plan)}"
    )
    yield Note(COLD_STARTS, message, task_ids)


def _refused_targets(plan: Plan) -> Iterator[Note]:
    """Yield from which rebalance on the target file does not count, and why."""
    code = None
    for rnd in plan.rounds:
        refusal = None if rnd.follows is None else rnd.follows.refusal
        if refusal not in (None, NO_FILE, code):
            message = (
                f"The target file does not count at rebalance {rnd.number:,}: {REFUSALS[refusal].reason} ({refusal}). "
                "While it does not, the application decides without a plan"
            )
            yield Note(TARGET_REFUSED, message, (refusal,))
        code = refusal


def _not_proven(plan: Plan) -> str:
    """Return which starts may be cold beside those that are, as a further sentence; empty if none."""
    starts = plan.unproven_starts
    if not starts:
        return ""
    times = dict.fromkeys(duration(at_ms) for at_ms in (starts[0].at_ms, starts[-1].at_ms))
    tasks = name_list(tuple(dict.fromkeys(str(start.task_id) for start in starts)), _MOST_NAMED)
    return f". Not proven to be warm: {count(len(starts), 'more start')}, at {' to '.join(times)} ({tasks})"


def _kept_work(plan: Plan) -> Iterator[Note]:
    """Yield whose work a Connect group keeps for their return, and whose it does not."""
    if not plan.is_of_workers:
        return
    worker_departures = list(departures(plan))
    kept_ms = {
        departure.process_id: departure.kept_ms for departure in worker_departures if departure.kept_ms is not None
    }
    if not kept_ms:
        return
    longest = duration(max(kept_ms.values()))
    worker_ids = tuple(kept_ms)
    yield Note(
        KEPT_WORK,
        f"The work of {name_list(worker_ids, _MOST_NAMED)} stays unassigned for up to {longest} "
        f"(scheduled.rebalance.max.delay.ms), whether {'it returns' if len(worker_ids) == 1 else 'they return'} or not",
        worker_ids,
    )
    leader_ids = tuple(
        dict.fromkeys(
            departure.process_id
            for departure in worker_departures
            if departure.was_leader and departure.process_id not in kept_ms
        )
    )
    if leader_ids:
        leaders = name_list(leader_ids, _MOST_NAMED)
        message = f"{leaders} led the group: the next leader knows of no delay, and assigns the work at once"
        yield Note(LEADER_LEFT, message, leader_ids)


class Departure(NamedTuple):
    """A worker that ran something leaves; ``was_leader``: it was the leader, so the next one does not keep its work.

    ``kept_ms`` is how long its work is kept from then on; ``None``: it is not kept, or it is unknown until when.
    """

    process_id: str
    at_ms: int
    was_leader: bool
    kept_ms: int | None


def departures(plan: Plan) -> Iterator[Departure]:
    """Yield the workers that leave, in time, and for how long their work is kept."""
    group, holdings = plan.group, plan.initial
    for place, rnd in enumerate(plan.rounds):
        for step in rnd.member_steps:
            if not isinstance(step, MemberLeft):
                continue
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            worker_tasks = {task for consumer in consumers for task in holdings[consumer].active}
            until_ms = _kept_until_ms(plan, place, worker_tasks)
            was_leader = step.reason.code is ReasonCode.LEADER_LEFT
            if worker_tasks:
                yield Departure(
                    step.process_id, rnd.at_ms, was_leader, None if until_ms is None else until_ms - rnd.at_ms
                )
        holdings = rnd.assigned


def _kept_until_ms(plan: Plan, place: int, worker_tasks: Set[int]) -> int | None:
    """Return until when work of a worker that left in that round is kept: the delay, or until it is run again."""
    until_ms_of_task = {
        plan.group.task_index[task_id]: step.until_ms
        for step in plan.rounds[place].single_steps
        if isinstance(step, NobodyRuns) and step.reason.code is ReasonCode.KEPT_FOR_RETURN
        for task_id in step.task_ids
    }
    waits = {
        task: until_ms for task, until_ms in until_ms_of_task.items() if task in worker_tasks and until_ms is not None
    }
    if not waits:
        return None
    last_ms = max(waits.values())
    for rnd in plan.rounds[place + 1 :]:
        if rnd.at_ms >= last_ms or any(not waits.keys().isdisjoint(holding.active) for holding in rnd.assigned):
            return min(rnd.at_ms, last_ms)
    return last_ms


def _uneven_connectors(plan: Plan) -> Iterator[Note]:
    """Yield the connector most of whose tasks one worker runs, if these are at least twice its share (KAFKA-17049)."""
    if not plan.is_of_workers or not tells_connectors(plan):
        return
    counts, workers = tasks_of_connectors(plan), len(plan.members)
    totals: dict[str, int] = {}
    for (connector, _), tasks in counts.items():
        totals[connector] = totals.get(connector, 0) + tasks
    for (connector, process_id), tasks in counts.items():
        if 2 <= tasks >= 2 * -(-totals[connector] // workers):
            worker = plan.group.instances[plan.group.instance_index[process_id]].host or process_id
            message = (
                f"{worker} runs {tasks:,} of the {totals[connector]:,} tasks of connector {connector} at the end: "
                "Kafka Connect evens out the tasks of all connectors together (KAFKA-17049)"
            )
            yield Note(CONNECTOR_UNEVEN, message, (connector, process_id))
            return


def _moves_again(plan: Plan, activities: Sequence[RebalanceEvent]) -> Iterator[Note]:
    """Yield the owners of the task that moves most often, and why it moves more than once."""
    is_one_change = all(activity.probe is not None for activity in activities[1:])
    if plan.verdict.kind != "settled" or not plan.probes or not is_one_change:
        return
    moves_of: dict[str, list[Move]] = {}
    for activity in activities:
        for move in activity.moves:
            moves_of.setdefault(str(move.task_id), []).append(move)
    numbers = {task_id: sum(move.source is not None for move in moves) for task_id, moves in moves_of.items()}
    repeated = tuple(task_id for task_id, number in numbers.items() if number > 1)
    if not repeated:
        return
    task_id = max(repeated, key=numbers.__getitem__)
    sources = [moves_of[task_id][0].source, *(move.destination for move in moves_of[task_id])]
    owners = [_label(plan, owner) for owner in sources if owner is not None]
    last = moves_of[task_id][-1]
    place = last.task_id, last.destination
    starts = [
        activity.rounds[0].number for activity in activities for copy in activity.kept_copies() if copy.place == place
    ]
    clause = f"only warms up from rebalance {starts[-1]:,} on" if starts else "has to catch up first"
    opening = f"{len(repeated):,} tasks move more than once, {task_id}" if len(repeated) > 1 else f"{task_id} moves"
    message = (
        f"{opening} {numbers[task_id]:,} times, because {owners[-1]}, where it is to stay, {clause}: until then "
        "rebalances give it to whichever instance has caught up and is least loaded then. It runs on "
        f"{name_list(owners[:-1], _MOST_OWNERS)}, then on {owners[-1]}"
    )
    yield Note(MOVES_AGAIN, message, repeated)


def _label(plan: Plan, process_id: str) -> str:
    """Return the host of an instance where no other one has it, else its process id."""
    host = plan.group.instances[plan.group.instance_index[process_id]].host
    is_unique = sum(instance.host == host for instance in plan.group.instances) == 1
    return host if host and is_unique else process_id


def _stateless_moves(plan: Plan, total: Totals) -> Iterator[Note]:
    """Yield how often stateless tasks change their instance at probes, where that is often."""
    stateless, moves = len(plan.group.stateless), total.stateless_at_probes
    if moves < max(1, _MANY_HOPS * stateless):
        return
    tasks = "The stateless task is" if stateless == 1 else f"The {stateless:,} stateless tasks are"
    hops = plan.summary.stateless_hops
    total_moves = f"{count(moves, 'move')}, {hops:,} with all rebalances" if hops > moves else count(moves, "move")
    message = f"{tasks} reassigned at every probe: {total_moves}. Fewer probes mean fewer moves"
    yield Note(STATELESS_MOVES, message)


def _thread_moves(plan: Plan, total: Totals) -> Iterator[Note]:
    """Yield how many pauses are only moves between the threads of an instance."""
    moves = total.threads
    if not moves or len(plan.stopping) == len(plan.group.consumer_ids):  # every task pauses anyway
        return
    pauses = "1 pause is" if moves == 1 else f"{moves:,} pauses are"
    if plan.is_of_workers:
        message = f"{pauses} a stop and a start on the same worker"
    else:
        message = f"{pauses} a move to another thread of the same instance"
    yield Note(THREAD_MOVES, message)
