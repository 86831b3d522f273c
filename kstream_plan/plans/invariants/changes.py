"""The changes of copies by the steps of consecutive rounds, in columns: a task, its consumer, its role and the time."""

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
#: Instead of whether a copy was there before: it does not matter.
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

    def numbers_of(self, holdings: Sequence[Holding]) -> Numbers:
        """Return the numbers of the copies in holdings by consumer."""
        tasks, seats = list[int](), list[int]()
        for consumer, holding in enumerate(holdings):
            for role, of_role in enumerate(holding):
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
        """Return all copies that an instance could have of a task in a role, and the place of each copy's task."""
        number = self._capacity[instance]
        task_places = np.repeat(np.arange(len(task)), number)
        thread = np.arange(len(task_places)) - np.repeat(number.cumsum() - number, number)
        return self.number(task[task_places], self._first_consumer[instance[task_places]] + thread, role), task_places


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
    """The copies decided in a round and not held after it (``sign`` 1), or held and not decided (-1)."""

    copy: Numbers
    round: Numbers
    sign: Numbers


class Totals(NamedTuple):
    """The ``number`` of a ``key`` from a ``time`` on, where it changes; in time."""

    time: Numbers
    key: Numbers
    number: Numbers

    @classmethod
    def from_changes(cls, key: Numbers, time: Numbers, change: Numbers) -> Totals:
        """Add up the changes; those before time 0 are counted, and not returned."""
        in_order = _in_order(key, time)
        key, time, total = key[in_order], time[in_order], change[in_order].cumsum()
        last, ends = _is_last(key, time), _is_last(key)
        of_others = np.repeat(np.append(0, total[ends])[:-1], np.diff(np.append(-1, ends.nonzero()[0])))
        last &= time >= 0
        return cls(time[last], key[last], (total - of_others)[last])

    def rows(self, mask: Mask) -> Iterator[tuple[int, int, int]]:
        """Yield the rows of a mask, in time."""
        in_order = _in_order(self.time[mask], self.key[mask])
        return zip(*(column[mask][in_order].tolist() for column in self), strict=True)


class CopyChanges:
    """The changes of copies by the steps of a ``part`` of a plan, in the order of copies and then of time.

    A change is the ``copy``, the ``moment`` (of a round or an update in it; -1: it was there before) and whether it is
    there since (``is_held``). ``before`` are the copies that are held before the first round, and ``pending`` is the
    :class:`Difference` of the round before that.
    """

    def __init__(
        self,
        copies: Copies,
        part: Part,
        copies_before: Numbers,
        pending: Difference | None,
        *,
        apart: bool,
    ) -> None:
        """``apart``: without the steps of stateless tasks. ``pending`` is ``None`` before the first round of a plan.

        Raises:
            ValueError: a row has a number that is none, or lacks one.
        """
        self.copies, self.part, self.rounds, self.is_first = copies, part, part.rounds, pending is None
        #: the round for which the copies before count
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
        copy, moment, is_held, was_held, was_expected = self._events(copies_before, rows, moment)
        self._misfits = moment[(was_expected != _ANY) & (was_expected != was_held)]
        self.copy, self.moment, self.is_held = copy, moment, is_held
        self._keep(_is_last(copy, moment))
        self._keep(self.is_held != _previous_value(self.copy, self.is_held))
        self._pending = Difference(*np.zeros((3, 0), np.int64)) if pending is None else pending

    def _keep(self, mask: Mask) -> None:
        self.copy, self.moment, self.is_held = self.copy[mask], self.moment[mask], self.is_held[mask]

    def _events(self, copies_before: Numbers, rows: Rows, moment: Numbers) -> tuple[Numbers, ...]:
        """Return by copy, in time: its number, the moment, whether it is held then, was held before and had to be."""
        copies, kind, task = self.copies, rows["kind"], rows["task"]
        from_copy = copies.number(task, rows["from_consumer"], rows["from_role"])
        to_copy = copies.number(task, rows["to_consumer"], rows["to_role"])
        moves, is_alone = ~are(kind, MEMBER_LEFT, WITHHOLD), are(kind, *BEGINS_ALONE)
        end = (moves & ~is_alone & (rows["from_consumer"] != NO_SEAT)).nonzero()[0]
        begin = (moves & (rows["to_consumer"] != NO_SEAT)).nonzero()[0]
        alone_rows, leave_rows = is_alone.nonzero()[0], (kind == MEMBER_LEFT).nonzero()[0]
        known_copies = np.sort(np.concatenate([copies_before, from_copy[end], to_copy[begin]]))
        known_copies = known_copies[_is_last(known_copies)]
        replaced, by_alone = _matching(copies.place(known_copies), copies.place(to_copy[alone_rows]))
        emptied, by_left = _matching(
            copies.instance(known_copies), copies.instance_of[rows["from_consumer"][leave_rows]]
        )
        alone_rows, leave_rows = alone_rows[by_alone], leave_rows[by_left]
        parts = (
            (copies_before, np.full(len(copies_before), -1), True, _ANY),
            (from_copy[end], 3 * end + 1, False, True),
            (known_copies[replaced], 3 * alone_rows + 1, False, _ANY),
            (known_copies[emptied], 3 * leave_rows, False, _ANY),
            (to_copy[begin], 3 * begin + 2, True, False),
        )
        copy = np.concatenate([part[0] for part in parts])
        order = np.concatenate([part[1] for part in parts])
        is_held, was_expected = (
            np.repeat([int(part[column]) for part in parts], [len(part[0]) for part in parts]) for column in (2, 3)
        )
        in_time = (copy * (3 * len(rows) + 4) + order + 1).argsort()
        copy, order, is_held, was_expected = copy[in_time], order[in_time], is_held[in_time], was_expected[in_time]
        return copy, np.append(moment, -1)[order // 3], is_held, _previous_value(copy, is_held), was_expected

    @property
    def misfits(self) -> list[int]:
        """The rounds with a step that ends a copy that is not there, or begins one that is."""
        misfit_rounds: list[int] = np.unique(self.round_of[self._misfits]).tolist()
        return misfit_rounds

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
    def copies_after(self) -> Numbers:
        """The copies that are held after the last round."""
        copies: Numbers = self.copy[_is_last(self.copy) & (self.is_held == 1)]
        return copies

    @cached_property
    def by_round(self) -> tuple[Numbers, Numbers, Numbers]:
        """The changes of each round in all: the copies, the round, and the sign."""
        last = _is_last(self.copy, self.round)
        copy, number, is_held = self.copy[last], self.round[last], self.is_held[last]
        is_changed = (is_held != _previous_value(copy, is_held)) & (number >= 0)
        return copy[is_changed], number[is_changed], 2 * is_held[is_changed] - 1

    @cached_property
    def difference(self) -> Difference:
        """The difference between the decision of each round and the holdings after it.

        An instance that is to run a task keeps no copy of it. A member with a later update of its own may still hold a
        task that it is to give up, and may have got by then a task that was withheld.
        """
        copies, is_withhold = self.copies, self.rows["kind"] == WITHHOLD
        rows, number = self.rows[is_withhold], self.row_round[is_withhold]
        by_task = rows["task"].argsort(kind="stable")  # neighbours are found sooner
        rows, number = rows[by_task], number[by_task]
        task, owner, new_owner = rows["task"], rows["from_consumer"], rows["to_consumer"]
        standby, of_row = copies.on_instance(task, copies.instance_of[new_owner], STANDBY)
        removed = np.append(copies.number(task, owner, ACTIVE), standby), np.append(number, number[of_row])
        added = copies.number(task, new_owner, ACTIVE), number
        temporary, first_round, end_round = self.intervals(self.role == TEMPORARY)
        temporaries = np.repeat(temporary, end_round - first_round), _ranges(first_round, end_round)
        rounds = len(self.rounds)
        stays = are_among(removed[0] * rounds + removed[1], added[0] * rounds + added[1])
        dropped = [column[self._holds(*removed) & ~stays] for column in removed]
        gained = [column[~self._holds(*added)] for column in added]
        pairs = [_unique(*part) for part in (dropped, gained, temporaries)]
        return Difference(
            np.concatenate([copy for copy, _ in pairs]),
            np.concatenate([numbers for _, numbers in pairs]),
            np.repeat([-1, 1, -1], [len(copy) for copy, _ in pairs]),
        )

    @property
    def last_difference(self) -> Difference:
        """The difference of the last round, as of the round before the first one of those that come next."""
        last = self.difference.round == len(self.rounds) - 1
        return Difference(*(column[last] for column in self.difference))

    @property
    def withholds(self) -> list[bool]:
        """For each round whether a task is withheld."""
        difference = self.difference
        flags: list[bool] = (
            np.bincount(difference.round[difference.sign > 0], minlength=len(self.rounds)) > 0
        ).tolist()
        return flags

    def intervals(self, mask: Mask) -> tuple[Numbers, Numbers, Numbers]:
        """Return the copies of a mask that are held after rounds, with the first round and the end (exclusive)."""
        last = _is_last(self.copy, self.round)
        copy, first_round, is_held, mask = self.copy[last], self.round[last], self.is_held[last], mask[last]
        end_round = np.zeros_like(first_round)
        end_round[:-1] = first_round[1:]
        end_round[_is_last(copy)] = len(self.rounds)
        first_round, end_round = first_round.clip(0), end_round.clip(0)
        mask = mask & (is_held == 1) & (first_round < end_round)
        return copy[mask], first_round[mask], end_round[mask]

    def _holds(self, copy: Numbers, number: Numbers) -> Mask:
        """Tell whether each copy is held after a round."""
        rounds = len(self.rounds) + 1
        place = (self.copy * rounds + self.round + 1).searchsorted(copy * rounds + number + 1, "right") - 1
        holds: Mask = (np.append(self.copy, -1)[place] == copy) & (np.append(self.is_held, 0)[place] == 1)
        return holds

    def decided_in_role(self, role: int) -> Totals:
        """Count for how many consumers each task is decided in a role: of all at first, then if it changes."""
        of_role = self.role == role
        copy, number, sign = self._decision_changes(self.copy[of_role], self.round[of_role], self.sign[of_role], role)
        task = self.copies.task(copy)
        if self._start == 0:
            tasks = np.arange(len(self.copies.group.tasks))
            zeros = np.zeros_like(tasks)
            task, number, sign = np.append(tasks, task), np.append(zeros, number), np.append(zeros, sign)
        return Totals.from_changes(task, number, sign)

    def decided_by_place(self) -> Totals:
        """Count how many copies of a task are decided on an instance, where that changes."""
        copy, number, sign = self._decision_changes(self.copy, self.round, self.sign)
        return Totals.from_changes(self.copies.place(copy), number, sign)

    def held_by_place(self) -> Totals:
        """Count how many copies of a task are held on an instance, where that changes."""
        return Totals.from_changes(self.copies.place(self.copy), self.round.clip(self._start), self.sign)

    def active_in_time(self) -> Totals:
        """Count how many run each task, before the first round (at 0) and at the moments after it (from 1 on)."""
        active = self.role == ACTIVE
        return Totals.from_changes(self.task[active], self.moment[active] + 1, self.sign[active])

    def _decision_changes(
        self, copy: Numbers, number: Numbers, sign: Numbers, role: int | None = None
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return these changes of holdings together with the differences of decisions."""
        current, previous = self.difference, self._pending
        parts = [
            (copy, number.clip(self._start), sign),
            (current.copy, current.round, current.sign),
            (current.copy, current.round + 1, -current.sign),
            (previous.copy, np.full_like(previous.round, -1), previous.sign),
            (previous.copy, np.zeros_like(previous.round), -previous.sign),
        ]
        copy, number, sign = (np.concatenate([part[column] for part in parts]) for column in range(3))
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
    kind, from_consumer, to_consumer = rows["kind"], rows["from_consumer"], rows["to_consumer"]
    has_seats = (from_consumer != NO_SEAT) | are(kind, PLACE, KEEP_TEMPORARY, HAND_OVER, EVENT)
    if not (has_seats & ((to_consumer == NO_SEAT) == are(kind, REVOKE, DROP, MEMBER_LEFT, EVENT))).all():
        raise ValueError("it has no seat, or one too many")


def _matching(keys: Numbers, wanted_keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the places of all keys that are equal to a wanted one, and the place of that one."""
    in_order = keys.argsort(kind="stable")
    first, end = (keys[in_order].searchsorted(wanted_keys, side) for side in ("left", "right"))
    return in_order[_ranges(first, end)], np.repeat(np.arange(len(wanted_keys)), end - first)


def _ranges(first: Numbers, end: Numbers) -> Numbers:
    """Return the numbers from each of the first ones up to its end, one range after the other."""
    number = end - first
    return np.repeat(first - number.cumsum() + number, number) + np.arange(number.sum())


def are_among(keys: Numbers, wanted_keys: Numbers) -> Mask:
    """Tell which keys are among the wanted ones, which are few, or mostly close together."""
    if not len(wanted_keys) or not len(keys):
        return np.zeros(len(keys), np.bool_)
    wanted_keys = np.sort(wanted_keys)
    mask: Mask = wanted_keys.take(wanted_keys.searchsorted(keys), mode="clip") == keys
    return mask


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
    last[:-1] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return last


def _previous_value(copy: Numbers, value: Numbers) -> Numbers:
    """Return the value one row earlier, where that is about the same copy; else 0."""
    previous, goes_on = np.zeros_like(value), ~_is_last(copy)
    previous[1:][goes_on[:-1]] = value[:-1][goes_on[:-1]]
    return previous
