"""How long tasks of one instance restore that start together, or at different times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kstream_plan.model import WorkId
from kstream_plan.plans.steps import HandOver, Promote

Key = TypeVar("Key")


def share_evenly(
    remaining_records: Mapping[Key, float], rate: float, from_ms: float, to_ms: float = inf
) -> tuple[dict[Key, float], dict[Key, float]]:
    """Return the end of each restore that ends by ``to_ms`` on an instance, and the remaining records of the others.

    All of them begin by ``from_ms``; ``rate`` is records per second.
    """
    order, end_ms_by_key = sorted(remaining_records, key=remaining_records.__getitem__), dict[Key, float]()
    restored_records, restored_of_each = 0.0, 0.0  # records, by now
    for place, key in enumerate(order):
        sharing = len(order) - place
        records_by_then = restored_records + (remaining_records[key] - restored_of_each) * sharing
        ends_ms = from_ms + 1000 * records_by_then / rate
        if ends_ms > to_ms:
            restored_of_each += ((to_ms - from_ms) * rate / 1000 - restored_records) / sharing
            return end_ms_by_key, {key: remaining_records[key] - restored_of_each for key in order[place:]}
        end_ms_by_key[key], restored_records, restored_of_each = ends_ms, records_by_then, remaining_records[key]
    return end_ms_by_key, {}


def cold_restoring_ms(
    starts: Iterable[HandOver | Promote], rate_of: Callable[[str], float | None]
) -> dict[WorkId, int]:
    """Return how long each cold start among these restores, where that is known.

    They start at the same time, so those of one instance (``rate_of`` its process id) share its rate evenly.
    """
    of_instance: dict[str, dict[WorkId, int]] = {}
    for start in starts:
        if not start.caught_up and start.restore_records is not None:
            of_instance.setdefault(start.to.process_id, {})[start.task_id] = start.restore_records
    restore_ms_of_task: dict[WorkId, int] = {}
    for process_id, records in of_instance.items():
        if rate := rate_of(process_id):
            restore_ms_of_task |= {task_id: int(ms) for task_id, ms in share_evenly(records, rate, 0)[0].items()}
    return restore_ms_of_task


def restored_at_ms(
    starts: Iterable[tuple[int, int, WorkId]],
    rates: Sequence[tuple[int, float | None]],
    given_up_ms: Mapping[tuple[WorkId, int], int] = MappingProxyType({}),
) -> dict[tuple[WorkId, int], int]:
    """Return by task and start the end of each restore of one instance, of ``starts``: (at ms, records, task).

    What is under way at the same time shares the rate evenly; it ends when it is given up, restored or not. ``rates``
    are (from ms, records per second), in time; the first one counts before as well. What is under way while the rate
    is not known (``None``) is left out, as is what never ends, at a rate of 0.
    """
    of_time: dict[int, dict[tuple[WorkId, int], float]] = {at_ms: {} for at_ms, _ in rates[1:]}
    for at_ms, records, task_id in starts:
        of_time.setdefault(at_ms, {})[task_id, at_ms] = records
        of_time.setdefault(given_up_ms.get((task_id, at_ms), at_ms), {})
    times_ms = sorted(of_time)
    remaining_records, all_ends_ms = dict[tuple[WorkId, int], float](), dict[tuple[WorkId, int], int]()
    for from_ms, to_ms in pairwise((*times_ms, inf)):
        given_up = {start: int(from_ms) for start in remaining_records if given_up_ms.get(start) == from_ms}
        all_ends_ms |= given_up
        under_way = {start: records for start, records in remaining_records.items() if start not in given_up}
        remaining_records = under_way | of_time[int(from_ms)]
        rate = next((per_second for at_ms, per_second in reversed(rates) if at_ms <= from_ms), rates[0][1])
        if rate is None:
            remaining_records = {}
        elif rate:
            ends_ms, remaining_records = share_evenly(remaining_records, rate, from_ms, to_ms)
            all_ends_ms |= {start: int(done_ms) for start, done_ms in ends_ms.items()}
    return all_ends_ms


class RestoringStart(NamedTuple):
    """A start that counts as caught up, and restores for long before the task runs all the same.

    ``round`` is its number, ``at_ms`` is on the plan's clock, ``restores_ms`` is how long it takes; ``None``: not
    known.
    """

    task_id: WorkId
    process_id: str
    round: int
    at_ms: int
    records: int
    restores_ms: int | None


def restoring_ms(starts: Iterable[RestoringStart]) -> Mapping[WorkId, int] | None:
    """Return how long each task restores in such starts, all its starts together; ``None``: not known."""
    lasts_ms = Counter[WorkId]()
    for start in starts:
        if start.restores_ms is None:
            return None
        lasts_ms[start.task_id] += start.restores_ms
    return lasts_ms


def max_restoring_ms(starts: Iterable[RestoringStart]) -> int | None:
    """Return how long one task restores at most in such starts; 0: there are none; ``None``: not known."""
    lasts_ms = restoring_ms(starts)
    return None if lasts_ms is None else max(lasts_ms.values(), default=0)
