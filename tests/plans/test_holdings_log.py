"""A log of rounds makes what was decided and is held after each of them, in whatever order it is read."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from kstream_plan.model import Holding
from kstream_plan.plans import (
    Demote,
    HandOver,
    Place,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    Withhold,
)
from kstream_plan.plans.replay import HoldingsLog, Outcome, replay
from tests.helpers.in_rows import round_steps
from tests.helpers.small_groups import group

GROUP = group(stateful=3, stateless=0)
WHY = Reason(ReasonCode.MOVES_AWAY)
FIRST = (Holding((0, 1)), Holding((2,)), *[Holding()] * 4)


def _seat(consumer: int, role: Role = Role.ACTIVE) -> Seat:
    process_id, consumer_id = [*GROUP.consumer_index][consumer]
    return Seat(process_id, consumer_id, role)


def _moved(task: int, from_: int, to: int) -> list[tuple[Step, ...]]:
    task_id = GROUP.tasks[task].task_id
    standby = _seat(from_, Role.STANDBY)
    return [
        (Place(task_id, None, _seat(to, Role.WARMUP), 5, WHY),),
        (Demote(task_id, _seat(from_), standby, WHY), Withhold(task_id, _seat(from_), _seat(to), WHY)),
        (HandOver(task_id, _seat(from_), _seat(to), True, 0, WHY),),
    ]


ROUNDS = [*_moved(0, 0, 2), (), *_moved(2, 1, 3), (Revoke(GROUP.tasks[1].task_id, _seat(0), WHY),)]
OUTCOMES = [*replay(GROUP, FIRST, [round_steps(GROUP, steps) for steps in ROUNDS])]


def _log(rounds: int, current: list[int] | None = None) -> HoldingsLog:
    """``current`` takes down whenever it is asked for the last outcome."""

    def last() -> Outcome:
        assert current is not None
        current.append(rounds - 1)
        return OUTCOMES[rounds - 1]

    log = HoldingsLog(GROUP, FIRST, None if current is None else last)
    for steps in ROUNDS[:rounds]:
        log.add(round_steps(GROUP, steps), warmups=0, temporary=0)
    return log


@pytest.mark.parametrize("order", random.Random(1).sample([*permutations(range(len(ROUNDS)))], 50))
def test_it_makes_them_in_any_order(order: tuple[int, ...]) -> None:
    for log in (_log(len(ROUNDS)), _log(len(ROUNDS), [])):
        assert [log.outcome(number) for number in order] == [OUTCOMES[number] for number in order]


def test_the_last_one_is_what_is_current() -> None:
    asked: list[int] = []
    log = _log(len(ROUNDS), asked)
    assert log.outcome(len(ROUNDS) - 1) is OUTCOMES[-1]
    assert log.outcome(len(ROUNDS) - 2) == OUTCOMES[-2]
    log.close()
    assert log.outcome(len(ROUNDS) - 1) is OUTCOMES[-1]
    assert asked == [len(ROUNDS) - 1]


def test_it_knows_which_it_was_told() -> None:
    asked: list[int] = []
    log, result = _log(len(ROUNDS), asked), _log(len(ROUNDS))
    last = len(ROUNDS) - 1
    assert [log.was_current(number) for number in range(len(ROUNDS))] == [False] * last + [True]
    log.close()
    result.close()
    assert log.was_current(last)
    assert not result.was_current(last)
    assert (log.held_before(0), log.held_before(2)) == (FIRST, OUTCOMES[1].assignment)


def test_what_it_makes_says_of_which_steps() -> None:
    log, steps = HoldingsLog(GROUP, FIRST), [round_steps(GROUP, entry) for entry in ROUNDS]
    for number, item in enumerate(steps):
        decided, assigned = log.add(item, warmups=0, temporary=0)
        assert (decided.log, decided.number, decided.field) == (log, number, "decision")
        assert (assigned.log, assigned.number, assigned.field) == (log, number, "assignment")
        assert log.steps_of(number) is item


def test_it_is_asked_for_before_it_changes() -> None:
    asked: list[int] = []
    log = _log(3, asked)
    log.close()
    assert asked == [2]
    assert log.outcome(2) is OUTCOMES[2]


def test_rounds_that_are_added_later_go_on_from_those_before() -> None:
    log = HoldingsLog(GROUP, FIRST)
    for number, steps in enumerate(ROUNDS):
        decided, assigned = log.add(round_steps(GROUP, steps), warmups=2, temporary=1)
        assert (decided.extra_copies, assigned.extra_copies) == (2, 3)
        assert (decided, assigned) == OUTCOMES[number]
        before = FIRST if number == 0 else log.outcome(number - 1).assignment
        assert all(one is other for one, other in zip(before, assigned, strict=True) if one == other)


def test_rows_that_do_not_fit_what_is_held_are_told() -> None:
    revoke = Revoke(GROUP.tasks[0].task_id, _seat(3), WHY)
    with pytest.raises(ValueError, match="'i2-2' does not hold 0_0 as active"):
        next(replay(GROUP, FIRST, [round_steps(GROUP, [revoke])]))
    place = Place(GROUP.tasks[0].task_id, None, _seat(0), 0, WHY)
    with pytest.raises(ValueError, match="'i1-1' holds 0_0 as active already"):
        next(replay(GROUP, FIRST, [round_steps(GROUP, [place])]))


def test_a_log_whose_rows_do_not_fit_says_so_again_and_again() -> None:
    log = HoldingsLog(GROUP, FIRST)
    for steps in (*ROUNDS[:2], (Revoke(GROUP.tasks[0].task_id, _seat(3), WHY),), ()):
        log.add(round_steps(GROUP, steps), warmups=0, temporary=0)
    assert log.outcome(0) == OUTCOMES[0]
    for number in (2, 2, 3):
        with pytest.raises(ValueError, match="'i2-2' does not hold 0_0 as active"):
            log.outcome(number)
    assert log.outcome(1) == OUTCOMES[1]
