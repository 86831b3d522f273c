"""Rounds whose holdings a log makes of their steps break what they break when all is written out: no more, no less."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.model import (
    Consumer,
    Group,
    Holding,
    Holdings,
    Instance,
    LazyHoldings,
    Note,
    RenumberedHoldings,
    no_owners,
)
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.roster import Roster
from kstream_plan.plans import Plan, Round, Trigger
from kstream_plan.plans.invariants import OF_ROUNDS, broken_invariants, changes
from kstream_plan.plans.invariants.plan_view import made_of_steps
from kstream_plan.plans.replay import HoldingsLog, Outcome, replay
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import (
    ACTIVE,
    DROP,
    HAND_OVER,
    KEEP_TEMPORARY,
    PLACE,
    PROMOTE,
    REVOKE,
    ROLES,
    STANDBY,
    TEMPORARY,
    WARMUP,
    WITHHOLD,
    Rows,
    StepMaker,
)
from tests.helpers.literal_invariants import broken_first
from tests.helpers.random_rows import NOWHERE, Place, RandomRows, row, rows
from tests.helpers.small_groups import group
from tests.helpers.small_plans import plan_of, round_of

GROUP = group(stateful=3, stateless=0)
#: 0_0 and 0_1 on the threads of i1, 0_2 on the first one of i2
START = tuple(Holding(active) for active in [(0,), (1,), (2,), (), (), ()])
MANUAL, FOLLOW_UP = Trigger.MANUAL, Trigger.FOLLOW_UP
#: What is raised of rows that do not fit, or of which no step can be made.
_ERRORS = (ValueError, LookupError, TypeError, AttributeError)


class _Rounds:
    """Rounds with what they decide and leave, as far as their steps fit: then nothing changes any more."""

    def __init__(self, item: Sequence[Rows], members: Group = GROUP, initial: Sequence[Holding] = START) -> None:
        maker = StepMaker(members)
        self.group, self.initial = members, initial
        self.steps = [RoundSteps(maker, of_round) for of_round in item]
        self.outcomes: list[Outcome] = []
        try:
            self.outcomes.extend(replay(members, initial, self.steps))
        except _ERRORS:
            missing = len(self.steps) - len(self.outcomes)
            self.outcomes += [self.outcomes[-1] if self.outcomes else Outcome(tuple(initial), tuple(initial))] * missing

    def one_by_one(self, triggers: Sequence[Trigger], **changes: object) -> Plan:
        """The plan with what is held written out."""
        found = []
        for number, (steps, outcome, trigger) in enumerate(zip(self.steps, self.outcomes, triggers, strict=True)):
            rnd = round_of(self.group, number + 1, steps, *outcome)
            found.append(replace(rnd, trigger=trigger))
        return plan_of(self.group, self.initial, found, **changes)

    def logged(self, plan: Plan, answer: Sequence[Outcome] | None = None, ways: Sequence[str] | None = None) -> Plan:
        """The plan with the outcomes of logs that are told the last ones.

        What is held after a round is written out if its way is ``written``; a log is also told if it is ``asked``.
        """
        answer, added, found = answer or self.outcomes, list[int](), list[Round]()
        log, first = self._log(self.initial, answer, added), 0
        for number, (rnd, steps) in enumerate(zip(plan.rounds, self.steps, strict=True)):
            way = "" if ways is None else ways[number]
            if way == "written":
                log.close()
                log, first = self._log(rnd.assigned, answer, added), number + 1
                found.append(rnd)
                continue
            added.append(number)
            decided, assigned = log.add(steps, warmups=_held(rnd, "warmup"), temporary=_held(rnd, "temporary"))
            if way == "asked":
                log.outcome(number - first)
            found.append(replace(rnd, decided=decided, assigned=assigned))
        log.close()
        return replace(plan, rounds=tuple(found), final=found[-1].assigned if found else plan.initial)

    def _log(self, held: Sequence[Holding], report: Sequence[Outcome], added: Sequence[int]) -> HoldingsLog:
        return HoldingsLog(self.group, held, lambda: report[added[-1]])


def _held(rnd: Round, role: str) -> int:
    return sum(len(getattr(held, role)) for held in rnd.assigned)


def _written(plan: Plan) -> Plan:
    """The plan with what is held written out."""
    rounds = (replace(rnd, decided=tuple(rnd.decided), assigned=tuple(rnd.assigned)) for rnd in plan.rounds)
    return replace(plan, rounds=tuple(rounds), final=tuple(plan.final))


def _drawn(seed: int) -> Plan:
    rng = random.Random(seed)
    sloppy = rng.choice([0, 0.02, 0.1])
    walk, triggers, drawn = RandomRows(rng, GROUP, START, sloppy), [MANUAL], []
    for _ in range(rng.randint(1, 12)):
        drawn.append(walk.next())
        triggers.append(FOLLOW_UP if walk.withholds != (rng.random() < sloppy / 10) else MANUAL)
    result, few = _Rounds(drawn), rng.choice([3, 3, 3, 3, 1])
    short = Note("standbys-short", "", tuple(str(task.task_id) for task in GROUP.tasks[rng.choice([0, 0, 0, 1]) :]))
    config = AssignmentConfig(num_standby_replicas=few, max_warmup_replicas=rng.choice([9, 9, 9, 2]))
    stopping = frozenset(rng.sample(range(6), rng.choice([0, 0, 2])))
    plan = result.one_by_one(triggers[:-1], config=config, warnings=(short,), stopping=stopping)
    answer = list(result.outcomes)
    if rng.random() < 0.1:
        other = rng.randrange(len(answer))
        answer[other] = Outcome(*rng.choice([(answer[other].decision, START), (START, answer[other].assignment)]))
    logged = result.logged(plan, answer, [rng.choice(["", "", "", "", "asked", "written"]) for _ in drawn])
    logged = _among_others(logged) if rng.random() < 0.3 else logged
    return _tampered(rng, logged) if rng.random() < 0.2 else logged


def _among_others(plan: Plan) -> Plan:
    """The plan by the indices of a group of which the first member takes no part."""
    present = plan.group
    roster = Roster(present, [Instance(process_id="i0", consumers=(Consumer(consumer_id="i0-1"),)), *present.instances])

    maker = StepMaker(roster.group)

    def of(held: Sequence[Holding]) -> Sequence[Holding]:
        return roster.holdings(present, Holdings(held, (), no_owners(present)))

    return replace(
        plan,
        group=roster.group,
        initial=of(plan.initial),
        rounds=tuple(
            replace(
                rnd,
                steps=RoundSteps.from_steps(maker, rnd.steps),
                decided=of(rnd.decided),
                assigned=of(rnd.assigned),
            )
            for rnd in plan.rounds
        ),
        final=of(plan.final),
        stopping=frozenset(consumer + 1 for consumer in plan.stopping),
        target=roster.target(present, plan.target),
    )


def _tampered(rng: random.Random, plan: Plan) -> Plan:
    """The plan without one of its rounds, or with something of another round in it."""
    rounds, index = list(plan.rounds), rng.randrange(len(plan.rounds))
    field = rng.choice(["round", "steps", "decided", "assigned", "trigger"])
    if field == "round":
        del rounds[index]
    else:
        rounds[index] = replace(rounds[index], **{field: getattr(rng.choice(rounds), field)})
    return replace(plan, rounds=tuple(rounds))


@settings(max_examples=250)
@given(st.integers(0, 2**64))
def test_random_rounds_break_what_they_break_by_the_words_of_the_invariants(seed: int) -> None:
    result = _drawn(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "_AT_ONCE", 4)
        broken = broken_invariants(result)
    if "steps-are-lossless" in {item.invariant for item in broken}:
        return
    first: dict[str, int | None] = {}
    for item in broken:
        first.setdefault(item.invariant, item.round_number)
    expected = broken_first(result)
    assert {name: first.get(name) for name in {*OF_ROUNDS, "withheld-is-followed-up"}} == {
        name: expected.get(name) for name in {*OF_ROUNDS, "withheld-is-followed-up"}
    }


PLACED = row(PLACE, 0, NOWHERE, (4, WARMUP))
REVOKED = row(REVOKE, 0, (0, ACTIVE))
KEPT = row(KEEP_TEMPORARY, 0, (4, WARMUP), (4, TEMPORARY))
WITHHELD = row(WITHHOLD, 0, (0, ACTIVE), (4, ACTIVE))
PROMOTED = row(PROMOTE, 0, (4, TEMPORARY), (4, ACTIVE))
#: 0_0 moves from i1 to i3.
MOVED = [rows(PLACED), rows(), rows(REVOKED, KEPT, WITHHELD), rows(PROMOTED), rows()]
TRIGGERS = [MANUAL, MANUAL, MANUAL, FOLLOW_UP, MANUAL]


def _placed_and_dropped(*places: tuple[int, Place]) -> Plan:
    """Copies that are gone a round later, and a move after that."""
    come = rows(*(row(PLACE, task, NOWHERE, to) for task, to in places))
    gone = rows(*(row(DROP, task, to) for task, to in places))
    return _plan([come, gone, *MOVED])


def _plan(item: Sequence[Rows], **changes: object) -> Plan:
    result = _Rounds(item)
    return result.logged(result.one_by_one([MANUAL] * (len(item) - len(MOVED)) + TRIGGERS, **changes))


def _with_stateless() -> Plan:
    """A stateless task has a warm-up for a while."""
    members = group(stateful=3, stateless=1)
    held = (*START[:5], Holding((3,)))
    copy = (2, WARMUP)
    result = _Rounds([rows(row(PLACE, 3, NOWHERE, copy)), rows(row(DROP, 3, copy)), *MOVED], members, held)
    return result.logged(result.one_by_one([MANUAL, MANUAL, *TRIGGERS]))


def test_a_copy_of_a_stateless_task_that_was_there_before_is_found() -> None:
    held = (*START[:2], Holding((2,), (), (3,)), *START[3:5], Holding((3,)))
    result = _Rounds(MOVED, group(stateful=3, stateless=1), held)
    logged = result.logged(result.one_by_one(TRIGGERS))
    broken = broken_invariants(logged)
    assert {item.invariant for item in broken} == {"stateless-without-copies"}
    assert broken == broken_invariants(_written(logged))


def _told_another_outcome() -> Plan:
    """There is a warm-up in the end that no step has placed."""
    result = _Rounds(MOVED)
    last = result.outcomes[-1].assignment
    other = (last[0]._replace(warmup=(2,)), *last[1:])
    return result.logged(result.one_by_one(TRIGGERS), [*result.outcomes[:-1], Outcome(other, other)])


BREAK: dict[str, Callable[[], Plan]] = {
    "one-active-per-task": lambda: _plan(
        [rows(row(HAND_OVER, 2, NOWHERE, (0, ACTIVE))), rows(row(REVOKE, 2, (0, ACTIVE))), *MOVED]
    ),
    "one-copy-per-instance": lambda: _placed_and_dropped((0, (1, WARMUP))),
    "no-second-owner": lambda: _plan(
        [rows(row(REVOKE, 2, (2, ACTIVE)), row(HAND_OVER, 2, (2, ACTIVE), (0, ACTIVE))), *MOVED]
    ),
    "temporary-only-while-withheld": lambda: _placed_and_dropped((0, (4, TEMPORARY))),
    "warmups-within-budget": lambda: _placed_and_dropped((0, (2, WARMUP)), (1, (2, WARMUP)), (2, (0, WARMUP))),
    "standbys-as-wanted": lambda: _placed_and_dropped((0, (4, STANDBY))),
    "stateless-without-copies": _with_stateless,
    "steps-are-lossless": _told_another_outcome,
    "withheld-is-followed-up": lambda: _Rounds(MOVED).logged(_Rounds(MOVED).one_by_one([MANUAL] * 5)),
}


def _from_logs(plan: Plan) -> int:
    return sum(map(len, made_of_steps(plan, apart=False)))


def test_sound_rounds_break_nothing() -> None:
    plan = _plan(MOVED)
    assert broken_invariants(plan) == broken_invariants(_written(plan)) == ()
    assert (_from_logs(plan), _from_logs(_written(plan))) == (len(MOVED), 0)


def test_rounds_of_some_of_a_group_may_be_of_a_log_too() -> None:
    result = _among_others(_plan(MOVED))
    assert result.group.consumer_index["i1", "i1-1"] == 1
    assert broken_invariants(result) == broken_invariants(_written(result)) == ()
    assert _from_logs(result) == len(MOVED)


def test_holdings_by_other_indices_than_the_groups_are_not_what_the_steps_give() -> None:
    plan = _plan(MOVED)

    def swapped(held: Sequence[Holding]) -> RenumberedHoldings:
        assert isinstance(held, LazyHoldings)
        return RenumberedHoldings(held, [0, 1, 2, 3, 5, 4], 6)

    rounds = [replace(rnd, decided=swapped(rnd.decided), assigned=swapped(rnd.assigned)) for rnd in plan.rounds]
    other = replace(plan, rounds=tuple(rounds))
    assert _from_logs(other) == 0
    assert {item.invariant for item in broken_invariants(other)} == {"steps-are-lossless"}
    assert broken_invariants(other) == broken_invariants(_written(other))


def test_every_invariant_of_who_runs_and_keeps_what_has_rounds_that_break_it() -> None:
    assert BREAK.keys() == {*OF_ROUNDS, "withheld-is-followed-up"} - {"one-learner-per-task"}


@pytest.mark.parametrize("name", [*BREAK])
def test_rounds_that_break_an_invariant_break_nothing_else(name: str) -> None:
    break_ = BREAK[name]()
    broken = broken_invariants(break_)
    assert {item.invariant for item in broken} == {name}
    assert {item.invariant for item in broken_invariants(_written(break_))} == {name}


@pytest.mark.parametrize(
    ("withheld", "started", "name"),
    [
        ([REVOKED, WITHHELD], row(HAND_OVER, 0, NOWHERE, (4, ACTIVE)), "one-copy-per-instance"),
        ([REVOKED, KEPT, WITHHELD, row(WITHHOLD, 0, (0, ACTIVE), (2, ACTIVE))], PROMOTED, "one-active-per-task"),
        (
            [REVOKED, row(KEEP_TEMPORARY, 0, (4, WARMUP), (5, TEMPORARY)), WITHHELD],
            row(PROMOTE, 0, (5, TEMPORARY), (4, ACTIVE)),
            "temporary-only-while-withheld",
        ),
    ],
)
def test_what_is_withheld_may_break_others(
    withheld: Sequence[tuple[int, ...]], started: tuple[int, ...], name: str
) -> None:
    plan = _plan([*MOVED[:2], rows(*withheld), rows(started), *MOVED[4:]])
    broken = broken_invariants(plan)
    assert {item.invariant for item in broken} == {name}
    assert broken == broken_invariants(_written(plan))


@pytest.mark.parametrize(
    "other",
    [
        row(DROP, 0, (4, STANDBY)),
        row(PLACE, 2, NOWHERE, (2, ACTIVE)),
        row(PLACE, 2, NOWHERE, (4, len(ROLES))),
        row(PLACE, 9, NOWHERE, (4, STANDBY)),
        row(DROP, 2, NOWHERE),
    ],
)
def test_rows_that_do_not_fit_are_found(other: tuple[int, ...]) -> None:
    broken = broken_invariants(_plan([*MOVED[:4], rows(other)]))
    assert "steps-are-lossless" in {item.invariant for item in broken}
