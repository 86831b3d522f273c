"""What changes in a history of holdings from one state to the next: mostly little, so little is looked at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, groupby
from operator import is_not
from typing import TypeAlias

from kstream_plan.model import Group, Holding, Holdings, LazyHoldings

#: A consumer with what it held before and what it holds now.
Change: TypeAlias = tuple[int, Holding, Holding]


def changed_holdings(history: Sequence[Sequence[Holding]]) -> Iterator[tuple[int, list[Change]]]:
    """Yield for each state of the history the consumers that changed since the one before: (consumer, old, new).

    Who holds the same in another object has not.
    """
    previous_holdings: Sequence[Holding] | None = None
    old: Sequence[Holding] = ()
    for index, holdings in enumerate(history):
        changed_consumers = list(
            range(len(holdings)) if previous_holdings is None else unlike(previous_holdings, holdings)
        )
        old = old or [Holding()] * len(holdings)
        new = tuple(holdings) if changed_consumers else old
        yield index, [(c, old[c], new[c]) for c in changed_consumers if old[c] != new[c]]
        previous_holdings, old = holdings, new


def unlike(first: Sequence[Holding], second: Sequence[Holding]) -> Iterable[int]:
    """Return where two sequences of the same length hold different objects, or other stateless tasks."""
    if first is second:
        return ()
    if isinstance(first, Holdings) and isinstance(second, Holdings):
        return first.unlike(second)
    return compress(range(len(first)), map(is_not, first, second))


def apart_from_stateless(holdings: Sequence[Holding]) -> Sequence[Holding]:
    """Return what is held without the stateless tasks, if these are numbers: enough to look at copies, and quick."""
    return holdings.stateful if isinstance(holdings, Holdings) else holdings


def held_by_several(holdings: Sequence[Holding]) -> dict[int, int]:
    """Return how many consumers each stateful task is active at that is at more than one."""
    counts = Counter(task for holding in apart_from_stateless(holdings) for task in holding.active)
    return {task: count for task, count in counts.items() if count > 1}


def moved(group: Group, initial: Sequence[Holding], final: Sequence[Holding]) -> set[int]:
    """Return the stateful tasks that some instance ran at first, and that no such instance runs at the end."""
    runs_at_first, runs_at_end = (
        {
            (task, group.instance_of[consumer])
            for consumer, holding in enumerate(apart_from_stateless(holdings))
            for task in holding.active
            if group.stateful_flags[task]
        }
        for holdings in (initial, final)
    )
    return {task for task, _ in runs_at_first - runs_at_end} - {task for task, _ in runs_at_first & runs_at_end}


def extra_copies(history: Sequence[Sequence[Holding]]) -> Iterator[int]:
    """Yield for each state the number of warm-up and temporary copies, counting only what changed.

    Of what would be made to be counted it is known.
    """
    states = list(map(apart_from_stateless, history))
    for lazy, run in groupby(states, lambda state: isinstance(state, LazyHoldings)):
        if lazy:
            yield from (state.extra_copies for state in run if isinstance(state, LazyHoldings))
            continue
        copies = 0
        for _, changes in changed_holdings(list(run)):
            for _, old, new in changes:
                copies += len(new.warmup) + len(new.temporary) - len(old.warmup) - len(old.temporary)
            yield copies


def times_in(tasks: Sequence[int], task: int) -> int:
    """Return how often a sorted sequence has the task."""
    return bisect_right(tasks, task) - bisect_left(tasks, task)


def difference(old: Sequence[int], new: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return what is in the one and not in the other, and the other way round; both are sorted and mostly alike."""
    if old == new:
        return [], []
    if len(old) + len(new) <= _FEW:
        old_items, new_items = set(old), set(new)
        return sorted(old_items - new_items), sorted(new_items - old_items)
    removed: list[int] = []
    added: list[int] = []
    i = j = 0
    while i < len(old) and j < len(new):
        alike = _run_of_equals(old, i, new, j)
        i, j = i + alike, j + alike
        if len(removed) + len(added) > MANY:
            old_items, new_items = set(old), set(new)
            return sorted(old_items - new_items), sorted(new_items - old_items)
        if i < len(old) and (j == len(new) or old[i] < new[j]):
            removed.append(old[i])
            i += 1
        elif j < len(new):
            added.append(new[j])
            j += 1
        if old[i:] == new[j:]:
            return removed, added
    return [*removed, *old[i:]], [*added, *new[j:]]


#: With more differences than that it is sooner to build sets.
MANY = 8
#: And with no more than so many tasks in all.
_FEW = 64


def _run_of_equals(first: Sequence[int], i: int, second: Sequence[int], j: int) -> int:
    """Return how many items from ``i`` and ``j`` on are equal.

    After an item that only one of two sorted sequences has, nothing is equal at the same distance until the other has
    one of its own: so the end is found by halving, and looked for piece by piece where that guess is wrong.
    """
    most = min(len(first) - i, len(second) - j)
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if first[i + middle] == second[j + middle]:
            low = middle + 1
        else:
            high = middle
    if first[i : i + low] == second[j : j + low]:
        return low
    low, high = 0, low
    while low < high:
        middle = (low + high + 1) // 2
        if first[i + low : i + middle] == second[j + low : j + middle]:
            low = middle
        else:
            high = middle - 1
    return low
