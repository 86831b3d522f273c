"""How many stateful tasks every instance has in a role after each round, counted one by one."""

from __future__ import annotations

from kstream_plan.plans import Plan, Role


def counted(plan: Plan, role: Role) -> list[tuple[int, ...]]:
    """By round and instance."""
    flags = plan.group.stateful_flags
    history = [[[flags[task] for task in getattr(held, role)] for held in rnd.assigned] for rnd in plan.rounds]
    return [
        tuple(sum(sum(held[consumer]) for consumer in consumers) for consumers in plan.group.consumers_of)
        for held in history
    ]
