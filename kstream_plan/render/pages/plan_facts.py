"""The summary of a plan: at most seven figures, each with the ends of what it may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kstream_plan.model import WorkId
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.loads import lacks_end_offsets
from kstream_plan.plans.longest_pause import longest_pause, pause_parts
from kstream_plan.plans.rebalance_events import RebalanceEvent
from kstream_plan.plans.simulated import more_may_follow
from kstream_plan.render.page import Fact, Tone
from kstream_plan.render.pages.plan_rounds import TRIGGER_WORDS, PlanView, trigger_word
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import (
    amount,
    arrow,
    at_least,
    count,
    count_range,
    duration,
    duration_range,
    pause_text,
    span_to,
)


def plan_facts(view: PlanView) -> tuple[Fact, ...]:
    """Return the summary of a plan that has rounds."""
    return tuple(_of_workers(view) if view.plan.is_of_workers else _of_streams(view))


def _of_streams(view: PlanView) -> Iterator[Fact]:
    yield duration_fact(view)
    yield from _runs_again(view)
    yield rebalances_fact(view)
    if view.plan.group.stateful:
        yield moves_fact(view)
        yield cold_fact(view)
    else:
        yield _stateless_moves(view)
    yield pause_fact(view)
    if view.plan.group.stateful:
        yield restore_fact(view)
    if view.plan.design != "streams":
        yield balance_fact(view.plan)


def _of_workers(view: PlanView) -> Iterator[Fact]:
    yield duration_fact(view)
    yield rebalances_fact(view)
    yield moves_fact(view)
    yield pause_fact(view)
    pause_figure = view.figure("paused_tasks_at_once")
    if pause_figure.most:
        at_once = f"{count_range(*pause_figure)} connectors and tasks at once"
        yield Fact("unassigned", "Unassigned", f"{at_once}, {duration_range(*view.figure('paused_task_ms'))} over all")
    yield balance_fact(view.plan)


def duration_text(view: PlanView) -> str:
    """Return how long a plan takes, with what else it may be, and the least where the restore rate is unknown."""
    plan, likely = view.plan, view.figure("duration_ms")
    summary = plan.summary
    if summary.duration_is == "least":
        return f"at least {at_least(summary.duration_ms)}"
    if not likely.most:
        return "none"
    text = f"about {duration_range(*likely)}{', or unknown' if plan.may_be_endless('duration_ms') else ''}"
    if summary.duration_is not in ("probes", "floor"):
        return text
    floor_ms = summary.floor_ms or 0
    limit = f"; at least {at_least(floor_ms)} without restores" if 0 < floor_ms < likely.least else ""
    return f"{text} {if_caught_up(plan)}{limit}"


def if_caught_up(plan: Plan) -> str:
    """Return what a duration takes for granted where the restore rate is unknown."""
    return f"if copies catch up within {plan.probing_interval}{', some within seconds' * plan.ready_at_follow_ups}"


def duration_fact(view: PlanView) -> Fact:
    """Return how long it takes until the group settles, or how far the plan goes."""
    plan = view.plan
    if plan.verdict.kind != "settled":
        return Fact("duration", "Duration", f"{duration(plan.summary.duration_ms)}, not settled by then", "bad")
    tone: Tone = "unknown" if view.figure("settles").least != view.figure("settles").most else "plain"
    return Fact("duration", "Duration", duration_text(view), tone)


def _runs_again(view: PlanView) -> Iterator[Fact]:
    """Yield by when every task of a streams group runs again: Stable only says that every member was told."""
    plan = view.plan
    if plan.design != "streams" or not view.figure("cold_handovers").most:
        return
    if plan.verdict.is_never_over or plan.summary.runs_by_ms is None:
        yield Fact("runs", "All tasks run", "unknown after how long: what starts cold restores first", "unknown")
        return
    unknown = ", or unknown" if plan.may_be_endless("runs_by_ms") else ""
    yield Fact("runs", "All tasks run", f"after about {duration_range(*view.figure('runs_by_ms'))}{unknown}")


def rebalances_fact(view: PlanView) -> Fact:
    """Return how many rebalances there are, by what starts them."""
    plan = view.plan
    triggers = Counter(_trigger_text(activity, view) for activity in view.activities if activity.probe is None)
    follow_ups = plan.summary.rebalances - len(view.activities) + triggers.pop(TRIGGER_WORDS[Trigger.FOLLOW_UP], 0)
    plurals = {"crash": "crashes"} | {word: word for word in triggers if " with " in word}
    parts = [count(number, word, plurals.get(word, "")) for word, number in triggers.items()]
    parts += [f"{plan.summary.probing_rebalances:,} probing"] if plan.summary.probing_rebalances else []
    parts += [f"{follow_ups:,} follow-up"] if follow_ups else []
    total = count_range(*view.figure("rebalances"))
    return Fact("rebalances", "Rebalances", f"{total}: {', '.join(parts)}")


def _trigger_text(activity: RebalanceEvent, view: PlanView) -> str:
    """Return what started a rebalance, and whether members come or go in a follow-up."""
    word = trigger_word(activity, of_workers=view.plan.is_of_workers)
    joins = "joins" if activity.joined_ids else "leaves" if activity.left_ids else ""
    if word == "leave" and activity.left_ids and view.simulation is not None:
        return view.simulation.silent.get(activity.left_ids[0], word)
    return f"{word} with {joins}" if joins and activity.rounds[0].trigger is Trigger.FOLLOW_UP else word


def moves_fact(view: PlanView) -> Fact:
    """Return how many stateful tasks, or connectors and tasks, change their instance; and the minimum."""
    plan, moves = view.plan, view.figure("moves")
    label = "Moves" if plan.is_of_workers else "Stateful moves"
    stateful = len(plan.group.stateful)
    if not moves.most:
        return Fact("moves", label, f"none of {stateful:,}")
    minimum = _minimum(plan.summary.lower_bounds.moves, moves.median)
    return Fact("moves", label, f"{count_range(*moves)} of {stateful:,}{minimum}")


def _minimum(minimum: int | None, likely: int) -> str:
    """Return how much would be enough for the same balance, if that is known and not more."""
    if minimum is None or minimum > likely:
        return ""
    return " (the minimum)" if minimum == likely else f" (minimum for this balance: {minimum:,})"


def _stateless_moves(view: PlanView) -> Fact:
    hops = view.figure("stateless_hops")
    value = f"{count_range(*hops)}; no task has state" if hops.most else "none"
    return Fact("stateless_moves", "Stateless moves", value)


def cold_fact(view: PlanView) -> Fact:
    """Return how many tasks start cold, at least and at most."""
    plan, cold = view.plan, view.figure("cold_handovers")
    is_open = more_may_follow(plan, view.draws)
    if not cold.most:
        return Fact("cold", "Cold starts", "none in this simulation" if is_open else "none")
    slowest = view.figure("max_cold_restore_ms")
    lasts = f", the slowest restores for about {duration_range(*slowest)}" if slowest.most else ""
    tone: Tone = "bad" if cold.median else "unknown"
    return Fact("cold", "Cold starts", f"{count_range(*cold, is_open=is_open)}{lasts}", tone)


def pause_fact(view: PlanView) -> Fact:
    """Return which task pauses longest in total, and why."""
    plan, label, pause = view.plan, "Longest pause", longest_pause(view.plan, view.draws)
    if plan.verdict.is_never_over:
        tasks = count(len(plan.verdict.tasks), "task")
        return Fact("pause", label, f"unknown: {tasks} still paused when the plan ends", "unknown")
    endless = plan.may_be_endless("max_paused_task_ms") or plan.may_be_endless("longest_pause_ms")
    is_open = plan.pauses_are_least
    unknown = ", or unknown" if endless or (pause.most_ms is None and not is_open) else ""
    most_ms = pause.most_ms or max(view.figure("max_paused_task_ms").most, pause.ms)
    if pause.task_id is None or not pause.ms:
        lasts = f"{f'none, or up to {duration(most_ms)}' if most_ms else 'none'}{unknown}"
        if idle := len(plan.pauses.rounds.idle()):
            lasts += f" from then on; {count(idle, 'task')} paused before, since when is unknown"
            unknown = " before"
    else:
        parts = f" in {count(pause.times, 'pause')}{' together' * (pause.times > 1)}"
        parts = f": {pause_parts(pause.starts_ms, pause.restores_ms, pause.times)}" if pause.restores_ms else parts
        lasts = f"{paused_task(plan, pause.task_id, view.names)}: "
        lasts += f"{pause_text(pause.ms, pause.least_ms, most_ms, is_open=is_open)}{parts}{unknown}"
    if is_open:
        rate = plan.rates.restore
        options = ["--metrics with end offsets"] * lacks_end_offsets(plan)
        options += ["--restore-rate"] * (rate is None or bool(rate.at_least))
        tells = f" ({' and '.join(options)} would tell)" if options else ""
        lasts += f"; a task that starts cold then restores for an unknown time{tells}"
    return Fact("pause", label, lasts, "unknown" if is_open or unknown else "plain")


def paused_task(plan: Plan, task_id: WorkId, names: Names) -> str:
    """Return a task that pauses, with its kind."""
    kind = "task" if plan.group.tasks[plan.group.task_index[task_id]].stateful else "stateless task"
    return names.task(task_id) if plan.is_of_workers else f"{kind} {names.task_and_topic(task_id)}"


def restore_fact(view: PlanView) -> Fact:
    """Return how many records are restored, and how many copies at a time."""
    plan, label = view.plan, "State to restore"
    records = plan.summary.restored_records
    extra = view.figure("peak_extra_copies")
    copies = "extra copy" if extra.most == 1 else "extra copies"
    legend = "(warm-ups, and copies that wait to be cut over)"
    at_a_time = f", {count_range(*extra)} {copies} at a time {legend}" if extra.most else ""
    if records is None:
        return Fact("restore", label, f"unknown number of records{at_a_time}", "unknown")
    figure = view.figure("restored_records")
    unknown = ", or unknown" if _may_restore_an_unknown_number(view) else ""
    if not figure.most:
        return Fact("restore", label, f"none{unknown}", "unknown" if unknown else "plain")
    bound = _minimum(plan.summary.lower_bounds.restored_records, records)
    size = None if view.simulation is None else view.simulation.record_size
    in_bytes = "" if size is None else f", {amount(records * size)}"
    return Fact("restore", label, f"{count_range(*figure)} records{in_bytes}{bound}{unknown}{at_a_time}")


def _may_restore_an_unknown_number(view: PlanView) -> bool:
    """Return whether it is unknown how much is restored, in this plan or in another random simulation."""
    rule = "max_restored_records"
    of_draws = view.draws is not None and rule in view.draws.worst and view.draws.worst[rule] is None
    return of_draws or view.plan.may_be_endless("restored_records")


def balance_fact(plan: Plan) -> Fact:
    """Return how many tasks the instances run, from the fewest to the most, before and after."""
    ends = plan.initial_balance.ends, plan.balance_after.ends
    return Fact("balance", "Balance", balance_words(*ends, of_workers=plan.is_of_workers))


def balance_words(old: tuple[int, int], new: tuple[int, int], *, of_workers: bool) -> str:
    """Return ``0 to 10 → 6 tasks per instance``, or ``1 task per instance``."""
    items = ("task", "connector or task") if new == (1, 1) else ("tasks", "connectors and tasks")
    return f"{balance_text(old, new)} {items[of_workers]} per {'worker' if of_workers else 'instance'}"


def balance_text(old: tuple[int, int], new: tuple[int, int]) -> str:
    """Return ``0 to 10 → 6``: tasks from the fewest to the most, before and after; once if nothing changes."""
    return arrow(span_to(*old), span_to(*new))
