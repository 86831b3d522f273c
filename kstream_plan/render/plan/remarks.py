"""What a reader should know beside the figures: cold starts, churn, warnings, and where exactness ends."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, Totals, totals
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, durations, records, several

#: The headline says it already.
_SAID_IN_HEADLINE = frozenset({"no-restore-rate", "outage", "close-to-time-out", "copies-behind", "back-before-fenced"})
#: The figures of which both ends are told, beside the time.
_RANGED = {
    "rebalances": "rebalances",
    "moves": "moves",
    "cold_handovers": "cold starts",
    "restored_records": "records restored",
}
#: Stateless tasks that change the instance so often each are worth a remark.
_MANY_HOPS = 3


def remarks(plan: Plan, found: Sequence[Activity], names: Names) -> tuple[str, ...]:
    """Return one text per remark: the plan's warnings first, then what its rounds show, then its assumptions."""
    warnings = [names.escape_message(note.message) for note in plan.warnings if note.code not in _SAID_IN_HEADLINE]
    of = totals(found)
    shown = [*_between(plan), *_cold_starts(plan, of, names), *_churn(plan, of), *_threads(plan, of)]
    return (*warnings, *shown, *assumed(plan, names))


def _between(plan: Plan) -> list[str]:
    """Return both ends of what hangs on what nobody knows, of the figures that the first lines have."""
    said = []
    for figure, low, high in plan.summary.ranges:
        if figure == "duration_ms":
            said.append(durations(low, high))
        elif figure in _RANGED:
            said.append(f"{low:,}-{high:,} {_RANGED[figure]}")
    return [f"Not known, so between: {', '.join(said)}"] if said else []


def _cold_starts(plan: Plan, found: Totals, names: Names) -> list[str]:
    cold = found.cold
    if not cold:
        return []
    amount = records(found.cold_records)
    named = list(dict.fromkeys(names.task(move.task_id) for move in cold))
    starts = f" ({count(len(cold), 'start')})" if len(cold) > len(named) else ""
    does, they = ("restores", "it runs") if len(named) == 1 else ("restore", "they run")
    longest = plan.summary.max_cold_restore_ms
    sure = f", {'' if len(cold) == 1 else 'up to '}~{duration(longest)}" if longest else ""
    what = f"{several(named, 5)}{starts} {does} {amount} records before {they}{sure}"
    return [f"COLD: {what}; the pauses above do not count that"]


def _churn(plan: Plan, found: Totals) -> list[str]:
    stateless = len(plan.group.stateless)
    moves = found.stateless_at_probes
    if moves < max(1, _MANY_HOPS * stateless):
        return []
    return [
        f"{count(stateless, 'stateless task')} {'moves' if stateless == 1 else 'move'} {moves:,} times at probes, "
        "dealt anew: fewer probes help"
    ]


def _threads(plan: Plan, found: Totals) -> list[str]:
    moves = found.threads
    if not moves or len(plan.stopping) == len(plan.group.consumer_ids):  # all pauses anyway
        return []
    of_them = "1 of the pauses" if moves == 1 else f"{moves:,} of the pauses"
    if plan.is_of_workers:
        return [f"{of_them}: stopped, and started again by the worker that ran it"]
    return [f"{of_them}: a task changes its thread inside the instance it stays on"]


def assumed(plan: Plan, names: Names) -> list[str]:
    """Return what the plan takes for granted, as one text if there is anything."""
    said = [note.message for note in plan.assumptions if note.code not in _SAID_IN_HEADLINE]
    return [f"Assumed: {names.escape_message('. '.join(said))}"] if said else []
