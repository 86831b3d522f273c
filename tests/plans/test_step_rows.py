"""Steps that are rows are what a tuple of the same steps would be, and come to the same."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Holding, Rates, Snapshot, no_owners
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.restore_totals import RestoreTotals
from kstream_plan.planner.summarize import summarize
from kstream_plan.planner.within_the_limit import restores_within_limit
from kstream_plan.plans import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    LowerBounds,
    MemberJoined,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Round,
    Seat,
    StatelessSteps,
    Step,
    ThreadMove,
    Trigger,
    Withhold,
)
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.rounds import NOT_COUNTED
from kstream_plan.plans.stateless_steps import RoundSteps, has_rows, member_steps, single_steps, steps_apart
from kstream_plan.plans.step_rows import StepMaker, StepRows, row_type
from tests.helpers.in_rows import step_rows
from tests.helpers.small_groups import group, state

GROUP = group(stateful=4, stateless=1)
LIMIT = 10_000
MAKER = StepMaker(GROUP, LIMIT)
JOINED = MemberJoined("i3", Reason(ReasonCode.MEMBERSHIP))

#: Those of designs whose owners stop when they give up.
_CODES = [
    code
    for code in ReasonCode
    if code not in (ReasonCode.LEARNED, ReasonCode.MOVES_AT_ONCE, ReasonCode.NOT_CONFIGURED, ReasonCode.STOOD_STILL)
]
_lags = st.one_of(st.none(), st.sampled_from([-2, -3, 0, 1000, 2**62]))
_task_ids = st.sampled_from([GROUP.tasks[task].task_id for task in GROUP.stateful])
_records = st.sampled_from([None, 0, 7, 1000, 2**62])


@st.composite
def _seats(draw: st.DrawFn, role: Role | None = None) -> Seat:
    process_id, consumer_id = draw(st.sampled_from([*GROUP.consumer_index]))
    return Seat(process_id, consumer_id, role or draw(st.sampled_from(Role)))


@st.composite
def _reasons(draw: st.DrawFn) -> Reason:
    code, lag = draw(st.sampled_from(_CODES)), draw(_lags)
    return Reason(code) if lag is None else Reason(code, lag, LIMIT, draw(_lags))


@st.composite
def _steps(draw: st.DrawFn) -> Step:
    task_id, reason, seat, other = draw(_task_ids), draw(_reasons()), draw(_seats()), draw(_seats())
    kind: Any = draw(
        st.sampled_from([Place, Withhold, KeepTemporary, Revoke, Demote, HandOver, Promote, ThreadMove, Drop])
    )
    maybe = seat if kind is Promote else draw(st.sampled_from([None, seat]))
    records = draw(_records)
    if kind in (Revoke, Drop):
        return kind(task_id, seat, reason)
    if kind in (Withhold, Demote, ThreadMove):
        return kind(task_id, seat, other, reason)
    if kind is KeepTemporary:
        return kind(task_id, maybe, other, reason)
    if kind is Place:
        return kind(task_id, maybe, other, records, reason)
    return kind(task_id, maybe, other, records == 0 or draw(st.booleans()), records, reason)


_rounds = st.lists(_steps(), max_size=8).map(tuple)


def _in_order(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Of each task what ends, then what begins, once each."""
    once = {(step.task_id.sort_key, not isinstance(step, Revoke | Demote | Drop)): step for step in steps}  # type: ignore[union-attr]
    return tuple(step for _, step in sorted(once.items()))


@given(_rounds, st.booleans())
def test_they_are_a_sequence_of_steps(steps: tuple[Step, ...], joined: bool) -> None:
    members = (JOINED,) if joined else ()
    rows, answer = step_rows(MAKER, steps, members), members + steps
    assert (tuple(rows), len(rows)) == (answer, len(answer))
    assert [rows[index] for index in range(-len(answer), len(answer))] == [*answer, *answer]
    assert (rows[1:], rows[:-1]) == (answer[1:], answer[:-1])
    assert (rows == answer, answer == rows, hash(rows), repr(rows)) == (True, True, hash(answer), repr(answer))
    assert rows != (*answer, JOINED)
    again = pickle.loads(pickle.dumps(rows))
    assert again == rows
    assert not any(item.rows.flags.writeable for item in (rows, again))
    assert list(rows.of_rows()) == list(steps)
    assert rows.with_members(()) == steps
    with pytest.raises(IndexError):
        rows[len(answer)]


def test_a_row_takes_48_bytes() -> None:
    assert row_type().itemsize == 48


@given(_rounds, st.booleans())
def test_they_are_told_between_those_of_members_and_stateless_tasks(steps: tuple[Step, ...], joined: bool) -> None:
    members = (JOINED,) if joined else ()
    rows, maker = step_rows(MAKER, steps), StatelessSteps(GROUP, LIMIT, evened_out=False)
    nobody, decided = no_owners(GROUP), no_owners(GROUP)
    decided[:] = 2
    both = maker.with_others(members, rows, nobody, decided, decided)
    objects = maker.with_others(members, steps, nobody, decided, decided)
    assert isinstance(both, RoundSteps)
    assert (both, tuple(both), len(both)) == (objects, tuple(objects), len(objects))
    assert (single_steps(both), single_steps(objects)) == (members + steps, members + steps)
    assert isinstance(single_steps(both), StepRows)
    alone = maker.with_others(members, rows, decided, decided, decided)
    assert (alone, single_steps(alone)) == (members + steps, members + steps)
    for item in (both, alone):
        assert has_rows(item)
        assert tuple(steps_apart(item)) == tuple(member_steps(item)) == members
    assert (alone == both) is (both == alone) is False
    assert (has_rows(objects), steps_apart(objects)) == (False, members + steps)


def _round(number: int, steps: Sequence[Step]) -> Round:
    nothing = (Holding(),) * len(GROUP.consumer_ids)
    return Round(
        number=number,
        generation=number,
        at_ms=1000 * number,
        trigger=Trigger.PROBING,
        phases=(),
        probing_rebalance=False,
        steps=steps,
        balance=NOT_COUNTED,
        decided=nothing,
        assigned=nothing,
    )


_RATES = st.sampled_from(
    [Rates(), Rates(produce_per_task=1.0), Rates(restore_of={0: 5.0}), Rates(restore_per_instance=1.0)]
)


@given(st.lists(_rounds.map(_in_order), min_size=1, max_size=4), _RATES)
def test_they_come_to_the_same(rounds: list[tuple[Step, ...]], rates: Rates) -> None:
    snapshot = Snapshot(state=state(GROUP, {}, {}), config=AssignmentConfig(), rates=rates)

    def said(answer: Sequence[Sequence[Step]]) -> tuple[object, ...]:
        results = [_round(number, steps) for number, steps in enumerate(answer)]
        initial, nobody = results[0].assigned, LowerBounds(moves=0, probing_rebalances=0)
        paused = pauses_of(GROUP, initial, results, (), snapshot.config)
        restored = RestoreTotals(GROUP, (), rates)
        for rnd in results:
            restored.add(rnd.at_ms, GROUP, rates, rnd.single_steps, lambda _from, _to: True)
        summary = summarize(
            GROUP, initial, results, nobody, paused, duration_ms=0, duration_is="probes", max_cold_restore_ms=None
        )
        totals = restored.max_cold_ms, restored.any, restored.unrated(GROUP)
        return summary, totals, restores_within_limit(snapshot, GROUP, results)

    assert said([step_rows(MAKER, steps) for steps in rounds]) == said(rounds)
