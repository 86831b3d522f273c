"""Where tasks and standbys are until they can be where the ``balanced`` target has them, and what they wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kstream_plan.assignors.balanced.move_order import PendingMove
from kstream_plan.assignors.balanced.task_costs import Prospect
from kstream_plan.model import Movement


def runs_now(one: Prospect, target: int) -> int:
    """Return the target's instance if nobody is further, else the most caught-up one."""
    home = one.home
    return target if home is None or one.rank(target) <= one.rank(home) else home


def standbys_now(one: Prospect, active: int, owner: int, standbys: Sequence[int]) -> tuple[int, ...]:
    """Return the next most caught-up instances, as many as the target has, sorted.

    Among equals: the one that is to run the task, the target's standbys, those that are standbys now, by instance;
    while the task is not there yet, those that are standbys now come before the target's.

    Args:
        one: the task's copies.
        active: the instance that runs it now.
        owner: the instance that is to run it.
        standbys: the instances that are to hold its standbys.
    """
    there = one.copies.get(owner) == "active"

    def key(instance: int) -> tuple[int, bool, bool, bool, int]:
        wanted, held = instance in standbys, one.copies.get(instance) == "standby"
        first, second = (wanted, held) if there else (held, wanted)
        return one.rank(instance), instance != owner, not first, not second, instance

    if not standbys:
        return ()
    nearest = sorted({*one.ranks, owner, *standbys} - {active}, key=key)
    return tuple(sorted(nearest[: len(standbys)]))


def active_moves(found: Iterable[Prospect], run_by: Mapping[int, int], owner: Mapping[int, int]) -> list[PendingMove]:
    """Return the moves of the tasks that run elsewhere than they are to."""
    return [_move(one, run_by[one.task], owner[one.task]) for one in found if run_by[one.task] != owner[one.task]]


def standby_moves(
    found: Iterable[Prospect], now: Mapping[int, tuple[int, ...]], wanted: Mapping[int, tuple[int, ...]]
) -> list[PendingMove]:
    """Return the moves of the standbys that are elsewhere than they are to be."""
    return [
        _move(one, source, destination)
        for one in found
        for source, destination in zip(
            [i for i in now[one.task] if i not in wanted[one.task]],
            [i for i in wanted[one.task] if i not in now[one.task]],
            strict=True,
        )
    ]


def _move(one: Prospect, source: int, destination: int) -> PendingMove:
    return PendingMove(
        task=one.task,
        source=source,
        destination=destination,
        restore=one.rank(destination),
        caught_up=sum(not behind for behind in one.ranks.values()),
        begun=bool(one.copies.get(destination)),
    )


def movements(
    kind: str, ordered: Iterable[PendingMove], standbys: Mapping[int, tuple[int, ...]], budget: int
) -> tuple[Movement, ...]:
    """Let destinations warm up: first where one has begun to, then in the given order, as many as the budget allows.

    A destination that is a standby by now needs no warm-up.
    """
    made = []
    for move in sorted(ordered, key=lambda move: not move.begun):
        swap = move.destination in standbys[move.task]
        how = f"{'swap' if swap else 'move'}_{'' if move.caught_up else 'most_'}caught_up"
        warm_up = not swap and budget > 0
        budget -= warm_up
        made.append(Movement(move.task, kind, how, move.source, move.destination, warm_up))
    return tuple(made)
