"""How evenly a plan spreads the active tasks, before and after it, in one line."""

from __future__ import annotations

from kstream_plan.figures import initial_balance
from kstream_plan.render.fact import Fact
from kstream_plan.steps import Plan


def balance_fact(plan: Plan) -> Fact:
    """Return KIP-441's figures (:class:`~kstream_plan.steps.Balance`), as found by the first rebalance → at the end."""
    before = initial_balance(plan.group, plan.initial, plan.rounds)
    after = plan.rounds[-1].balance if plan.rounds else before
    instance = _change(before.balance_factor, after.balance_factor)
    subtopology = _change(before.subtopology_task_spread, after.subtopology_task_spread)
    literal = _change(before.subtopology_spread, after.subtopology_spread)
    return Fact(
        "BALANCE",
        (
            f"instance balance {instance}, subtopology balance {subtopology} (KIP-441: tasks, most - least); "
            f"instances per subtopology {literal}",
            f"instance {instance}, subtopology {subtopology}, instances per subtopology {literal} (most - least)",
            f"instance {instance}, subtopology {subtopology}, instances per subtopology {literal}",
        ),
    )


def _change(before: int, after: int) -> str:
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"
