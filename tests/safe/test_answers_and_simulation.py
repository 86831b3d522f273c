"""What ``drain`` says of a stop, ``bounce`` of a restart and ``check`` of a plan is what their simulations show."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from kstream_plan.errors import KstreamPlanError
from kstream_plan.fleet.figures import risks
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Bounce, Join, NewInstance, Scenario, Stop
from kstream_plan.model.snapshot import Stores
from kstream_plan.model.starting_state import Cleaning
from kstream_plan.planner.ranges import other_outcomes
from kstream_plan.plans import HandOver, Plan, Promote
from kstream_plan.plans.longest_pause import PAUSE_RULES, whole
from kstream_plan.plans.result import result_of
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.render.answers import page_of, to_table
from kstream_plan.simulation.bounces import Bounces, bounce
from kstream_plan.simulation.drain import Drain, drain
from kstream_plan.simulation.one_plan import plan_checked, request_of
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.simulate import simulate
from tests.helpers.random_groups import TAKEN, Given, random_group

#: Groups by seed: in the first four other tasks may start cold if left-over state is deleted, in the others they do
#: after waiting.
_MAY_BE_DELETED = (333, 1344, 2929, 3379)
_COLD_AFTER_WAITING = (378, 982, 1238, 1498, 2468)
#: Groups in which a task restores before it runs, or for longer, only if restoring is slower than is likely.
_SLOWER_ELSEWHERE = (15, 39, 59, 394)
#: Groups by the text of a seed: which ids new instances have decides whether a task restores first.
_FIRST_BY_OTHER_IDS = ("drw 64", "drw 75", "drw 119", "drw 67")
#: Groups in which a cold start restores, if left-over state is deleted or the restart is not in time, for nobody knows
#: how long.
_COLD_FOR_UNKNOWN_TIME = (190,)
#: Groups in which tasks that start cold restore for longer if stores are in memory, or for an unknown time.
_LONGER_IN_MEMORY = (70, 84, 123, 133, 138)
#: Groups by the text of a seed, where their stores are, how long a restart takes, and ways to restart all instances in
#: which a task may start cold in another outcome than the likely one.
_ALL_RESTARTED: Sequence[tuple[str, Stores, int, set[str]]] = (
    ("bn 21", "in-memory", 40_000, {"default-close", "leave"}),
    ("bn 31", "persistent", 10_000, {"default-close", "leave"}),
)
#: Groups in which tasks start, after a restart in other outcomes than the likely one, from copies that may be behind.
_UNPROVEN_ELSEWHERE = (374, 1215, 1820, 2825, 2880, 2929)


def _asked(seed: int, rng: random.Random | None = None) -> tuple[Given, str]:
    group = random_group(rng or random.Random(seed))
    instances = group.snapshot.state.group.instances
    return group, instances[seed % len(instances)].process_id


def _bounced(seed: int) -> tuple[Bounces, Plan] | None:
    rng = random.Random(seed)
    group, process_id = _asked(seed, rng)
    restart_ms = rng.choice([5_000, 20_000, 40_000, 70_000])
    with suppress(KstreamPlanError):
        found = bounce(group.snapshot, restart_ms, group.options, instances=[process_id])
        scenario = found.as_it_is.way.scenario(restart_ms, found.as_it_is.pause_ms, (process_id,))
        return found, plan_checked(group.snapshot, group.options, scenario=scenario, closes_wait=False)
    return None


def _drained(seed: int) -> Drain | None:
    group, process_id = _asked(seed)
    with suppress(KstreamPlanError):  # the last instance may not stop
        return drain(group.snapshot, [process_id], group.options)
    return None


def _simulated(seed: int, at_ms: int, cleaning: Cleaning = "likely") -> Plan:
    group, process_id = _asked(seed)
    scenario = Scenario(events=(Stop(at_ms=at_ms, process_ids=(process_id,)),))
    return plan_checked(group.snapshot, group.options, scenario=scenario, cleaning=cleaning, ranges=False)


def _cold(plan: Plan, from_ms: int) -> set[str]:
    return {
        str(step.task_id)
        for rnd in plan.rounds
        if rnd.at_ms >= from_ms
        for step in rnd.single_steps
        if isinstance(step, HandOver | Promote) and not step.caught_up
    }


def _stopped(seed: int, at_ms: int = 0) -> tuple[Given, Scenario]:
    group, process_id = _asked(seed)
    return group, Scenario(events=(_stop(process_id, at_ms),))


def _stop(process_id: str, at_ms: int = 0) -> Stop:
    return Stop(at_ms=at_ms, process_ids=(process_id,))


def _cold_and_paused(plan: Plan) -> list[int | None]:
    """What tasks start cold at most, or restore first, and how long they pause at most in each sense."""
    cold = plan.ends("cold_handovers")[1] + plan.ends("restoring_first")[1]
    return [cold, *(whole(figure, plan, plan.ends(figure)[1]) for figure in PAUSE_RULES.values())]


def test_no_other_outcome_is_worse_than_what_a_plan_says_at_worst() -> None:
    compared = 0
    for seed in (*_SLOWER_ELSEWHERE, *range(25)):
        group, scenario = _stopped(seed)
        with suppress(KstreamPlanError):
            at_worst = _cold_and_paused(plan_checked(group.snapshot, group.options, scenario=scenario))
            for other in other_outcomes(request_of(group.snapshot, group.options, scenario)):
                compared += 1
                for worst, other_worst in zip(at_worst, _cold_and_paused(other), strict=True):
                    assert worst is None or (other_worst is not None and (seed, other_worst) <= (seed, worst))
    assert compared > 60


@pytest.mark.parametrize("seed", _FIRST_BY_OTHER_IDS)
def test_a_task_that_restores_first_in_another_random_simulation_is_said_and_not_safe(seed: str) -> None:
    """New instances join, and in the first three groups nothing is cold in any simulation."""
    rng = random.Random(seed)
    group = random_group(rng)
    instances = group.snapshot.state.group.instances
    stop = (_stop(instances[int(seed.split()[1]) % len(instances)].process_id),) if rng.random() < 0.5 else ()
    joins = Join(at_ms=0, instances=tuple(NewInstance() for _ in range(rng.choice([1, 2]))))
    scenario = Scenario(events=(*stop, joins))
    simulated = simulate(group.snapshot, scenario, group.options, number_of_draws=3, what_ifs=False)
    assert simulated.draws is not None
    assert simulated.plan.ends("restoring_first") == (0, 0)
    page = page_of(simulated)
    assert page.tone == "unknown"
    assert "restore state before running" in page.sentences[0]
    assert "in other random simulations" in page.sentences[0]
    row = result_of(simulated.plan, simulated)
    assert (row.restoring_first or 0) > 0
    assert risks(row)
    rule = Standard(Policy({"max_cold_handovers": Limit(0)}), TAKEN)
    assert check_plan(simulated.plan, rule, draws=simulated.draws.for_rules).answer is not Answer.YES


@pytest.mark.parametrize("seed", _COLD_FOR_UNKNOWN_TIME)
def test_a_pause_is_unknown_at_worst_where_another_outcome_of_a_restart_does_not_tell_it(seed: int) -> None:
    group, process_id = _asked(seed)
    scenario = Scenario(events=(Bounce(at_ms=0, process_ids=(process_id,), restart_ms=44_000),))
    others = list(other_outcomes(request_of(group.snapshot, group.options, scenario)))
    assert any(None in _cold_and_paused(other) for other in others)
    made = plan_checked(group.snapshot, group.options, scenario=scenario)
    assert _cold_and_paused(made)[1:] == [None, None, None]
    assert "or unknown" in to_table(made, width=200)


def test_stores_in_memory_are_not_worse_than_what_a_plan_says_at_worst_where_they_are_unknown() -> None:
    """Rebalances may differ then, which moves a pause by a heartbeat interval."""
    compared = 0
    for seed in (*_LONGER_IN_MEMORY, *range(25)):
        group, process_id = _asked(seed)
        rates = replace(group.snapshot.rates, restore_per_instance=5_000.0)
        unknown = replace(group.snapshot, stores=None, rates=rates)
        in_memory = replace(unknown, stores="in-memory")
        for event in (_stop(process_id), Bounce(at_ms=0, process_ids=(process_id,), restart_ms=20_000)):
            with suppress(KstreamPlanError):
                made, other = (
                    plan_checked(each, group.options, scenario=Scenario(events=(event,)))
                    for each in (unknown, in_memory)
                )
                compared += other.ends("cold_handovers")[1] > 0
                (cold, *paused), (cold_in_memory, *paused_in_memory) = map(_cold_and_paused, (made, other))
                assert (seed, cold) >= (seed, cold_in_memory)
                for worst, in_memory_worst in zip(paused, paused_in_memory, strict=True):
                    later_ms = None if worst is None else worst + 3_000
                    assert later_ms is None or (
                        in_memory_worst is not None and (seed, in_memory_worst) <= (seed, later_ms)
                    )
    assert compared > 20


def test_check_is_no_surer_than_drain() -> None:
    answers = set[tuple[Answer, Answer]]()
    for seed in (*_SLOWER_ELSEWHERE, *range(40)):
        drained = _drained(seed)
        if drained is None or drained.moment_doubts:  # check has rules of its own for old snapshots
            continue
        group, scenario = _stopped(seed, drained.at_ms)
        made = plan_checked(group.snapshot, group.options, scenario=scenario, closes_wait=False)
        checked = check_plan(made, Standard(Policy({"max_cold_handovers": Limit(0)}), TAKEN)).answer
        answers.add((checked, drained.answer))
        assert checked is not Answer.YES or (seed, drained.answer) == (seed, Answer.YES)
    assert answers >= {(Answer.YES, Answer.YES), (Answer.UNKNOWN, Answer.UNKNOWN), (Answer.NO, Answer.NO)}


def test_what_may_restore_first_says_why_and_what_would_tell() -> None:
    group, scenario = _stopped(394)
    made = plan_checked(group.snapshot, group.options, scenario=scenario)
    assert "Up to 1 task may restore state before running" in page_of(made).sentences[0]
    checked = check_plan(made, Standard(Policy({"max_cold_handovers": Limit(0)}), TAKEN))
    for text in (to_table(made, width=200), to_table(check_all([checked], TAKEN), width=200)):
        assert "--metrics would tell" in text


def test_yes_holds_whenever_left_over_state_is_deleted() -> None:
    yes = 0
    for seed in range(60):
        drained = _drained(seed)
        if drained is None or drained.answer is not Answer.YES:
            continue
        yes += 1
        for cleaning in ("early", "late"):
            plan = _simulated(seed, drained.at_ms, cleaning)
            assert (seed, _cold(plan, drained.at_ms), plan.restores_first) == (seed, set(), ())
    assert yes > 8


@pytest.mark.parametrize("seed", _MAY_BE_DELETED)
def test_other_tasks_that_may_find_nothing_left_over_are_unknown(seed: int) -> None:
    drained = _drained(seed)
    assert drained is not None
    assert drained.answer is Answer.UNKNOWN
    assert "It is unknown whether tasks of other instances start warm" in to_table(drained, width=200)


def test_yes_after_waiting_is_what_the_simulation_shows() -> None:
    answers = list[Answer]()
    for seed in (*_COLD_AFTER_WAITING, *range(40)):
        drained = _drained(seed)
        if drained is None or drained.answer_later is None:
            continue
        answers.append(drained.answer_later)
        later_ms = drained.at_ms + (drained.wait_ms or 0)
        plan = _simulated(seed, later_ms)
        restored = (str(start.task_id) for start in plan.restoring_starts if start.at_ms >= later_ms)
        restoring = _cold(plan, later_ms).union(restored)
        assert (seed, set(map(str, drained.restoring_after))) == (seed, restoring)
        assert (seed, drained.answer_later) == (seed, Answer.NO if restoring else Answer.YES)
    assert {*answers} == {Answer.YES, Answer.NO}


@pytest.mark.parametrize("seed", _COLD_AFTER_WAITING)
def test_a_task_of_another_instance_that_starts_cold_after_waiting_is_no_yes(seed: int) -> None:
    drained = _drained(seed)
    assert drained is not None
    assert drained.cold_later == ()
    assert drained.answer_later is Answer.NO
    waits = next(fact.value for fact in page_of(drained).facts if fact.key == "wait")
    assert ": NO, " in waits
    assert "state first" in waits


def test_a_restart_is_safe_only_if_no_outcome_of_its_simulation_may_start_a_task_cold() -> None:
    yes = 0
    for seed in range(25):
        bounced = _bounced(seed)
        if bounced is None:
            continue
        found, plan = bounced
        if found.answer is Answer.YES:
            yes += 1
            assert (seed, plan.ends("cold_handovers"), plan.restores_first) == (seed, (0, 0), ())
    assert yes > 3


@pytest.mark.parametrize("seed", _UNPROVEN_ELSEWHERE)
def test_a_start_that_nothing_proves_in_another_outcome_makes_a_restart_unknown(seed: int) -> None:
    bounced = _bounced(seed)
    assert bounced is not None
    found, plan = bounced
    assert (plan.unproven_starts, found.answer) == ((), Answer.UNKNOWN)
    assert found.reasons


@pytest.mark.parametrize(("seed", "stores", "restart_ms", "ways"), _ALL_RESTARTED)
def test_restarts_of_all_are_not_proven_to_be_safe_where_another_outcome_may_start_a_task_cold(
    seed: str, stores: Stores, restart_ms: int, ways: set[str]
) -> None:
    group = random_group(random.Random(seed))
    snapshot = replace(group.snapshot, stores=stores)
    found = bounce(snapshot, restart_ms, group.options)
    may_be_cold = set[str]()
    for way in found.ways:
        if way.safe and way.draws is None:
            scenario = with_random_ids(way.scenario, snapshot.state.group, 0)
            plan = plan_checked(snapshot, group.options, scenario=scenario)
            assert found.safety_of(way) == ("likely" if plan.ends("cold_handovers")[1] else "yes")
            may_be_cold.update([way.way.name] * (plan.ends("cold_handovers")[1] > 0))
    assert may_be_cold == ways
    assert "is likely, not proven, to be safe" in page_of(found).sentences[0]
