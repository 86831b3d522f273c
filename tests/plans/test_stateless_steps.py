"""What happens to a stateless task is told in order, with who gave it up and why."""

from __future__ import annotations

import pickle

from kstream_plan.designs.classic.stateless_tasks import stateless_owners
from kstream_plan.model import Holding, Holdings, no_owners, revoked_by
from kstream_plan.plans import (
    HandOver,
    MemberJoined,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    StatelessSteps,
    Step,
    ThreadMove,
    Withhold,
)
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import PROTOCOLS
from tests.helpers.small_groups import group

#: Task 0 is its only one; consumers 0 and 1 are i1's, 2 and 3 i2's.
GROUP = group(stateful=0, stateless=1)
LIMIT = 10_000
LEAST_LOADED, MOVES_AWAY = Reason(ReasonCode.STATELESS_LEAST_LOADED), Reason(ReasonCode.MOVES_AWAY, limit=LIMIT)
EVENED_OUT = Reason(ReasonCode.THREADS_EVENED_OUT)
TASK = GROUP.tasks[0].task_id
SEATS = [Seat(consumer_id.split("-")[0], consumer_id, Role.ACTIVE) for consumer_id in GROUP.consumer_ids]


def _held(by: int | None) -> tuple[Holding, ...]:
    return tuple(Holding((0,)) if consumer == by else Holding() for consumer in range(6))


def _steps(
    owner: int | None,
    decided: int,
    *,
    protocol: str = "cooperative",
    revoked: int | None = None,
    evened_out: bool = False,
) -> tuple[Step, ...]:
    held = Holdings.of(GROUP, _held(owner))
    if revoked is not None:
        held = Holdings(held.stateful, held.stateless, revoked_by(held.owners * 0 + revoked))
    maker = StatelessSteps(GROUP, LIMIT, evened_out=evened_out)
    to = Holdings.of(GROUP, _held(decided)).owners
    after, _, _ = stateless_owners(held.owners, to, PROTOCOLS[protocol].gives_up(GROUP))
    changes = maker.changes(0, held.owners, to, after)
    assert (changes is None) == (owner == decided)
    steps = RoundSteps.from_steps(StepMaker(GROUP), (), changes)
    assert len(steps) == len(tuple(steps))
    if changes is not None:
        assert changes.hops() == sum(_is_hop(step) for step in steps)
    return tuple(steps)


def _is_hop(step: Step) -> bool:
    return isinstance(step, HandOver) and (step.from_ is None or step.from_.process_id != step.to.process_id)


def test_one_that_stays_takes_no_step() -> None:
    assert _steps(0, 0) == ()


def test_one_that_moves_is_revoked_and_withheld() -> None:
    revoke = Revoke(TASK, SEATS[0], MOVES_AWAY)
    assert _steps(0, 2) == (revoke, Withhold(TASK, SEATS[0], SEATS[2], LEAST_LOADED))
    evened_out = Withhold(TASK, SEATS[0], SEATS[2], Reason(ReasonCode.STATELESS_EVENED_OUT))
    assert _steps(0, 2, evened_out=True) == (revoke, evened_out)


def test_one_that_changes_its_thread_is_revoked_and_withheld_for_that() -> None:
    assert _steps(0, 1) == (Revoke(TASK, SEATS[0], EVENED_OUT), Withhold(TASK, SEATS[0], SEATS[1], EVENED_OUT))


def test_one_that_was_revoked_is_handed_over() -> None:
    assert _steps(None, 2, revoked=0) == (
        HandOver(TASK, SEATS[0], SEATS[2], caught_up=True, restore_records=0, reason=LEAST_LOADED),
    )
    assert _steps(None, 1, revoked=0) == (ThreadMove(TASK, SEATS[0], SEATS[1], EVENED_OUT),)


def test_one_that_comes_back_to_who_revoked_it_does_not_change_its_thread() -> None:
    assert _steps(None, 0, revoked=0) == (
        HandOver(TASK, SEATS[0], SEATS[0], caught_up=True, restore_records=0, reason=LEAST_LOADED),
    )


def test_one_that_nobody_ran_is_handed_over_from_nobody() -> None:
    assert _steps(None, 3) == (HandOver(TASK, None, SEATS[3], caught_up=True, restore_records=0, reason=LEAST_LOADED),)


def test_one_that_was_given_up_before_the_rebalance_starts_in_it() -> None:
    revoke = Revoke(TASK, SEATS[0], Reason(ReasonCode.MOVES_AWAY))
    hand_over = HandOver(TASK, SEATS[0], SEATS[2], caught_up=True, restore_records=0, reason=LEAST_LOADED)
    assert _steps(0, 2, protocol="eager") == (revoke, hand_over)
    assert _steps(0, 1, protocol="eager") == (ThreadMove(TASK, SEATS[0], SEATS[1], EVENED_OUT),)


def test_the_steps_are_a_sequence_between_those_of_members_and_stateful_tasks() -> None:
    members = group(stateful=1, stateless=2)  # tasks 0_0, 1_0 and 1_1
    joined = MemberJoined("i2", Reason(ReasonCode.MEMBERSHIP))
    seat = Seat("i1", "i1-1", Role.ACTIVE)
    stateful = Revoke(members.tasks[0].task_id, seat, MOVES_AWAY)
    nobody, decided = no_owners(members), no_owners(members)
    decided[:] = 2
    maker = StatelessSteps(members, LIMIT, evened_out=False)
    changes = maker.changes(1, nobody, decided, decided)
    steps = RoundSteps.from_steps(StepMaker(members), (joined, stateful), changes)
    starts = [
        HandOver(members.tasks[n].task_id, None, SEATS[2], caught_up=True, restore_records=0, reason=LEAST_LOADED)
        for n in (1, 2)
    ]
    assert steps == (joined, stateful, *starts)
    assert (steps[0], steps[-1], steps[1:3]) == (joined, starts[1], (stateful, starts[0]))
    assert hash(steps) == hash(tuple(steps))
    assert repr(steps) == repr(tuple(steps))
    assert steps != (joined, stateful)
    assert pickle.loads(pickle.dumps(steps)) == steps
    assert steps.of_members == [joined]
    assert steps.single == (joined, stateful)
