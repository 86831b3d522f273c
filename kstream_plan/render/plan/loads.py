"""What every instance runs before and after: of many the ten that change most, and what the others have in common."""

from __future__ import annotations

from kstream_plan.plans import Plan
from kstream_plan.plans.loads import Load, loads, without_owner
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count

#: Up to so many instances are all shown; of more, the ten that change most.
_ALL = 12
_MOST_CHANGED = 10


def load_changes(plan: Plan, names: Names) -> tuple[tuple[str, ...], str]:
    """Return one item per instance (``i1 8+2→5+1``) and what its numbers mean."""
    before, after = loads(plan, initial=True), loads(plan, initial=False)
    with_stateless = any(load.stateless for load in before + after)
    with_copies = any(load.copies for load in before + after)
    group = plan.group
    shown = sorted(_shown(before, after), key=lambda index: names.reading_order(group.instances[index].process_id))
    changes = [
        _change(*of, with_stateless=with_stateless, with_copies=with_copies) for of in zip(before, after, strict=True)
    ]
    items = [f"{names.instance(group.instances[index].process_id)} {changes[index]}" for index in shown]
    if len(shown) < len(before):
        items.append(_others(before, after, set(shown), changes))
    legend = "stateful" + (" + stateless" if with_stateless else "") + (" / copies" if with_copies else "")
    legend = ("connectors and tasks" if plan.is_of_workers else legend) + _missing(plan)
    return tuple(items), legend + (f"; … = {names.escape(names.common)}" if names.common else "")


def _missing(plan: Plan) -> str:
    """Return how many tasks no instance runs when the plan ends, if any: it ended while they were handed over."""
    missing = without_owner(plan)
    return f"; without {count(missing, 'task')} being handed over at the end" if missing else ""


def _shown(before: list[Load], after: list[Load]) -> list[int]:
    """Return the instances to show: all, or ten that change, by (sum of the changes of their numbers, their order)."""

    def change(index: int) -> tuple[int, int]:
        return -sum(abs(old - new) for old, new in zip(before[index], after[index], strict=True)), index

    everyone = range(len(before))
    if len(before) <= _ALL:
        return list(everyone)
    return [index for index in sorted(everyone, key=change)[:_MOST_CHANGED] if before[index] != after[index]]


def _change(before: Load, after: Load, *, with_stateless: bool, with_copies: bool) -> str:
    def numbers(load: Load) -> str:
        if not any(load):
            return "0"
        stateless = f"+{load.stateless}" if with_stateless else ""
        return f"{load.stateful}{stateless}" + (f"/{load.copies}" if with_copies else "")

    return numbers(after) if before == after else f"{numbers(before)}→{numbers(after)}"


def _others(before: list[Load], after: list[Load], shown: set[int], changes: list[str]) -> str:
    others = [index for index in range(len(before)) if index not in shown]
    changed = [index for index in others if before[index] != after[index]]
    if not changed:
        alike = {changes[index] for index in others}
        unchanged = f"unchanged{f' at {alike.pop()}' if len(alike) == 1 else ''}"
        return f"{count(len(others), 'other')} {unchanged}" if shown else f"all {len(others):,} {unchanged}"
    change = "changes less" if len(changed) == 1 else "change less"
    if len(changed) == len(others):
        return f"{count(len(others), 'other')} {change}"
    return f"{count(len(others), 'other')}, {len(changed):,} of them {change}"


def counted(plan: Plan) -> str:
    """Return what is counted; an item is a connector or a task of Kafka Connect."""
    if plan.is_of_workers:
        return "item"
    return "stateless task" if plan.group.stateless and not plan.group.stateful else "stateful task"
