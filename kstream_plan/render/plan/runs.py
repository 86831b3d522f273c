"""When everything runs again, what nobody runs meanwhile, and why: lines of streams and Connect groups."""

from __future__ import annotations

from kstream_plan.plans import NobodyRuns, Plan, ReasonCode
from kstream_plan.plans.kept import departures
from kstream_plan.plans.simulated import Draws
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, duration, durations, interval, several
from kstream_plan.render.text.page import Fact


def runs_facts(plan: Plan, draws: Draws | None = None) -> list[Fact]:
    """Return by when every task of a streams group runs again: Stable only says that everybody was told.

    Of a Connect group, what nobody runs meanwhile, and for how long, over all ``draws`` as well.
    """
    if plan.is_of_workers:
        return _run_by_nobody(plan, draws)
    if plan.design != "streams":
        return []
    summary = plan.summary
    if plan.verdict.is_never_over:
        return [Fact("RUNS", ("nobody knows when everything runs",))]
    if plan.verdict.kind == "unfinished":
        return [Fact("RUNS", (f"everything after ≥ {at_least(summary.duration_ms)}: the plan does not get there",))]
    if summary.runs_by_ms is None:
        least = duration(plan.ends("duration_ms")[0])
        missing = "--restore-rate" if plan.rates.restore is None else "end offsets"
        return [Fact("RUNS", (f"everything after ≥ {least}: how long cold starts restore is unknown ({missing})",))]
    worst_ms = summary.runs_by_ms if draws is None else draws.worst.get("max_duration", summary.runs_by_ms)
    runs, slowest = durations(*plan.ends("runs_by_ms", worst_ms or 0)), durations(*plan.ends("max_cold_restore_ms"))
    typical = f"~{duration(summary.runs_by_ms)}{f' ({runs})' if runs != duration(summary.runs_by_ms) else ''}"
    if plan.verdict.is_over:  # by a time-out that members have told nobody but their broker
        typical += f", if max.poll.interval.ms is {interval(plan.config.max_poll_interval_ms or 0)} there"
    if worst_ms is None or plan.may_be_endless("runs_by_ms"):
        typical += ", or nobody knows when"
    cold = f"; the slowest cold start restores {slowest}" if plan.ends("max_cold_restore_ms")[1] else ""
    return [Fact("RUNS", (f"everything after {typical}{cold}", f"everything after {typical}"))]


def _run_by_nobody(plan: Plan, draws: Draws | None) -> list[Fact]:
    facts = list[Fact]()
    waiting = next((len(note.subjects) for note in plan.warnings if note.code == "delay-unknown"), 0)
    if waiting:
        most = duration(plan.config.scheduled_rebalance_max_delay_ms or 0)
        what = f"runs {items_phrase(waiting)} now"
        facts.append(Fact("NOBODY", (f"{what}; until when is not known: up to {most} if a worker has gone",)))
    at_once, longest_ms = plan.ends("paused_tasks_at_once")[1], plan.ends("longest_pause_ms")[1]
    for rnd in plan.rounds:
        steps = [step for step in rnd.single_steps if isinstance(step, NobodyRuns)]
        waits = [step for step in steps if step.reason.code is not ReasonCode.NOT_CONFIGURED]
        at_once = max(at_once, sum(len(step.task_ids) for step in waits))
        # whose pause is known stood still for that, though it was to wait longer when it began
        new = [step for step in waits if not plan.pauses.ms.keys() >= set(step.task_ids)]
        longest_ms = max([longest_ms, *(step.until_ms - rnd.at_ms for step in new if step.until_ms is not None)])
    worst = ""
    if draws is not None:
        at_once = max(at_once, draws.worst.get("max_paused_tasks_at_once") or 0)
        longest_ms = max(longest_ms, draws.worst.get("max_pause_per_handover") or 0)
        in_all_ms = draws.worst.get("max_pause_in_all")
        worst = "" if in_all_ms is None else f" (≤ {duration(in_all_ms)} in {count(draws.number, 'draw')})"
    if at_once:
        what = f"runs up to {items_phrase(at_once)} at once, ≤ {duration(longest_ms)} each"
        in_all = duration(plan.summary.paused_task_ms)
        facts.append(Fact("NOBODY", (f"{what}; {in_all} in all{worst}", f"{what}; {in_all}{worst}")))
    return facts


def why_facts(plan: Plan, names: Names) -> list[Fact]:
    """Return whose work is kept while nobody runs it, and why that of others is not; nothing where none is."""
    if not plan.is_of_workers:
        return []
    left = list(departures(plan))
    kept = {of.process_id: of.kept_ms for of in left if of.kept_ms is not None}
    if not kept:
        return []
    who = several(names.instances(list(kept)))
    long = durations(min(kept.values()), max(kept.values()))
    text = f"what {who} ran is kept for {long} (scheduled.rebalance.max.delay.ms), back or not"
    led = list(dict.fromkeys(of.process_id for of in left if of.led and of.process_id not in kept))
    if led:
        whose = "its work" if len(led) == 1 else "their work"
        text += (
            f". {several(names.instances(led))} led, and who leads next remembers nothing: {whose} is dealt out at once"
        )
    return [Fact("WHY", (text,))]


def items_phrase(number: int) -> str:
    """Return ``15 connectors and tasks``."""
    return count(number, "connector or task", "connectors and tasks")
