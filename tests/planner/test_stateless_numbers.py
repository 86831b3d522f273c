"""A plan that has its stateless tasks as numbers is the plan that has them as holdings and steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from kstream_plan.model import NOBODY, Holding, Holdings, Owners
from kstream_plan.plans import Pauses, Plan, Round, Trigger, Withhold
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation.one_plan import plan
from tests.helpers.in_rows import round_steps
from tests.helpers.random_scenarios import play
from tests.helpers.stateless_groups import joined


@cache
def _made(seed: int, protocol: str = "cooperative", assignor: str = "high-availability") -> Plan:
    return plan(joined(seed), protocol=protocol, assignor=assignor)


def _written_out(plan: Plan) -> Plan:
    """The plan with every step and holding made."""
    rounds = (
        replace(
            rnd,
            steps=round_steps(plan.group, tuple(rnd.steps)),
            decided=tuple(rnd.decided),
            assigned=tuple(rnd.assigned),
        )
        for rnd in plan.rounds
    )
    written, initial = tuple(rounds), tuple(plan.initial)
    pauses = pauses_of(plan.group, initial, written, plan.stopping, plan.config, plan.outages)
    return replace(plan, initial=initial, rounds=written, final=tuple(plan.final), pauses=pauses)


def _compare(plan: Plan) -> None:
    written = _written_out(plan)
    assert plan == written
    assert broken_invariants(plan) == broken_invariants(written) == ()
    assert [len(rnd.steps) for rnd in plan.rounds] == [len(rnd.steps) for rnd in written.rounds]
    assert _totals(plan.pauses) == _totals(written.pauses)
    starts_ms = [0, *(rnd.at_ms for rnd in plan.rounds)]
    assert plan.pauses.tasks_between(starts_ms) == written.pauses.tasks_between(starts_ms)
    assert table(plan, verbose=True) == table(written, verbose=True)


def _totals(found: Pauses) -> tuple[object, ...]:
    return len(found), found.ms, found.times, found.shortest_ms, found.longest_ms, found.most_at_once


@pytest.mark.parametrize("assignor", ["high-availability", "balanced"])
@pytest.mark.parametrize("protocol", ["cooperative", "eager", "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_it_says_the_same_as_when_everything_is_written_out(seed: int, protocol: str, assignor: str) -> None:
    result = _made(seed, protocol, assignor)
    assert any(rnd.stateless is not None for rnd in result.rounds)
    _compare(result)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_it_says_the_same_whoever_comes_and_goes(first: int) -> None:
    for seed in range(first, first + 20):
        assignor, protocol = ("high-availability", "balanced")[seed % 2], ("cooperative", "mixed", "eager")[seed % 3]
        _compare(play(seed, assignor=assignor, protocol=protocol))


def _changed(holdings: Sequence[Holding], place: int, owner: int) -> Holdings:
    assert isinstance(holdings, Holdings)
    owners = holdings.owners.copy()
    owners[place] = owner
    return Holdings(holdings.stateful, holdings.stateless, owners)


def _with(plan: Plan, index: int, **change: object) -> Plan:
    rounds = list(plan.rounds)
    rounds[index] = replace(rounds[index], **change)
    return replace(plan, rounds=tuple(rounds))


def _withholding(plan: Plan) -> tuple[int, Round, int]:
    """A round in which stateless tasks alone are withheld, and the place of the first of them."""
    for index, rnd in enumerate(plan.rounds[:-1]):
        if rnd.stateless is not None and len(rnd.stateless.withheld_places) and not _withholds_stateful(rnd):
            return index, rnd, int(rnd.stateless.withheld_places[0])
    raise AssertionError("no such round")


def _withholds_stateful(rnd: Round) -> bool:
    return any(isinstance(step, Withhold) for step in rnd.single_steps)


def _owners(holdings: Sequence[Holding]) -> Owners:
    assert isinstance(holdings, Holdings)
    return holdings.owners


def _broken(plan: Plan) -> set[str]:
    return {broken.invariant for broken in broken_invariants(plan)}


def test_a_task_that_is_decided_for_nobody_is_found() -> None:
    result = _made(0)
    assert "one-active-per-task" in _broken(_with(result, 0, decided=_changed(result.rounds[0].decided, 0, NOBODY)))


def test_a_task_that_starts_before_it_is_revoked_is_found() -> None:
    index, rnd, place = _withholding(_made(0))
    at_once = _changed(rnd.assigned, place, int(_owners(rnd.decided)[place]))
    assert "no-second-owner" in _broken(_with(_made(0), index, assigned=at_once))


def test_steps_that_do_not_give_who_runs_the_tasks_are_found() -> None:
    result = _made(0)
    index, rnd, place = _withholding(result)
    consumers = len(result.group.consumer_ids)
    other = (int(_owners(rnd.decided)[place]) + 1) % consumers
    assert "steps-are-lossless" in _broken(_with(result, index, decided=_changed(rnd.decided, place, other)))
    assert "steps-are-lossless" in _broken(_with(result, index, assigned=_changed(rnd.assigned, place, other)))
    last = (int(_owners(result.final)[0]) + 1) % consumers
    assert _broken(replace(result, final=_changed(result.final, 0, last))) == {"steps-are-lossless"}


def test_a_task_that_is_withheld_and_not_followed_up_is_found() -> None:
    result = _made(0)
    index, _, _ = _withholding(result)
    assert "withheld-is-followed-up" in _broken(_with(result, index + 1, trigger=Trigger.MANUAL))
