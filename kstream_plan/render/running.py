"""What every instance runs as a plan goes on: its stateful tasks, or, of a group that keeps no state, all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.histories import stateful_loads
from kstream_plan.render.loads import loads
from kstream_plan.steps import Plan, Round


def counted(plan: Plan) -> str:
    """Return what is counted."""
    return "stateless task" if plan.group.stateless and not plan.group.stateful else "stateful task"


def at_first(plan: Plan) -> list[int]:
    """Return how much every instance runs before the first rebalance."""
    return [load.stateful if plan.group.stateful else load.stateless for load in loads(plan, initial=True)]


def after(plan: Plan, rounds: Sequence[Round]) -> Iterator[tuple[int, ...]]:
    """Yield how much every instance runs after each of these rounds of the plan."""
    if plan.group.stateful:
        return stateful_loads(plan.group, [rnd.assigned for rnd in rounds])
    return (rnd.balance.active for rnd in rounds)
