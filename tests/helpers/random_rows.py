"""Random rounds of a small group, as rows: what a coordinator might decide, and now and then what none would."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from kstream_plan.model import Group, Holding
from kstream_plan.plans.step_rows import (
    ACTIVE,
    DEMOTE,
    DROP,
    HAND_OVER,
    KEEP_TEMPORARY,
    KINDS,
    NO_LAG,
    NO_SEAT,
    PLACE,
    PROMOTE,
    REVOKE,
    ROLES,
    STANDBY,
    TEMPORARY,
    THREAD_MOVE,
    WARMUP,
    WITHHOLD,
    Rows,
    row_type,
)

#: A consumer and its role, or nobody's.
Place: TypeAlias = tuple[int, int]
NOWHERE: Place = (NO_SEAT, 0)


def row(kind: int, task: int, from_: Place = NOWHERE, to: Place = NOWHERE) -> tuple[int, ...]:
    """A row that says what happens, and nothing of records."""
    return (0, NO_LAG, NO_LAG, task, from_[0], to[0], kind, from_[1], to[1], 1, 0, 0)


def rows(*item: tuple[int, ...]) -> Rows:
    """The rows of a round."""
    return np.array([*item], dtype=row_type())


class RandomRows:
    """Draws rounds, one after the other, of a group that holds ``initial``; ``sloppy``: how many steps do not fit."""

    def __init__(self, rng: random.Random, group: Group, initial: Sequence[Holding], sloppy: float) -> None:
        self._rng, self._group, self._sloppy = rng, group, sloppy
        #: task → instance → who of it holds the task as what
        self._held: list[dict[int, Place]] = [{} for _ in group.tasks]
        for consumer, held in enumerate(initial):
            for role, tasks in enumerate(held):
                for task in tasks:
                    self._held[task][group.instance_of[consumer]] = consumer, role
        #: task → who gave it up and who is to have it
        self._withheld: dict[int, tuple[int, int]] = {}

    @property
    def withholds(self) -> bool:
        """Whether anything is withheld in the last round."""
        return bool(self._withheld)

    def next(self) -> Rows:
        """Draw the rows of the next round."""
        found = []
        for task in self._group.stateful:
            if self._rng.random() < self._sloppy:
                found += [self._any_row(task)]
            elif task in self._withheld:
                found += self._started(task)
            else:
                found += self._rng.choice([self._nothing, self._placed, self._dropped, self._withholding])(task)
        return rows(*found)

    def _any_row(self, task: int) -> tuple[int, ...]:
        rng = self._rng
        places = [*self._held[task].values(), NOWHERE]
        places += [(rng.randrange(len(self._group.consumer_ids)), rng.randrange(len(ROLES))) for _ in range(3)]
        drawn = row(rng.randrange(len(KINDS)), task, rng.choice(places), rng.choice(places))
        self._do(drawn)
        return drawn

    def _nothing(self, task: int) -> list[tuple[int, ...]]:
        return []

    def _placed(self, task: int) -> list[tuple[int, ...]]:
        consumer, instance_of = self._rng.randrange(len(self._group.consumer_ids)), self._group.instance_of
        if instance_of[consumer] in self._held[task]:
            return []
        return self._done(row(PLACE, task, NOWHERE, (consumer, self._rng.choice([STANDBY, WARMUP]))))

    def _dropped(self, task: int) -> list[tuple[int, ...]]:
        copies = [item for item in self._held[task].values() if item[1] != ACTIVE]
        return self._done(row(DROP, task, self._rng.choice(copies))) if copies else []

    def _withholding(self, task: int) -> list[tuple[int, ...]]:
        """Its owner gives it up, and keeps a standby or not; who is to have it may have a copy."""
        owners = [item for item in self._held[task].values() if item[1] == ACTIVE]
        if not owners:
            return []
        owner, consumer = owners[0], self._rng.randrange(len(self._group.consumer_ids))
        if consumer == owner[0]:
            return []
        same = self._group.instance_of[consumer] == self._group.instance_of[owner[0]]
        kept = row(DEMOTE, task, owner, (owner[0], STANDBY)), row(REVOKE, task, owner)
        found = self._done(kept[same or self._rng.random() < 0.5])
        copy = self._held[task].get(self._group.instance_of[consumer], NOWHERE)
        if copy != NOWHERE and self._rng.random() >= (self._sloppy if copy[1] == WARMUP else 0.3):
            found += self._done(row(KEEP_TEMPORARY, task, copy, (consumer, TEMPORARY)))
        self._withheld[task] = owner[0], consumer
        times = 2 if self._rng.random() < self._sloppy else 1
        return [*found, *[row(WITHHOLD, task, owner, (consumer, ACTIVE))] * times]

    def _started(self, task: int) -> list[tuple[int, ...]]:
        """What was withheld starts."""
        owner, consumer = self._withheld.pop(task)
        copy, to = self._held[task].get(self._group.instance_of[consumer], NOWHERE), (consumer, ACTIVE)
        if self._group.instance_of[consumer] == self._group.instance_of[owner]:
            return self._done(row(THREAD_MOVE, task, (owner, ACTIVE), to))
        if copy == NOWHERE:
            return self._done(row(HAND_OVER, task, (owner, ACTIVE), to))
        return self._done(row(PROMOTE, task, copy, to))

    def _done(self, drawn: tuple[int, ...]) -> list[tuple[int, ...]]:
        self._do(drawn)
        return [drawn]

    def _do(self, drawn: tuple[int, ...]) -> None:
        _, _, _, task, from_, to, kind, _, to_role, _, _, _ = drawn
        held, instance_of = self._held[task], self._group.instance_of
        if kind == WITHHOLD:
            return
        if kind not in (HAND_OVER, PROMOTE, THREAD_MOVE) and from_ != NO_SEAT:
            held.pop(instance_of[from_], None)
        if to != NO_SEAT:
            held[instance_of[to]] = to, to_role
