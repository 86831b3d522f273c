"""Whether instances may stop, task by task and as a whole: by a literal account of what is known of each."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import LATEST, Copy, Holding, Note, Snapshot, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import MemberLeft
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart
from kstream_plan.simulation.drain import Drain, DrainedTask, answer_of, drain
from tests.helpers import captured
from tests.helpers.learner_cases import group as learner_group
from tests.helpers.small_groups import group, state

TASKS = [task.task_id for task in group(stateful=3, stateless=0).tasks]
_ANSWERS = {Known.CAUGHT_UP: Answer.YES, Known.BEHIND: Answer.NO, Known.UNKNOWN: Answer.UNKNOWN}


def small(
    copies: dict[int, tuple[Copy, ...]] | None = None, standby: dict[int, Holding] | None = None, **fields: object
) -> Snapshot:
    """i1, i2 and i3 run one task each; i3's has a copy on i1 that has caught up."""
    held = {0: Holding((0,), standby=(2,)), 2: Holding((1,)), 4: Holding((2,))}
    runs = {task: Copy(task, LATEST, (2 * task,), 0, 2 * task, True) for task in range(3)}
    on_disk = {0: (runs[0],), 1: (runs[1],), 2: (Copy(0, 0, (0,), 0, 0), runs[2]), **(copies or {})}
    item = state(group(stateful=3, stateless=0), {**held, **(standby or {})}, on_disk)
    return replace(Snapshot(state=item, config=AssignmentConfig()), **fields)  # type: ignore[arg-type]


@cache
def warm() -> Drain:
    return drain(small(), ["i3"], floor=False, ranges=False)


def drained(task_id: WorkId, *, caught_up: bool, records: int | None = 0) -> DrainedTask:
    return DrainedTask(task_id, True, "i1", 0, "estimate", caught_up, records)


def unproven(task_id: WorkId, known: Known) -> UnprovenStart:
    evidence = Evidence(known=known, fact=Fact.OLD_REPORT, words="")
    return UnprovenStart(task_id=task_id, process_id="i1", at_ms=0, evidence=evidence)


_KNOWN = st.dictionaries(st.sampled_from(TASKS), st.sampled_from(list(Known)))
_WARM = st.lists(st.booleans(), min_size=2, max_size=2)
_RESTORING = st.lists(st.sampled_from(TASKS), max_size=1)


@given(_WARM, _WARM, _KNOWN, _RESTORING, st.booleans(), st.booleans(), st.booleans())
def test_no_if_one_is_cold_for_sure_unknown_if_one_may_be_yes_if_none_can(
    now: list[bool],
    at_best: list[bool],
    known: dict[WorkId, Known],
    restoring: list[WorkId],
    moves_again: bool,
    not_seen: bool,
    over: bool,
) -> None:
    ran = TASKS[:2]
    found = replace(
        warm(),
        now=tuple(
            drained(task_id, caught_up=item, records=0 if moves_again else 1)
            for task_id, item in zip(ran, now, strict=True)
        ),
        at_best=tuple(drained(task_id, caught_up=item) for task_id, item in zip(ran, at_best, strict=True)),
        unproven=tuple(unproven(task_id, item) for task_id, item in known.items()),
        doubts=(
            Note("old-report", "", tuple(map(str, TASKS))),
            *(Note("restores-within-limit", "", (str(task_id),)) for task_id in restoring),
        ),
        not_seen=tuple(TASKS[2:]) if not_seen else (),
        moment_doubts=(Note("overdue", ""),) if over else (),
    )
    expected = {}
    for task_id, warm_now, warm_at_best in zip(ran, now, at_best, strict=True):
        if not (warm_now or warm_at_best) or (task_id in restoring and not moves_again):
            expected[task_id] = Answer.NO
        elif task_id in known:
            expected[task_id] = _ANSWERS[known[task_id]]
        else:
            expected[task_id] = Answer.YES if warm_now and warm_at_best else Answer.UNKNOWN
    assert found.answers == expected
    others = [_ANSWERS[item] for task_id, item in known.items() if task_id not in ran]
    others += [Answer.NO for task_id in restoring if moves_again or task_id not in ran]
    everything = [*expected.values(), *others, *([Answer.UNKNOWN] if not_seen or over else [])]
    worst = next((item for item in (Answer.NO, Answer.UNKNOWN) if item in everything), Answer.YES)
    assert found.answer is worst
    surely = {task_id for task_id, item in known.items() if item is Known.BEHIND}
    surely |= {task_id for task_id, *warmth in zip(ran, now, at_best, strict=True) if not any(warmth)}
    assert found.how_many_cold == (
        len(surely & set(ran)),
        sum(answer is not Answer.YES for answer in expected.values()),
    )
    assert [start.task_id for start in found.unknown] == [
        task_id for task_id, item in known.items() if item is Known.UNKNOWN
    ]
    assert [task.task_id for task in found.cold_now] == [
        item for item, is_warm in zip(ran, now, strict=True) if not is_warm
    ]


@pytest.mark.parametrize("known", list(Known))
def test_what_is_known_is_the_answer(known: Known) -> None:
    assert answer_of(Evidence(known=known, fact=Fact.MEASURED, words="")) is _ANSWERS[known]


def test_figures_are_of_the_tasks_that_start_cold_now() -> None:
    first, second, third = (
        drained(TASKS[0], caught_up=False, records=7),
        drained(TASKS[1], caught_up=True, records=100),
        drained(TASKS[2], caught_up=False, records=5)._replace(stateful=False),
    )
    found = replace(warm(), now=(first, second, third), later=(second, third))
    assert (found.cold_now, found.cold_later) == ((first, third), (third,))


def test_times_are_the_first_and_the_last_of_lags_that_were_heard_of_by_what_told_them() -> None:
    lags = {0: (Copy(0, LATEST, (0,), 0, 0, True), Copy(2, 3, (4,), 3, 4)), 1: (Copy(1, LATEST, (2,), 0, 2, True),)}
    held = {4: Holding((2,), standby=(0,))}
    heard = {(2, 0): 4_000, (0, 2): 1_000, (0, 0): 9_000}
    base = small(lags, held, captured_at="2026-11-22T12:00:00.000Z", reported_ms=heard)
    first, last = "2026-11-22T12:00:01.000Z", "2026-11-22T12:00:04.000Z"

    def times(**fields: object) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
        found = drain(replace(base, **fields), ["i3"], floor=False, ranges=False)  # type: ignore[arg-type]
        return found.reported_at, found.measured_at

    assert times() == ((first, last), None)
    assert times(measured_lags=frozenset({(2, 0)})) == ((first, first), (last, last))
    assert times(least_lags=frozenset({(0, 2)})) == ((last, last), (first, first))
    assert times(measured_lags=frozenset({(2, 0), (0, 2)})) == (None, (first, last))
    assert times(captured_at=None) == (None, None)
    assert times(reported_ms={}) == (None, None)


def test_a_start_from_a_lower_bound_restores_at_least_so_much_and_no_more_than_all() -> None:
    behind = {2: (Copy(0, 400, (0,), 400, 0), Copy(2, LATEST, (4,), 0, 4, True))}
    bound = frozenset({(2, 0)})
    item = small(behind, config=AssignmentConfig(acceptable_recovery_lag=10))

    def restored(snapshot: Snapshot) -> tuple[int | None, str]:
        (task,) = drain(snapshot, ["i3"], floor=False, ranges=False).now
        return task.restore_records, task.restore_is

    assert restored(item)[1] == "estimate"
    assert restored(replace(item, least_lags=bound))[1] == "floor"
    assert restored(replace(item, least_lags=frozenset({(2, 1)})))[1] == "estimate", "another copy's"
    whole = {2: (Copy(0, 1_000, (0,), 1_000, 0), Copy(2, LATEST, (4,), 0, 4, True))}
    all_of_it = small(whole, config=AssignmentConfig(acceptable_recovery_lag=10), least_lags=bound)
    assert restored(all_of_it) == (1_000, "estimate")


def test_an_instance_by_two_names_stops_once() -> None:
    twice = drain(small(), ["i3", "i3"], floor=False, ranges=False)
    assert twice.process_ids == ("i3",)
    assert twice.now == warm().now


@pytest.mark.parametrize("names", [["S3"], ["S3", "S2"]])
def test_who_announces_that_it_leaves_may_stop_once_all_are_let_go(names: list[str]) -> None:
    found = drain(learner_group("12", "34", "56"), names, PlanOptions(design="learner"))
    let_go = {
        step.process_id: rnd.at_ms
        for rnd in found.waiting_plan.rounds
        for step in rnd.steps
        if isinstance(step, MemberLeft)
    }
    assert let_go.keys() == set(names)
    assert found.announced
    assert found.wait_ms == max(let_go.values()) > 0
    ran = sorted(task for name in names for task in _runs(found, name))
    assert [task.task_id for task in found.later] == [found.plan.group.tasks[task].task_id for task in ran]
    assert all(task.destination == "S1" or task.destination not in names for task in found.later)
    assert found.cold_later == ()
    assert len(found.cold_now) == len(ran)


def _runs(drain: Drain, name: str) -> list[int]:
    consumers = drain.plan.group.consumers_of[drain.plan.group.instance_index[name]]
    return [task for consumer in consumers for task in drain.plan.initial[consumer].active]


def test_who_is_not_let_go_as_far_as_was_planned_has_nothing_to_wait_for() -> None:
    found = drain(learner_group("12", "34", "56"), ["S3"], PlanOptions(design="learner", max_rounds=1))
    assert (found.announced, found.wait_ms, found.later) == (True, None, ())


def test_it_settles_a_probing_interval_after_the_last_rebalance_and_streams_groups_once_everything_runs() -> None:
    base = captured.inputs("scale-out-standbys")[9]
    found = drain(base, ["i1"], floor=False, ranges=False)
    last_ms = found.waiting_plan.rounds[-1].at_ms
    assert found.wait_ms == last_ms + base.config.probing_rebalance_interval_ms - found.at_ms
    assert not found.announced
