"""What moves: how many tasks, where to, beside the least possible."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, membership, totals
from kstream_plan.plans.loads import moved_to
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import beside, count, from_to
from kstream_plan.render.text.page import Fact


def moves_fact(plan: Plan, found: Sequence[Activity], names: Names) -> Fact:
    """Return how many stateful tasks move, how warm, where to, and what the least is."""
    summary = plan.summary
    stateful = len(plan.group.stateful)
    if not stateful:
        return stateless_moves_fact(plan)
    if not plan.ends("moves")[1] and not plan.ends("hops")[1]:
        all_of = "all connectors and tasks" if plan.is_of_workers else count(stateful, "stateful task")
        return Fact("MOVES", (f"none: {all_of} stay where they are",))
    hops = hops_phrase(plan, found)
    least_cold, most_cold = plan.ends("cold_handovers")
    if most_cold:
        warm = all_warm = f"{from_to(least_cold, most_cold)} COLD"
    else:
        warm, all_warm = "all warm", "all warmed up first" if summary.warmups >= summary.hops else "all warm"
    where, where_short = _where_to(plan, names)
    least = f"; least {summary.lower_bounds.moves:,}"
    moves = f"{summary.moves:,}{beside(*plan.ends('moves'))}"
    if plan.is_of_workers:
        return Fact(
            "MOVES",
            (f"{moves} of {stateful:,}{hops}{where}{least}", f"{moves} of {stateful:,}{hops}{where_short}{least}"),
        )
    head = f"{moves} of {stateful:,} stateful{hops}"
    return Fact(
        "MOVES",
        (
            f"{head}, {all_warm}{where}{least}",
            f"{head}, {warm}{where}{least}",
            f"{head}, {warm}{where_short}{least}",
            f"{head}, {warm}{least}",
        ),
    )


def stateless_moves_fact(plan: Plan) -> Fact:
    """Return how often tasks of a group that keeps no state start elsewhere."""
    hops = f"{count(plan.summary.stateless_hops, 'change')} of instance" if plan.summary.stateless_hops else "none"
    return Fact("MOVES", (f"{hops}: no task has state, so nothing has to warm up",))


def hops_phrase(plan: Plan, found: Sequence[Activity]) -> str:
    """Return how often stateful tasks change owner, if oftener than they move, and how many nobody ran; may be empty.

    ``found`` are the plan's events.
    """
    summary = plan.summary
    started = totals(found).started
    hops = f" in {count(summary.hops - started, 'change')}" if summary.hops - started > summary.moves else ""
    return hops + (f" + {count(started, 'start')} of what nobody ran" if started else "")


def _where_to(plan: Plan, names: Names) -> tuple[str, str]:
    """Return, long and short, how many moves end on new instances and how many only shuffle the old ones."""
    new = membership(plan)[0]
    if not new:
        return "", ""
    to_new, among = moved_to(plan, new)
    others = len(plan.group.instances) - len(new)
    newcomers = "/".join(names.instances(new)) if len(new) <= 3 else f"the {len(new):,} new"
    if not among:
        return f": all to {newcomers}", f": all to {newcomers}"
    return (
        f": {to_new:,} to {newcomers}, {among:,} only among the other {others:,}",
        f": {to_new:,} to {newcomers}, {among:,} among old",
    )
