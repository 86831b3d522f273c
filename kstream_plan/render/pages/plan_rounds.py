"""A plan as its page shows it, and the table of its rounds: what each cuts over, what warms up, what pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kstream_plan.model import WorkId
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.folding import fold
from kstream_plan.plans.rebalance_events import (
    Move,
    NewCopy,
    RebalanceEvent,
    events,
    membership,
    only_return,
    records_of,
)
from kstream_plan.plans.simulated import Draws, Range, Simulation, range_of
from kstream_plan.render.page import Cell, Row, Table, columns_of, text_cell, text_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, number_range, span_to


@dataclass(frozen=True)
class PlanView:
    """A plan, or the one that is shown of a simulation.

    plan: what is shown.
    names: what its members and tasks are called.
    simulation: what the plan is of; None: nothing was random, and nothing happened from outside.
    """

    plan: Plan
    names: Names
    simulation: Simulation | None = None

    @cached_property
    def activities(self) -> list[RebalanceEvent]:
        """The rebalances, each with the follow-ups that it causes."""
        return events(self.plan)

    @property
    def draws(self) -> Draws | None:
        """The random simulations, if there are several."""
        return None if self.simulation is None else self.simulation.draws

    @cached_property
    def arrivals(self) -> list[str]:
        """The process ids that are no members at first."""
        return membership(self.plan)[0]

    @cached_property
    def departures(self) -> list[str]:
        """The process ids that are no members at the end."""
        return membership(self.plan)[1]

    def figure(self, name: str) -> Range:
        """Return a figure as this plan has it, and the ends of what it may be, over all random simulations."""
        return range_of(self.plan, name, self.draws)


#: Pages of so many columns have room for one more.
_WIDE = 100
#: Up to this many cold starts of a rebalance are named, in however many lines.
_MOST_COLD = 12
#: What started a rebalance, on every page; the plural has an ``s``.
TRIGGER_WORDS = {
    Trigger.MANUAL: "start now",
    Trigger.JOIN: "join",
    Trigger.LEAVE: "leave",
    Trigger.MEMBER_RESTART: "restart",
    Trigger.CONFIG_CHANGE: "settings change",
    Trigger.LEARNER_READY: "ready learner",
    Trigger.DEADLINE: "deadline",
    Trigger.PROBING: "probe",
    Trigger.FOLLOW_UP: "follow-up",
}


def rounds_table(view: PlanView) -> Table:
    """Return the table of a plan that has rounds; a run of alike probes is one row."""
    pauses, of_workers = _pauses(view), view.plan.is_of_workers
    rows = [
        _run_row(run, pauses, view.plan.lower_bound_lags) if len(run) > 1 else _activity_row(run[0], view, pauses)
        for run in fold(view.activities)
    ]
    blank = Cell(("",))
    rows.append(text_row(blank, duration(view.plan.summary.duration_ms), _end_cell(view.plan), *[blank] * 5))
    copies = "New standbys" if view.plan.design == "streams" else "Warm up"
    move_heads = ("Move" if of_workers else "Cut over", copies, ">Stateless")
    pause_heads = (">Unassigned" if of_workers else ">Paused", ">To restore")
    wide = {"Stateless": _WIDE, "To restore": _WIDE}
    columns = columns_of(">#", ">Time", "Rebalance", *move_heads, *pause_heads, wide=wide)
    at_once = view.figure("paused_tasks_at_once").most
    most_at_once = f", at most {at_once:,} at once" if max(pauses.values()) > at_once else ""
    legend_of_workers = f"Unassigned: connectors and tasks that pause for a while before the next row{most_at_once}."
    note = legend_of_workers * bool(most_at_once) if of_workers else _legend(view, most_at_once)
    table = Table("Rounds", columns, tuple(rows), note)
    if of_workers:
        return table.leave_out(copies, "Stateless", "To restore")
    return table if any(activity.stateless for activity in view.activities) else table.leave_out("Stateless")


def _legend(view: PlanView, at_once: str) -> str:
    """Return which tasks pause, and what a copy is that prepares no move that lasts."""
    activities = view.activities
    kinds = ["all tasks of members that stop at every rebalance"] * bool(view.plan.stopping) + ["tasks cut over"]
    kinds += ["stateless tasks that are reassigned"] * any(activity.stateless for activity in activities)
    kinds += ["tasks that change their thread"] * any(activity.threads for activity in activities)
    pauses = f"Paused: tasks that pause for a while before the next row{at_once}: {', '.join(kinds)}."
    copies = (copy for activity in activities for copy in activity.kept_copies())
    is_passing = _kind_of_copies(view.plan) == "warm-up" and any(not copy.to_run for copy in copies)
    pairs = " #, as 1–2: a rebalance with its follow-up." * any(len(event.rounds) > 1 for event in activities)
    return f"{pauses}{pairs}{' warm-up on INSTANCE: it does not stay there.' * is_passing}"


def _pauses(view: PlanView) -> dict[int, int]:
    """Return how many tasks pause, by the number of the first rebalance of an activity."""
    starts_ms = [activity.rounds[0].at_ms for activity in view.activities]
    pauses = view.plan.pauses
    if view.plan.is_of_workers:
        items = pauses.unrun_from(starts_ms)
        if view.plan.verdict.is_never_over:
            items[-1] = items[-1].union(view.plan.verdict.tasks)
        numbers = list(map(len, items))
    else:
        numbers = pauses.tasks_between(starts_ms)
    return {activity.rounds[0].number: number for activity, number in zip(view.activities, numbers, strict=True)}


def _activity_row(activity: RebalanceEvent, view: PlanView, pauses: dict[int, int]) -> Row:
    first, last, names = activity.rounds[0], activity.rounds[-1], view.names
    cut_over, warm_up = _cut_over(activity, names), _warm_up(activity, names, _kind_of_copies(view.plan))
    if activity.awaited:
        waits = tuple(names.move(*copy) for copy in activity.awaited)
        cut_over = text_cell("none: waits for copies", "unknown")
        warm_up = Cell(waits, count(len(waits), "copy", "copies"))
    return text_row(
        text_cell(number_range(first.number, last.number), "dim"),
        duration(first.at_ms),
        text_cell(rebalance_name(activity, view), "unknown" if _not_all_ready(activity) else "plain"),
        cut_over,
        warm_up,
        f"{activity.stateless:,}" if activity.stateless else "",
        f"{pauses[first.number]:,}",
        _records([activity], view.plan.lower_bound_lags),
    )


def _not_all_ready(activity: RebalanceEvent) -> bool:
    return activity.ready_warmups < activity.probed_warmups


def rebalance_name(activity: RebalanceEvent, view: PlanView) -> str:
    """Return what started a rebalance, and who comes and goes: ``probe 3``, ``i4, i5 join``."""
    if activity.probe is not None:
        ready = (
            f", {activity.ready_warmups:,} of {activity.probed_warmups:,} caught up" if _not_all_ready(activity) else ""
        )
        return "; ".join([f"probe {activity.probe:,}{ready}", *_members(activity, view)])
    trigger, members = activity.rounds[0].trigger, _members(activity, view)
    if trigger in (Trigger.JOIN, Trigger.LEAVE) and members and not activity.resized:
        return "; ".join(members)
    return "; ".join([trigger_word(activity, of_workers=view.plan.is_of_workers), *members])


def trigger_word(activity: RebalanceEvent, *, of_workers: bool) -> str:
    """Return what started a rebalance that is no probe."""
    trigger = activity.rounds[0].trigger
    if activity.resized:
        return "thread change"
    if trigger is Trigger.JOIN and only_return(activity):
        return "return"
    return "delay end" if of_workers and trigger is Trigger.DEADLINE else TRIGGER_WORDS[trigger]


def _members(activity: RebalanceEvent, view: PlanView) -> list[str]:
    """Return who joins, or returns, and who has gone, and how."""
    departures = [process_id for process_id in activity.left_ids if process_id not in activity.joined_ids]
    silent = {} if view.simulation is None else view.simulation.silent
    ids_of = {"return" if only_return(activity) else "join": activity.joined_ids}
    for process_id in departures:
        ids_of.setdefault(silent.get(process_id, "leave"), []).append(process_id)
    past = {"crash": "crashed", "stop": "stopped"}
    verbs = {verb: past.get(verb, f"{verb}s" if len(ids) == 1 else verb) for verb, ids in ids_of.items()}
    return [f"{name_list(view.names.instances(ids), 2)} {verbs[verb]}" for verb, ids in ids_of.items() if ids]


def _cut_over(activity: RebalanceEvent, names: Names) -> Cell:
    """Return which tasks change their owner; what starts cold is named, or counted where it is many."""
    cold = [names.move(move.task_id, move.source, move.destination) for move in activity.cold]
    warm = [names.move(move.task_id, move.source, move.destination) for move in activity.warm]
    if not cold:
        return Cell(tuple(warm), _counts(activity.warm), tone="moved") if warm else text_cell("")
    warm_items = [_counts(activity.warm)] if len(warm) > 2 else warm
    short = ", ".join([f"{_counts(activity.cold)} cold", *warm_items]) if len(cold) > _MOST_COLD else ""
    return Cell((*(f"{item} cold" for item in cold), *warm_items), short, tone="bad")


def _kind_of_copies(plan: Plan) -> str:
    """Return what a copy is that prepares no move: a standby, or, where there are none, a warm-up without an effect."""
    configs = [plan.config, *(config for _, config in plan.later_configs)]
    has_standbys = not plan.probes or any(config.num_standby_replicas for config in configs)
    return "standby" if has_standbys else "warm-up"


def _warm_up(activity: RebalanceEvent, names: Names, kind: str) -> Cell:
    """Return which copies begin to restore: those that prepare a move, then those of the other kind."""
    kept_copies = activity.kept_copies()
    to_run = [copy for copy in kept_copies if copy.to_run]
    places = {copy.place for copy in kept_copies}
    standbys: dict[str, list[WorkId]] = {}
    for copy in kept_copies:
        if not copy.to_run:
            standbys.setdefault(copy.destination, []).append(copy.task_id)
    owners = {task_id: owner for task_id, _, owner, *_ in activity.moves if (task_id, owner) not in places}
    items = [names.move(copy.task_id, owners.get(copy.task_id, copy.source), copy.destination) for copy in to_run]
    items += [names.copies(task_ids, kind, destination) for destination, task_ids in standbys.items()]
    if not items:
        return text_cell("")
    short = [_counts(to_run)] if to_run else []
    short += [count(len(kept_copies) - len(to_run), "new copy", "new copies")] if standbys else []
    return Cell(tuple(items), ", ".join(short))


def _counts(moves: Sequence[Move | NewCopy]) -> str:
    """Return ``463 tasks to 56 instances``."""
    instances = len({move.destination for move in moves})
    return f"{count(len(moves), 'task')} to {count(instances, 'instance')}"


def _records(activities: Sequence[RebalanceEvent], lower_bounds: frozenset[str]) -> str:
    """Return what is restored; ``lower_bounds`` are the tasks of whose copies the least lag is known."""
    number = records_of(activity.records for activity in activities)
    if not number:
        return "unknown" if number is None else ""
    bound = "at least " if any(activity.restores_more(lower_bounds) for activity in activities) else ""
    return f"{bound}{number:,}"


def _run_row(run: Sequence[RebalanceEvent], pauses: dict[int, int], lower_bounds: frozenset[str]) -> Row:
    """Return the row of probes that are alike, or too many to be shown."""
    first, last = run[0], run[-1]
    stateless, wait_count = sum(activity.stateless for activity in run), sum(map(_not_all_ready, run))
    remark = f" (copies behind at {wait_count:,})" if wait_count else ""
    most_paused = max(pauses[activity.rounds[0].number] for activity in run)
    return text_row(
        text_cell(number_range(first.rounds[0].number, last.rounds[-1].number), "dim"),
        duration(first.rounds[0].at_ms),
        text_cell(f"probes {first.probe:,} to {last.probe:,}{remark}", "unknown" if wait_count else "plain"),
        _per_probe([len(activity.moves) for activity in run], "task", "tasks"),
        _per_probe([len(activity.copies) for activity in run], "copy", "copies"),
        f"{stateless:,}" if stateless else "",
        f"at most {most_paused:,}" if most_paused else "0",
        _records(run, lower_bounds),
        tone="dim",
    )


def _per_probe(numbers: Sequence[int], singular: str, plural: str) -> str:
    if not any(numbers):
        return ""
    return f"{count(sum(numbers), singular, plural)}, {span_to(min(numbers), max(numbers))} each"


def _end_cell(plan: Plan) -> Cell:
    if plan.verdict.is_over:
        return Cell(("not stuck any more",), tone="unknown")
    if plan.verdict.kind == "settled":
        is_run_unknown = plan.design == "streams" and plan.summary.cold_handovers and plan.summary.runs_by_ms is None
        return text_cell("all assigned" if is_run_unknown else "settled", "good")
    endings = {"cyclic": "repeats from here on", "unfinished": "not settled", "stuck": "stuck"}
    return text_cell(endings[plan.verdict.kind], "bad")
