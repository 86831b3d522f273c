"""How long tasks restore that start together, or begin to restore at different times, on one instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import groupby
from math import inf
from typing import TypeVar

from kstream_plan.model import WorkId
from kstream_plan.plans.rounds import Round
from kstream_plan.plans.steps import HandOver, Promote

Key = TypeVar("Key")


def share_evenly(
    left: Mapping[Key, float], rate: float, from_ms: float, to_ms: float = inf
) -> tuple[dict[Key, float], dict[Key, float]]:
    """Return when each is restored that an instance restores within a time, and the records that others have left.

    All of them begin by ``from_ms``; ``rate`` is records per second.
    """
    order, done = sorted(left, key=left.__getitem__), dict[Key, float]()
    restored, restored_of_each = 0.0, 0.0  # records, by now
    for place, key in enumerate(order):
        sharing = len(order) - place
        needed = restored + (left[key] - restored_of_each) * sharing
        ends_ms = from_ms + 1000 * needed / rate
        if ends_ms > to_ms:
            restored_of_each += ((to_ms - from_ms) * rate / 1000 - restored) / sharing
            return done, {other: left[other] - restored_of_each for other in order[place:]}
        done[key], restored, restored_of_each = ends_ms, needed, left[key]
    return done, {}


def cold_restoring_ms(
    starts: Iterable[HandOver | Promote], rate_of: Callable[[str], float | None]
) -> dict[WorkId, int]:
    """Return how long each of these starts restores that is cold, where that is known.

    They start at the same time, so those of one instance (``rate_of`` its process id) share its rate evenly.
    """
    of_instance: dict[str, dict[WorkId, int]] = {}
    for start in starts:
        if not start.caught_up and start.restore_records is not None:
            of_instance.setdefault(start.to.process_id, {})[start.task_id] = start.restore_records
    lasts: dict[WorkId, int] = {}
    for process_id, records in of_instance.items():
        if rate := rate_of(process_id):
            lasts |= {task_id: int(ms) for task_id, ms in share_evenly(records, rate, 0)[0].items()}
    return lasts


def restored_at_ms(starts: Iterable[tuple[int, int, WorkId]], rate: float) -> dict[tuple[WorkId, int], int]:
    """Return by task and start when each is restored of what one instance begins to restore: (at ms, records, task).

    What is under way at the same time shares the rate (records per second) evenly.
    """
    in_order = sorted(starts, key=lambda one: (one[0], one[2].sort_key))
    left: dict[tuple[WorkId, int], float] = {}
    restored: dict[tuple[WorkId, int], int] = {}
    next_ms = [*(at_ms for at_ms, _, _ in in_order[1:]), inf]
    for (at_ms, records, task_id), until_ms in zip(in_order, next_ms, strict=False):
        left[task_id, at_ms] = records
        done, left = share_evenly(left, rate, at_ms, until_ms)
        restored |= {start: int(done_ms) for start, done_ms in done.items()}
    return restored


def restoring_starts(rounds: Iterable[Round], task_ids: Set[str]) -> Iterator[tuple[Round, HandOver | Promote]]:
    """Yield the starts of these tasks that count as caught up and have something to restore all the same."""
    if task_ids:
        starts = ((rnd, step) for rnd in rounds for step in rnd.steps.starts_behind())
        yield from ((rnd, step) for rnd, step in starts if str(step.task_id) in task_ids)


def restoring_first_ms(
    rounds: Iterable[Round], task_ids: Set[str], rate_of: Callable[[str], float | None]
) -> Mapping[WorkId, int] | None:
    """Return how long each of these tasks restores in such starts, all its starts together; ``None``: not known.

    What starts cold at the same time shares the rate of an instance (``rate_of`` its process id).
    """
    lasts_ms = Counter[WorkId]()
    for _, of_round in groupby(restoring_starts(rounds, task_ids), key=lambda start: start[0].number):
        starts = list(of_round)
        warm = [replace(step, caught_up=False) for _, step in starts]
        round_ms = cold_restoring_ms([*warm, *starts[0][0].steps.cold_starts()], rate_of)
        if not round_ms.keys() >= {step.task_id for step in warm}:
            return None
        lasts_ms.update({step.task_id: round_ms[step.task_id] for step in warm})
    return lasts_ms
