"""Every invariant is tripped by a plan that breaks it, and by nothing else in that plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kstream_plan.errors import PlanInvariantError
from kstream_plan.model import Consumer, Group, Holding, Instance, Target, Task, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import (
    Drop,
    HandOver,
    InstanceLeaving,
    MemberLeft,
    Place,
    Plan,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    Trigger,
    Verdict,
    Withhold,
)
from kstream_plan.plans.invariants import OF_PLAN, OF_ROUNDS, broken_invariants
from tests.helpers import learner_cases
from tests.helpers.in_rows import round_steps
from tests.helpers.small_plans import plan_of, round_of

GROUP = Group.of(
    "orders",
    [
        Task(task_id=TaskId(0, 0), stateful=True, end_offset_sum=100),
        Task(task_id=TaskId(0, 1), stateful=True, end_offset_sum=100),
        Task(task_id=TaskId(1, 0), stateful=False),
    ],
    [
        Instance(process_id=name, consumers=(Consumer(consumer_id=f"{name}-1"), Consumer(consumer_id=f"{name}-2")))
        for name in ("left", "right")
    ],
)
WHY = Reason(ReasonCode.MEMBERSHIP)
#: 0_0 and 1_0 on the two threads of "left", 0_1 on "right"
START = (Holding((0,)), Holding((2,)), Holding((1,)), Holding())

_Held = tuple[Holding, ...]


def _seat(consumer: int, role: Role) -> Seat:
    process_id = GROUP.instances[GROUP.instance_of[consumer]].process_id
    return Seat(process_id, GROUP.consumer_ids[consumer], role)


def _steps(before: _Held, decided: _Held, assigned: _Held) -> tuple[Step, ...]:
    steps: list[Step] = []
    for c, (old, new) in enumerate(zip(before, assigned, strict=True)):
        for role, gone in zip(Role, (set(a) - set(b) for a, b in zip(old, new, strict=True)), strict=True):
            kind = Revoke if role is Role.ACTIVE else Drop
            steps += [kind(GROUP.tasks[t].task_id, _seat(c, role), WHY) for t in sorted(gone)]
    for c, (old, new) in enumerate(zip(before, assigned, strict=True)):
        for role, come in zip(Role, (set(b) - set(a) for a, b in zip(old, new, strict=True)), strict=True):
            for task in sorted(come):
                task_id, to = GROUP.tasks[task].task_id, _seat(c, role)
                if role is Role.ACTIVE:
                    steps.append(HandOver(task_id, None, to, True, 0, WHY))
                else:
                    steps.append(Place(task_id, None, to, 0, WHY))
        for task in sorted(set(decided[c].active) - set(new.active)):
            steps.append(Withhold(GROUP.tasks[task].task_id, _seat(0, Role.ACTIVE), _seat(c, Role.ACTIVE), WHY))
    return tuple(steps)


def _plan(*outcomes: tuple[_Held, _Held], initial: _Held = START, **changes: object) -> Plan:
    """A consistent plan from what each round decided and what was then held."""
    rounds, before = [], initial
    for number, (decided, assigned) in enumerate(outcomes, start=1):
        rounds.append(round_of(GROUP, number, _steps(before, decided, assigned), decided, assigned))
        before = assigned
    return plan_of(GROUP, initial, rounds, **changes)


def _held(**holdings: Holding) -> _Held:
    return tuple(holdings.get(f"c{c}", START[c]) for c in range(4))


MOVED = _held(c0=Holding(), c3=Holding((0,)))
REVOKED = _held(c0=Holding())
SOUND = _plan((MOVED, REVOKED), (MOVED, MOVED))


def _with_round(plan: Plan, number: int, **changes: object) -> Plan:
    rounds = list(plan.rounds)
    rounds[number - 1] = replace(rounds[number - 1], **changes)
    return replace(plan, rounds=tuple(rounds))


def _probing_after_withheld() -> Plan:
    plan = _with_round(SOUND, 2, trigger=Trigger.PROBING)
    return replace(plan, summary=replace(plan.summary, probing_rebalances=1))


def _two_warmups() -> Plan:
    held = _held(c2=Holding((1,), (), (0,)), c1=Holding((2,), (), (1,)))
    plan = _plan((held, held), config=AssignmentConfig(max_warmup_replicas=1), verdict=Verdict("unfinished"))
    return _with_round(plan, 1, probing_rebalance=True)


def _copy(holding: Holding) -> Plan:
    held = _held(c3=holding)
    return _plan((held, held), config=AssignmentConfig(num_standby_replicas=0))


def _beside_its_active() -> Plan:
    held = _held(c1=Holding((2,), (), (0,)))
    return _plan((held, held))


def _learned_twice() -> Plan:
    """S4 learns a task, and so does S2: what follows is left out."""
    result = learner_cases.walkthrough()
    [place] = [step for step in result.rounds[0].steps if isinstance(step, Place)]
    seat = Seat("S2", "S2-1", Role.WARMUP)
    task, consumer = result.group.task_index[place.task_id], result.group.consumer_index[seat[:2]]
    held = list(result.rounds[0].assigned)
    held[consumer] = held[consumer]._replace(warmup=(task,))
    first = replace(
        result.rounds[0],
        steps=round_steps(result.group, (*result.rounds[0].steps, replace(place, to=seat))),
        decided=tuple(held),
        assigned=tuple(held),
    )
    summary = replace(result.summary, rebalances=1, duration_ms=0, moves=0, peak_extra_copies=2)
    return replace(result, rounds=(first,), final=tuple(held), verdict=Verdict("unfinished"), summary=summary)


def _leaving_for_ever() -> Plan:
    result = learner_cases.left()
    steps = [
        replace(step, until_ms=0) if isinstance(step, InstanceLeaving) else step for step in result.rounds[0].steps
    ]
    return _with_round(result, 1, steps=round_steps(result.group, steps))


BREAK: dict[str, Callable[[], Plan]] = {
    "one-active-per-task": lambda: _plan(initial=_held(c3=Holding((2,)))),
    "one-copy-per-instance": _beside_its_active,
    "no-second-owner": lambda: _plan((MOVED, MOVED)),
    "withheld-is-followed-up": _probing_after_withheld,
    "temporary-only-while-withheld": lambda: _plan((START, _held(c3=Holding((), (), (), (0,))))),
    "warmups-within-budget": _two_warmups,
    "one-learner-per-task": _learned_twice,
    "leaving-is-over-in-time": _leaving_for_ever,
    "standbys-as-wanted": lambda: _copy(Holding((), (0,))),
    "stateless-without-copies": lambda: _copy(Holding((), (), (2,))),
    "rounds-in-order": lambda: _with_round(SOUND, 2, generation=8),
    "steps-are-lossless": lambda: _with_round(SOUND, 1, decided=REVOKED),
    "verdict-fits": lambda: replace(SOUND, verdict=Verdict("unfinished")),
    "holders-are-members": lambda: replace(SOUND, members=SOUND.members[:1]),
    "settles-at-target": lambda: replace(SOUND, target=Target(((0,), (1,)), ((), ()))),
    "target-covers-every-task": lambda: replace(_plan(), target=Target(((0,), ()), ((), ()))),
    "summary-adds-up": lambda: replace(SOUND, summary=replace(SOUND.summary, rebalances=3)),
}


def test_a_sound_plan_breaks_nothing() -> None:
    assert broken_invariants(SOUND) == ()


def test_every_invariant_has_a_plan_that_breaks_it() -> None:
    assert BREAK.keys() == {*OF_ROUNDS, *OF_PLAN}


@pytest.mark.parametrize("name", [*OF_ROUNDS, *OF_PLAN])
def test_a_broken_plan_trips_its_invariant_and_nothing_else(name: str) -> None:
    broken = broken_invariants(BREAK[name]())
    assert {entry.invariant for entry in broken} == {name}, broken


@pytest.mark.parametrize("field", ["decided", "assigned"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_round_that_says_something_else_than_its_steps_is_found(number: int, field: str) -> None:
    broken = broken_invariants(_with_round(SOUND, number, **{field: _held(c2=Holding((1,), (0,)))}))
    assert ("steps-are-lossless", number) in {entry[:2] for entry in broken}


def test_a_step_of_an_unknown_consumer_does_not_fit() -> None:
    step = Drop(GROUP.tasks[0].task_id, Seat("left", "nobody", Role.STANDBY), WHY)
    with pytest.raises(ValueError, match="there is no consumer 'nobody' on instance 'left'"):
        round_steps(GROUP, (*SOUND.rounds[0].steps, step))


def test_what_an_instance_held_that_left_is_held_no_more() -> None:
    left = MemberLeft("right", 0, WHY)
    held = _held(c2=Holding())
    steps = (left, HandOver(GROUP.tasks[1].task_id, None, _seat(0, Role.ACTIVE), True, 0, WHY))
    after = (Holding((0, 1)), *held[1:])
    plan = plan_of(GROUP, START, [round_of(GROUP, 1, steps, after, after)])
    assert broken_invariants(replace(plan, members=plan.members[:1])) == ()


def test_a_broken_plan_is_reported_as_a_defect_of_this_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    from kstream_plan.simulation import one_plan

    broken = BREAK["summary-adds-up"]()
    monkeypatch.setattr(one_plan.planner, "plan", lambda *_given, **given: given["on_played"](broken))
    with pytest.raises(PlanInvariantError, match=r"summary-adds-up.*defect of kstream-plan"):
        one_plan.plan_checked(learner_cases.group("0"))
