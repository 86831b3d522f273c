"""Where tasks and standbys are until they can be where the ``balanced`` target has them, and what they wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kstream_plan.assignors.balanced.move_order import PendingMove
from kstream_plan.assignors.balanced.task_costs import Prospect
from kstream_plan.model import Movement


def runs_now(prospect: Prospect, target: int) -> int:
    """Return the target's instance if nobody is further, else the most caught-up one."""
    home = prospect.home
    return target if home is None or prospect.rank(target) <= prospect.rank(home) else home


def standbys_now(prospect: Prospect, active: int, owner: int, standbys: Sequence[int]) -> tuple[int, ...]:
    """Return the next most caught-up instances, as many as the target has, sorted.

    Among equals: the one that is to run the task, the target's standbys, those that are standbys now, by instance;
    while the task is not there yet, those that are standbys now come before the target's.

    Args:
        prospect: the task's copies.
        active: the instance that runs it now.
        owner: the instance that is to run it.
        standbys: the instances that are to hold its standbys.
    """
    at_home = prospect.copies.get(owner) == "active"

    def key(instance: int) -> tuple[int, bool, bool, bool, int]:
        in_target, is_standby = instance in standbys, prospect.copies.get(instance) == "standby"
        first, second = (in_target, is_standby) if at_home else (is_standby, in_target)
        return prospect.rank(instance), instance != owner, not first, not second, instance

    if not standbys:
        return ()
    nearest = sorted({*prospect.ranks, owner, *standbys} - {active}, key=key)
    return tuple(sorted(nearest[: len(standbys)]))


def active_moves(
    prospects: Iterable[Prospect], run_by: Mapping[int, int], owner: Mapping[int, int]
) -> list[PendingMove]:
    """Return the moves of the tasks that run elsewhere than they are to."""
    return [
        _move(prospect, run_by[prospect.task], owner[prospect.task])
        for prospect in prospects
        if run_by[prospect.task] != owner[prospect.task]
    ]


def standby_moves(
    prospects: Iterable[Prospect], current: Mapping[int, tuple[int, ...]], target: Mapping[int, tuple[int, ...]]
) -> list[PendingMove]:
    """Return the moves of the standbys that are elsewhere than they are to be."""
    return [
        _move(prospect, source, destination)
        for prospect in prospects
        for source, destination in zip(
            [i for i in current[prospect.task] if i not in target[prospect.task]],
            [i for i in target[prospect.task] if i not in current[prospect.task]],
            strict=True,
        )
    ]


def _move(prospect: Prospect, source: int, destination: int) -> PendingMove:
    return PendingMove(
        task=prospect.task,
        source=source,
        destination=destination,
        restore=prospect.rank(destination),
        caught_up=sum(not restore for restore in prospect.ranks.values()),
        is_begun=bool(prospect.copies.get(destination)),
    )


def movements(
    kind: str, moves: Iterable[PendingMove], standbys: Mapping[int, tuple[int, ...]], budget: int
) -> tuple[Movement, ...]:
    """Let destinations warm up: first where one has begun to, then in the given order, as many as the budget allows.

    A destination that is a standby by now needs no warm-up.
    """
    pending = []
    for move in sorted(moves, key=lambda move: not move.is_begun):
        swap = move.destination in standbys[move.task]
        way = f"{'swap' if swap else 'move'}_{'' if move.caught_up else 'most_'}caught_up"
        warm_up = not swap and budget > 0
        budget -= warm_up
        pending.append(Movement(move.task, kind, way, move.source, move.destination, warm_up))
    return tuple(pending)
