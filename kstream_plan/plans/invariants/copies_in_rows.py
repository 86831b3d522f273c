"""Invariants of who runs and keeps what, of many rounds whose steps are rows: whether all hold, told at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kstream_plan.model import Group, Holding
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.replay import BEGINS_ALONE
from kstream_plan.plans.step_rows import (
    ACTIVE,
    DROP,
    HAND_OVER,
    KEEP_TEMPORARY,
    KINDS,
    NO_SEAT,
    PLACE,
    REVOKE,
    ROLES,
    STANDBY,
    TEMPORARY,
    WARMUP,
    WITHHOLD,
    Mask,
    Numbers,
    Rows,
    are,
    joined,
)

#: A seat is the index of its consumer times this, plus the number of its role.
_ROLES = 8
#: Instead of a seat: nobody has the copy (in no role); or no matter who has.
_NOBODY, _ANYBODY = -1, -2


class Seats(NamedTuple):
    """Who holds what: the task and the seat of every copy."""

    task: Numbers
    seat: Numbers

    @classmethod
    def of(cls, holdings: Sequence[Holding]) -> Seats:
        """Return those of what is held, by consumer."""
        tasks: list[int] = []
        seats: list[int] = []
        for consumer, held in enumerate(holdings):
            for role, of in enumerate(held):
                tasks += of
                seats += repeat(consumer * _ROLES + role, len(of))
        return cls(np.array(tasks, np.int64), np.array(seats, np.int64))

    def holdings(self, consumers: int) -> tuple[Holding, ...]:
        """Return what each of so many consumers holds."""
        held: list[list[list[int]]] = [[[] for _ in ROLES] for _ in range(consumers)]
        in_order = self.task.argsort(kind="stable")
        for task, seat in zip(self.task[in_order].tolist(), self.seat[in_order].tolist(), strict=True):
            held[seat // _ROLES][seat % _ROLES].append(task)
        return tuple([Holding(*map(tuple, roles)) for roles in held])


class Asked(NamedTuple):
    """What is asked of rounds that were decided with ``config``.

    Every one of ``tasks`` runs once, and every stateful one has its standbys, or fewer if it is one of ``short``. Only
    who is ``stopping`` gives up what somebody starts in the same round.
    """

    config: AssignmentConfig
    tasks: Sequence[int]
    short: Sequence[int]
    stopping: Sequence[int]


def played(group: Group, before: Seats, rows_of_each: Sequence[Rows], asked: Asked) -> tuple[list[bool], Seats] | None:
    """Return of each round whether anything is withheld, and who holds what after the last one.

    ``before`` is who does before the first one. ``None``: a row does not fit what is held, or a round is not surely as
    is asked.
    """
    rows, number = joined(rows_of_each)
    if not _in_range(group, rows):
        return None
    rounds = _RoundsInRows(group, before, rows, number, len(rows_of_each))
    return (rounds.withhold, rounds.seats()) if rounds.are(asked) else None


def _in_range(group: Group, rows: Rows) -> bool:
    """Tell whether rows are of stateful tasks and of consumers of the group, with the seats that their kinds have."""
    kind, task, from_, to = (rows[name] for name in ("kind", "task", "from_consumer", "to_consumer"))
    bounds = [(kind, 0, len(KINDS)), (task, 0, len(group.tasks))]
    bounds += [(consumer, NO_SEAT, len(group.consumer_ids)) for consumer in (from_, to)]
    bounds += [(rows[name], 0, len(ROLES)) for name in ("from_role", "to_role")]
    if not all(((of >= least) & (of < end)).all() for of, least, end in bounds):
        return False
    fit = (from_ != NO_SEAT) | are(kind, PLACE, KEEP_TEMPORARY, HAND_OVER)
    fit &= (to == NO_SEAT) == are(kind, REVOKE, DROP)
    return bool(fit.all() and np.array(group.stateful_flags)[task].all())


class _RoundsInRows:
    """Rounds that follow one another in one group, as changes of its copies: of what an instance has of a task.

    A change has the round's number, or -1 if it is what was before the first one, and the seat since and before.
    """

    def __init__(self, group: Group, before: Seats, rows: Rows, number: Numbers, rounds: int) -> None:
        """``number`` is the round of each row, from 0; there are so many ``rounds``."""
        self._tasks, self._instances, self._rounds = len(group.tasks), len(group.instances), rounds
        self._stateful, self._instance_of = np.array(group.stateful_flags), np.array(group.instance_of)
        copy, changed, expected, seat = self._events(before, rows, number)
        #: whether every step ends a copy that there is, or begins one where there is none
        self._fit = bool(((expected == _ANYBODY) | (expected == _before(copy, seat))).all())
        last = _is_last(copy, changed)
        self._copy, self._number, self._seat = copy[last], changed[last], seat[last]
        self._task, self._old_seat = self._copy // self._instances, _before(self._copy, self._seat)
        withheld = rows["kind"] == WITHHOLD
        self._withheld = self._found_withheld(rows[withheld], number[withheld])

    def _events(self, before: Seats, rows: Rows, number: Numbers) -> Numbers:
        """Return by copy, in time: the copy, the round, which seat is expected to have it, and which has it then."""
        kind, task = rows["kind"], rows["task"].astype(np.int64)
        from_, to = (_seats(rows[f"{way}_consumer"], rows[f"{way}_role"]) for way in ("from", "to"))
        moves, alone, order = kind != WITHHOLD, are(kind, *BEGINS_ALONE), 2 * np.arange(len(rows))
        end, begin = moves & ~alone & (from_ != _NOBODY), moves & (to != _NOBODY)
        expected = np.where(alone, _ANYBODY, _NOBODY)
        events = np.concatenate(
            [
                self._columns(before.task, before.seat, -1, -1, _NOBODY, before.seat),
                self._columns(task[end], from_[end], order[end], number[end], from_[end], _NOBODY),
                self._columns(task[begin], to[begin], order[begin] + 1, number[begin], expected[begin], to[begin]),
            ],
            axis=1,
        )
        copy, order = events[:2]
        return events[:, np.lexsort((order, copy))][[0, 2, 3, 4]]

    def _columns(self, task: Numbers, seat: Numbers, *others: Numbers | int) -> Numbers:
        return np.stack(np.broadcast_arrays(self._copies(task, seat // _ROLES), *others))

    def _copies(self, task: Numbers, consumer: Numbers) -> Numbers:
        copies: Numbers = task * self._instances + self._instance_of[consumer]
        return copies

    def _found_withheld(self, rows: Rows, number: Numbers) -> _Withheld:
        task, consumer = rows["task"].astype(np.int64), rows["to_consumer"].astype(np.int64)
        copy, rounds = self._copies(task, consumer), self._rounds + 1
        place = (self._copy * rounds + self._number + 1).searchsorted(copy * rounds + number + 1, "right") - 1
        changed, seat = np.append(self._copy, _NOBODY)[place], np.append(self._seat, _NOBODY)[place]
        return _Withheld(number, task, consumer, np.where(changed == copy, seat, _NOBODY))

    @property
    def withhold(self) -> list[bool]:
        """Whether anything is withheld, round by round."""
        found: list[bool] = (np.bincount(self._withheld.number, minlength=self._rounds) > 0).tolist()
        return found

    def seats(self) -> Seats:
        """Return who holds what after the last round."""
        held = _is_last(self._copy) & (self._seat != _NOBODY)
        return Seats(self._task[held], self._seat[held])

    def are(self, asked: Asked) -> bool:
        """Tell whether the steps fit, and every round is as is asked."""
        return (
            self._fit
            and self._one_is_decided()
            and self._all_run(asked.tasks)
            and self._standbys_are(asked.config.num_standby_replicas, asked.short)
            and self._nobody_is_second(asked.stopping)
            and self._temporary_are_withheld()
            and self._warmups_are_within(asked.config.max_warmup_replicas)
            and not (~self._stateful[self._task] & (self._seat >= 0) & (self._seat % _ROLES != ACTIVE)).any()
        )

    def _one_is_decided(self) -> bool:
        """Tell whether tasks are withheld from one consumer, whose instance then has nothing that is decided."""
        withheld = self._withheld
        once = len(np.unique(withheld.task * self._rounds + withheld.number)) == len(withheld.task)
        return once and not np.isin(withheld.seat % _ROLES, (ACTIVE, WARMUP)).any()

    def _all_run(self, tasks: Sequence[int]) -> bool:
        """Tell whether each of these tasks is decided once at any time: it is held active, or withheld."""
        task, count = self._counts(ACTIVE, np.ones_like(self._withheld.task))
        return bool((count[np.isin(task, tasks)] == 1).all())

    def _standbys_are(self, number: int, short: Sequence[int]) -> bool:
        """Tell whether so many standbys are decided; one of what is withheld from its instance is none."""
        task, count = self._counts(STANDBY, -(self._withheld.seat % _ROLES == STANDBY).astype(np.int64))
        as_asked = (count == number) | ((count < number) & np.isin(task, short)) | ~self._stateful[task]
        return bool(as_asked.all())

    def _counts(self, role: int, withheld: Numbers) -> tuple[Numbers, Numbers]:
        """Return tasks with how many are decided the role, of every one at first and whenever that changes.

        That are those who hold it, and by what is ``withheld`` so many more in its round.
        """
        tasks, of = np.arange(self._tasks), self._withheld
        task = np.concatenate([tasks, self._task, of.task, of.task])
        number = np.concatenate([np.zeros_like(tasks), self._number.clip(0), of.number, of.number + 1])
        more = np.concatenate([np.zeros_like(tasks), self._more(role), withheld, -withheld])
        in_order = np.lexsort((number, task))
        task, number, more = task[in_order], number[in_order], more[in_order].cumsum()
        last = _is_last(task, number)
        task, number, more = task[last], number[last], more[last]
        of_others = np.append(0, more)[task.searchsorted(tasks)]
        inside = number < self._rounds
        return task[inside], (more - of_others[task])[inside]

    def _more(self, role: int) -> Numbers:
        """Return by change whether there is one more in the role since (1), or one less (-1)."""
        now, before = self._seat % _ROLES == role, self._old_seat % _ROLES == role
        more: Numbers = now.astype(np.int64) - before
        return more

    def _nobody_is_second(self, stopping: Sequence[int]) -> bool:
        """Tell whether nobody starts what another one runs until then, unless that one is stopping."""
        changed = (self._seat != self._old_seat) & (self._number >= 0)
        lost = changed & (self._old_seat % _ROLES == ACTIVE) & ~np.isin(self._old_seat // _ROLES, stopping)
        gained = changed & (self._seat % _ROLES == ACTIVE)
        place = self._task * self._rounds + self._number
        return not np.isin(place[lost], place[gained]).any()

    def _temporary_are_withheld(self) -> bool:
        """Tell whether each temporary copy is withheld from who has it in every round that it is there."""
        until = np.append(self._number[1:], 0)
        until[_is_last(self._copy)] = self._rounds
        temporary, withheld = self._seat % _ROLES == TEMPORARY, self._withheld
        rounds = (until - self._number.clip(0))[temporary].sum()
        return bool(rounds == (withheld.seat == withheld.consumer * _ROLES + TEMPORARY).sum())

    def _warmups_are_within(self, most: int) -> bool:
        """Tell whether there never are more warm-ups."""
        more = np.bincount(self._number.clip(0), self._more(WARMUP), minlength=self._rounds)
        return bool((more.cumsum() <= most).all())


class _Withheld(NamedTuple):
    """What is withheld: the round, the task, who is to have it, and the seat that its instance has it in then."""

    number: Numbers
    task: Numbers
    consumer: Numbers
    seat: Numbers


def _seats(consumer: npt.NDArray[np.int32], role: npt.NDArray[np.int8]) -> Numbers:
    return np.where(consumer == NO_SEAT, _NOBODY, consumer.astype(np.int64) * _ROLES + role)


def _is_last(*columns: Numbers) -> Mask:
    """Tell which rows differ from the next one."""
    last = np.ones(len(columns[0]), np.bool_)
    last[:-1] = np.logical_or.reduce([of[1:] != of[:-1] for of in columns])
    return last


def _before(copy: Numbers, seat: Numbers) -> Numbers:
    """Return the seat one row earlier, where that is about the same copy."""
    before, goes_on = np.full_like(seat, _NOBODY), ~_is_last(copy)
    before[1:][goes_on[:-1]] = seat[goes_on]
    return before
