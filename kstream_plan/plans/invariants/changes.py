"""What the steps of rounds that follow one another do to copies, in columns: who has a task in which role, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

import numpy as np

from kstream_plan.model import Group, Holding
from kstream_plan.plans import Round
from kstream_plan.plans.replay import BEGINS_ALONE
from kstream_plan.plans.step_rows import (
    ACTIVE,
    DROP,
    EVENT,
    HAND_OVER,
    KEEP_TEMPORARY,
    MEMBER_LEFT,
    NO_SEAT,
    PLACE,
    REVOKE,
    ROLES,
    STANDBY,
    TEMPORARY,
    WITHHOLD,
    Mask,
    Numbers,
    Rows,
    are,
    concatenate,
)

#: About as many steps are checked at once, so that memory is not filled.
_AT_ONCE = 250_000
#: Instead of whether a copy was there before: no matter.
_ANY = -1


class Copies:
    """The numbers of copies: a copy is a task at a consumer in a role."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.instance_of = np.array([*group.instance_of, NO_SEAT])
        self._consumers = len(group.consumer_ids)
        self._first_consumer = np.array([consumers.start for consumers in group.consumers_of])
        self._capacity = np.array(group.capacities)

    def number(self, task: Numbers, consumer: Numbers, role: Numbers | int) -> Numbers:
        """Return the number of each copy."""
        copies: Numbers = (task.astype(np.int64) * self._consumers + consumer) * len(ROLES) + role
        return copies

    def held(self, holdings: Sequence[Holding]) -> Numbers:
        """Return the copies that are held, by consumer."""
        tasks, seats = list[int](), list[int]()
        for consumer, held in enumerate(holdings):
            for role, of_role in enumerate(held):
                tasks += of_role
                seats += repeat(consumer * len(ROLES) + role, len(of_role))
        return np.array(tasks, np.int64) * (self._consumers * len(ROLES)) + np.array(seats, np.int64)

    def task(self, copy: Numbers) -> Numbers:
        """Return the task of each."""
        return copy // (self._consumers * len(ROLES))

    def consumer(self, copy: Numbers) -> Numbers:
        """Return the consumer of each."""
        return copy // len(ROLES) % self._consumers

    def role(self, copy: Numbers) -> Numbers:
        """Return the role of each."""
        return copy % len(ROLES)

    def instance(self, copy: Numbers) -> Numbers:
        """Return the instance of each."""
        instances: Numbers = self.instance_of[self.consumer(copy)]
        return instances

    def place(self, copy: Numbers) -> Numbers:
        """Return the task of each together with its instance, as one number."""
        return self.task(copy) * len(self.group.instances) + self.instance(copy)

    def on_instance(self, task: Numbers, instance: Numbers, role: int) -> tuple[Numbers, Numbers]:
        """Return all copies that an instance could have of a task in a role, and which of the tasks each is of."""
        number = self._capacity[instance]
        which = np.repeat(np.arange(len(task)), number)
        thread = np.arange(len(which)) - np.repeat(number.cumsum() - number, number)
        return self.number(task[which], self._first_consumer[instance[which]] + thread, role), which


class Part(NamedTuple):
    """Rounds of a plan that follow one another: the index of the first, and all of them.

    ``stated`` are the indices of those whose holdings are not made of the steps: of all, of the last one or of none.
    """

    first: int
    rounds: Sequence[Round]
    stated: range


def parts_of(rounds: Sequence[Round], first: int = 0, end: int | None = None, *, stated: bool = True) -> Iterator[Part]:
    """Yield the rounds of a plan in parts, from an index on up to the one before ``end`` (default: all).

    ``stated``: whether what is held is not made of the steps. Of the others the last round of all is stated.
    """
    end = len(rounds) if end is None else end
    start, steps = first, 0
    for index in range(first, end):
        steps += len(rounds[index].steps.rows)
        if steps >= _AT_ONCE or index + 1 == end:
            yield Part(start, rounds[start : index + 1], range(start if stated else end - 1, index + 1))
            start, steps = index + 1, 0


class Difference(NamedTuple):
    """What is decided in a round and not held after it (``sign`` 1), or held and not decided (-1)."""

    copy: Numbers
    round: Numbers
    sign: Numbers


class Totals(NamedTuple):
    """How many there are of what a ``key`` is the number of, since a ``time``, where that changes; in time."""

    time: Numbers
    key: Numbers
    number: Numbers

    @classmethod
    def of(cls, key: Numbers, time: Numbers, change: Numbers) -> Totals:
        """Add up the changes; what was before time 0 is counted, and not returned."""
        in_order = _in_order(key, time)
        key, time, total = key[in_order], time[in_order], change[in_order].cumsum()
        last, ends = _is_last(key, time), _is_last(key)
        of_others = np.repeat(np.append(0, total[ends])[:-1], np.diff(np.append(-1, ends.nonzero()[0])))
        last &= time >= 0
        return cls(time[last], key[last], (total - of_others)[last])

    def where(self, which: Mask) -> Iterator[tuple[int, int, int]]:
        """Yield some of them, in time."""
        in_order = _in_order(self.time[which], self.key[which])
        return zip(*(of[which][in_order].tolist() for of in self), strict=True)


class CopyChanges:
    """The changes of copies by the steps of a ``part`` of a plan, in the order of copies and then of time.

    A change is the ``copy``, the ``moment`` (of the rounds' and their turns', -1: it was there before) and whether it
    is there since (``is_held``). ``before`` are the copies that are held before the first round, and ``pending`` is the
    :class:`Difference` of the round before that.
    """

    def __init__(
        self,
        copies: Copies,
        part: Part,
        before: Numbers,
        pending: Difference | None,
        *,
        apart: bool,
    ) -> None:
        """``apart``: without the steps of stateless tasks. ``pending`` is ``None`` before the first round of a plan.

        Raises:
            ValueError: a row has a number that is none, or lacks one.
        """
        self.copies, self.part, self.rounds, self.is_first = copies, part, part.rounds, pending is None
        #: the round that what was there before counts for
        self._start = 0 if self.is_first and part.rounds else -1
        moments = [(index, rows) for index, rnd in enumerate(part.rounds) for rows in _moments(rnd, apart=apart)]
        #: by moment: its round
        self.round_of: Numbers = np.array([index for index, _ in moments], np.int64)
        rows, moment = concatenate([of_moment for _, of_moment in moments])
        if apart:
            stateful = np.array([*copies.group.stateful_flags, True])[rows["task"]]
            rows, moment = rows[stateful], moment[stateful]
        _check_range(copies.group, rows)
        #: the steps about single tasks, and those of instances that left, with the round of each
        self.rows, self.row_round = rows, self.round_of[moment]
        copy, moment, is_held, was_held, expected = self._events(before, rows, moment)
        self._misfits = moment[(expected != _ANY) & (expected != was_held)]
        self.copy, self.moment, self.is_held = copy, moment, is_held
        self._keep(_is_last(copy, moment))
        self._keep(self.is_held != _before(self.copy, self.is_held))
        self._pending = Difference(*np.zeros((3, 0), np.int64)) if pending is None else pending

    def _keep(self, which: Mask) -> None:
        self.copy, self.moment, self.is_held = self.copy[which], self.moment[which], self.is_held[which]

    def _events(self, before: Numbers, rows: Rows, moment: Numbers) -> tuple[Numbers, ...]:
        """Return by copy, in time: its number, the moment, whether it is there then, was there and had to be."""
        copies, kind, task = self.copies, rows["kind"], rows["task"]
        from_ = copies.number(task, rows["from_consumer"], rows["from_role"])
        to = copies.number(task, rows["to_consumer"], rows["to_role"])
        moves, is_alone = ~are(kind, MEMBER_LEFT, WITHHOLD), are(kind, *BEGINS_ALONE)
        end = (moves & ~is_alone & (rows["from_consumer"] != NO_SEAT)).nonzero()[0]
        begin = (moves & (rows["to_consumer"] != NO_SEAT)).nonzero()[0]
        alone, left = is_alone.nonzero()[0], (kind == MEMBER_LEFT).nonzero()[0]
        known = np.sort(np.concatenate([before, from_[end], to[begin]]))
        known = known[_is_last(known)]
        others, by_alone = _matching(copies.place(known), copies.place(to[alone]))
        emptied, by_left = _matching(copies.instance(known), copies.instance_of[rows["from_consumer"][left]])
        alone, left = alone[by_alone], left[by_left]
        parts = (
            (before, np.full(len(before), -1), True, _ANY),
            (from_[end], 3 * end + 1, False, True),
            (known[others], 3 * alone + 1, False, _ANY),
            (known[emptied], 3 * left, False, _ANY),
            (to[begin], 3 * begin + 2, True, False),
        )
        copy = np.concatenate([part[0] for part in parts])
        order = np.concatenate([part[1] for part in parts])
        is_held, expected = (
            np.repeat([int(part[of]) for part in parts], [len(part[0]) for part in parts]) for of in (2, 3)
        )
        in_time = (copy * (3 * len(rows) + 4) + order + 1).argsort()
        copy, order, is_held, expected = copy[in_time], order[in_time], is_held[in_time], expected[in_time]
        return copy, np.append(moment, -1)[order // 3], is_held, _before(copy, is_held), expected

    @property
    def misfits(self) -> list[int]:
        """The rounds with a step that ends a copy that is not there, or begins one that is."""
        found: list[int] = np.unique(self.round_of[self._misfits]).tolist()
        return found

    @cached_property
    def round(self) -> Numbers:
        """By change: the round, -1 before the first one."""
        rounds: Numbers = np.append(self.round_of, -1)[self.moment]
        return rounds

    @cached_property
    def task(self) -> Numbers:
        """By change: the task."""
        return self.copies.task(self.copy)

    @cached_property
    def role(self) -> Numbers:
        """By change: the role."""
        return self.copies.role(self.copy)

    @cached_property
    def sign(self) -> Numbers:
        """By change: 1 if the copy is there since, -1 if it is no more."""
        return 2 * self.is_held - 1

    @cached_property
    def after(self) -> Numbers:
        """The copies that are held after the last round."""
        held: Numbers = self.copy[_is_last(self.copy) & (self.is_held == 1)]
        return held

    @cached_property
    def by_round(self) -> tuple[Numbers, Numbers, Numbers]:
        """What each round changes in all: the copies, the round, and the sign."""
        last = _is_last(self.copy, self.round)
        copy, number, is_held = self.copy[last], self.round[last], self.is_held[last]
        changed = (is_held != _before(copy, is_held)) & (number >= 0)
        return copy[changed], number[changed], 2 * is_held[changed] - 1

    @cached_property
    def difference(self) -> Difference:
        """What each round decides otherwise than it is held after it.

        An instance that is to run a task keeps no copy of it. Whoever has a turn of its own later may still hold what
        is to go, and may have got by then what was withheld.
        """
        copies, which = self.copies, self.rows["kind"] == WITHHOLD
        rows, number = self.rows[which], self.row_round[which]
        by_task = rows["task"].argsort(kind="stable")  # what is close together is found sooner
        rows, number = rows[by_task], number[by_task]
        task, owner, new_owner = rows["task"], rows["from_consumer"], rows["to_consumer"]
        standby, of_row = copies.on_instance(task, copies.instance_of[new_owner], STANDBY)
        gone = np.append(copies.number(task, owner, ACTIVE), standby), np.append(number, number[of_row])
        come = copies.number(task, new_owner, ACTIVE), number
        temporary, since, until = self.intervals(self.role == TEMPORARY)
        kept = np.repeat(temporary, until - since), _counted(since, until)
        rounds = len(self.rounds)
        stays = are_among(gone[0] * rounds + gone[1], come[0] * rounds + come[1])
        lost = [of[self._holds(*gone) & ~stays] for of in gone]
        got = [of[~self._holds(*come)] for of in come]
        pairs = [_unique(*part) for part in (lost, got, kept)]
        return Difference(
            np.concatenate([copy for copy, _ in pairs]),
            np.concatenate([at for _, at in pairs]),
            np.repeat([-1, 1, -1], [len(copy) for copy, _ in pairs]),
        )

    @property
    def last_difference(self) -> Difference:
        """The difference of the last round, as of the round before the first one of those that come next."""
        last = self.difference.round == len(self.rounds) - 1
        return Difference(*(of[last] for of in self.difference))

    @property
    def withholds(self) -> list[bool]:
        """Whether anything is withheld, round by round."""
        of = self.difference
        found: list[bool] = (np.bincount(of.round[of.sign > 0], minlength=len(self.rounds)) > 0).tolist()
        return found

    def intervals(self, which: Mask) -> tuple[Numbers, Numbers, Numbers]:
        """Return which of these copies are held after rounds: since which round, and until before which."""
        last = _is_last(self.copy, self.round)
        copy, since, is_held, which = self.copy[last], self.round[last], self.is_held[last], which[last]
        until = np.zeros_like(since)
        until[:-1] = since[1:]
        until[_is_last(copy)] = len(self.rounds)
        since, until = since.clip(0), until.clip(0)
        which = which & (is_held == 1) & (since < until)
        return copy[which], since[which], until[which]

    def _holds(self, copy: Numbers, number: Numbers) -> Mask:
        """Tell whether each copy is held after a round."""
        rounds = len(self.rounds) + 1
        place = (self.copy * rounds + self.round + 1).searchsorted(copy * rounds + number + 1, "right") - 1
        holds: Mask = (np.append(self.copy, -1)[place] == copy) & (np.append(self.is_held, 0)[place] == 1)
        return holds

    def decided(self, role: int) -> Totals:
        """Count for how many consumers each task is decided in a role: of all at first, then if it changes."""
        of_role = self.role == role
        copy, number, sign = self._decided(self.copy[of_role], self.round[of_role], self.sign[of_role], role)
        task = self.copies.task(copy)
        if self._start == 0:
            tasks = np.arange(len(self.copies.group.tasks))
            zeros = np.zeros_like(tasks)
            task, number, sign = np.append(tasks, task), np.append(zeros, number), np.append(zeros, sign)
        return Totals.of(task, number, sign)

    def decided_by_place(self) -> Totals:
        """Count how many copies of a task are decided on an instance, where that changes."""
        copy, number, sign = self._decided(self.copy, self.round, self.sign)
        return Totals.of(self.copies.place(copy), number, sign)

    def held_by_place(self) -> Totals:
        """Count how many copies of a task are held on an instance, where that changes."""
        return Totals.of(self.copies.place(self.copy), self.round.clip(self._start), self.sign)

    def active_in_time(self) -> Totals:
        """Count how many run each task, before the first round (at 0) and at the moments after it (from 1 on)."""
        active = self.role == ACTIVE
        return Totals.of(self.task[active], self.moment[active] + 1, self.sign[active])

    def _decided(
        self, copy: Numbers, number: Numbers, sign: Numbers, role: int | None = None
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return changes of what is held, and before the first round, with what is decided otherwise meanwhile."""
        now, before = self.difference, self._pending
        parts = [
            (copy, number.clip(self._start), sign),
            (now.copy, now.round, now.sign),
            (now.copy, now.round + 1, -now.sign),
            (before.copy, np.full_like(before.round, -1), before.sign),
            (before.copy, np.zeros_like(before.round), -before.sign),
        ]
        copy, number, sign = (np.concatenate([part[of] for part in parts]) for of in range(3))
        inside = number < len(self.rounds)
        if role is not None:
            inside &= self.copies.role(copy) == role
        return copy[inside], number[inside], sign[inside]


def _moments(rnd: Round, *, apart: bool) -> list[Rows]:
    return [rnd.steps.rows] if apart else [steps.every_row for _, steps in rnd.moments]


def _check_range(group: Group, rows: Rows) -> None:
    """Check that rows are of tasks and consumers of the group, and have the seats that their kinds have."""
    tasks, consumers, roles = len(group.tasks), len(group.consumer_ids), len(ROLES)
    ends = {"kind": EVENT + 1, "task": tasks, "from_consumer": consumers, "to_consumer": consumers}
    ends |= {"from_role": roles, "to_role": roles}
    for name, end in ends.items():
        if not ((rows[name] >= -1) & (rows[name] < end)).all():
            raise ValueError(f"there is no such {name.replace('_', ' ')}")
    kind, from_, to = rows["kind"], rows["from_consumer"], rows["to_consumer"]
    has_seats = (from_ != NO_SEAT) | are(kind, PLACE, KEEP_TEMPORARY, HAND_OVER, EVENT)
    if not (has_seats & ((to == NO_SEAT) == are(kind, REVOKE, DROP, MEMBER_LEFT, EVENT))).all():
        raise ValueError("it has no seat, or one too many")


def _matching(keys: Numbers, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Return the places of all keys that are equal to a wanted one, and the place of that one."""
    in_order = keys.argsort(kind="stable")
    first, end = (keys[in_order].searchsorted(wanted, side) for side in ("left", "right"))
    return in_order[_counted(first, end)], np.repeat(np.arange(len(wanted)), end - first)


def _counted(first: Numbers, end: Numbers) -> Numbers:
    """Return the numbers from each of the first ones up to its end, one range after the other."""
    number = end - first
    return np.repeat(first - number.cumsum() + number, number) + np.arange(number.sum())


def are_among(keys: Numbers, others: Numbers) -> Mask:
    """Tell which keys are among others, of which there are few, or that are mostly close together."""
    if not len(others) or not len(keys):
        return np.zeros(len(keys), np.bool_)
    others = np.sort(others)
    found: Mask = others.take(others.searchsorted(keys), mode="clip") == keys
    return found


def _in_order(*columns: Numbers) -> Numbers:
    """Return the places of rows in the order of two columns, the first one before all; none is less than -1."""
    first, second = columns
    in_order: Numbers = (first * (second.max(initial=0) + 2) + second).argsort(kind="stable")
    return in_order


def _unique(copy: Numbers, number: Numbers) -> tuple[Numbers, Numbers]:
    """Return each pair once."""
    in_order = _in_order(copy, number)
    copy, number = copy[in_order], number[in_order]
    last = _is_last(copy, number)
    return copy[last], number[last]


def _is_last(*columns: Numbers) -> Mask:
    """Tell which rows differ from the next one."""
    last = np.ones(len(columns[0]), np.bool_)
    last[:-1] = np.logical_or.reduce([of[1:] != of[:-1] for of in columns])
    return last


def _before(copy: Numbers, value: Numbers) -> Numbers:
    """Return the value one row earlier, where that is about the same copy; else 0."""
    before, goes_on = np.zeros_like(value), ~_is_last(copy)
    before[1:][goes_on[:-1]] = value[:-1][goes_on[:-1]]
    return before
